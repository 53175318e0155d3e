//! The reference window of SCReAMv2 (draft-johansson-ccwg-rfc8298bis-screamv2), for a sender that always has data: marks reduce it by
//! their part, as does a queuing delay above half of a target, and it grows slowly near the window at which congestion last came.
//!
//! The draft is for media. Its rate control of an encoder and its queue of packets are not here: the window limits the data in
//! flight, and the pace is 1.5 windows a round trip (draft-johansson-ccwg-rfc8298bis-screamv2#4.2.5). A segment is the draft's MSS.
//! Where the draft leaves a choice: before the first congestion growth is not held back, `l4s_active` is true once a mark was
//! counted, and the target of the delay is adapted once a round trip.

mod target;

use crate::{
    Ack, CongestionController, CongestionEvent, EcnNeed, Estimator, EstimatorParams, Needs, Pacing, ParamError, Signal, Source, Start,
    Variable, Window,
};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};
use target::Target;

/// What a trace can show of it.
pub const VARIABLES: &[Variable<Scream>] = &[
    Variable::new("alpha", "0..1", "the part of the segments that are marked, smoothed", |cc| cc.alpha),
    Variable::new("queuing_delay", "s", "the queuing delay that it sees", |cc| cc.delay),
    Variable::new("delay_target", "s", "the queuing delay at which it halves its window", |cc| cc.target.seconds()),
    Variable::new("inflection", "segments", "the window at which congestion last came", |cc| cc.inflection),
];

/// Parameters of SCReAMv2.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The least target of the queuing delay, 1 ms to 10 s; default "60 ms" (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1).
    pub target: Duration,
    /// The greatest target, next to flows that fill the queue, at least `target` and at most 10 s; default "400 ms"
    /// (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1).
    pub highest_target: Duration,
    /// The part of the window that a loss leaves, above 0 and below 1; default 0.7 (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1).
    pub beta_loss: f64,
    /// The part that an echo of classic ECN leaves, above 0 and below 1; default 0.8
    /// (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1).
    pub beta_ecn: f64,
    /// The part of the window by which a round trip may increase it besides a segment, 0 to 1; default 0.02
    /// (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1).
    pub growth: f64,
    /// How the queuing delay is estimated.
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
    /// Makes the controller of a new connection.
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
            counts: true,
            alpha: 0.0,
            marked_once: false,
            alpha_since: Time::ZERO,
            delivered: 0.0,
            marked: 0.0,
            pending_mark: false,
            delay: 0.0,
            mean_delay: 0.0,
            delay_since: Time::ZERO,
            inflection: 0.0,
            inflection_since: Time::ZERO,
            last_congestion: None,
            srtt: Duration::ZERO,
            round_end: 0,
            most_in_flight: 0.0,
            most_before: 0.0,
        }))
    }
}

/// The round-trip time below which growth slows down, and the time between two reductions
/// (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1 VIRTUAL_RTT).
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// The longest time between two estimates of the marked part (draft-johansson-ccwg-rfc8298bis-screamv2#4.2).
const ALPHA_EVERY: Duration = Duration::from_millis(10);
/// Weights of the newest value in the marked part and in the mean delay (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1).
const ALPHA_WEIGHT: f64 = 1.0 / 16.0;
const DELAY_WEIGHT: f64 = 0.25;
/// The least window in segments (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1 MIN_REF_WND).
const LEAST: f64 = 3.0;
/// How long growth is held back after congestion, in seconds (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1 POST_CONGESTION_DELAY).
const POST_CONGESTION: f64 = 4.0;
/// How often the inflection point moves at most (draft-johansson-ccwg-rfc8298bis-screamv2#4.2.2).
const INFLECTION_EVERY: Duration = Duration::from_millis(250);
/// After so long without congestion the window and the marked part are no longer believed
/// (draft-johansson-ccwg-rfc8298bis-screamv2#4.2.2).
const LONG_AGO: Duration = Duration::from_secs(5);
const UNKNOWN_ALPHA: f64 = 0.25;
/// How far the window may exceed the data that was in flight (draft-johansson-ccwg-rfc8298bis-screamv2#4.1.1
/// BYTES_IN_FLIGHT_HEAD_ROOM), and the pace in windows a round trip (PACKET_PACING_HEADROOM).
const HEADROOM: f64 = 2.0;
const PACE: f64 = 1.5;

/// SCReAMv2.
pub type Scream = Box<State>;

/// Its state. Delays are in seconds.
#[derive(Clone, Debug)]
pub struct State {
    params: Params,
    window: Window,
    estimator: Estimator,
    target: Target,
    /// Whether the feedback counts marks; without, an echo counts as classic ECN.
    counts: bool,
    alpha: f64,
    marked_once: bool,
    alpha_since: Time,
    /// Segments acknowledged since then, and those of them that were marked.
    delivered: f64,
    marked: f64,
    /// Marks came to which the window has not reacted.
    pending_mark: bool,
    delay: f64,
    mean_delay: f64,
    delay_since: Time,
    /// The window at the last congestion; 0 before the first.
    inflection: f64,
    inflection_since: Time,
    last_congestion: Option<Time>,
    srtt: Duration,
    /// A round trip is over when this byte is acknowledged.
    round_end: u64,
    /// The most segments in flight in this round trip and in the one before.
    most_in_flight: f64,
    most_before: f64,
}

