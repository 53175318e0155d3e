//! The reference window of SCReAMv2, for a sender that always has data.
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, revision 01 of July 2026. Marks reduce the window in proportion to their fraction, as does
//! a mean queuing delay above half of a target. The window grows slowly near the window at the last congestion.
//!
//! The draft is for media. The rate control of an encoder and its queue of packets are omitted: the window itself limits the data in
//! flight, while the draft lets frames exceed it. The pacing rate is 1.5 windows per round trip
//! (draft-ietf-ccwg-rfc8298bis-screamv2#4.3.2). A segment is the draft's MSS. Of the draft's options, the target follows other flows, once
//! per round trip (draft-ietf-ccwg-rfc8298bis-screamv2#4.5.4). Omitted are the filter of jitter, which is off by default, and the rules for
//! lossy links, policers, drifting clocks and undershoot (draft-ietf-ccwg-rfc8298bis-screamv2#4.5).
//!
//! The draft leaves choices. Before the first congestion, growth is not held back, and the first mark finds the window too old to be
//! trusted. A loss, or an echo of classic ECN, reduces the window when the sender detects it, even soon after another reduction. In
//! recovery the window is constant.

mod target;

use crate::silence::Silence;
use crate::{
    Ack, CongestionController, CongestionEvent, EcnNeed, Estimator, EstimatorParams, Event, Needs, Pacing, ParamError, Signal, Start,
    Variable, Window,
};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};
use target::Target;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Scream>] = &[
    Variable::new("alpha", "0..1", "the smoothed share of marked segments", |cc| cc.alpha),
    Variable::new("queuing_delay", "s", "the queuing delay that the controller measures", |cc| cc.delay),
    Variable::new("delay_target", "s", "the target of the queuing delay; above half of it the window shrinks", |cc| cc.target.seconds()),
    Variable::new("inflection", "segments", "the window at the last congestion signal", |cc| cc.inflection),
];

/// Parameters of SCReAMv2.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Smallest target of the queuing delay, 1 ms to 10 s; default "60 ms".
    /// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.
    pub target: Duration,
    /// Largest target of the queuing delay, `target` to 10 s; default "400 ms".
    /// It is reached next to flows that fill the queue (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2).
    pub highest_target: Duration,
    /// Fraction of the window kept after a loss, above 0 and below 1; default 0.7.
    /// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.
    pub beta_loss: f64,
    /// Fraction of the window kept after a classic ECN echo, above 0 and below 1; default 0.8.
    /// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.
    pub beta_ecn: f64,
    /// Fraction of the window added per round trip, 0 to 1; default 0.02.
    /// A segment is added too (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2).
    pub growth: f64,
    /// Parameters of the estimator of the queuing delay.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(60),
            highest_target: Duration::from_millis(400),
            beta_loss: 0.7,
            beta_ecn: 0.8,
            growth: 0.02,
            delay: EstimatorParams::default(),
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Scream, ParamError> {
        super::ledbat::target(self.target)?;
        let bounds = self.target..=Duration::from_secs(10);
        ParamError::unless(
            bounds.contains(&self.highest_target),
            "highest_target",
            &self.highest_target,
            "at least target and at most 10 s",
        )?;
        for (name, given) in [("beta_loss", self.beta_loss), ("beta_ecn", self.beta_ecn)] {
            ParamError::unless(given > 0.0 && given < 1.0, name, &given, "a number above 0 and below 1")?;
        }
        ParamError::unless((0.0..=1.0).contains(&self.growth), "growth", &self.growth, "a number, 0 to 1")?;
        Ok(Box::new(State {
            params: self.clone(),
            window: Window { cwnd: start.window, ssthresh: start.ssthresh },
            estimator: self.delay.build()?,
            target: Target::new(self.target, self.highest_target),
            counts: start.ecn.counts_for(EcnNeed::CountIfThere),
            alpha: 0.0,
            alpha_since: Time::ZERO,
            delivered: 0.0,
            marked: 0.0,
            pending_mark: false,
            delay: 0.0,
            mean_delay: 0.0,
            delay_since: Time::ZERO,
            inflection: 0.0,
            grown: true,
            last_reduction: None,
            last_signal: None,
            silence: Silence::default(),
            srtt: Duration::ZERO,
            round_end: 0,
            most_in_flight: 0.0,
            most_before: 0.0,
        }))
    }
}

