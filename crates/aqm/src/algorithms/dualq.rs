//! A dual queue with any law as its base instead of PI2 (rfc9332#2.1).
//! A queue for scalable senders and a classic one are coupled by the law's probability.
//!
//! The law decides about classic packets as it would alone. Its backlog is what the link sends during the wait of the oldest or the
//! departing packet: the classic queue has only a part of the link, so its delay is more accurate than its length. It counts the arrivals
//! of both queues, and the departures of the classic one.
//!
//! Scalable packets are signaled with the square root of its probability p times the coupling factor: a classic sender's rate falls with
//! 1/sqrt(p), a scalable one's with 1/p. A scalable packet that has waited longer than a step is signaled too. The two queues share the
//! link as in `dualpi2`. Overload also starts where the coupled probability would exceed 1. If a law computes a probability per packet, as
//! FuzzyRTT does, that packet's probability is used.

use super::{cpc, flc, fuzzy_red, fuzzy_rtt, led, pd, pi, pi2, pid, pie, rem};
use crate::{
    AnyAqm, Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, DualAqm, DualClass, DualQueues, DualQueuing, Ecn, Layout, Link, Needs,
    OwnQueues, Packet, PacketView, ParamError, QueueSetup,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Duration, Probability, Stream, Time, range};

/// Makes the enum of base laws from the modules and types of the registry.
macro_rules! bases {
    ($($name:literal => $module:ident::$algorithm:ident,)*) => {
        /// A law with the parameters of the discipline of that name.
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Base {
            $(#[doc = concat!("`", $name, "` and its parameters.")] #[cfg_attr(feature = "serde", serde(rename = $name))] $algorithm($module::Params),)*
        }

        impl Base {
            fn build(&self, link: &Link) -> Result<AnyAqm, ParamError> {
                match self {
                    $(Base::$algorithm(params) => {
                        params.build(link).map(AnyAqm::$algorithm).map_err(|error| error.within(concat!("base.", $name)))
                    })*
                }
            }
        }
    };
}

bases! {
    "pi2" => pi2::Pi2,
    "pi" => pi::Pi,
    "pie" => pie::Pie,
    "pid" => pid::Pid,
    "rem" => rem::Rem,
    "led" => led::Led,
    "pd" => pd::Pd,
    "cpc" => cpc::Cpc,
    "fuzzy-red" => fuzzy_red::FuzzyRed,
    "fuzzy-rtt" => fuzzy_rtt::FuzzyRtt,
    "flc" => flc::Flc,
}

/// The parameters of the dual queue.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The law and its parameters, such as `{ pi = { target = 20 } }` or `{ fuzzy-rtt = {} }`.
    /// Default `{ pi2 = {} }`.
    pub base: Base,
    /// Coupling factor k: scalable signal probability over the root of the law's probability.
    /// Range: above 0 and at most 255; default 2 (rfc9332#A.1 k).
    pub coupling_factor: f64,
    /// Step threshold: delay above which every scalable packet is signaled.
    /// Range: 0 or more; default 1 ms (rfc9332#A.1).
    pub step_thresh: Duration,
    /// Whether scalable packets are dropped on overload; default true.
    /// If false, they are only marked until the queue is full.
    pub drop_overload: bool,
    /// Percentage of the link for the classic queue while both queues are backlogged.
    /// Range: 0 to 100; default 10 (rfc9332#A.1).
    pub classic_protection: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            base: Base::Pi2(pi2::Params::default()),
            coupling_factor: 2.0,
            step_thresh: Duration::from_millis(1),
            drop_overload: true,
            classic_protection: 10,
        }
    }
}

