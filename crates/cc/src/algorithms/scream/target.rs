//! The target of the queuing delay. It rises next to flows that fill the queue.
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.5.4.

use alloc::vec::Vec;
use sojourn_units::Duration;

/// The number of round trips for the variance of the delay and the fraction with losses.
/// The number for the mean follows.
const LONG: usize = 200;
const SHORT: usize = 50;
/// The fraction of round trips with losses above which other flows fill the queue.
/// The variance up to which the delay is steady follows.
const LOSSES: f64 = 0.002;
const STEADY: f64 = 0.2;
/// Factors of the target: rise with losses, slow fall, and maximum fall at once.
const WITH_LOSSES: f64 = 1.5;
const SLOW_FALL: f64 = 0.9;
const FAST_FALL: f64 = 0.5;

/// The target and its input.
#[derive(Clone, Debug)]
pub struct Target {
    /// The minimum, maximum and current target, in seconds.
    least: f64,
    greatest: f64,
    present: f64,
    /// The queuing delays of the last round trips, as multiples of the minimum target.
    /// Each has a flag for losses. The list is a ring.
    rounds: Vec<(f64, bool)>,
    next: usize,
    lost: bool,
}

impl Target {
    /// A target that starts at the minimum.
    pub fn new(least: Duration, greatest: Duration) -> Target {
        let (least, greatest) = (least.as_secs_f64(), greatest.as_secs_f64());
        Target { least, greatest, present: least, rounds: Vec::new(), next: 0, lost: false }
    }

    /// The current target in seconds.
    pub fn seconds(&self) -> f64 {
        self.present
    }

    /// Bytes of memory in addition to its own size.
    pub fn memory(&self) -> usize {
        self.rounds.capacity() * size_of::<(f64, bool)>()
    }

    /// Handles a loss in this round trip.
    pub fn on_loss(&mut self) {
        self.lost = true;
    }

    /// Ends a round trip with this queuing delay in seconds.
    pub fn end_round(&mut self, delay: f64) {
        let round = (delay / self.least, core::mem::take(&mut self.lost));
        if self.rounds.len() < LONG {
            self.rounds.push(round);
        } else {
            self.rounds[self.next] = round;
        }
        self.next = (self.next + 1) % LONG;
        self.present = self.adapted().clamp(self.least, self.greatest);
    }

    /// The next target, before its bounds.
    fn adapted(&self) -> f64 {
        let count = self.rounds.len() as f64;
        let mean = self.rounds.iter().map(|round| round.0).sum::<f64>() / count;
        let variance = self.rounds.iter().map(|round| (round.0 - mean) * (round.0 - mean)).sum::<f64>() / count;
        let lossy = self.rounds.iter().filter(|round| round.1).count() as f64 / count > LOSSES;
        let upper = (self.recent_mean() + libm::sqrt(variance)) * self.least;
        if lossy {
            WITH_LOSSES * upper
        } else if variance < STEADY {
            upper
        } else if upper < self.least {
            (FAST_FALL * self.present).max(upper)
        } else {
            SLOW_FALL * self.present
        }
    }

    /// The mean of the last round trips.
    fn recent_mean(&self) -> f64 {
        let held = self.rounds.len();
        let count = held.min(SHORT);
        let last = (1..=count).map(|back| self.rounds[(self.next + LONG - back) % LONG % held.max(1)].0);
        last.sum::<f64>() / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e-3;

    fn target() -> Target {
        Target::new(Duration::from_millis(60), Duration::from_millis(400))
    }

    fn after(mut target: Target, rounds: usize, delay: impl Fn(usize) -> f64, loss: impl Fn(usize) -> bool) -> Target {
        for round in 0..rounds {
            if loss(round) {
                target.on_loss();
            }
            target.end_round(delay(round));
        }
        target
    }

    #[test]
    fn a_steady_delay_becomes_the_target_within_its_bounds() {
        let settled = |ms: f64| after(target(), 300, |_| ms * MS, |_| false).seconds();
        assert!((settled(150.0) - 150.0 * MS).abs() < 1e-9);
        assert!((settled(20.0) - 60.0 * MS).abs() < 1e-9 && (settled(900.0) - 400.0 * MS).abs() < 1e-9);
    }

    #[test]
    fn losses_raise_it_by_half() {
        let settled = after(target(), 300, |_| 150.0 * MS, |round| round % 100 == 0).seconds();
        assert!((settled - 225.0 * MS).abs() < 1e-9);
    }

    #[test]
    fn a_delay_that_varies_without_losses_lowers_it_slowly() {
        let raised = after(target(), 300, |_| 300.0 * MS, |_| false);
        let before = raised.seconds();
        let fallen = after(raised, 30, |round| if round % 2 == 0 { 0.0 } else { 300.0 * MS }, |_| false).seconds();
        assert!(fallen < before && fallen >= 60.0 * MS, "{fallen} of {before}");
    }

    #[test]
    fn the_recent_mean_is_that_of_the_last_fifty_round_trips() {
        let mut filled = after(target(), 333, |round| round as f64 * 60.0 * MS, |_| false);
        assert!((filled.recent_mean() - (283..333).sum::<usize>() as f64 / 50.0).abs() < 1e-9);
        filled = after(target(), 30, |round| round as f64 * 60.0 * MS, |_| false);
        assert!((filled.recent_mean() - 14.5).abs() < 1e-9);
    }
}