/// The round-trip time below which growth slows down.
/// It is also the maximum time between two reductions and between two values of the mean delay
/// (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2 VIRTUAL_RTT, draft-ietf-ccwg-rfc8298bis-screamv2#4.2.1.4).
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// The maximum time between two estimates of the marked fraction.
/// The estimate's weights for a rise and a fall follow (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.1.3).
const ALPHA_EVERY: Duration = Duration::from_millis(10);
const ALPHA_UP: f64 = 1.0 / 8.0;
const ALPHA_DOWN: f64 = 1.0 / 128.0;
/// The weight of a larger delay in the mean delay.
/// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.1.4 QDELAY_AVG_G.
const DELAY_WEIGHT: f64 = 0.25;
/// The minimum window in segments.
/// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2 MIN_REF_WND.
const LEAST: f64 = 3.0;
/// The round trips for which growth is held back after congestion.
/// After the same time without a reduction, the window is not trusted (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2 POST_CONGESTION_DELAY_RTT,
/// draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.1).
const ROUND_TRIPS: f64 = 100.0;
/// The fraction of the target below which a delay is low.
/// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.1.
const LOW: f64 = 0.25;
/// The rate at which the hold ends with the distance from the inflection point.
/// The next two are the minimum factors of growth by a fraction, and of growth by a segment and of reductions
/// (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.1, draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.2).
const DISTANCE: f64 = 8.0;
const HOLD_PART: f64 = 0.1;
const HOLD_SEGMENT: f64 = 0.25;
/// The maximum ratio of the window to the data that was in flight.
/// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2 BYTES_IN_FLIGHT_HEAD_ROOM. The pacing rate in windows per round trip follows
/// (draft-ietf-ccwg-rfc8298bis-screamv2#4.3.2 PACKET_PACING_HEADROOM).
const HEADROOM: f64 = 1.5;
const PACE: f64 = 1.5;

/// SCReAMv2.
pub type Scream = Box<State>;

/// The state of SCReAMv2. Delays are in seconds.
#[derive(Clone, Debug)]
pub struct State {
    params: Params,
    window: Window,
    estimator: Estimator,
    target: Target,
    /// Whether the feedback counts marks. If not, an echo counts as classic ECN.
    counts: bool,
    alpha: f64,
    alpha_since: Time,
    /// Segments acknowledged since then, and how many of them were marked.
    delivered: f64,
    marked: f64,
    /// Whether there are marks to which the window has not reacted.
    pending_mark: bool,
    delay: f64,
    mean_delay: f64,
    delay_since: Time,
    /// The window at the last congestion; 0 before the first.
    inflection: f64,
    /// Whether the window has grown since the last congestion.
    grown: bool,
    last_reduction: Option<Time>,
    /// The last loss or mark, excluding pauses since then.
    last_signal: Option<Time>,
    silence: Silence,
    srtt: Duration,
    /// The round trip ends when this byte is acknowledged.
    round_end: u64,
    /// The maximum number of segments in flight in this round trip and in the previous one.
    most_in_flight: f64,
    most_before: f64,
}

impl State {
    /// A segment's fraction of the window, at most 1 (`ref_wnd_ratio`).
    fn ratio(&self) -> f64 {
        1.0 / self.window.cwnd.max(1.0)
    }

    /// A hundred round trips in seconds. A round trip counts as at least 25 ms.
    fn long_time(&self) -> f64 {
        ROUND_TRIPS * self.srtt.max(VIRTUAL_RTT).as_secs_f64()
    }

    /// Processes marks, delays and data in flight that an ACK reports.
    /// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.1.
    fn observe(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.silence.on_ack(ack, None);
        self.pending_mark |= ack.marked > 0.0 && self.counts;
        if self.pending_mark {
            self.last_signal = Some(ack.now);
        }
        self.estimate_marks(ack);
        if let Some(sample) = self.estimator.sample(ack) {
            self.delay = sample.queuing * 1e-3;
        }
        if ack.now.since(self.delay_since) >= VIRTUAL_RTT.min(self.srtt) {
            let weight = if self.delay < self.mean_delay { 1.0 } else { DELAY_WEIGHT };
            self.mean_delay += weight * (self.delay - self.mean_delay);
            self.delay_since = ack.now;
        }
        self.most_in_flight = self.most_in_flight.max(ack.in_flight);
        if ack.snd_una >= self.round_end {
            self.round_end = ack.snd_max;
            (self.most_before, self.most_in_flight) = (self.most_in_flight, ack.in_flight);
            self.target.end_round(self.delay);
        }
    }

    /// Updates the marked fraction. It rises fast towards a larger sample and falls slowly to 0.
    /// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.1.3.
    fn estimate_marks(&mut self, ack: &Ack) {
        self.delivered += ack.acked;
        self.marked += ack.marked;
        if ack.now.since(self.alpha_since) < ALPHA_EVERY.min(self.srtt) || self.delivered <= 0.0 {
            return;
        }
        let part = (self.marked / self.delivered).min(1.0);
        if part >= self.alpha {
            self.alpha += ALPHA_UP * (part - self.alpha);
        } else {
            self.alpha *= 1.0 - ALPHA_DOWN;
        }
        self.alpha_since = ack.now;
        (self.delivered, self.marked) = (0.0, 0.0);
    }

