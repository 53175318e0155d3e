//! RED: random early detection, as in ns-2.35 (floyd-1993: Floyd and Jacobson).
//! Variants: gentle (Floyd 2000); adaptive (floyd-2001: Floyd, Gummadi and Shenker, or feng-1999b: Feng et al.).
//!
//! Every arrival updates the average queue, which determines a probability; early drops are evenly spaced. Details that ns-2 adds to the
//! papers:
//! - The average of an idle link decays as if `floor(ptc * idle time)` packets had arrived at an empty queue; ptc is the
//!   number of mean packets that the link sends in a second.
//! - The first arrival above `min` passes and only starts the count.
//! - There is no early drop while at most one packet waits (with `queue_in_bytes`: at most one byte).
//! - A packet lost to a full queue restarts the count.
//! - The upper line of gentle uses the `max_p` of the parameters while adaptive RED moves the lower line.
//!
//! ns-2's `setbit_` (ECN) and `limit_` belong to the queue, not to the algorithm. Its options to drop another packet than the arriving one
//! (`drop_front_`, `drop_rand_`) are not implemented.

mod params;
#[cfg(test)]
mod tests;

pub use params::{Params, Resolved};
pub(super) use params::{TC_BURST, tc_weight, tc_weight_log};

use crate::{Aqm, ArrivalVerdict, Backlog, Dropped, Link, PacketView, ParamError, Spread};
use sojourn_units::{Probability, Stream, Time};

/// The last region of the average, for Feng's rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Region {
    Below,
    Between,
    Above,
}

/// RED on one link: its parameters and its state.
#[derive(Clone, Debug)]
pub struct Red {
    params: Params,
    resolved: Resolved,
    /// Average queue, in packets or (`queue_in_bytes`) in bytes.
    average: f64,
    /// Present max_p; changes only if adaptive.
    max_p: f64,
    /// The time of adaptive RED's last change of `max_p`.
    adapted_at: Time,
    region: Region,
    /// Whether the previous arrival, too, found the average above `min`.
    above: bool,
    spread: Spread,
    probability: Probability,
}

impl Params {
    /// RED with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Red, ParamError> {
        let resolved = self.resolve(link)?;
        Ok(Red {
            params: self.clone(),
            average: 0.0,
            max_p: resolved.max_p,
            adapted_at: Time::ZERO,
            region: Region::Above,
            above: false,
            spread: Spread::new(self.wait, self.bytes.then_some(resolved.mean_packet)),
            probability: Probability::ZERO,
            resolved,
        })
    }
}

/// The average after `idle` arrivals at an empty queue and one at a queue of `waiting`.
fn ewma(average: f64, weight: f64, idle: f64, waiting: f64) -> f64 {
    let decayed = if idle > 0.0 { average * libm::pow(1.0 - weight, idle) } else { average };
    decayed * (1.0 - weight) + weight * waiting
}

impl Resolved {
    /// The probability of an early drop before the correction for even spacing.
    /// 0 below `min`, then a line up to `max_p` at `max`. Above `max` it is 1 without gentle; with gentle it is a line from the configured
    /// max_p to 1 at twice `max`.
    pub fn profile(&self, average: f64, max_p: f64, gentle: bool) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            (max_p * (average - self.min) / (self.max - self.min)).min(1.0)
        } else if gentle {
            ((1.0 - self.max_p) / self.max * average + 2.0 * self.max_p - 1.0).min(1.0)
        } else {
            1.0
        }
    }
}