impl Params {
    /// The dual queue with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<DualQ, ParamError> {
        let base = self.base.build(link)?;
        let coupling = self.coupling_factor > 0.0 && self.coupling_factor <= 255.0;
        ParamError::unless(coupling, "coupling_factor", &self.coupling_factor, "a number above 0 and at most 255")?;
        range::time("step_thresh", self.step_thresh)?;
        let share = self.classic_protection;
        ParamError::unless(share <= 100, "classic_protection", &share, "a percentage, 0 to 100")?;
        let packet = link.mean_packet.max(1);
        let queuing = DualQueuing { classic_share: share, packet, ecn_mask: DualQueuing::L4S, tells_length: false };
        let Params { coupling_factor, step_thresh, drop_overload, .. } = *self;
        let rate = link.rate.as_bps() as f64 / 8.0;
        Ok(DualQ { base: Box::new(base), coupling_factor, step_thresh, drop_overload, queuing, rate, oldest: None })
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct DualQ {
    base: Box<AnyAqm>,
    coupling_factor: f64,
    step_thresh: Duration,
    drop_overload: bool,
    queuing: DualQueuing,
    /// The link's rate in bytes a second.
    rate: f64,
    /// The arrival time of the packet that has waited longest.
    oldest: Option<Time>,
}

impl DualQ {
    /// The backlog that the link would send in this time.
    fn queue_of(&self, delay: Duration) -> Backlog {
        let bytes = delay.as_secs_f64() * self.rate;
        let packets = libm::round(bytes / f64::from(self.queuing.packet)) as u32;
        Backlog { packets, bytes: bytes as u64, idle_since: None }
    }

    /// The law's probability for the packet that it has just seen.
    fn of_law(&self) -> f64 {
        self.base.probability().map_or(0.0, Probability::get)
    }

    /// The verdict on an arriving scalable packet; `backlog_bytes` wait in both queues.
    fn couple(&self, backlog_bytes: u64, ecn: Ecn, random: &mut Stream) -> ArrivalVerdict {
        if self.queuing.is_short(backlog_bytes) {
            return ArrivalVerdict::Pass;
        }
        let probability = self.of_law();
        let coupled = self.coupling_factor * libm::sqrt(probability);
        match coupled > 1.0 {
            true if self.drop_overload && random.unit() < probability => ArrivalVerdict::Drop,
            // A packet classified by a filter may not be ECN-capable: only the squared probability drops it (Linux
            // `dualpi2_scalable_marking`).
            true if ecn == Ecn::NotEct => ArrivalVerdict::Pass,
            true => ArrivalVerdict::Signal,
            false if random.unit() < coupled => ArrivalVerdict::Signal,
            false => ArrivalVerdict::Pass,
        }
    }
}

impl OwnQueues for DualQ {
    const LAYOUT: Layout = DualQueuing::LAYOUT;
    type Params = Params;
    type Queues<P: Packet> = DualQueues<P>;

    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> DualQueues<P> {
        DualQueues::new(self.queuing, setup)
    }

    fn names(_params: &Params) -> Vec<&'static str> {
        DualQueuing::NAMES.to_vec()
    }
}

impl Aqm for DualQ {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        let verdict = self.base.on_enqueue(arrival, backlog, random);
        match arrival.class {
            DualClass::L4s => return self.couple(backlog.bytes, arrival.ecn, random),
            DualClass::LowLatency => return ArrivalVerdict::Pass,
            DualClass::Classic => {}
        }
        let overload = self.coupling_factor * libm::sqrt(self.of_law()) > 1.0;
        if verdict == ArrivalVerdict::Signal && overload { ArrivalVerdict::Drop } else { verdict }
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, _backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        match departure.class {
            DualClass::L4s if sojourn > self.step_thresh => DepartureVerdict::Signal,
            DualClass::L4s | DualClass::LowLatency => DepartureVerdict::Pass,
            DualClass::Classic => self.base.on_dequeue(departure, sojourn, &self.queue_of(sojourn), random),
        }
    }

    fn on_drop(&mut self, dropped: Dropped) {
        if dropped != Dropped::Unmarkable {
            self.base.on_drop(dropped);
        }
    }

    fn on_flows(&mut self, now: Time, active: u32) {
        self.base.on_flows(now, active);
    }

    fn update_interval(&self) -> Option<Duration> {
        self.base.update_interval()
    }

    fn on_update(&mut self, now: Time, _backlog: &Backlog) {
        let queue = self.queue_of(self.oldest.map_or(Duration::ZERO, |since| now.since(since)));
        self.base.on_update(now, &queue);
    }

    fn needs(&self) -> Needs {
        let own = Needs { head_drop: true, ..Needs::default() };
        Aqm::needs(&*self.base).and(own)
    }

    /// The probability of classic packets.
    fn probability(&self) -> Option<Probability> {
        self.base.probability()
    }
}

impl DualAqm for DualQ {
    fn on_oldest(&mut self, since: Option<Time>) {
        self.oldest = since;
    }