impl State {
    /// A segment's part of the window, at most 1 (`ref_wnd_ratio`).
    fn ratio(&self) -> f64 {
        1.0 / self.window.cwnd.max(1.0)
    }

    /// Takes what the acknowledgment tells of marks, delays and data in flight (draft-johansson-ccwg-rfc8298bis-screamv2#4.2).
    fn observe(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.delivered += ack.acked;
        self.marked += ack.marked;
        self.marked_once |= ack.marked > 0.0;
        self.pending_mark |= ack.marked > 0.0;
        if let Some(sample) = self.estimator.sample(ack) {
            self.delay = sample.queuing * 1e-3;
        }
        if ack.now.since(self.alpha_since) >= ALPHA_EVERY.min(self.srtt) && self.delivered > 0.0 {
            self.alpha += ALPHA_WEIGHT * ((self.marked / self.delivered).min(1.0) - self.alpha);
            self.alpha_since = ack.now;
            (self.delivered, self.marked) = (0.0, 0.0);
        }
        if ack.now.since(self.delay_since) >= self.srtt {
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

    /// Marks and a long queue reduce the window, no more often than once in 25 ms or a round trip
    /// (draft-johansson-ccwg-rfc8298bis-screamv2#4.2.2).
    fn reduce(&mut self, now: Time) {
        if self.last_congestion.is_some_and(|last| now.since(last) < VIRTUAL_RTT.min(self.srtt)) {
            return;
        }
        let marked = core::mem::take(&mut self.pending_mark) && self.counts;
        let half = self.target.seconds() / 2.0;
        let marks_stopped = !self.marked_once || self.alpha < 2.0 * self.ratio();
        let late = self.delay > half && marks_stopped;
        if !(marked || late) {
            return;
        }
        let long_ago = self.last_congestion.is_none_or(|last| now.since(last) > LONG_AGO);
        self.begin_congestion(now);
        if marked {
            let mut part = self.alpha / 2.0 * (1.0 - 2.0 * self.ratio()).max(0.8);
            if long_ago {
                self.window.cwnd = self.window.cwnd.min(self.most_before.max(LEAST));
                part = part.max(UNKNOWN_ALPHA);
                self.alpha = UNKNOWN_ALPHA;
            }
            self.keep(1.0 - part);
        }
        if late {
            let part = ((self.mean_delay - half) / half).clamp(0.0, 1.0);
            self.keep(1.0 - part / 2.0);
        }
    }

    /// Congestion came: remembers when, and at which window.
    fn begin_congestion(&mut self, now: Time) {
        if self.inflection <= 0.0 || now.since(self.inflection_since) > INFLECTION_EVERY {
            (self.inflection, self.inflection_since) = (self.window.cwnd, now);
        }
        self.last_congestion = Some(now);
    }

    /// So much of the window is left.
    fn keep(&mut self, part: f64) {
        self.window.cwnd = (part * self.window.cwnd).max(LEAST);
        self.window.ssthresh = self.window.cwnd;
    }

    /// What is acknowledged and not marked opens the window (draft-johansson-ccwg-rfc8298bis-screamv2#4.2.2).
    fn grow(&mut self, ack: &Ack) {
        let unmarked = ack.acked - ack.marked;
        if unmarked <= 0.0 || ack.in_recovery || ack.after_timeout || !ack.cwnd_limited {
            return;
        }
        let short = (self.srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        let near = self.near_inflection();
        let calm = self.last_congestion.map_or(1.0, |last| (ack.now.since(last).as_secs_f64() / POST_CONGESTION).min(1.0));
        let faster = 1.0 + self.params.growth * self.window.cwnd * calm * near;
        let next = self.window.cwnd + unmarked * self.ratio() * short * short * near * faster;
        if next <= 1.0 + HEADROOM * self.most_in_flight.max(self.most_before) {
            self.window.cwnd = next;
        }
    }

    /// How much growth is left near the window at which congestion last came: 1 far from it, 0.1 at it, more with small windows
    /// where marks come.
    fn near_inflection(&self) -> f64 {
        if self.inflection <= 0.0 {
            return 1.0;
        }
        let least = if self.marked_once && self.counts { (0.02 / self.ratio()).clamp(0.1, 1.0) } else { 0.1 };
        let distance = 4.0 * (self.window.cwnd - self.inflection) / self.inflection;
        (distance * distance).clamp(least, 1.0)
    }
}

impl CongestionController for State {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.target.memory()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.observe(ack);
        if !ack.in_recovery {
            self.reduce(ack.now);
        }
        self.grow(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.signal {
            Signal::Mark if self.counts => (), // acknowledgments count them
            Signal::Mark => {
                self.begin_congestion(event.now);
                self.keep(self.params.beta_ecn);
            }
            Signal::Loss => {
                self.begin_congestion(event.now);
                self.target.on_loss();
                self.window.cwnd = event.window;
                self.keep(self.params.beta_loss);
            }
        }
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.begin_congestion(now);
        self.target.on_loss();
        self.window = Window::after_timeout(self.params.beta_loss * window);
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd.max(1.0);
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn delay_source(&self) -> Option<Source> {
        Some(self.estimator.source())
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, ecn: EcnNeed::CountIfThere, ..Needs::default() }
    }

    fn pacing(&self) -> Option<Pacing> {
        (self.srtt > Duration::ZERO).then(|| Pacing::of_quantum(PACE * self.window.cwnd / self.srtt.as_secs_f64(), 1.0))
    }

    fn use_classic_ecn(&mut self) {
        self.counts = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    fn scream() -> Scream {
        Params::default().build(Start { window: 20.0, ssthresh: f64::INFINITY }).unwrap()
    }

    /// A path on which every ACK acknowledges a segment: the part that is marked and the queuing delay can be changed.
    struct Path {
        cc: Scream,
        sent: u64,
        now: Time,
        credit: f64,
    }

    impl Path {
        fn new() -> Path {
            Path { cc: scream(), sent: 0, now: Time::ZERO, credit: 0.0 }
        }

        /// So many round trips; gives the window after the last.
        fn rounds(&mut self, count: u32, part: f64, delay_ms: i64) -> f64 {
            for _ in 0..count {
                let window = self.cc.cwnd();
                for _ in 0..window as u64 {
                    self.now += RTT.mul_f64(1.0 / libm::floor(window));
                    self.sent += 1;
                    self.credit += part;
                    let marked = libm::floor(self.credit);
                    self.credit -= marked;
                    let one_way_delay = Some(delay_ms * 1_000_000);
                    let (snd_una, snd_max) = (self.sent, self.sent + window as u64);
                    let ack = Ack { now: self.now, marked, srtt: RTT, one_way_delay, in_flight: window, snd_una, snd_max, ..Ack::ONE };
                    self.cc.on_ack(&ack);
                }
            }
            self.cc.cwnd()
        }
    }

    #[test]
    fn before_congestion_a_round_trip_adds_a_segment_and_two_percent() {
        let mut path = Path::new();
        let grown = path.rounds(1, 0.0, 0) - 20.0;
        assert!((grown - 1.4).abs() < 0.1, "{grown}");
    }

    #[test]
    fn with_short_round_trips_it_grows_by_their_square() {
        let grown = |ms: u64| {
            let mut cc = scream();
            let srtt = Duration::from_millis(ms);
            cc.on_ack(&Ack { now: Time::ZERO + srtt, srtt, in_flight: 20.0, snd_max: 20, ..Ack::ONE });
            cc.cwnd() - 20.0
        };
        assert!((grown(5) / grown(25) - 0.04).abs() < 1e-9);
        assert_eq!(grown(25), grown(100));
    }

    #[test]
    fn marks_hold_the_window_near_two_marks_a_round_trip() {
        // Alpha w / 2 is taken in each 25 ms with a mark, about a segment is added in a round trip.
        for part in [0.05, 0.1] {
            let mut path = Path::new();
            path.rounds(100, 0.0, 0);
            let window = path.rounds(600, part, 0);
            let marks = part * window;
            assert!((0.3..3.0).contains(&marks), "{part}: {marks} marks a round trip, window {window}");
        }
    }

    #[test]
    fn a_queue_of_its_target_halves_the_window_and_one_below_half_of_it_does_not() {
        let mut path = Path::new();
        path.rounds(100, 0.0, 0);
        let before = path.cc.cwnd();
        assert!(path.rounds(5, 0.0, 29) > before);
        let fallen = path.rounds(12, 0.0, 60);
        assert!(fallen < 0.2 * before, "{fallen} of {before}");
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_an_echo_without_counts_eight() {
        let reduced = |signal, classic: bool| {
            let mut cc = scream();
            if classic {
                cc.use_classic_ecn();
            }
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 20.0, signal });
            cc.cwnd()
        };
        assert_eq!([reduced(Signal::Loss, false), reduced(Signal::Mark, true), reduced(Signal::Mark, false)], [14.0, 16.0, 20.0]);
    }

    #[test]
    fn near_the_window_of_the_last_congestion_it_grows_by_a_tenth() {
        let mut path = Path::new();
        path.cc.on_congestion(&CongestionEvent { now: path.now, window: 20.0, signal: Signal::Loss });
        path.cc.set_cwnd(20.0);
        let grown = path.rounds(1, 0.0, 0) - 20.0;
        assert!((grown - 0.1).abs() < 0.02, "{grown}");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow_beyond_twice_the_data_in_flight() {
        let mut cc = scream();
        cc.on_ack(&Ack { now: Time::ZERO + RTT, srtt: RTT, in_flight: 9.0, snd_una: 1, snd_max: 9, ..Ack::ONE });
        assert_eq!(cc.cwnd(), 20.0);
    }
}
