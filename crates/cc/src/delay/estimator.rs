//! The queuing delay: the minimum of the last few delays minus that of the last minutes.
//! Source: rfc6817#3.4.2.

use super::DelaySample;
use crate::{Ack, ParamError, Source};
use sojourn_units::{Duration, Time};

/// Parameters of the estimator of the queuing delay.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EstimatorParams {
    /// Minutes for which the base delay is remembered, 1 to 16; default 10.
    /// Source: rfc6817#2.5 BASE_HISTORY.
    pub history: u32,
    /// Number of latest delays whose minimum is the current delay, 1 to 16; default 4.
    /// Source: rfc6817#2.5 CURRENT_FILTER.
    pub filter: u32,
    /// Every delay is rounded to a multiple of this, at most 1 s; default 0 s, no rounding.
    /// ns-2's TCP-Linux has 1 ms.
    pub tick: Duration,
    /// The measured delay; default: the one-way delay.
    pub source: Source,
}

impl Default for EstimatorParams {
    fn default() -> Self {
        EstimatorParams { history: 10, filter: 4, tick: Duration::ZERO, source: Source::OneWay }
    }
}

const MAX_LENGTH: usize = 16;
const NEVER: i64 = i64::MAX;
const MINUTE: u64 = 60_000_000_000;
/// The time over which the receiver's clock is checked.
/// If it runs more than 1 % fast or slow, it counts in another tick.
const CLOCK_CHECK: Duration = Duration::from_secs(5);
/// The step back of timestamps, in nanoseconds, below which it is reordering.
const REORDERING: i64 = 1_000_000_000;
/// Longer delays are ignored: 2^42 ns, more than an hour.
const MAX_DELAY: i64 = 1 << 42;

impl EstimatorParams {
    /// Creates the estimator.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self) -> Result<Estimator, ParamError> {
        for (field, given) in [("delay.history", self.history), ("delay.filter", self.filter)] {
            ParamError::unless((1..=MAX_LENGTH as u32).contains(&given), field, &given, "a whole number, 1 to 16")?;
        }
        ParamError::unless(self.tick <= Duration::from_secs(1), "delay.tick", &self.tick, "at most 1 s")?;
        Ok(Estimator {
            history: self.history as usize,
            filter: self.filter as usize,
            tick: self.tick.as_nanos() as i64,
            source: self.source,
            base: [NEVER; MAX_LENGTH],
            minute: 0,
            least: NEVER,
            recent: [NEVER; MAX_LENGTH],
            next: 0,
            peer_clock: None,
        })
    }
}

/// The receiver's clock as the sender sees it, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct PeerClock {
    /// The time at which it was first seen.
    since: Time,
    /// Its first value.
    first: i64,
    /// Its latest value.
    last: i64,
}

/// The estimator. Delays are in nanoseconds.
/// The one-way delay contains the offset of two clocks, so only differences are meaningful.
#[derive(Clone, Debug)]
pub struct Estimator {
    history: usize,
    filter: usize,
    tick: i64,
    source: Source,
    /// The minimum delay of each minute, as a ring.
    base: [i64; MAX_LENGTH],
    minute: u64,
    least: i64,
    recent: [i64; MAX_LENGTH],
    next: usize,
    peer_clock: Option<PeerClock>,
}

impl Estimator {
    /// The source of the delays.
    /// It is [`Source::RoundTrip`] after the receiver's clock was implausible.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Processes the delay of an ACK; `None` if the ACK has none.
    #[inline]
    pub fn sample(&mut self, ack: &Ack) -> Option<DelaySample> {
        if ack.one_way_delay.is_none() && ack.rtt.is_none() {
            // An ACK without new data echoes a timestamp that was echoed before (rfc7323#4.1).
            return None;
        }
        if self.source == Source::OneWay && ack.one_way_delay.is_none() && self.peer_clock.is_some() {
            // An ACK that reports a segment out of order has an RTT by SACK, but echoes an older timestamp (rfc7323#4.3).
            return None;
        }
        if self.source == Source::OneWay && !self.is_plausible(ack) {
            self.source = Source::RoundTrip;
            self.base = [NEVER; MAX_LENGTH];
            self.least = NEVER;
            self.recent = [NEVER; MAX_LENGTH];
        }
        let delay = match self.source {
            Source::OneWay => ack.one_way_delay?,
            Source::RoundTrip => i64::try_from(ack.rtt?.as_nanos()).unwrap_or(MAX_DELAY),
        };
        if self.source == Source::RoundTrip && delay > MAX_DELAY {
            return None;
        }
        let delay = if self.tick > 0 { (delay + self.tick / 2).div_euclid(self.tick) * self.tick } else { delay };
        self.update_base(ack.now, delay);
        self.recent[self.next] = delay;
        self.next = if self.next + 1 == self.filter { 0 } else { self.next + 1 };
        Some(DelaySample { queuing: self.queuing()? * 1e-6, base: self.least as f64 * 1e-6 })
    }

