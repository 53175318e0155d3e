//! FLOWER: LEDBAT's estimator under a fuzzy law (Trang and Lochin, Computer Networks 110, 2016).
//!
//! Once a round trip the window changes by what a table says of the normalized distance from the target and the
//! trend of the queuing delay, by a segment at most; a delay that falls faster than it usually does means that
//! somebody else was cut, and leaves one segment.

extern crate alloc;
use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, ParamError, Start, Window};
use alloc::vec::Vec;
use sojourn_fuzzy::Partition;
use sojourn_units::{Duration, Time};

/// Parameters of the law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// How long packets are to wait; default 100 ms (flower-2016 section 3.1).
    pub target: Duration,
    /// Newer round trips that a peak must rise above, 1 to 32; default 5 (flower-2016 section 3.3).
    pub neighbors: u32,
    /// Weight of a new peak in the threshold for peaks, above 0 and at most 1; default 1/8 (flower-2016 section 3.3).
    pub peak_weight: f64,
    /// Weight of a new change in the usual change of the delay, above 0 and at most 1; default 1/8, as of srtt (the paper gives none).
    pub trend_weight: f64,
    /// How the queuing delay is estimated.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(100),
            neighbors: 5,
            peak_weight: 0.125,
            trend_weight: 0.125,
            delay: EstimatorParams::default(),
        }
    }
}

impl Params {
    /// The controller, or which parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<Flower>, ParamError> {
        let target = super::ledbat::target(self.target)?;
        for (field, weight) in [("peak_weight", self.peak_weight), ("trend_weight", self.trend_weight)] {
            ParamError::unless(weight > 0.0 && weight <= 1.0, field, &weight, "a number above 0 and at most 1")?;
        }
        ParamError::unless((1..=32).contains(&self.neighbors), "neighbors", &self.neighbors, "a whole number, 1 to 32")?;
        let law = Flower {
            target,
            fuzzy: false,
            mark: 0,
            least: f64::INFINITY,
            full: false,
            previous: None,
            grid: Grid::new(self.trend_weight),
            peaks: Peaks::new(self.neighbors as usize, self.peak_weight),
        };
        Ok(DelayBased::new(start, self.delay.build()?, law))
    }
}

/// flower-2016#fig4 and #fig5: terms of the distance from the target in percent.
const ERROR: [f64; 11] = [-100.0, -80.0, -60.0, -40.0, -20.0, 0.0, 20.0, 40.0, 60.0, 80.0, 100.0];
/// The smallest that the outer breakpoints of the trend become, in ms (flower-2016 section 4.3.2).
const USUAL: f64 = 4.0;
const PEAK: f64 = 5.0;
const APART: f64 = 1e-6;

/// What the rules say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// Change the window by so many segments.
    Change(f64),
    /// Leave one segment.
    Reset,
}

/// The rule table (flower-2016#fig4): the consequent of two terms, each -5 to 5.
fn rule(error: i32, trend: i32) -> i32 {
    (error + trend).clamp(-5, 5)
}

/// The terms of the trend, which follow how the delay usually changes (flower-2016 section 4.3.2).
#[derive(Clone, Debug)]
struct Grid {
    errors: Partition,
    trends: Partition,
    weight: f64,
    rising: f64,
    falling: f64,
}

impl Grid {
    fn new(weight: f64) -> Grid {
        let mut grid = Grid { errors: terms(&ERROR), trends: terms(&ERROR), weight, rising: USUAL, falling: -USUAL };
        grid.place(PEAK);
        grid
    }

    /// Half-widths that the breakpoints have now: usual fall and rise, floored at where they begin.
    fn usual(&self) -> (f64, f64) {
        (self.falling.min(-USUAL), self.rising.max(USUAL))
    }

    fn place(&mut self, peak: f64) {
        let (low, high) = self.usual();
        let (least, most) = (-peak.max(-low + APART), peak.max(high + APART));
        // Strictly increasing as both outer points lie beyond 3 and are finite: never refused.
        let _ = self.trends.set_centers(&[least, low, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, high, most]);
    }

    /// flower-2016#eq8 and #eq9: an average of its own for rises and for falls.
    fn learn(&mut self, trend: f64, peak: f64) {
        let average = if trend > 0.0 { &mut self.rising } else { &mut self.falling };
        if trend != 0.0 {
            *average += self.weight * (trend - *average);
        }
        self.place(peak);
    }

    /// flower-2016#eq11: the mean of the consequents, weighted with how strongly their rules fire.
    fn infer(&self, error: f64, trend: f64) -> Answer {
        let (Some(e), Some(t)) = (self.errors.locate(error), self.trends.locate(trend)) else { return Answer::Change(0.0) };
        if t.term == 10 || (t.term == 9 && t.next > 0.0) {
            return Answer::Reset;
        }
        let (mut sum, mut weights) = (0.0, 0.0);
        for (i, of_error) in [(e.term, 1.0 - e.next), (e.term + 1, e.next)] {
            for (j, of_trend) in [(t.term, 1.0 - t.next), (t.term + 1, t.next)] {
                let strength = f64::min(of_error, of_trend);
                sum += strength * f64::from(rule(i as i32 - 5, j as i32 - 5)) / 5.0;
                weights += strength;
            }
        }
        Answer::Change(sum / weights)
    }
}

