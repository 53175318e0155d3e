//! DualPI2: a low-latency and a classic queue, coupled by one PI law.
//! Source: rfc9332#A and Linux `sch_dualpi2.c`, whose names and defaults these are.
//!
//! The law computes a probability p' from the delay of the packet that has waited longest. Classic packets are signaled with p' squared,
//! scalable ones with p' times the coupling factor. Scalable packets above a step are always signaled. A packet belongs to the low-latency
//! queue by ECT(1) or CE, or by a filter of the queue. If the coupled probability would exceed 1, the queue is overloaded: both classic and
//! scalable packets are dropped with p' squared.
//!
//! As in Linux the step does not grow on a slow link. If a packet's transmission takes as long as the default step, as at 10 Mbit/s,
//! scalable senders get less than classic ones, unless `min_qlen_step` is above 0.

use crate::{
    Aqm, ArrivalVerdict, Backlog, DepartureVerdict, DualAqm, DualClass, DualQueues, DualQueuing, Ecn, Layout, Link, LowLatency, Needs,
    OwnQueues, Packet, PacketView, ParamError, QueueSetup,
};
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Probability, Stream, Time, range};

/// The parameters of DualPI2, under the names of `tc dualpi2`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Target delay of the classic queue, above 0, default 15 ms (rfc9332#A.1).
    pub target: Duration,
    /// Time between two updates, at least 1 us, default 16 ms (rfc9332#A.1).
    pub tupdate: Duration,
    /// Gain on the delay's error in Hz, 0 or more, default 0.16 (rfc9332#A.1).
    pub alpha: f64,
    /// Gain on the delay's change in Hz, 0 or more, default 3.2 (rfc9332#A.1).
    pub beta: f64,
    /// Coupling factor k: scalable signal probability over the law's base probability.
    /// Range: above 0 and at most 255; default 2 (rfc9332#A.1 k).
    pub coupling_factor: f64,
    /// Step threshold: delay above which every scalable packet is signaled.
    /// Range: 0 or more; default 1 ms (rfc9332#A.1).
    pub step_thresh: Duration,
    /// Step threshold in packets behind a departing scalable packet.
    /// Range: 0 or more; default 0: `step_thresh` applies instead (Linux `step_in_packets`).
    pub step_packets: u32,
    /// Minimum queue length in packets for the step to apply to an arriving scalable packet.
    /// Range: 0 or more; default 0: always (Linux `min_qlen_step`).
    pub min_qlen_step: u32,
    /// Whether scalable packets are dropped on overload; default true.
    /// If false, they are only marked until the queue is full, and the law's probability is capped below overload (Linux `drop_overload`).
    pub drop_overload: bool,
    /// Percentage of the link for the classic queue while both queues are backlogged.
    /// Range: 0 to 100; default 10 (rfc9332#A.1).
    pub classic_protection: u32,
    /// Whether the law is applied on enqueue; default false: on dequeue (Linux `drop_enqueue`).
    pub drop_early: bool,
    /// Mask of the ECN field: packets with a matching bit enter the low-latency queue.
    /// Range: 1 to 3; default 1: ECT(1) and CE; 3: all ECN-capable packets (Linux `ecn_mask`).
    pub ecn_mask: u8,
    /// Memory limit of both queues.
    /// A packet that would exceed it is dropped on enqueue, unless the link is idle. Each packet counts with its size plus 780 B, the
    /// overhead of a TCP segment in a Linux sender. Default 0 B: no limit. Linux's default is two Ethernet frames per packet of `limit`,
    /// which packets of that size never reach (Linux `memlimit`).
    pub memory_limit: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling_factor: 2.0,
            step_thresh: Duration::from_millis(1),
            step_packets: 0,
            min_qlen_step: 0,
            drop_overload: true,
            classic_protection: 10,
            drop_early: false,
            ecn_mask: DualQueuing::L4S,
            memory_limit: Bytes(0),
        }
    }
}

