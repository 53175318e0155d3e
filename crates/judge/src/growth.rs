//! Growth of a window from one reduction to the next.

use crate::{Cause, Limit};
use sojourn_cc::Window;
use sojourn_units::{Duration, Time};

/// A report at which the windows were apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart {
    pub at: Time,
    pub theirs: Window,
    pub ours: Window,
}

impl Apart {
    /// The distance of the windows in packets.
    pub fn distance(&self) -> f64 {
        (self.theirs.cwnd - self.ours.cwnd).abs()
    }
}

/// The segments acknowledged since the last report, by what they may do to the window.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Interval {
    pub full: f64,
    pub unknown: f64,
    pub app_limited: f64,
    pub recovery: f64,
    /// All of them.
    pub acked: f64,
    /// Whether slow start may have ended.
    pub crossed: bool,
    /// Whether a signal of the same round trip was seen, which must not reduce the window.
    pub again: bool,
}

impl Interval {
    /// Counts acknowledged segments.
    pub fn count(&mut self, acked: f64, in_recovery: bool, limit: Limit) {
        let counter = match limit {
            _ if in_recovery => &mut self.recovery,
            Limit::Window => &mut self.full,
            Limit::Unknown => &mut self.unknown,
            Limit::Application => &mut self.app_limited,
        };
        *counter += acked;
    }
}

/// The time between two reductions, in which the window grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch {
    pub reports: u32,
    /// Acknowledgments in congestion avoidance, each of which may round by a byte.
    pub rounded: u32,
    /// Their growth in packets by ACKs that must not grow the window.
    app_limited: f64,
    recovery: f64,
    /// The start of the current round trip, our window then, and the growth of the last round trip.
    round: Option<(Time, f64)>,
    growth: f64,
}

impl Epoch {
    /// Our growth in the last round trip of congestion avoidance, in packets. An estimated window may be as late.
    pub fn round(&mut self, now: Time, srtt: Duration, ours: &Window) -> f64 {
        let (start, cwnd) = *self.round.get_or_insert((now, ours.cwnd));
        if now.since(start) >= srtt {
            (self.round, self.growth) = (Some((now, ours.cwnd)), (ours.cwnd - cwnd).max(0.0));
        }
        if ours.cwnd < ours.ssthresh { 0.0 } else { self.growth }
    }

    /// Accounts for growth from one report to the next.
    pub fn grow(&mut self, growth: f64, interval: &Interval) {
        if growth <= 0.0 || interval.full + interval.unknown > 0.0 {
            return;
        }
        if interval.app_limited > 0.0 {
            self.app_limited += growth;
        } else if interval.recovery > 0.0 {
            self.recovery += growth;
        }
    }

    /// The tolerance in packets: a byte for each ACK that the sender may have rounded, and `least` (rfc5681#3.1).
    pub fn tolerance(&self, least: f64, mss: u32) -> f64 {
        least + f64::from(self.rounded) / f64::from(mss)
    }

    /// The cause by their growth alone.
    pub fn cause(&self, apart: &Apart) -> Option<Cause> {
        let excess = apart.theirs.cwnd - apart.ours.cwnd;
        if excess > 0.0 && self.app_limited >= excess / 2.0 {
            return Some(Cause::AppLimitedGrowth);
        }
        (excess > 0.0 && self.recovery >= excess / 2.0).then_some(Cause::RecoveryGrowth)
    }
}

/// The cause if nothing else explains a divergence of growth.
pub(crate) fn unexplained(apart: &Apart) -> Cause {
    let slow_start = apart.ours.cwnd < apart.ours.ssthresh;
    match (slow_start, apart.theirs.cwnd < apart.ours.cwnd) {
        (true, true) => Cause::SlowStartSlower,
        (true, false) => Cause::SlowStartFaster,
        (false, true) => Cause::Slower,
        (false, false) => Cause::Faster,
    }
}