/// A partition whose centers are known to be fine.
fn terms(centers: &[f64]) -> Partition {
    match Partition::new(centers) {
        Ok(partition) => partition,
        Err(_) => unreachable!("centers that increase"),
    }
}

/// Peaks and valleys of the queuing delay (flower-2016#fig3).
#[derive(Clone, Debug)]
struct Peaks {
    recent: Vec<f64>,
    size: usize,
    weight: f64,
    finding: bool,
    threshold: f64,
    peak: f64,
}

impl Peaks {
    fn new(neighbors: usize, weight: f64) -> Peaks {
        let size = neighbors + 1;
        Peaks { recent: Vec::with_capacity(size + 1), size, weight, finding: true, threshold: 0.0, peak: PEAK }
    }

    fn push(&mut self, queuing: f64) {
        if self.recent.len() == self.size {
            self.recent.remove(0);
        }
        self.recent.push(queuing);
        if self.recent.len() < self.size {
            return;
        }
        let (oldest, newer) = (self.recent[0], &self.recent[1..]);
        if self.finding && newer.iter().all(|&q| oldest > q) {
            self.finding = false;
            self.threshold += self.weight * (oldest - self.threshold);
            if oldest > self.threshold {
                self.peak = oldest.max(PEAK);
            }
        } else if !self.finding && newer.iter().all(|&q| oldest < q) {
            self.finding = true;
        }
    }
}

/// The law.
#[derive(Clone, Debug)]
pub struct Flower {
    pub(super) target: f64,
    /// Whether the first slow start is over.
    pub(super) fuzzy: bool,
    /// The round trip ends when more than this is acknowledged.
    mark: u64,
    /// The least queuing delay of this round trip.
    least: f64,
    /// Whether the window was used in this round trip.
    full: bool,
    previous: Option<f64>,
    grid: Grid,
    peaks: Peaks,
}

impl Flower {
    /// The distance from the target in percent (flower-2016#eq3 and #eq7), where no peak is known the whole.
    fn error(&self, queuing: f64) -> f64 {
        if queuing <= self.target {
            100.0 * (self.target - queuing) / self.target
        } else if self.peaks.peak > self.target {
            (100.0 * (self.target - queuing) / (self.peaks.peak - self.target)).max(-100.0)
        } else {
            -100.0
        }
    }

    /// Doubles the window in the first slow start.
    #[inline]
    pub(super) fn start_slowly(&self, window: &mut Window, ack: &Ack) {
        if !self.fuzzy && ack.cwnd_limited && !ack.in_recovery {
            window.cwnd += ack.acked;
        }
    }

    /// Takes an acknowledgement; where it ends a round trip after which the window may change, gives what the rules say
    /// of it and its least queuing delay.
    #[inline]
    pub(super) fn observe(&mut self, ack: &Ack, sample: Option<DelaySample>) -> Option<(Answer, f64)> {
        if let Some(sample) = sample {
            self.least = self.least.min(sample.queuing);
        }
        self.full |= ack.cwnd_limited;
        if ack.snd_una <= self.mark {
            return None;
        }
        self.mark = ack.snd_max;
        let may_change = core::mem::take(&mut self.full) && !ack.in_recovery;
        let queuing = core::mem::replace(&mut self.least, f64::INFINITY);
        if queuing.is_finite() { Some((self.end_of_round(queuing, may_change)?, queuing)) } else { None }
    }

    /// A round trip is over whose least queuing delay was `queuing`.
    fn end_of_round(&mut self, queuing: f64, may_change: bool) -> Option<Answer> {
        let trend = self.previous.replace(queuing)? - queuing;
        let answer = (self.fuzzy && may_change).then(|| self.grid.infer(self.error(queuing), trend));
        self.peaks.push(queuing);
        self.grid.learn(trend, self.peaks.peak);
        answer
    }
}

impl DelayLaw for Flower {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        self.start_slowly(window, ack);
        match self.observe(ack, sample) {
            Some((Answer::Change(change), _)) => window.cwnd = (window.cwnd + change).max(1.0),
            Some((Answer::Reset, _)) => window.cwnd = 1.0,
            None => {}
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &CongestionEvent) {
        self.fuzzy = true;
        *window = Window { cwnd: 1.0, ssthresh: 1.0 };
    }

    fn on_rto(&mut self, window: &mut Window, _now: Time, _in_use: f64) {
        self.fuzzy = true;
        *window = Window { cwnd: 1.0, ssthresh: 1.0 };
    }
}

#[cfg(test)]
mod tests;