impl Params {
    /// DualPI2 with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<DualPi2, ParamError> {
        range::positive_time("target", self.target)?;
        range::interval("tupdate", self.tupdate)?;
        range::gain("alpha", self.alpha)?;
        range::gain("beta", self.beta)?;
        let coupling = self.coupling_factor > 0.0 && self.coupling_factor <= 255.0;
        ParamError::unless(coupling, "coupling_factor", &self.coupling_factor, "a number above 0 and at most 255")?;
        range::time("step_thresh", self.step_thresh)?;
        let share = self.classic_protection;
        ParamError::unless(share <= 100, "classic_protection", &share, "a percentage, 0 to 100")?;
        ParamError::unless((1..=3).contains(&self.ecn_mask), "ecn_mask", &self.ecn_mask, "1 to 3")?;
        let queuing = DualQueuing {
            classic_share: share,
            packet: link.mean_packet.max(1),
            ecn_mask: self.ecn_mask,
            tells_length: self.step_packets > 0 || self.min_qlen_step > 0,
        };
        let length = LowLatency { found: 0, behind: 0 };
        Ok(DualPi2 { params: self.clone(), queuing, length, oldest: None, delay: 0.0, root: 0.0 })
    }
}

/// Memory of a packet in bytes besides its size on the wire.
/// A TCP segment takes 832 B besides its payload, and has headers of 52 B (`truesize` in Linux 7.3).
const PACKET_MEMORY: u64 = 780;

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: Params,
    queuing: DualQueuing,
    /// The low-latency queue's length at its last departure, if a step in packets needs it.
    length: LowLatency,
    /// The arrival time of the packet that has waited longest.
    oldest: Option<Time>,
    /// The delay at the last update in seconds.
    delay: f64,
    /// p' of rfc9332#A.1.
    root: f64,
}

/// The law's decision about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Pass,
    /// Marked, or dropped if it can't be.
    Signal,
    Drop,
}

impl DualPi2 {
    /// Linux `must_drop`; `backlog_bytes` wait in both queues.
    #[inline(always)]
    fn fate(&self, packet: &PacketView, backlog_bytes: u64, random: &mut Stream) -> Fate {
        if self.queuing.is_short(backlog_bytes) {
            return Fate::Pass;
        }
        let coupled = self.root * self.params.coupling_factor;
        let overload = coupled > 1.0;
        let squared = |random: &mut Stream| random.unit() < self.root && random.unit() < self.root;
        match (packet.class, overload) {
            (DualClass::L4s, true) if self.params.drop_overload && squared(random) => Fate::Drop,
            (DualClass::L4s, true) if packet.ecn != Ecn::NotEct => Fate::Signal,
            (DualClass::L4s, false) if random.unit() < coupled => Fate::Signal,
            (DualClass::Classic, true) if squared(random) => Fate::Drop,
            (DualClass::Classic, false) if squared(random) => Fate::Signal,
            _ => Fate::Pass,
        }
    }

    /// Whether the memory limit rejects an arriving packet.
    fn lacks_memory(&self, size: u32, backlog: &Backlog) -> bool {
        let memory = |packets: u64, bytes: u64| PACKET_MEMORY * packets + bytes;
        let limit = self.params.memory_limit.0;
        limit > 0 && backlog.idle_since.is_none() && memory(1 + u64::from(backlog.packets), backlog.bytes + u64::from(size)) > limit
    }

    /// Whether a scalable packet that leaves after a wait of `sojourn` exceeds the step.
    /// Linux: `do_step_aqm`.
    fn is_above_step(&self, sojourn: Duration) -> bool {
        let Params { step_thresh, step_packets, min_qlen_step, .. } = self.params;
        let above = if step_packets > 0 { self.length.behind > step_packets } else { sojourn > step_thresh };
        above && self.length.found >= min_qlen_step
    }
}

