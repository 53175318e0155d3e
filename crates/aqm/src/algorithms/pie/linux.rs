//! PIE as in Linux (`sch_pie.c`), for `pie` with that rule and for each queue of `fq-pie`.
//!
//! It differs from the RFC's example:
//! - The delay is that of the last packet that left (rfc8033#5.2 allows time stamps).
//! - Drops are spread out (rfc8033#5.4).
//! - Above a delay of 250 ms the probability rises faster.
//! - The time between departures uses up the burst allowance.
//! - A probability may grow beyond 1, and then takes as long to fall after an overload.

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, Law, Needs, PacketView, Sample};
use sojourn_units::{Duration, Probability, Stream, Time};

/// The parameters, as in `Params` of PIE.
#[derive(Clone, Debug)]
pub struct Constants {
    pub target: Duration,
    pub tupdate: Duration,
    pub alpha: f64,
    pub beta: f64,
    pub burst: Duration,
    pub bytemode: bool,
    /// The size of a packet that gets the computed probability.
    /// At a backlog of less than twice this size all packets pass.
    pub mtu: u32,
}

/// The largest probability; one that would exceed it becomes 1.
/// Linux stores a probability of 1 as `MAX_PROB`, 1/256 of its number range.
const LARGEST: f64 = 256.0;

impl Constants {
    /// The factor on the gains at this probability (rfc8033#4.2).
    pub fn scale(probability: f64) -> f64 {
        let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
        steps.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
    }
}

/// The state of one queue; names as in Linux.
#[derive(Clone, Debug)]
pub struct Vars {
    /// The probability, which may be above 1.
    pub prob: f64,
    pub accu_prob: f64,
    pub qdelay: Duration,
    pub qdelay_old: Duration,
    /// The remaining time for which a burst passes.
    pub burst: Duration,
    last_departure: Option<Time>,
}

impl Vars {
    /// The state of a queue without packets so far.
    pub fn new(constants: &Constants) -> Self {
        let none = Duration::ZERO;
        Vars { prob: 0.0, accu_prob: 0.0, qdelay: none, qdelay_old: none, burst: constants.burst, last_departure: None }
    }

    /// Whether all packets pass at this backlog.
    fn bypass(&self, constants: &Constants, backlog: u64) -> bool {
        let is_light = self.qdelay < constants.target / 2 && self.prob < 0.2;
        self.burst > Duration::ZERO || is_light || backlog < 2 * u64::from(constants.mtu)
    }

    /// The verdict on a packet of `size` bytes at a backlog of `backlog` bytes.
    /// Above `ecn_prob` it is dropped instead of marked (Linux `pie_drop_early`).
    pub fn on_enqueue(&mut self, constants: &Constants, backlog: u64, size: u32, ecn_prob: f64, random: &mut Stream) -> ArrivalVerdict {
        // Every packet draws, so that one signal does not shift all later draws.
        let random = random.unit();
        if self.bypass(constants, backlog) {
            return ArrivalVerdict::Pass;
        }
        let scales = constants.bytemode && size <= constants.mtu;
        let prob = if scales { self.prob * f64::from(size) / f64::from(constants.mtu) } else { self.prob };
        // Drops are spread out: none below an accumulated probability of 0.85, a certain one from 8.5 on (rfc8033#5.4).
        self.accu_prob = if prob == 0.0 { 0.0 } else { self.accu_prob + prob };
        if self.accu_prob < 0.85 {
            return ArrivalVerdict::Pass;
        }
        if self.accu_prob < 8.5 {
            if random >= prob {
                return ArrivalVerdict::Pass;
            }
            self.accu_prob = 0.0;
        }
        if self.prob <= ecn_prob {
            return ArrivalVerdict::Signal;
        }
        self.dropped();
        ArrivalVerdict::Drop
    }

    /// An arriving packet was dropped.
    pub fn dropped(&mut self) {
        self.accu_prob = 0.0;
    }

    /// A packet left at `now` after a wait of `sojourn`, and `backlog` bytes stay.
    /// Linux: `pie_process_dequeue`.
    pub fn on_dequeue(&mut self, now: Time, sojourn: Duration, backlog: u64) {
        self.qdelay = if backlog > 0 { sojourn } else { Duration::ZERO };
        if let Some(before) = self.last_departure.replace(now) {
            self.burst = self.burst.saturating_sub(now.since(before));
        }
    }