    /// The coupled probability, without the step.
    fn low_latency_probability(&self) -> Option<Probability> {
        self.base.probability().map(|of_law| Probability::clamped(self.coupling_factor * libm::sqrt(of_law.get())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::algorithms::{test_link, test_packet};

    const MS: Duration = Duration::from_millis(1);
    const FULL: Backlog = Backlog { packets: 50, bytes: 50_000, idle_since: None };

    fn packet(ecn: Ecn) -> PacketView {
        let class = if ecn.is_l4s() { DualClass::L4s } else { DualClass::Classic };
        PacketView { ecn, class, ..test_packet() }
    }

    /// The dual queue over PI2 at this root of its probability.
    fn at(root: f64) -> DualQ {
        let mut dual = Params::default().build(&test_link()).unwrap();
        if let AnyAqm::Pi2(pi2) = &mut *dual.base {
            pi2.gate_at(root * root);
        }
        dual
    }

    /// The shares of arriving packets that are signaled and dropped.
    fn parts(mut dual: DualQ, ecn: Ecn) -> (f64, f64) {
        let mut random = Stream::named(1, "x");
        let verdicts: alloc::vec::Vec<_> = (0..100_000).map(|_| dual.on_enqueue(&packet(ecn), &FULL, &mut random)).collect();
        let part = |which| verdicts.iter().filter(|&&verdict| verdict == which).count() as f64 / 1e5;
        (part(ArrivalVerdict::Signal), part(ArrivalVerdict::Drop))
    }

    fn close((a, b): (f64, f64), (c, d): (f64, f64)) {
        assert!((a - c).abs() < 0.006 && (b - d).abs() < 0.006, "{a}, {b} for {c}, {d}");
    }

    #[test]
    fn classic_packets_have_the_laws_probability_and_scalable_ones_twice_its_root() {
        close(parts(at(0.2), Ecn::Ect0), (0.04, 0.0));
        close(parts(at(0.2), Ecn::Ect1), (0.4, 0.0));
        close(parts(at(0.6), Ecn::Ect0), (0.0, 0.36));
        close(parts(at(0.6), Ecn::Ect1), (0.64, 0.36));
    }

    #[test]
    fn scalable_packets_above_the_step_are_signaled_and_classic_ones_are_not() {
        let (mut dual, mut random) = (at(0.0), Stream::named(1, "x"));
        let mut verdict = |ecn, ms| dual.on_dequeue(&packet(ecn), MS * ms, &FULL, &mut random);
        assert_eq!([1, 2].map(|ms| verdict(Ecn::Ect1, ms)), [DepartureVerdict::Pass, DepartureVerdict::Signal]);
        assert_eq!(verdict(Ecn::Ect0, 50), DepartureVerdict::Pass);
    }

    #[test]
    fn the_law_sees_the_delay_of_the_oldest_packet_as_a_queue_however_few_wait() {
        let mut dual = at(0.0);
        let now = Time::ZERO + MS * 100;
        dual.on_oldest(Some(Time::ZERO + MS * 75));
        dual.on_update(now, &Backlog { packets: 1, bytes: 1000, idle_since: None });
        // 0.15 * 10 ms + 3 * 25 ms, squared.
        assert!((dual.probability().unwrap().get() - 0.0765f64 * 0.0765).abs() < 1e-6);
        assert_eq!((dual.queue_of(MS * 8).bytes, dual.queue_of(MS * 8).packets), (10_000, 10));
    }

    #[test]
    fn parameters_out_of_range_are_named_those_of_the_law_with_its_place() {
        let base = Base::Pi2(pi2::Params { target: Duration::ZERO, ..Default::default() });
        for (params, field) in [
            (Params { base, ..Params::default() }, "base.pi2.target"),
            (Params { coupling_factor: 0.0, ..Params::default() }, "coupling_factor"),
            (Params { classic_protection: 101, ..Params::default() }, "classic_protection"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }

    #[test]
    fn a_scalable_packet_without_ecn_is_not_signaled_where_every_other_is() {
        let mut dual = at(0.9);
        (dual.coupling_factor, dual.drop_overload) = (2.0, false);
        let mut random = Stream::named(1, "x");
        let verdicts = [Ecn::NotEct, Ecn::Ect1].map(|ecn| dual.couple(50_000, ecn, &mut random));
        assert_eq!(verdicts, [ArrivalVerdict::Pass, ArrivalVerdict::Signal]);
    }
}
