//! The queuing delay: the least of the last few delays over the least of the last minutes (RFC 6817 section 3.4.2).

extern crate alloc;
use super::DelaySample;
use crate::{Ack, ParamError};
use alloc::format;
use sojourn_units::{Duration, Time};

/// What delays are read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Source {
    /// From sender to receiver, by their two clocks; the round trip where those can't be believed.
    #[default]
    OneWay,
    /// There and back, by the sender's clock.
    RoundTrip,
}

/// How the queuing delay is estimated.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EstimatorParams {
    /// Minutes for which the least delay is remembered, 1 to 16; default 10 (RFC 6817 section 2.5).
    pub history: u32,
    /// Delays of which the least is the present one, 1 to 16; default 4 (RFC 6817 section 2.5).
    pub filter: u32,
    /// Every delay is rounded to this; default 0 s, not at all (ns-2's TCP-Linux: 1 ms).
    pub tick: Duration,
    /// What delays are read from; default the one-way delay.
    pub source: Source,
}

impl Default for EstimatorParams {
    fn default() -> Self {
        EstimatorParams { history: 10, filter: 4, tick: Duration::ZERO, source: Source::OneWay }
    }
}

const MOST: usize = 16;
const NEVER: i64 = i64::MAX;
const MINUTE: u64 = 60_000_000_000;
/// A receiver's clock that runs more than a hundredth fast or slow over this long counts in another tick.
const WATCH: Duration = Duration::from_secs(5);
/// Stamps that go back by less than this were overtaken by others on the way.
const OVERTAKEN: i64 = 1_000_000_000;
/// Delays beyond an hour are no delays: 2^42 ns.
const LONGEST: i64 = 1 << 42;

impl EstimatorParams {
    /// The estimator, or which parameter is out of range.
    pub fn build(&self) -> Result<Estimator, ParamError> {
        for (field, given) in [("history", self.history), ("filter", self.filter)] {
            if !(1..=MOST as u32).contains(&given) {
                return Err(ParamError { field, given: format!("{given}"), taken: "a whole number, 1 to 16" });
            }
        }
        if self.tick > Duration::from_secs(1) {
            return Err(ParamError { field: "tick", given: format!("{}", self.tick), taken: "at most 1 s" });
        }
        Ok(Estimator {
            history: self.history as usize,
            filter: self.filter as usize,
            tick: self.tick.as_nanos() as i64,
            source: self.source,
            base: [NEVER; MOST],
            minute: 0,
            least: NEVER,
            recent: [NEVER; MOST],
            next: 0,
            watch: None,
        })
    }
}

/// The estimator. Delays are nanoseconds; the one-way delay has the offset of two clocks in it, so only differences count.
#[derive(Clone, Debug)]
pub struct Estimator {
    history: usize,
    filter: usize,
    tick: i64,
    source: Source,
    /// The least delay of each minute, a ring.
    base: [i64; MOST],
    minute: u64,
    least: i64,
    recent: [i64; MOST],
    next: usize,
    /// When the receiver's clock was first seen, what it showed then, and what it showed last.
    watch: Option<(Time, i64, i64)>,
}

impl Estimator {
    /// What delays are read from now: [`Source::RoundTrip`] once the one-way delay could not be believed.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Takes the delay that an acknowledgement tells of; `None` if it tells of none.
    #[inline]
    pub fn sample(&mut self, ack: &Ack) -> Option<DelaySample> {
        if self.source == Source::OneWay && !self.believable(ack) {
            self.source = Source::RoundTrip;
            self.base = [NEVER; MOST];
            self.least = NEVER;
            self.recent = [NEVER; MOST];
        }
        let delay = match self.source {
            Source::OneWay => ack.one_way_delay?,
            Source::RoundTrip => i64::try_from(ack.rtt?.as_nanos()).unwrap_or(LONGEST),
        };
        if self.source == Source::RoundTrip && delay > LONGEST {
            return None;
        }
        let delay = if self.tick > 0 { (delay + self.tick / 2).div_euclid(self.tick) * self.tick } else { delay };
        self.remember(ack.now, delay);
        self.recent[self.next] = delay;
        self.next = if self.next + 1 == self.filter { 0 } else { self.next + 1 };
        let present = self.recent[..self.filter].iter().copied().fold(NEVER, i64::min);
        let queuing = present.saturating_sub(self.least).clamp(0, LONGEST);
        Some(DelaySample { queuing: queuing as f64 * 1e-6, base: self.least as f64 * 1e-6 })
    }

    /// The least delay of each minute; minutes without a delay count, too.
    fn remember(&mut self, now: Time, delay: i64) {
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

    /// Whether both clocks run forward and at one pace.
    fn believable(&mut self, ack: &Ack) -> bool {
        let Some(delay) = ack.one_way_delay.filter(|delay| delay.unsigned_abs() < i64::MAX as u64 / 4) else { return false };
        let Some(rtt) = ack.rtt else { return true };
        let (Ok(now), Ok(rtt)) = (i64::try_from(ack.now.as_nanos()), i64::try_from(rtt.as_nanos())) else { return false };
        let peer = now.saturating_sub(rtt).saturating_add(delay);
        let Some((since, first, last)) = &mut self.watch else {
            self.watch = Some((ack.now, peer, peer));
            return true;
        };
        let forward = peer.saturating_sub(*last) > -OVERTAKEN;
        *last = peer.max(*last);
        let elapsed = ack.now.since(*since);
        if elapsed < WATCH {
            return forward;
        }
        // Queues on the way stretch or shrink this by no more than the round trip.
        let (ours, theirs) = (elapsed.as_nanos() as f64, peer.saturating_sub(*first) as f64);
        forward && libm::fabs(theirs - ours) <= 0.01 * ours + 2.0 * rtt as f64 + 1e9
    }
}
