//! COBALT: `CoDel` for flows that react to signals, and BLUE for flows that do not.
//! Each queue of CAKE has one (Linux `sch_cake.c`; BLUE: feng-1999).
//!
//! The `CoDel` part follows Linux where that differs from rfc8289:
//! - A signal time in the past is moved to the present, so that a pause causes no burst of signals.
//! - While the queue is short, the count of signals falls step by step instead of starting again.
//! - The first signal comes an interval after the sojourn time has risen above the target.
//!
//! The BLUE part drops with a probability that rises by `increment` when the queue overflows and falls by `decrement` when it is empty,
//! each at most once in a `target`. The last packet of a queue is never dropped. Linux computes the inverse square root in fixed point;
//! here it is exact.

use super::codel;
use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, Link, Needs, PacketView, ParamError};
use sojourn_units::{Duration, Probability, Stream, Time, range};

/// The parameters of COBALT.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Acceptable standing sojourn time.
    /// Range: above 0; default 5 ms. It is at least 1.5 times the transmission time of a mean packet; if it is raised to that, `interval`
    /// grows by the same amount (Linux `cake_set_rate`).
    pub target: Duration,
    /// Time for which the sojourn time must exceed the target before the first signal.
    /// It is also the first gap between signals. Range: above 0; default 100 ms.
    pub interval: Duration,
    /// What an overflow adds to the probability of BLUE, 0 to 1, default 1/256.
    pub increment: f64,
    /// What an empty queue takes from the probability of BLUE, 0 to 1, default 1/4096.
    pub decrement: f64,
}

impl Default for Params {
    fn default() -> Self {
        let codel::Params { target, interval, .. } = codel::Params::default();
        Params { target, interval, increment: 1.0 / 256.0, decrement: 1.0 / 4096.0 }
    }
}

impl Params {
    /// COBALT with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Cobalt, ParamError> {
        range::positive_time("target", self.target)?;
        range::positive_time("interval", self.interval)?;
        for (field, part) in [("increment", self.increment), ("decrement", self.decrement)] {
            ParamError::unless((0.0..=1.0).contains(&part), field, &part, "a probability, 0 to 1")?;
        }
        let packet_time = link.rate.time_for(u64::from(link.mean_packet));
        let target = self.target.max(packet_time * 3 / 2);
        let interval = (self.interval + target - self.target).max(target * 2);
        Ok(Cobalt {
            target,
            interval,
            packet_time,
            increment: self.increment,
            decrement: self.decrement,
            count: 0,
            starts_at_once: false,
            dropping: false,
            drop_next: Time::ZERO,
            drop_next_if_dropped: Time::ZERO,
            blue: 0.0,
            blue_changed: None,
            now: Time::ZERO,
        })
    }
}

/// The algorithm and its state; names as in Linux.
#[derive(Clone, Debug)]
pub struct Cobalt {
    target: Duration,
    interval: Duration,
    /// The transmission time of a mean packet.
    packet_time: Duration,
    increment: f64,
    decrement: f64,
    count: u32,
    /// Whether the first signal of all does not wait for an interval.
    starts_at_once: bool,
    dropping: bool,
    drop_next: Time,
    /// The value of `drop_next` if the last signal was a drop instead of a mark.
    drop_next_if_dropped: Time,
    /// The probability of BLUE, and the time of its last change.
    blue: f64,
    blue_changed: Option<Time>,
    /// The time of the last arrival.
    now: Time,
}