    /// Whether an update changes nothing.
    pub fn rests(&self, constants: &Constants) -> bool {
        let Vars { prob, accu_prob, qdelay, qdelay_old, burst, last_departure } = *self;
        let no_delay = qdelay == Duration::ZERO && qdelay_old == Duration::ZERO;
        no_delay && prob == 0.0 && accu_prob == 0.0 && burst == constants.burst && last_departure.is_none()
    }

    /// One update at this backlog (Linux `pie_calculate_probability`).
    pub fn on_update(&mut self, constants: &Constants, backlog: u64) {
        let (delay, old) = (self.qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        let errors = constants.alpha * (delay - constants.target.as_secs_f64()) + constants.beta * (delay - old);
        let mut delta = errors * Constants::scale(self.prob);
        if self.prob >= 0.1 {
            delta = delta.min(0.02);
        }
        // Above 250 ms the probability rises without a bound, so that the delay falls even if the bound above applies.
        if delay > 0.25 {
            delta += 0.02;
        }
        self.prob = (self.prob + delta).max(0.0);
        if self.prob >= LARGEST {
            self.prob = 1.0;
        } else if delay == 0.0 && old == 0.0 && backlog == 0 {
            // Exponential decay in Linux's integers: 1 - 1/64 for each update of an empty queue.
            self.prob -= self.prob / 64.0;
        }
        let half = constants.target / 2;
        if self.qdelay < half && self.qdelay_old < half && self.prob == 0.0 {
            (self.burst, self.last_departure, self.accu_prob) = (constants.burst, None, 0.0);
        }
        self.qdelay_old = self.qdelay;
    }
}

/// PIE of one queue as in Linux.
#[derive(Clone, Debug)]
pub struct LinuxPie {
    pub constants: Constants,
    pub vars: Vars,
}

impl LinuxPie {
    /// PIE for an empty queue.
    pub fn new(constants: Constants) -> Self {
        LinuxPie { vars: Vars::new(&constants), constants }
    }

    /// Sets the delay of a fluid: the backlog over the departure rate.
    fn measure(&mut self, sample: &Sample) {
        if sample.departed_bytes > 0.0 {
            let seconds = sample.backlog_bytes / sample.departed_bytes * self.constants.tupdate.as_secs_f64();
            self.vars.qdelay = Duration::from_secs_f64(seconds);
        }
    }
}

impl Law for LinuxPie {
    fn interval(&self) -> Duration {
        self.constants.tupdate
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        self.measure(sample);
        self.vars.burst = self.vars.burst.saturating_sub(self.constants.tupdate);
        self.vars.on_update(&self.constants, sample.backlog_bytes as u64);
        let bypass = self.vars.bypass(&self.constants, sample.backlog_bytes as u64);
        if bypass { Probability::ZERO } else { Probability::clamped(self.vars.prob) }
    }

    fn needs(&self) -> Needs {
        Aqm::needs(self)
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        self.measure(sample);
        self.vars.qdelay_old = self.vars.qdelay;
        (self.vars.prob, self.vars.burst) = (probability, Duration::ZERO);
    }
}

impl Aqm for LinuxPie {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.vars.on_enqueue(&self.constants, backlog.bytes, arrival.size, 0.1, random)
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        self.vars.on_dequeue(departure.now, sojourn, backlog.bytes);
        DepartureVerdict::Pass
    }