impl OwnQueues for DualPi2 {
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

impl Aqm for DualPi2 {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        if self.lacks_memory(arrival.size, backlog) {
            return ArrivalVerdict::DropForRoom;
        }
        if !self.params.drop_early {
            return ArrivalVerdict::Pass;
        }
        match self.fate(arrival, backlog.bytes, random) {
            Fate::Pass => ArrivalVerdict::Pass,
            Fate::Signal => ArrivalVerdict::Signal,
            Fate::Drop => ArrivalVerdict::Drop,
        }
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        let fate = if self.params.drop_early { Fate::Pass } else { self.fate(departure, backlog.bytes, random) };
        match fate {
            Fate::Drop => DepartureVerdict::Drop,
            Fate::Pass if departure.class == DualClass::L4s && self.is_above_step(sojourn) => DepartureVerdict::Signal,
            Fate::Pass => DepartureVerdict::Pass,
            Fate::Signal => DepartureVerdict::Signal,
        }
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.tupdate)
    }

    /// rfc9332#A.1.
    fn on_update(&mut self, now: Time, _backlog: &Backlog) {
        let Params { target, alpha, beta, coupling_factor, drop_overload, .. } = self.params;
        let delay = self.oldest.map_or(0.0, |since| now.since(since).as_secs_f64());
        let change = alpha * (delay - target.as_secs_f64()) + beta * (delay - self.delay);
        let most = if drop_overload { 1.0 } else { (1.0 / coupling_factor).min(1.0) };
        self.root = (self.root + change).clamp(0.0, most);
        self.delay = delay;
    }

    fn needs(&self) -> Needs {
        let no_arrivals = !self.params.drop_early && self.params.memory_limit == Bytes(0);
        Needs { head_drop: true, no_arrivals, ..Needs::default() }
    }

    /// The probability of classic packets.
    fn probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.root * self.root))
    }
}

impl DualAqm for DualPi2 {
    fn on_oldest(&mut self, since: Option<Time>) {
        self.oldest = since;
    }

    fn on_low_latency(&mut self, length: LowLatency) {
        self.length = length;
    }

    /// The coupled probability, without the step.
    fn low_latency_probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.root * self.params.coupling_factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    const MS: Duration = Duration::from_millis(1);
    const FULL: Backlog = Backlog { packets: 50, bytes: 50_000, idle_since: None };

    fn packet(is_l4s: bool) -> PacketView {
        let (ecn, class) = if is_l4s { (Ecn::Ect1, DualClass::L4s) } else { (Ecn::Ect0, DualClass::Classic) };
        PacketView { ecn, class, ..test_packet() }
    }

    fn at(root: f64, params: &Params) -> DualPi2 {
        DualPi2 { root, ..params.build(&test_link()).unwrap() }
    }

    /// The shares of packets that were signaled and dropped, each after a wait of `wait` ms.
    fn parts(mut aqm: DualPi2, is_l4s: bool, wait: u64) -> (f64, f64) {
        let mut random = Stream::named(1, "x");
        let verdicts: std::vec::Vec<_> = (0..100_000).map(|_| aqm.on_dequeue(&packet(is_l4s), MS * wait, &FULL, &mut random)).collect();
        let part = |which| verdicts.iter().filter(|&&verdict| verdict == which).count() as f64 / 1e5;
        (part(DepartureVerdict::Signal), part(DepartureVerdict::Drop))
    }

    fn close((a, b): (f64, f64), (c, d): (f64, f64)) {
        assert!((a - c).abs() < 0.006 && (b - d).abs() < 0.006, "{a}, {b} for {c}, {d}");
    }

    #[test]
    fn an_update_adds_error_and_change_of_the_longest_wait_times_their_gains() {
        let mut aqm = at(0.0, &Params::default());
        let now = Time::ZERO + MS * 100;
        aqm.on_oldest(Some(Time::ZERO + MS * 75));
        aqm.on_update(now, &FULL);
        // 0.16 * 10 ms + 3.2 * 25 ms.
        assert!((aqm.root - 0.0816).abs() < 1e-12, "{}", aqm.root);
        aqm.on_update(now + MS * 16, &FULL);
        // 26 ms of error, and 16 ms more than before.
        assert!((aqm.root - (0.0816 + 0.16 * 0.026 + 3.2 * 0.016)).abs() < 1e-12);
        aqm.on_oldest(None);
        (0..1000).for_each(|_| aqm.on_update(now, &FULL));
        assert_eq!(aqm.root, 0.0);
    }

    #[test]
    fn classic_packets_have_the_square_and_scalable_ones_twice_the_root_and_the_step() {
        close(parts(at(0.2, &Params::default()), false, 50), (0.04, 0.0));
        close(parts(at(0.2, &Params::default()), true, 1), (0.4, 0.0));
        close(parts(at(0.0, &Params::default()), true, 2), (1.0, 0.0));
        close(parts(at(0.0, &Params::default()), false, 50), (0.0, 0.0));
    }

