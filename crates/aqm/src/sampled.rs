//! An AQM from a law and a gate.

use crate::{AnyLaw, Aqm, ArrivalVerdict, Backlog, Candidate, DepartureVerdict, Dropped, Gate, Law, Needs, PacketView, Sample};
use alloc::boxed::Box;
use sojourn_units::{Duration, Probability, Stream, Time};

/// The arrivals and departures since the last step of the law.
#[derive(Clone, Default, Debug)]
struct Tally {
    arrived_packets: u64,
    arrived_bytes: u64,
    departed_packets: u64,
    departed_bytes: u64,
    waited: Duration,
    least_backlog: u32,
}

impl Tally {
    /// The law's sample at the end of the interval.
    fn sample(&self, now: Time, backlog: &Backlog) -> Sample {
        let sojourn = match self.departed_packets {
            0 => 0.0,
            n => self.waited.as_secs_f64() / n as f64,
        };
        Sample {
            now,
            backlog_packets: f64::from(backlog.packets),
            backlog_bytes: backlog.bytes as f64,
            least_backlog_packets: f64::from(self.least_backlog.min(backlog.packets)),
            arrived_packets: self.arrived_packets as f64,
            arrived_bytes: self.arrived_bytes as f64,
            departed_packets: self.departed_packets as f64,
            departed_bytes: self.departed_bytes as f64,
            sojourn,
        }
    }
}

/// An AQM from a law and a gate.
/// The law computes the probability on a timer; the gate applies it to packets.
#[derive(Clone, Debug)]
pub struct Sampled<L, G> {
    law: L,
    gate: G,
    probability: Probability,
    tally: Tally,
}

impl<L: Law, G: Gate> Sampled<L, G> {
    /// An algorithm of `law` and `gate`, with probability 0 until the first step.
    pub fn new(law: L, gate: G) -> Self {
        Sampled { law, gate, probability: Probability::ZERO, tally: Tally::default() }
    }

    /// A copy of the law, for models that feed it with numbers instead of packets.
    pub fn law(&self) -> Box<dyn AnyLaw>
    where
        L: AnyLaw,
    {
        self.law.boxed_clone()
    }

    /// The law, for tests of an algorithm.
    #[cfg(test)]
    pub(crate) fn inner(&mut self) -> &mut L {
        &mut self.law
    }

    /// The gate and the probability, for tests of an algorithm.
    #[cfg(test)]
    pub(crate) fn gate_at(&mut self, probability: f64) -> &mut G {
        self.probability = Probability::clamped(probability);
        &mut self.gate
    }
}

impl<L: Law, G: Gate> Aqm for Sampled<L, G> {
    #[inline]
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.tally.arrived_packets += 1;
        self.tally.arrived_bytes += u64::from(arrival.size);
        if !self.gate.signals(&Candidate { probability: self.probability, packet: arrival, backlog }, random) {
            ArrivalVerdict::Pass
        } else if self.gate.at_departure() {
            if self.gate.spares_unmarkable() { ArrivalVerdict::DropWithoutEcn } else { ArrivalVerdict::DropUnlessMarkable }
        } else if self.gate.forces_drop(self.probability) {
            ArrivalVerdict::Drop
        } else {
            ArrivalVerdict::Signal
        }
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        self.tally.departed_packets += 1;
        self.tally.departed_bytes += u64::from(departure.size);
        self.tally.waited = self.tally.waited + sojourn;
        self.tally.least_backlog = self.tally.least_backlog.min(backlog.packets);
        let candidate = Candidate { probability: self.probability, packet: departure, backlog };
        let signal = self.gate.at_departure() && self.gate.signals(&candidate, random);
        if signal { DepartureVerdict::MarkOrPass } else { DepartureVerdict::Pass }
    }

    fn on_drop(&mut self, dropped: Dropped) {
        if dropped != Dropped::Unmarkable {
            self.gate.reset();
        }
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.law.interval())
    }

    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        self.probability = self.law.step(&self.tally.sample(now, backlog));
        self.tally = Tally { least_backlog: backlog.packets, ..Tally::default() };
    }

    fn needs(&self) -> Needs {
        Needs { first_update: Some(self.law.first_step()), ..self.law.needs().and(self.gate.needs()) }
    }

    fn probability(&self) -> Option<Probability> {
        Some(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bernoulli;
    use crate::algorithms::test_packet;

    /// Stores the last sample; its probability is always one half.
    #[derive(Clone, Default)]
    struct Watch(Option<Sample>);

    impl Law for Watch {
        fn interval(&self) -> Duration {
            Duration::from_millis(10)
        }
        fn step(&mut self, sample: &Sample) -> Probability {
            self.0 = Some(*sample);
            Probability::clamped(0.5)
        }
    }

    fn packet(size: u32) -> PacketView {
        PacketView { size, ..test_packet() }
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None }
    }

    #[test]
    fn a_law_sees_one_interval_at_a_time() {
        let (mut aqm, mut random) = (Sampled::new(Watch::default(), Bernoulli), Stream::named(1, "law"));
        assert_eq!((Aqm::needs(&aqm).first_update, aqm.probability()), (Some(Time::from_nanos(10_000_000)), Some(Probability::ZERO)));
        aqm.on_update(Time::from_nanos(10_000_000), &backlog(5));
        assert_eq!(aqm.probability().unwrap().get(), 0.5);
        for i in 0..3 {
            aqm.on_enqueue(&packet(1000 + i), &backlog(5), &mut random);
        }
        aqm.on_dequeue(&packet(1000), Duration::from_millis(2), &backlog(2), &mut random);
        aqm.on_dequeue(&packet(500), Duration::from_millis(4), &backlog(3), &mut random);
        aqm.on_update(Time::from_nanos(20_000_000), &backlog(6));
        let s = aqm.inner().0.unwrap();
        assert_eq!((s.arrived_packets, s.arrived_bytes, s.departed_packets, s.departed_bytes), (3.0, 3003.0, 2.0, 1500.0));
        assert_eq!((s.backlog_packets, s.backlog_bytes, s.least_backlog_packets), (6.0, 6000.0, 2.0));
        assert!((s.sojourn - 0.003).abs() < 1e-12);
        aqm.on_update(Time::from_nanos(30_000_000), &backlog(7));
        let s = aqm.inner().0.unwrap();
        assert_eq!((s.arrived_packets, s.departed_packets, s.sojourn, s.least_backlog_packets), (0.0, 0.0, 0.0, 6.0));
    }
}
