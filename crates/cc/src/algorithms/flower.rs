//! FLOWER: a fuzzy law over LEDBAT's queuing delay.
//! Source: flower-2016 (Trang and Lochin, Computer Networks 110, 2016).
//!
//! Once per round trip the window changes by at most one segment. A rule table maps two inputs to the change: the error (the distance from
//! the target in percent) and the trend (the change of the queuing delay). A trend beyond the normal changes resets the window to one
//! segment.

use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, MARK_GAIN, Marks, ParamError, Start, Window};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sojourn_fuzzy::{Controller, Defuzzifier, Design, FuzzyError, Located, Method, Output, Partition, Variable};
use sojourn_units::{Duration, Time};

/// FLOWER.
pub type Flower = Box<DelayBased<FlowerLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[crate::Variable<Flower>] = &[
    DelayBased::QUEUING_DELAY,
    crate::Variable::new(
        "peak_delay",
        "s",
        "the last peak of the queuing delay above the target; the fuzzy controller takes it as the largest value of its input",
        |cc| cc.law().peaks.peak * 1e-3,
    ),
    crate::Variable::new("error_term", "", "the last error on the scale of the rules' terms, -5 to 5", |cc| cc.law().place[0]),
    crate::Variable::new("trend_term", "", "the last trend on the scale of the rules' terms, -5 to 5", |cc| cc.law().place[1]),
];

/// Parameters of FLOWER.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The target queuing delay, 1 ms to 10 s; default 100 ms (flower-2016#3.1).
    pub target: Duration,
    /// Number of later round trips that a peak must exceed, 1 to 32; default 5 (flower-2016#3.3).
    pub neighbors: u32,
    /// Weight of a new peak in the peak threshold, above 0 and at most 1; default 1/8.
    /// Source: flower-2016#3.3.
    pub peak_weight: f64,
    /// Weight of a new trend in the mean trend, above 0 and at most 1; default 1/8 as for srtt.
    /// The paper states no value.
    pub trend_weight: f64,
    /// Whether trends of at most 4 ms enter the mean trends; default true.
    /// Both readings of flower-2016#4.3.2 are possible.
    pub small_trends: bool,
    /// Response to counted marks, 0 to 100; default 4. Prague uses 1/2.
    /// It is the window reduction per round trip divided by the marked fraction. With 0, marks count as losses.
    pub mark_gain: f64,
    /// Parameters of the estimator of the queuing delay.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(100),
            neighbors: 5,
            peak_weight: 0.125,
            trend_weight: 0.125,
            small_trends: true,
            mark_gain: MARK_GAIN,
            delay: EstimatorParams::default(),
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<FlowerLaw>, ParamError> {
        let target = super::ledbat::target(self.target)?;
        for (field, weight) in [("peak_weight", self.peak_weight), ("trend_weight", self.trend_weight)] {
            ParamError::unless(weight > 0.0 && weight <= 1.0, field, &weight, "a number above 0 and at most 1")?;
        }
        ParamError::unless((1..=32).contains(&self.neighbors), "neighbors", &self.neighbors, "a whole number, 1 to 32")?;
        let law = FlowerLaw {
            target,
            slow_start_over: false,
            round_end: 0,
            min_delay: f64::INFINITY,
            cwnd_limited: false,
            last_delay: None,
            place: [f64::NAN; 2],
            grid: Grid { small_trends: self.small_trends, ..Grid::new(self.trend_weight) },
            peaks: Peaks::new(self.neighbors as usize, self.peak_weight),
        };
        Ok(DelayBased::new(start, self.delay.build()?, law).with_marks(Marks::new(self.mark_gain, start)?))
    }
}

/// The terms of the distance from the target in percent (flower-2016#fig4, flower-2016#fig5).
const ERROR: [f64; 11] = [-100.0, -80.0, -60.0, -40.0, -20.0, 0.0, 20.0, 40.0, 60.0, 80.0, 100.0];
/// The minimum half-width of the outer breakpoints of the trend in milliseconds.
/// Source: flower-2016#4.3.2.
const MIN_TREND: f64 = 4.0;
/// The peak before the first one is known, and the minimum peak, in milliseconds.
const MIN_PEAK: f64 = 5.0;
/// The minimum distance of breakpoints in milliseconds.
const MIN_DISTANCE: f64 = 1e-6;

/// The result of the rules for a round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// Change the window by this many segments.
    Change(f64),
    /// Reset the window to one segment.
    Reset,
}

/// A round trip after which the window may change.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// The result of the rules.
    pub answer: Answer,
    /// The minimum queuing delay in milliseconds.
    pub queuing: f64,
}