impl Cobalt {
    /// The control law: the time of the next signal, counted from `t`.
    fn control_law(&self, t: Time) -> Time {
        if self.starts_at_once {
            return t;
        }
        t + Duration::from_nanos((self.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)))) as u64)
    }

    /// Sets the count, which determines the gaps between signals.
    fn set_count(&mut self, count: u32) {
        (self.count, self.starts_at_once) = (count, false);
    }

    /// COBALT for a queue of CAKE, whose very first signal does not wait for an interval.
    /// Linux's `cobalt_vars_init` leaves `rec_inv_sqrt` at 0 until the count changes, so the first signal comes at the second consecutive
    /// packet above the target.
    #[must_use]
    pub(super) fn of_cake(self) -> Self {
        Cobalt { starts_at_once: true, ..self }
    }

    /// Whether the probability of BLUE may change at `now`.
    /// If so, it may not change again for another `target`.
    fn may_change(&mut self, now: Time) -> bool {
        let may = self.blue_changed.is_none_or(|changed| now.since(changed) > self.target);
        if may {
            self.blue_changed = Some(now);
        }
        may
    }

    /// The queue has overflowed (Linux `cobalt_queue_full`).
    pub(super) fn queue_full(&mut self, now: Time) {
        if self.may_change(now) {
            self.blue = (self.blue + self.increment).min(1.0);
        }
        (self.dropping, self.drop_next, self.count) = (true, now, self.count.max(1));
    }

    /// The queue is empty (Linux `cobalt_queue_empty`).
    pub(super) fn queue_empty(&mut self, now: Time) {
        if self.blue > 0.0 && self.may_change(now) {
            self.blue = (self.blue - self.decrement).max(0.0);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next = self.control_law(self.drop_next);
        }
    }

    /// Whether an empty queue is in its initial state, so its state can be discarded.
    pub(super) fn rests(&self, now: Time) -> bool {
        self.blue <= 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// The target on its link.
    #[cfg(test)]
    pub(super) fn target(&self) -> Duration {
        self.target
    }

    /// Whether a packet that leaves after `sojourn` is signaled.
    /// This is Linux's `cobalt_should_drop` without BLUE.
    fn should_signal(&mut self, now: Time, sojourn: Duration) -> bool {
        let is_due = |cobalt: &Cobalt| cobalt.count > 0 && now >= cobalt.drop_next;
        let (next_due, mut scheduled) = (is_due(self), self.drop_next);
        let over_target = sojourn > self.target && sojourn > self.packet_time * 4;
        // The order of these steps is that of Linux: `next_due` is computed before the schedule moves.
        if over_target && !self.dropping {
            self.drop_next = self.control_law(now);
        }
        self.dropping = over_target;
        if over_target {
            self.count = self.count.max(1);
        }
        let signal = next_due && self.dropping;
        if signal {
            self.set_count(self.count.saturating_add(1));
            self.drop_next = self.control_law(self.drop_next);
            scheduled = self.drop_next;
        } else if next_due {
            while is_due(self) {
                self.set_count(self.count - 1);
                self.drop_next = self.control_law(self.drop_next);
            }
            scheduled = self.drop_next;
        }
        if self.count == 0 {
            self.drop_next = now + self.interval;
        }
        // Linux moves an overdue schedule to the present after a mark or a pass, but not after a drop.
        self.drop_next_if_dropped = self.drop_next;
        if self.count > 0 && now > scheduled {
            self.drop_next = now;
        }
        signal
    }
}