    fn on_drop(&mut self, _dropped: Dropped) {
        self.vars.dropped();
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.constants.tupdate)
    }

    fn on_update(&mut self, _now: Time, backlog: &Backlog) {
        self.vars.on_update(&self.constants, backlog.bytes);
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }

    fn probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.vars.prob))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const CONSTANTS: Constants = Constants {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(15),
        alpha: 0.125,
        beta: 1.25,
        burst: Duration::from_millis(150),
        bytemode: false,
        mtu: 1000,
    };

    fn vars(prob: f64, delay_ms: u64) -> Vars {
        Vars { prob, qdelay: Duration::from_millis(delay_ms), burst: Duration::ZERO, ..Vars::new(&CONSTANTS) }
    }

    #[test]
    fn one_update_moves_the_probability_by_what_the_rfc_says() {
        let mut one = vars(0.05, 25);
        one.on_update(&CONSTANTS, 20_000);
        // (0.125 (0.025 - 0.015) + 1.25 (0.025 - 0)) / 2
        assert!((one.prob - 0.05 - 0.01625).abs() < 1e-12, "{}", one.prob);
        // Above 0.1 no more than 0.02 at once, and 0.02 more above 250 ms.
        for (delay_ms, prob) in [(100, 0.52), (300, 0.54)] {
            let mut one = vars(0.5, delay_ms);
            one.on_update(&CONSTANTS, 20_000);
            assert!((one.prob - prob).abs() < 1e-12, "{}", one.prob);
        }
    }

    #[test]
    fn a_probability_grows_beyond_one_takes_as_long_to_fall_and_is_one_again_at_its_end() {
        let mut one = vars(0.99, 400);
        one.qdelay_old = one.qdelay;
        (0..25).for_each(|_| one.on_update(&CONSTANTS, 20_000));
        // 25 updates of 0.02 each, because the delay is above 250 ms, and 25 of the bound of 0.02.
        assert!((one.prob - 1.99).abs() < 1e-9, "{}", one.prob);
        one.prob = 255.99;
        one.on_update(&CONSTANTS, 20_000);
        assert_eq!(one.prob, 1.0);
    }

    #[test]
    fn drops_are_spread_out_and_marks_end_above_their_limit() {
        let mut random = Stream::named(1, "pie");
        for (prob, signal) in [(0.1, ArrivalVerdict::Signal), (0.2, ArrivalVerdict::Drop)] {
            let mut one = vars(prob, 30);
            let all: Vec<_> = (0..10_000).map(|_| one.on_enqueue(&CONSTANTS, 20_000, 1000, 0.1, &mut random)).collect();
            let hits: Vec<usize> = (0..all.len()).filter(|&at| all[at] == signal).collect();
            // At least 0.85 / prob and at most 8.5 / prob packets from one to the next.
            let gaps: Vec<f64> = hits.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * prob).collect();
            assert!(gaps.len() > 500 && gaps.iter().all(|gap| (0.8499..8.7).contains(gap)), "{gaps:?}");
            assert_eq!(hits.len() + all.iter().filter(|&&verdict| verdict == ArrivalVerdict::Pass).count(), 10_000);
        }
    }

    #[test]
    fn a_burst_and_a_short_queue_pass_and_a_burst_ends_with_departures() {
        let mut random = Stream::named(1, "pie");
        let mut one = Vars { accu_prob: 8.5, burst: CONSTANTS.burst, ..vars(1.0, 30) };
        let mut verdict = |one: &mut Vars, backlog| one.clone().on_enqueue(&CONSTANTS, backlog, 1000, 0.1, &mut random);
        assert_eq!(verdict(&mut one, 20_000), ArrivalVerdict::Pass);
        for ms in 0..=150 {
            one.on_dequeue(Time::from_nanos(ms * 1_000_000), Duration::from_millis(30), 20_000);
        }
        assert_eq!(one.burst, Duration::ZERO);
        assert_eq!((verdict(&mut one, 20_000), verdict(&mut one, 1999)), (ArrivalVerdict::Drop, ArrivalVerdict::Pass));
        // The last packet leaves: there is no delay, whatever it waited.
        one.on_dequeue(Time::from_nanos(151_000_000), Duration::from_millis(30), 0);
        assert_eq!(one.qdelay, Duration::ZERO);
    }

    /// The conditions under which all packets pass (Linux `pie_drop_early`).
    /// A burst is allowed; or the delay is below half of the target and the probability below 20 %; or fewer than two packets of the MTU
    /// wait.
    #[test]
    fn packets_pass_in_a_burst_at_a_light_load_and_in_a_short_queue() {
        let passes = |prob: f64, delay_us: u64, burst: Duration, backlog: u64| {
            Vars { qdelay: Duration::from_micros(delay_us), burst, ..vars(prob, 0) }.bypass(&CONSTANTS, backlog)
        };
        let none = Duration::ZERO;
        assert!(!passes(0.19, 7_500, none, 2000) && passes(0.19, 7_499, none, 2000));
        assert!(!passes(0.2, 7_499, none, 2000) && !passes(0.1, 10_000, none, 2000));
        assert!(passes(0.9, 100_000, none, 1999) && passes(0.9, 100_000, Duration::from_nanos(1), 50_000));
    }

    #[test]
    fn a_queue_is_at_rest_only_if_all_of_its_state_is_that_of_the_start() {
        let start = Vars::new(&CONSTANTS);
        assert!(start.rests(&CONSTANTS));
        let (ms, now) = (Duration::from_millis(1), Some(Time::ZERO));
        for moved in [
            Vars { prob: 0.1, ..start.clone() },
            Vars { accu_prob: 0.1, ..start.clone() },
            Vars { qdelay: ms, ..start.clone() },
            Vars { qdelay_old: ms, ..start.clone() },
            Vars { burst: ms, ..start.clone() },
            Vars { last_departure: now, ..start.clone() },
        ] {
            assert!(!moved.rests(&CONSTANTS), "{moved:?}");
        }
    }
}