    #[test]
    fn in_overload_both_are_dropped_with_the_square_and_the_other_scalable_ones_signaled() {
        close(parts(at(0.6, &Params::default()), false, 50), (0.0, 0.36));
        close(parts(at(0.6, &Params::default()), true, 1), (0.64, 0.36));
        let kind = Params { drop_overload: false, ..Params::default() };
        close(parts(at(0.6, &kind), true, 1), (1.0, 0.0));
        let mut aqm = at(0.4, &kind);
        aqm.on_oldest(Some(Time::ZERO));
        aqm.on_update(Time::ZERO + MS * 10_000, &FULL);
        assert_eq!(aqm.root, 0.5, "the law stays below overload");
    }

    #[test]
    fn a_step_in_packets_counts_those_behind_and_a_least_length_those_that_were_found() {
        let signals = |params: Params, found, behind| {
            let mut aqm = at(0.0, &params);
            aqm.on_low_latency(LowLatency { found, behind });
            aqm.on_dequeue(&packet(true), MS * 2, &FULL, &mut Stream::named(1, "x")) == DepartureVerdict::Signal
        };
        let packets = Params { step_packets: 5, ..Params::default() };
        assert_eq!([4, 5, 6].map(|behind| signals(packets.clone(), 0, behind)), [false, false, true]);
        let least = Params { min_qlen_step: 2, ..Params::default() };
        assert_eq!([0, 1, 2].map(|found| signals(least.clone(), found, 0)), [false, false, true]);
    }

    #[test]
    fn a_queue_of_less_than_two_packets_has_no_signals_of_the_law() {
        let (mut aqm, mut random) = (at(0.5, &Params::default()), Stream::named(1, "x"));
        let short = Backlog { packets: 1, bytes: 1999, idle_since: None };
        assert!((0..100).all(|_| aqm.on_dequeue(&packet(false), MS, &short, &mut random) == DepartureVerdict::Pass));
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { target: Duration::ZERO, ..default() }, "target"),
            (Params { tupdate: Duration::ZERO, ..default() }, "tupdate"),
            (Params { alpha: -1.0, ..default() }, "alpha"),
            (Params { beta: f64::NAN, ..default() }, "beta"),
            (Params { coupling_factor: 0.0, ..default() }, "coupling_factor"),
            (Params { classic_protection: 101, ..default() }, "classic_protection"),
            (Params { ecn_mask: 0, ..default() }, "ecn_mask"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }

    /// The base probability p' is squared for classic packets.
    /// For low latency it is multiplied by k (rfc9332#4.1).
    #[test]
    fn probabilities_are_the_square_and_the_multiple_of_the_base() {
        let dual = at(0.2, &Params { coupling_factor: 3.0, ..Params::default() });
        assert!((dual.probability().unwrap().get() - 0.04).abs() < 1e-12);
        assert!((dual.low_latency_probability().unwrap().get() - 0.6).abs() < 1e-12);
        assert_eq!(at(0.5, &Params { coupling_factor: 3.0, ..Params::default() }).low_latency_probability(), Some(Probability::ONE));
    }

    /// Linux `must_drop`: "do not drop or mark" while less than two packets of the MTU wait.
    #[test]
    fn less_than_two_packets_are_too_few_to_signal() {
        let dual = at(1.0, &Params::default());
        assert!(dual.queuing.is_short(1999) && !dual.queuing.is_short(2000));
    }

    #[test]
    fn arrivals_are_decided_on_only_where_an_option_asks_for_it() {
        // At this root a scalable packet is signaled or dropped for certain; FULL takes 50 * 1780 B of memory.
        let passes = |params: Params| at(1.0, &params).on_enqueue(&packet(true), &FULL, &mut Stream::named(1, "x")) == ArrivalVerdict::Pass;
        assert!(passes(Params::default()));
        assert!(!passes(Params { drop_early: true, ..Params::default() }));
        assert!(!passes(Params { memory_limit: Bytes(80_000), ..Params::default() }));
    }

    #[test]
    fn the_length_of_the_queue_is_asked_for_only_by_thresholds_in_packets() {
        let tells = |params: Params| params.build(&test_link()).unwrap().queuing.tells_length;
        assert!(!tells(Params { step_packets: 0, min_qlen_step: 0, ..Params::default() }));
        assert!(tells(Params { step_packets: 1, min_qlen_step: 0, ..Params::default() }));
        assert!(tells(Params { step_packets: 0, min_qlen_step: 1, ..Params::default() }));
    }
}
