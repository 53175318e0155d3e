//! Laws: what most papers define, a probability from what was seen over an interval.

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Gate, Needs, PacketView};
use sojourn_units::{Duration, Probability, Stream, Time};

/// All that a law may read, gathered over one interval.
///
/// What leaves a queue is only seen by an algorithm that asks for it: the fields marked *departures* stand
/// still unless [`Law::needs`] sets [`Needs::departures`].
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The end of the interval.
    pub now: Time,
    /// Packets waiting at `now`.
    pub backlog_packets: f64,
    /// Bytes waiting at `now`.
    pub backlog_bytes: f64,
    /// The fewest packets that waited at any time in the interval (*departures*; else the fewer of those at its two ends).
    pub least_backlog_packets: f64,
    /// Packets offered in the interval, dropped ones included.
    pub arrived_packets: f64,
    /// Bytes offered in the interval, dropped ones included.
    pub arrived_bytes: f64,
    /// Packets that left in the interval (*departures*; else 0).
    pub departed_packets: f64,
    /// Bytes that left in the interval (*departures*; else 0).
    pub departed_bytes: f64,
    /// Mean wait of the packets that left, in seconds; 0 if none did (*departures*; else 0).
    pub sojourn: f64,
}

/// Reads a sample in packets: counted, or in bytes over the mean packet.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    mean_packet: Option<f64>,
}

impl Meter {
    /// In bytes over this mean; `None` counts packets.
    pub fn new(mean_packet: Option<u32>) -> Self {
        Meter { mean_packet: mean_packet.map(|mean| f64::from(mean.max(1))) }
    }

    /// What waits.
    pub fn backlog(&self, sample: &Sample) -> f64 {
        self.mean_packet.map_or(sample.backlog_packets, |mean| sample.backlog_bytes / mean)
    }

    /// What was offered in the interval.
    pub fn arrived(&self, sample: &Sample) -> f64 {
        self.mean_packet.map_or(sample.arrived_packets, |mean| sample.arrived_bytes / mean)
    }
}

/// A law: once per interval, a probability.
pub trait Law {
    /// The span between steps.
    fn interval(&self) -> Duration;

    /// The next probability.
    fn step(&mut self, sample: &Sample) -> Probability;

    /// What the host must supply beyond arrivals and the timer: [`Needs::departures`] for a law that reads
    /// those fields of the sample.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Puts a memory where it rests at `probability` if this sample stays, as far as the law can rest there. Only a law
    /// with more memory than one integrator needs to know how: others are brought to rest from outside, by steps.
    fn rest(&mut self, _sample: &Sample, _probability: f64) {}

    /// When the first step is due.
    fn first_step(&self) -> Time {
        Time::ZERO + self.interval()
    }
}

/// A law with a gate: the common kind of AQM. The probability is computed on a timer and applied to arrivals.
#[derive(Clone, Debug)]
pub struct Sampled<L, G> {
    law: L,
    gate: G,
    probability: Probability,
    arrived_packets: u64,
    arrived_bytes: u64,
    departed_packets: u64,
    departed_bytes: u64,
    waited: Duration,
    least_backlog: u32,
}

impl<L: Law, G: Gate> Sampled<L, G> {
    /// A queue under `law`, applied through `gate`, with probability 0 until the first step.
    pub fn new(law: L, gate: G) -> Self {
        Sampled {
            law,
            gate,
            probability: Probability::ZERO,
            arrived_packets: 0,
            arrived_bytes: 0,
            departed_packets: 0,
            departed_bytes: 0,
            waited: Duration::ZERO,
            least_backlog: 0,
        }
    }

    /// The law, for analysis.
    pub fn inner(&mut self) -> &mut L {
        &mut self.law
    }
}

impl<L: Law, G: Gate> Aqm for Sampled<L, G> {
    #[inline]
    fn on_enqueue(&mut self, arrival: &PacketView, _backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.arrived_packets += 1;
        self.arrived_bytes += u64::from(arrival.size);
        match (self.gate.signals(self.probability, arrival.size, random), self.gate.at_departure()) {
            (false, _) => ArrivalVerdict::Pass,
            (true, false) => ArrivalVerdict::Signal,
            (true, true) => ArrivalVerdict::DropUnlessMarkable,
        }
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        self.departed_packets += 1;
        self.departed_bytes += u64::from(departure.size);
        self.waited = self.waited + sojourn;
        self.least_backlog = self.least_backlog.min(backlog.packets);
        let signal = self.gate.at_departure() && self.gate.signals(self.probability, departure.size, random);
        if signal { DepartureVerdict::MarkOrPass } else { DepartureVerdict::Pass }
    }

    fn on_overflow(&mut self) {
        self.gate.reset();
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.law.interval())
    }

    fn first_update(&self) -> Time {
        self.law.first_step()
    }

    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        let sojourn = match self.departed_packets {
            0 => 0.0,
            n => self.waited.as_secs_f64() / n as f64,
        };
        let sample = Sample {
            now,
            backlog_packets: f64::from(backlog.packets),
            backlog_bytes: backlog.bytes as f64,
            least_backlog_packets: f64::from(self.least_backlog.min(backlog.packets)),
            arrived_packets: self.arrived_packets as f64,
            arrived_bytes: self.arrived_bytes as f64,
            departed_packets: self.departed_packets as f64,
            departed_bytes: self.departed_bytes as f64,
            sojourn,
        };
        self.probability = self.law.step(&sample);
        (self.arrived_packets, self.arrived_bytes) = (0, 0);
        (self.departed_packets, self.departed_bytes) = (0, 0);
        self.waited = Duration::ZERO;
        self.least_backlog = backlog.packets;
    }

    fn needs(&self) -> Needs {
        let needs = self.law.needs();
        Needs { head_drop: needs.head_drop || self.gate.at_departure(), ..needs }
    }

    fn probability(&self) -> Probability {
        self.probability
    }

    fn law(&mut self) -> Option<&mut dyn Law> {
        Some(&mut self.law)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bernoulli;

    /// Keeps the last sample and always answers a half.
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
        PacketView { now: Time::ZERO, size, flow: 0, rtt_hint_ms: 0, has_data: true }
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None }
    }

    #[test]
    fn a_law_sees_one_interval_at_a_time() {
        let (mut aqm, mut random) = (Sampled::new(Watch::default(), Bernoulli), Stream::named(1, "law"));
        assert_eq!((aqm.first_update(), aqm.probability()), (Time::from_nanos(10_000_000), Probability::ZERO));
        aqm.on_update(Time::from_nanos(10_000_000), &backlog(5));
        assert_eq!(aqm.probability().get(), 0.5);
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