/// The rule table (flower-2016#fig4): the consequent of two terms, each -5 to 5.
fn rule(error: i32, trend: i32) -> i32 {
    (error + trend).clamp(-5, 5)
}

/// The terms of error and trend.
/// Those of the trend adapt to the normal changes of the delay (flower-2016#4.3.2).
#[derive(Clone, Debug)]
struct Grid {
    errors: Partition,
    trends: Partition,
    weight: f64,
    /// Whether trends of at most `MIN_TREND` are learned.
    small_trends: bool,
    /// The average of positive trends, in milliseconds.
    rising: f64,
    /// The average of negative trends, in milliseconds.
    falling: f64,
}

impl Grid {
    fn new(weight: f64) -> Grid {
        let mut grid =
            Grid { errors: terms(&ERROR), trends: terms(&ERROR), weight, small_trends: true, rising: MIN_TREND, falling: -MIN_TREND };
        grid.set_trends(MIN_PEAK);
        grid
    }

    /// Sets the breakpoints of the trend from the average trends and the peak.
    fn set_trends(&mut self, peak: f64) {
        let (low, high) = (self.falling.min(-MIN_TREND), self.rising.max(MIN_TREND));
        let (lowest, highest) = (-peak.max(-low + MIN_DISTANCE), peak.max(high + MIN_DISTANCE));
        // Strictly increasing, because the outer points are finite and beyond 3: never rejected.
        let _ = self.trends.set_centers(&[lowest, low, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, high, highest]);
    }

    /// Updates the averages of positive and of negative trends.
    /// Sources: flower-2016#eq8, flower-2016#eq9.
    fn learn(&mut self, trend: f64, peak: f64) {
        let average = if trend > 0.0 { &mut self.rising } else { &mut self.falling };
        if trend.abs() > if self.small_trends { 0.0 } else { MIN_TREND } {
            *average += self.weight * (trend - *average);
        }
        self.set_trends(peak);
    }

    /// The position of an error and a trend between the terms -5 to 5.
    fn place(&self, error: f64, trend: f64) -> [f64; 2] {
        let term = |at: Option<Located>| at.map_or(f64::NAN, |at| at.term as f64 + at.next - 5.0);
        [term(self.errors.locate(error)), term(self.trends.locate(trend))]
    }

    /// The mean of the consequents, weighted by the strengths of their rules.
    /// Source: flower-2016#eq11.
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

/// The consequent that resets the window, in the notation of flower-2016#fig4.
const RESET: &str = "-6";

/// The law of a new connection as a fuzzy controller, for display.
/// It maps the error in percent and the trend in milliseconds to the change of the window in segments. Terms have the numbers of
/// flower-2016#fig4; `-6` resets the window.
///
/// # Errors
/// None: the terms are those of the law.
pub fn controller() -> Result<Controller, FuzzyError> {
    let names: Vec<String> = (-5..=5).map(|term: i32| term.to_string()).collect();
    let named = |centers: &[f64]| names.iter().map(String::as_str).zip(centers.iter().copied()).collect::<Vec<_>>();
    let grid = Grid::new(1.0);
    let changes: Vec<f64> = (-5..=5).map(|term| f64::from(term) / 5.0).collect();
    let mut rules = ["e\\de", &names.join(" ")].join(" ");
    for error in -5..=5 {
        let row: Vec<String> = (-5..=4).map(|trend| rule(error, trend).to_string()).collect();
        rules += &["\n", &error.to_string(), " ", &row.join(" "), " ", RESET].concat();
    }
    Design {
        row: Variable::partition("e", &named(grid.errors.centers()))?,
        column: Variable::partition("de", &named(grid.trends.centers()))?,
        output: Output::partition("dcwnd", (-1.0, 1.0), &named(&changes))?.with_override(RESET)?,
        rules: &rules,
        method: Method { defuzzifier: Defuzzifier::RuleMean, ..Method::default() },
    }
    .build()
}

/// A partition whose centers are valid.
fn terms(centers: &[f64]) -> Partition {
    match Partition::new(centers) {
        Ok(partition) => partition,
        Err(_) => unreachable!("centers that increase"),
    }
}

/// Peaks and valleys of the queuing delay (flower-2016#fig3).
#[derive(Clone, Debug)]
struct Peaks {
    /// The latest queuing delays, in milliseconds.
    recent: Vec<f64>,
    size: usize,
    weight: f64,
    /// Whether it searches for a peak; otherwise for a valley.
    finding_peak: bool,
    /// The average of peaks. Only a peak above it counts.
    threshold: f64,
    /// The last counted peak.
    peak: f64,
}

impl Peaks {
    fn new(neighbors: usize, weight: f64) -> Peaks {
        let size = neighbors + 1;
        Peaks { recent: Vec::with_capacity(size + 1), size, weight, finding_peak: true, threshold: 0.0, peak: MIN_PEAK }
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
        if self.finding_peak && newer.iter().all(|&q| oldest > q) {
            self.finding_peak = false;
            self.threshold += self.weight * (oldest - self.threshold);
            if oldest > self.threshold {
                self.peak = oldest.max(MIN_PEAK);
            }
        } else if !self.finding_peak && newer.iter().all(|&q| oldest < q) {
            self.finding_peak = true;
        }
    }
}

/// The delay law.
#[derive(Clone, Debug)]
pub struct FlowerLaw {
    /// The target in milliseconds.
    pub(super) target: f64,
    /// Whether the first slow start is over.
    pub(super) slow_start_over: bool,
    /// The round trip ends when more than this byte is acknowledged.
    round_end: u64,
    /// The minimum queuing delay of this round trip in milliseconds.
    min_delay: f64,
    /// Whether the window limited the sender in this round trip.
    cwnd_limited: bool,
    /// The minimum queuing delay of the previous round trip.
    last_delay: Option<f64>,
    /// The last inputs of the rules: error and trend, between the terms -5 to 5.
    place: [f64; 2],
    grid: Grid,
    peaks: Peaks,
}

impl FlowerLaw {
    /// The distance from the target in percent (flower-2016#eq3, flower-2016#eq7).
    /// It is -100 above the target before a peak above the target is known.
    fn error(&self, queuing: f64) -> f64 {
        if queuing <= self.target {
            100.0 * (self.target - queuing) / self.target
        } else if self.peaks.peak > self.target {
            (100.0 * (self.target - queuing) / (self.peaks.peak - self.target)).max(-100.0)
        } else {
            -100.0
        }
    }