    /// Reduces the window for marks, or else for a long queue.
    /// At most once in 25 ms or in a round trip, whichever is shorter (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.1).
    fn reduce(&mut self, now: Time, near: f64) {
        if self.last_reduction.is_some_and(|last| now.since(last) < VIRTUAL_RTT.min(self.srtt)) {
            return;
        }
        let half = self.target.seconds() / 2.0;
        // A long round trip has many reductions, each by a fraction.
        let each = 0.5 / (self.srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).max(1.0);
        if self.pending_mark {
            let low = self.delay < LOW * self.target.seconds();
            let part = each * self.alpha * if low { near.max(HOLD_SEGMENT) } else { 1.0 };
            let long = self.long_time();
            let long_ago = self.last_reduction.is_none_or(|last| now.since(last).as_secs_f64() > long);
            self.begin_reduction(now);
            if long_ago {
                self.window.cwnd = self.window.cwnd.min(self.most_before);
            }
            self.keep(1.0 - part);
        } else if self.mean_delay > half {
            self.begin_reduction(now);
            self.keep(1.0 - each * ((self.mean_delay - half) / half).min(1.0));
        }
    }

    /// Stores the time of a reduction, and the window if it grew since the last one.
    fn begin_reduction(&mut self, now: Time) {
        if core::mem::take(&mut self.grown) {
            self.inflection = self.window.cwnd;
        }
        self.last_reduction = Some(now);
        self.pending_mark = false;
    }

    /// Handles a loss, or an echo of classic ECN.
    fn begin_signal(&mut self, now: Time) {
        self.begin_reduction(now);
        self.last_signal = Some(now);
    }

    /// Keeps this fraction of the window.
    fn keep(&mut self, part: f64) {
        self.window.cwnd = (part * self.window.cwnd).max(LEAST);
        self.window.ssthresh = self.window.cwnd;
    }

    /// Opens the window by unmarked acknowledged segments.
    /// Source: draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.2.
    fn grow(&mut self, ack: &Ack, near: f64) {
        let unmarked = ack.acked - ack.marked;
        if unmarked <= 0.0 || ack.in_recovery || ack.after_timeout || !ack.cwnd_limited {
            return;
        }
        let short = (self.srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        let since = |last| ack.now.since(last).as_secs_f64();
        let calm = self.last_signal.map_or(1.0, |last| (since(last) / self.long_time()).min(1.0));
        let faster = 1.0 + self.params.growth * self.window.cwnd * calm * near;
        let next = self.window.cwnd + unmarked * self.ratio() * short * near.max(HOLD_SEGMENT) * faster;
        if next <= 1.0 + HEADROOM * self.most_in_flight.max(self.most_before) {
            self.window.cwnd = next;
            self.grown = true;
        }
    }

    /// The factor of growth near the window of the last congestion.
    /// It is 1 far from that window, and 0.1 at it (draft-ietf-ccwg-rfc8298bis-screamv2#4.2.2.1).
    fn near_inflection(&self) -> f64 {
        if self.inflection <= 0.0 {
            return 1.0;
        }
        let distance = DISTANCE * (self.window.cwnd - self.inflection) / self.inflection;
        (distance * distance).clamp(HOLD_PART, 1.0)
    }
}

impl CongestionController for State {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.target.memory()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.observe(ack);
        let near = self.near_inflection();
        if !ack.in_recovery {
            self.reduce(ack.now, near);
        }
        self.grow(ack, near);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.signal {
            Signal::Mark if self.counts => (), // ACKs count them
            Signal::Mark => {
                self.begin_signal(event.now);
                self.keep(self.params.beta_ecn);
            }
            Signal::Loss => {
                self.begin_signal(event.now);
                self.target.on_loss();
                self.window.cwnd = event.window;
                self.keep(self.params.beta_loss);
            }
        }
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::IdleEnd { now, .. } => self.silence.on_idle_end(*now, self.last_signal.as_mut()),
            _ => event.apply(self),
        }
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.begin_signal(now);
        self.target.on_loss();
        self.window = Window::after_timeout(self.params.beta_loss * window);
    }

    fn window(&self) -> Window {
        self.window
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd.max(1.0);
    }

    fn needs(&self) -> Needs {
        Needs {
            pacing: true,
            ecn: EcnNeed::CountIfThere,
            grows_on_marks: self.counts,
            delays: Some(self.estimator.source()),
            ..Needs::default()
        }
    }

    fn pacing(&self) -> Option<Pacing> {
        (self.srtt > Duration::ZERO).then(|| Pacing::of_quantum(PACE * self.window.cwnd / self.srtt.as_secs_f64(), 1.0))
    }
}

#[cfg(test)]
mod tests;