impl Red {
    /// The average queue in packets, or in bytes with `queue_in_bytes`.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The present max_p: that of the parameters, or the value of adaptive RED.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// The parameters on this link.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Floyd's adaptive RED: moves `max_p` once per interval (floyd-2001#fig1).
    /// It adds up to `alpha` if the average is above the middle fifth of `min..max`, and multiplies by `beta` if it is below. As in ns-2
    /// the bounds stop the next step, not the present one.
    fn adapt_floyd(&mut self, now: Time) {
        if now.since(self.adapted_at) <= self.params.interval {
            return;
        }
        let (r, p) = (&self.resolved, &self.params);
        let part = 0.4 * (r.max - r.min);
        if self.average < r.min + part && self.max_p > r.bottom {
            self.max_p *= p.beta;
            self.adapted_at = now;
        } else if self.average > r.max - part && self.max_p < p.top {
            self.max_p += p.alpha.min(0.25 * self.max_p);
            self.adapted_at = now;
        }
    }

    /// Feng's adaptive RED: changes `max_p` once for each crossing (feng-1999b#fig4).
    /// It is divided by `feng_alpha` when the average falls below `min`, and multiplied by `feng_beta` when it rises above `max`.
    fn adapt_feng(&mut self) {
        let r = &self.resolved;
        if r.min < self.average && self.average < r.max {
            self.region = Region::Between;
        } else if self.average < r.min && self.region != Region::Below {
            self.region = Region::Below;
            self.max_p /= self.params.feng_alpha;
        } else if self.average > r.max && self.region != Region::Above {
            self.region = Region::Above;
            self.max_p *= self.params.feng_beta;
        }
        // ns-2 has no bounds; these only keep the product finite.
        self.max_p = self.max_p.clamp(1e-300, 1e300);
    }

    /// ns-2's `cautious` factor on the probability of a queue far shorter than its average.
    /// It applies if the queue is shorter than the value to which the average would decay in 50 ms of an empty queue.
    fn caution(&self, waiting: f64) -> f64 {
        let decayed = || self.average * libm::pow(1.0 - self.resolved.weight, 0.05 * self.resolved.ptc);
        match self.params.cautious {
            1 if waiting < decayed() => 0.0,
            2 => (waiting / decayed()).min(1.0),
            _ => 1.0,
        }
    }

    /// The verdict on a packet that has been counted, at an average above `min`.
    fn early(&mut self, size: u32, waiting: f64, random: &mut Stream) -> ArrivalVerdict {
        let p = self.probability.get();
        let spread = self.spread.corrected(p, size) * self.caution(waiting);
        if random.unit() >= spread {
            return ArrivalVerdict::Pass;
        }
        self.spread.clear();
        match self.params.use_mark_p && p > self.params.mark_p {
            true => ArrivalVerdict::Drop,
            false => ArrivalVerdict::Signal,
        }
    }
}

impl Aqm for Red {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        let waiting = if self.params.queue_in_bytes { backlog.bytes as f64 } else { f64::from(backlog.packets) };
        let idle = backlog.idle_since.map_or(0.0, |since| self.resolved.idle_ptc * arrival.now.since(since).as_secs_f64());
        self.average = ewma(self.average, self.resolved.weight, libm::floor(idle), waiting);
        match (self.params.adaptive, self.params.feng_adaptive) {
            (true, false) => self.adapt_floyd(arrival.now),
            (true, true) => self.adapt_feng(),
            _ => {}
        }
        self.spread.count(arrival.size);
        if self.average < self.resolved.min || waiting <= 1.0 {
            self.above = false;
            self.probability = Probability::ZERO;
            return ArrivalVerdict::Pass;
        }
        self.probability = Probability::clamped(self.resolved.profile(self.average, self.max_p, self.params.gentle));
        if !self.params.use_mark_p && self.average >= self.resolved.certain {
            self.spread.clear();
            ArrivalVerdict::Drop
        } else if self.above {
            self.early(arrival.size, waiting, random)
        } else {
            self.above = true;
            self.spread.restart(arrival.size);
            ArrivalVerdict::Pass
        }
    }

    fn on_drop(&mut self, dropped: Dropped) {
        if dropped != Dropped::Unmarkable {
            self.spread.clear();
        }
    }

    fn probability(&self) -> Option<Probability> {
        Some(self.probability)
    }
}