    /// Grows the window in the first slow start.
    #[inline]
    pub(super) fn slow_start(&self, window: &mut Window, ack: &Ack) {
        if !self.slow_start_over && ack.cwnd_limited && !ack.in_recovery {
            window.cwnd += ack.acked;
        }
    }

    /// Processes an ACK.
    /// If it ends a round trip after which the window may change, returns the result of the rules.
    #[inline]
    pub(super) fn observe(&mut self, ack: &Ack, sample: Option<DelaySample>) -> Option<RoundTrip> {
        if let Some(sample) = sample {
            self.min_delay = self.min_delay.min(sample.queuing);
        }
        self.cwnd_limited |= ack.cwnd_limited;
        if ack.snd_una <= self.round_end {
            return None;
        }
        self.round_end = ack.snd_max;
        let may_change = core::mem::take(&mut self.cwnd_limited) && !ack.in_recovery;
        let queuing = core::mem::replace(&mut self.min_delay, f64::INFINITY);
        if queuing.is_finite() { Some(RoundTrip { answer: self.end_of_round(queuing, may_change)?, queuing }) } else { None }
    }

    /// Ends a round trip. `queuing` was its minimum queuing delay.
    fn end_of_round(&mut self, queuing: f64, may_change: bool) -> Option<Answer> {
        let trend = self.last_delay.replace(queuing)? - queuing;
        let answer = (self.slow_start_over && may_change).then(|| {
            let error = self.error(queuing);
            self.place = self.grid.place(error, trend);
            self.grid.infer(error, trend)
        });
        self.peaks.push(queuing);
        self.grid.learn(trend, self.peaks.peak);
        answer
    }
}

impl DelayLaw for FlowerLaw {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        self.slow_start(window, ack);
        match self.observe(ack, sample).map(|round_trip| round_trip.answer) {
            Some(Answer::Change(change)) => window.cwnd = (window.cwnd + change).max(1.0),
            Some(Answer::Reset) => window.cwnd = 1.0,
            None => {}
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &CongestionEvent) {
        self.slow_start_over = true;
        *window = Window { cwnd: 1.0, ssthresh: 1.0 };
    }

    fn on_marks(&mut self, _now: Time) -> bool {
        self.slow_start_over = true;
        true
    }

    fn on_rto(&mut self, window: &mut Window, _now: Time, _in_use: f64) {
        self.slow_start_over = true;
        *window = Window { cwnd: 1.0, ssthresh: 1.0 };
    }
}

#[cfg(test)]
mod tests;