    /// The queuing delay in nanoseconds; `None` before the first delay.
    pub(super) fn queuing(&self) -> Option<f64> {
        let present = self.recent[..self.filter].iter().copied().fold(NEVER, i64::min);
        (present < NEVER).then(|| present.saturating_sub(self.least).clamp(0, MAX_DELAY) as f64)
    }

    /// Stores the minimum delay of each minute. Minutes without a delay count too.
    fn update_base(&mut self, now: Time, delay: i64) {
        let minute = now.as_nanos() / MINUTE;
        if minute == self.minute {
            let place = &mut self.base[(minute % self.history as u64) as usize];
            *place = delay.min(*place);
            self.least = self.least.min(delay);
            return;
        }
        for passed in 1..=minute.saturating_sub(self.minute).min(self.history as u64) {
            self.base[((self.minute + passed) % self.history as u64) as usize] = NEVER;
        }
        self.minute = minute.max(self.minute);
        self.base[(self.minute % self.history as u64) as usize] = delay;
        self.least = self.base[..self.history].iter().copied().fold(NEVER, i64::min);
    }

    /// Whether the receiver's clock runs forward and as fast as the sender's.
    fn is_plausible(&mut self, ack: &Ack) -> bool {
        let Some(delay) = ack.one_way_delay.filter(|delay| delay.unsigned_abs() < i64::MAX as u64 / 4) else { return false };
        let Some(rtt) = ack.rtt else { return true };
        let (Ok(now), Ok(rtt)) = (i64::try_from(ack.now.as_nanos()), i64::try_from(rtt.as_nanos())) else { return false };
        let peer = now.saturating_sub(rtt).saturating_add(delay);
        let Some(clock) = &mut self.peer_clock else {
            self.peer_clock = Some(PeerClock { since: ack.now, first: peer, last: peer });
            return true;
        };
        let forward = peer.saturating_sub(clock.last) > -REORDERING;
        clock.last = peer.max(clock.last);
        let elapsed = ack.now.since(clock.since);
        if elapsed < CLOCK_CHECK {
            return forward;
        }
        // Queues on the path change this by at most the RTT.
        let (ours, theirs) = (elapsed.as_nanos() as f64, peer.saturating_sub(clock.first) as f64);
        forward && libm::fabs(theirs - ours) <= 0.01 * ours + 2.0 * rtt as f64 + 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimator() -> Estimator {
        EstimatorParams { filter: 1, ..EstimatorParams::default() }.build().unwrap()
    }

    /// An ACK at `at` ms of a segment that took `delay` ms, with 50 ms for the reverse path.
    /// The receiver's clock is `offset` ms ahead and runs `pace` times as fast.
    fn ack(at: u64, delay: u64, offset: i64, pace: f64) -> Ack {
        let (now, back) = (Time::ZERO + Duration::from_millis(at), 50);
        let sent = at as i64 - delay as i64 - back;
        let peer = ((at as i64 - back) as f64 * pace) as i64 + offset;
        Ack { now, rtt: Some(Duration::from_millis(delay + back as u64)), one_way_delay: Some((peer - sent) * 1_000_000), ..Ack::ONE }
    }

    #[test]
    fn an_offset_between_the_clocks_cancels() {
        for offset in [-1_000_000_000, 0, 1_000_000_000] {
            let mut estimator = estimator();
            estimator.sample(&ack(1000, 50, offset, 1.0));
            assert_eq!(estimator.sample(&ack(1100, 80, offset, 1.0)).unwrap().queuing, 30.0);
            assert_eq!(estimator.source(), Source::OneWay);
        }
    }

    #[test]
    fn the_least_delay_is_forgotten_after_its_minutes() {
        let mut estimator = EstimatorParams { history: 2, filter: 1, ..EstimatorParams::default() }.build().unwrap();
        estimator.sample(&ack(1_000, 50, 0, 1.0));
        assert_eq!(estimator.sample(&ack(61_000, 80, 0, 1.0)).unwrap().queuing, 30.0);
        assert_eq!(estimator.sample(&ack(121_000, 90, 0, 1.0)).unwrap().queuing, 10.0);
        // Minutes without a delay count, too.
        assert_eq!(estimator.sample(&ack(361_000, 95, 0, 1.0)).unwrap().queuing, 0.0);
    }

    #[test]
    fn a_clock_in_another_tick_is_implausible_and_the_round_trip_time_is_used() {
        for pace in [0.1, 0.5, 1.5, 10.0] {
            let mut estimator = estimator();
            for i in 1..200 {
                estimator.sample(&ack(i * 100, 50, 0, pace));
            }
            assert_eq!(estimator.source(), Source::RoundTrip, "{pace}");
            assert_eq!(estimator.sample(&ack(20_000, 80, 0, pace)).unwrap().queuing, 30.0);
        }
    }

    #[test]
    fn a_clock_that_drifts_a_little_is_plausible() {
        let mut estimator = estimator();
        for i in 1..6000 {
            estimator.sample(&ack(i * 100, 50 + i % 40, 0, 1.0002));
        }
        assert_eq!(estimator.source(), Source::OneWay);
    }

    #[test]
    fn timestamps_that_go_back_or_are_missing_are_implausible() {
        let mut back = estimator();
        back.sample(&ack(10_000, 50, 0, 1.0));
        back.sample(&ack(10_100, 50, -5_000, 1.0));
        assert_eq!(back.source(), Source::RoundTrip);
        let mut missing = estimator();
        let bare = Ack { one_way_delay: None, ..ack(1000, 50, 0, 1.0) };
        assert_eq!(missing.sample(&bare).unwrap().queuing, 0.0);
        assert_eq!(missing.source(), Source::RoundTrip);
        // After some delays, an ACK without a delay is ignored.
        let mut some = estimator();
        some.sample(&ack(60, 10, 0, 1.0));
        assert!(some.sample(&Ack { one_way_delay: None, ..ack(70, 10, 0, 1.0) }).is_none());
        assert_eq!(some.source(), Source::OneWay);
        assert_eq!(missing.sample(&Ack { rtt: None, ..bare }), None);
    }

    #[test]
    fn an_acknowledgment_without_a_sample_says_nothing_about_the_clocks() {
        let mut estimator = estimator();
        estimator.sample(&ack(1000, 50, 0, 1.0));
        assert_eq!(estimator.sample(&Ack { one_way_delay: None, rtt: None, ..ack(1050, 50, 0, 1.0) }), None);
        assert_eq!(estimator.source(), Source::OneWay);
        assert_eq!(estimator.sample(&ack(1100, 80, 0, 1.0)).unwrap().queuing, 30.0);
    }

    proptest! {
        #[test]
        fn any_stamps_give_delays_that_are_finite_and_not_below_zero(
            stamps in prop::collection::vec((prop::option::of(any::<i64>()), prop::option::of(any::<u64>()), 0u64..1 << 40), 1..200),
            history in 1u32..=16, filter in 1u32..=16, tick in 0u64..1_000_000_000,
        ) {
            let params = EstimatorParams { history, filter, tick: Duration::from_nanos(tick), source: Source::OneWay };
            let mut estimator = params.build().unwrap();
            let mut now = 0;
            for (delay, rtt, gap) in stamps {
                now += gap;
                let ack = Ack { now: Time::from_nanos(now), one_way_delay: delay, rtt: rtt.map(Duration::from_nanos), ..Ack::ONE };
                if let Some(sample) = estimator.sample(&ack) {
                    prop_assert!(sample.queuing.is_finite() && sample.queuing >= 0.0 && sample.base.is_finite());
                }
            }
        }
    }
}