impl Aqm for Cobalt {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        self.now = arrival.now;
        if let Some(since) = backlog.idle_since {
            self.queue_empty(since);
        }
        ArrivalVerdict::Pass
    }

    fn on_drop(&mut self, dropped: Dropped) {
        match dropped {
            Dropped::Unmarkable => self.drop_next = self.drop_next_if_dropped,
            Dropped::NoRoom | Dropped::FromFull { .. } => self.queue_full(self.now),
        }
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        let signal = self.should_signal(departure.now, sojourn);
        // BLUE draws for each packet, so that one signal does not shift all later draws. It drops even packets that can be marked.
        let blue = random.unit() < self.blue;
        match (signal, blue) {
            _ if backlog.packets == 0 => {
                if signal {
                    DepartureVerdict::MarkOrPass
                } else {
                    DepartureVerdict::Pass
                }
            }
            (_, true) => {
                self.drop_next = self.drop_next_if_dropped;
                DepartureVerdict::Drop
            }
            (true, false) => DepartureVerdict::Signal,
            (false, false) => DepartureVerdict::Pass,
        }
    }

    fn needs(&self) -> Needs {
        Needs { head_drop: true, ..Needs::default() }
    }

    fn probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.blue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn packet(at: Time) -> PacketView {
        PacketView { now: at, ..test_packet() }
    }

    const QUEUE: Backlog = Backlog { packets: 9, bytes: 9000, idle_since: None };

    /// Sends a packet every ms, each after `wait` ms, and returns the times of drops in ms.
    fn signals(cobalt: &mut Cobalt, from: u64, until: u64, wait: u64) -> std::vec::Vec<u64> {
        let mut random = Stream::named(1, "cobalt");
        let mut signaled = |at| match cobalt.on_dequeue(&packet(ms(at)), Duration::from_millis(wait), &QUEUE, &mut random) {
            DepartureVerdict::Signal => {
                cobalt.on_drop(Dropped::Unmarkable);
                true
            }
            _ => false,
        };
        (from..until).filter(|&at| signaled(at)).collect()
    }

    #[test]
    fn signals_come_an_interval_after_the_wait_is_long_and_then_ever_faster() {
        let mut cobalt = Params::default().build(&test_link()).unwrap();
        // Gaps of 100 ms / sqrt(2), sqrt(3), sqrt(4).
        assert_eq!(signals(&mut cobalt, 0, 400, 20), [100, 171, 229, 279, 324, 364]);
        // A short wait ends them, and the count falls as it rose.
        assert!(signals(&mut cobalt, 400, 2000, 1).is_empty());
        assert_eq!((cobalt.count, cobalt.dropping), (0, false));
        assert_eq!(signals(&mut cobalt, 2000, 2150, 20), [2100]);
    }

    #[test]
    fn overflows_raise_the_probability_of_blue_once_in_a_target_and_an_empty_queue_lowers_it() {
        let mut cobalt = Params { increment: 0.25, decrement: 0.125, ..Params::default() }.build(&test_link()).unwrap();
        let mut random = Stream::named(1, "cobalt");
        for at in [0, 1, 2, 6, 7, 12] {
            cobalt.on_enqueue(&packet(ms(at)), &QUEUE, &mut random);
            cobalt.on_drop(Dropped::NoRoom);
        }
        assert_eq!(cobalt.blue, 0.75);
        let dropped =
            (0..10_000).filter(|_| cobalt.on_dequeue(&packet(ms(12)), Duration::ZERO, &QUEUE, &mut random) == DepartureVerdict::Drop);
        assert!((7_300..7_700).contains(&dropped.count()));
        // The last packet of a queue is sent.
        let last = Backlog { packets: 0, bytes: 0, idle_since: None };
        let verdicts = (0..100).map(|_| cobalt.on_dequeue(&packet(ms(12)), Duration::ZERO, &last, &mut random));
        assert!(verdicts.into_iter().all(|verdict| verdict == DepartureVerdict::Pass));
        for at in [18, 19, 30] {
            cobalt.on_enqueue(&packet(ms(at)), &Backlog { idle_since: Some(ms(at)), ..last }, &mut random);
        }
        assert_eq!(cobalt.blue, 0.5);
    }

    #[test]
    fn an_empty_queue_ends_dropping_so_that_the_next_long_wait_has_an_interval_of_its_own() {
        let mut cobalt = Params { increment: 0.0, ..Params::default() }.build(&test_link()).unwrap();
        cobalt.queue_full(ms(0));
        assert!(!cobalt.rests(ms(0)), "a signal is due");
        cobalt.queue_empty(ms(50));
        assert_eq!((cobalt.rests(ms(50)), cobalt.rests(ms(200))), (false, true));
        assert_eq!(signals(&mut cobalt, 60, 200, 20), [160]);
        assert!(!cobalt.rests(ms(1000)), "signals are not forgotten");
    }

    #[test]
    fn the_target_is_at_least_one_and_a_half_packets() {
        let slow = Link { rate: sojourn_units::Rate::from_bps(1_000_000).unwrap(), ..test_link() };
        let cobalt = Params::default().build(&slow).unwrap();
        assert_eq!((cobalt.target, cobalt.interval), (Duration::from_millis(12), Duration::from_millis(107)));
    }

    #[test]
    fn the_first_signal_of_a_queue_of_cake_is_at_the_second_packet_that_waits_too_long() {
        let mut cobalt = Params::default().build(&test_link()).unwrap().of_cake();
        assert_eq!(signals(&mut cobalt, 50, 300, 20), [51, 121, 179, 229, 274]);
        signals(&mut cobalt, 300, 2000, 1);
        assert_eq!(signals(&mut cobalt, 2000, 2150, 20), [2100]);
    }

    /// An overflow adds p_inc = 2^-8 to BLUE's probability (Linux `cobalt_queue_full`).
    /// The reported probability is BLUE's.
    #[test]
    fn an_overflow_raises_the_probability_that_is_shown() {
        let mut cobalt = Params::default().build(&test_link()).unwrap();
        assert_eq!(cobalt.probability(), Some(Probability::ZERO));
        cobalt.queue_full(ms(1000));
        assert_eq!(cobalt.probability(), Some(Probability::clamped(1.0 / 256.0)));
    }
}
