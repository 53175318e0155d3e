//! CDG, CAIA delay gradient (hayes-2011).
//! The window is reduced with a probability that grows with the increase of the RTT from one round trip to the next, so before a queue is
//! full. A shadow window, which only losses reduce, prevents starvation next to flows that cause losses.
//!
//! As in Linux `tcp_cdg.c`: gradients are sums over the last rounds in microseconds, the probability is `1 - exp(-gradient * factor)`, and
//! ACK trains or delays end slow start (HyStart). A reduction for a gradient lasts a round trip, in which the window falls in proportion to
//! acknowledged data (rfc6937#3). A loss during it starts a separate recovery; in Linux the recovery continues with the acknowledged data.

use crate::controller::same_stream;
use crate::{Ack, Classic, CongestionEvent, Counted, Early, Event, Needs, Observation, ParamError, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Stream, Time};

/// CDG.
pub type Cdg = Box<Classic<CdgLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Cdg>] = &[
    Variable::new("shadow", "segments", "the window if only losses reduced it", |cc| cc.law().shadow),
    Variable::new("gradient", "ms", "the sum of the RTT gradients of the last rounds", |cc| cc.law().gradient as f64 / 1e3),
];

/// Parameters of CDG.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Number of rounds whose gradients are summed, 1 to 256; default 8 (Linux `window`).
    pub window: u32,
    /// Fraction of the window kept after a backoff, above 0 and at most 1; default 0.7071.
    /// A delay gradient causes the backoff.
    /// Source: Linux `backoff_beta`.
    pub backoff_beta: f64,
    /// Factor on the summed gradient in seconds, 0 or more; default 42 (Linux `backoff_factor`).
    /// It determines the backoff probability.
    pub backoff_factor: f64,
    /// Maximum number of consecutive gradient backoffs that do not reduce the delay; default 5.
    /// 0 means no limit (Linux `use_ineff`).
    pub use_ineff: u32,
    /// Whether a loss reduces the window to the shadow window; default true.
    /// Only if the shadow window is more than half of the window (Linux `use_shadow`).
    pub use_shadow: bool,
    /// Whether losses are ignored while delays indicate a non-full queue; default false.
    /// Source: Linux `use_tolerance`.
    pub use_tolerance: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            window: 8,
            backoff_beta: core::f64::consts::FRAC_1_SQRT_2,
            backoff_factor: 42.0,
            use_ineff: 5,
            use_shadow: true,
            use_tolerance: false,
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Cdg, ParamError> {
        ParamError::unless((1..=256).contains(&self.window), "window", &self.window, "1 to 256 rounds")?;
        let beta = self.backoff_beta > 0.0 && self.backoff_beta <= 1.0;
        ParamError::unless(beta, "backoff_beta", &self.backoff_beta, "a fraction above 0 and at most 1")?;
        let factor = self.backoff_factor >= 0.0 && self.backoff_factor.is_finite();
        ParamError::unless(factor, "backoff_factor", &self.backoff_factor, "a number, 0 or more")?;
        let law = CdgLaw::new(self.clone(), vec![Extremes::default(); self.window as usize], start.window);
        Ok(Box::new(Classic::new(start, law)))
    }
}

/// The minimum and maximum RTT of a round, or the increase of both, in us.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    min: i64,
    max: i64,
}

/// Slow start of Linux's CDG. Times are in us.
#[derive(Clone, Copy, Debug, Default)]
struct HyStart {
    /// The minimum delay; 0 before the first sample.
    delay_min: i64,
    samples: u32,
    /// The start and the last ACK of the current ACK train, if any.
    train: Option<(u64, u64)>,
}

/// ACKs closer than this are a train, in us (Linux).
const TRAIN_GAP: u64 = 3_000;
/// The lower bound of a delay or half of it, in us (Linux).
const LEAST_DELAY: i64 = 125;
/// The number of samples of a round before its delay counts (Linux).
const SAMPLES: u32 = 8;

impl HyStart {
    /// Whether slow start ends, given the minimum RTT of this round so far.
    fn ends(&mut self, ack: &Ack, rtt_min: Option<i64>) -> bool {
        let known = [self.delay_min, rtt_min.unwrap_or(0)].into_iter().filter(|&delay| delay > 0);
        let Some(delay_min) = known.min() else { return false };
        self.delay_min = delay_min;
        let now = ack.now.as_nanos() / 1_000;
        match self.train {
            Some((begin, last)) if ack.cwnd_limited => {
                if now < last + TRAIN_GAP {
                    self.train = Some((begin, now));
                    if now > begin + (delay_min / 2).max(LEAST_DELAY) as u64 {
                        return true;
                    }
                }
            }
            _ => self.train = Some((now, now)),
        }
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        rtt_min.unwrap_or(0) > (delay_min + delay_min / 8).max(LEAST_DELAY)
    }

    /// Starts a round.
    fn next_round(&mut self) {
        (self.samples, self.train) = (0, None);
    }
}

/// A reduction for a gradient, in segments.
#[derive(Clone, Copy, Debug)]
struct Falling {
    /// The reduction ends when more than this byte is acknowledged, as in Linux's state CWR.
    /// Data sent before the reduction counts for its round.
    until: u64,
    from: f64,
    to: f64,
    /// Segments acknowledged since its start.
    acked: f64,
    /// Segments sent by the ACK that started it (Linux `prr_out`).
    first: f64,
}

impl Falling {
    /// The current window.
    fn window(&self) -> Window {
        let sent = (libm::ceil(self.acked * self.to / self.from) - self.first).max(0.0);
        let left = self.from - self.acked + sent;
        Window { cwnd: left.max(self.to), ssthresh: self.to }
    }
}

/// The window law.
#[derive(Clone, Debug)]
pub struct CdgLaw {
    params: Params,
    /// The RTTs of this round, and of the previous one.
    rtt: Option<Extremes>,
    rtt_prev: Option<Extremes>,
    /// The last gradients, the index of the next, and their sum.
    gradients: Vec<Extremes>,
    next: usize,
    filled: bool,
    sum: Extremes,
    /// The last sum that was used, in us.
    gradient: i64,
    /// The end of this round. After a recovery it starts again with the next ACK.
    round_end: Option<u64>,
    /// The reduction for a gradient that is in progress.
    falling: Option<Falling>,
    /// Whether the queue is full, according to delays; `None` if unknown.
    full: Option<bool>,
    delayed_acks: u32,
    /// Reductions for gradients since the delay last fell.
    backoffs: u32,
    shadow: f64,
    last_cwnd: f64,
    /// Whether a pause has cleared the state.
    /// The first round then does not start with the handshake.
    restarted: bool,
    hystart: HyStart,
    random: Stream,
}

/// The decrease of the gradient sum that shows that a reduction helped, in us (Linux).
const FALL: i64 = 32;
/// The multiple to which gradient sums are rounded if losses are tolerated, in us (Linux).
const SMALL: i64 = 64;
/// The maximum expected number of delayed ACKs (Linux).
const DELAYED_ACKS: u32 = 5;

impl CdgLaw {
    /// The state without a sample. All `gradients` are zero.
    fn new(params: Params, gradients: Vec<Extremes>, cwnd: f64) -> Self {
        CdgLaw {
            params,
            rtt: None,
            rtt_prev: None,
            gradients,
            next: 0,
            filled: false,
            sum: Extremes::default(),
            gradient: 0,
            round_end: Some(0),
            falling: None,
            full: None,
            delayed_acks: 0,
            backoffs: 0,
            shadow: cwnd,
            last_cwnd: cwnd,
            restarted: false,
            hystart: HyStart::default(),
            random: same_stream(),
        }
    }

    /// Processes an RTT sample. A delayed ACK counts for the minimum only.
    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| (rtt.as_nanos() / 1_000) as i64).filter(|&rtt| rtt > 0) else { return };
        if !ack.in_recovery && ack.advanced > 0.0 {
            if ack.advanced <= 1.0 && self.delayed_acks > 0 {
                if let Some(seen) = &mut self.rtt {
                    seen.min = seen.min.min(rtt);
                }
                self.delayed_acks -= 1;
                return;
            } else if ack.advanced > 1.0 && self.delayed_acks < DELAYED_ACKS {
                self.delayed_acks += 1;
            }
        }
        // The first round starts with the handshake.
        let is_first = self.rtt_prev.is_none() && !self.restarted;
        let first = if is_first { (ack.rtt_min.as_nanos() / 1_000) as i64 } else { rtt };
        let seen = self.rtt.get_or_insert(Extremes { min: if first > 0 { first } else { rtt }, max: rtt });
        *seen = Extremes { min: seen.min.min(rtt), max: seen.max.max(rtt) };
    }

    /// Adds a gradient and returns the sum of the last ones (Linux `tcp_cdg_grad`).
    fn add_gradient(&mut self, rtt: Extremes, before: Extremes) -> i64 {
        let rise = Extremes { min: rtt.min - before.min, max: rtt.max - before.max };
        let oldest = core::mem::replace(&mut self.gradients[self.next], rise);
        self.sum = Extremes { min: self.sum.min + rise.min - oldest.min, max: self.sum.max + rise.max - oldest.max };
        self.next = (self.next + 1) % self.gradients.len();
        let Extremes { min, max } = self.sum;
        let mut gradient = if min > 0 { min } else { max };
        self.filled |= self.next == 0;
        if !self.filled {
            gradient = gradient * self.gradients.len() as i64 / self.next as i64;
        }
        if min <= -FALL || max <= -FALL {
            self.backoffs = 0;
        }
        let [min, max] = [min, max].map(|sum| (sum + sum.signum() * SMALL / 2) / SMALL);
        if min > 0 && max <= 0 {
            self.full = Some(true);
        } else if min > 0 || max < 0 {
            self.full = Some(false);
        }
        gradient
    }

    /// Whether a gradient requires a reduction (Linux `tcp_cdg_backoff`).
    fn backs_off(&mut self) -> bool {
        let kept = libm::exp(-(self.gradient as f64) * self.params.backoff_factor * 1e-6);
        if self.gradient <= 0 || self.random.unit() <= kept {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.params.use_ineff == 0 || self.backoffs <= self.params.use_ineff
    }

    /// Ends a round.
    fn next_round(&mut self, ack: &Ack) {
        (self.round_end, self.rtt_prev, self.rtt) = (Some(ack.snd_max), self.rtt, None);
        self.hystart.next_round();
    }

    /// The slow-start threshold after a loss (Linux `tcp_cdg_ssthresh`).
    fn after_loss(&mut self, window: f64) -> f64 {
        if self.params.use_tolerance && self.full == Some(false) {
            return window;
        }
        self.shadow = libm::floor(self.shadow / 2.0).min(window);
        let half = libm::floor(window / 2.0).max(2.0);
        if self.params.use_shadow { half.max(self.shadow) } else { half }
    }

    /// Processes an ACK. Ends slow start if delays require it.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.sample(ack);
        if window.cwnd > self.last_cwnd {
            self.shadow += window.cwnd - self.last_cwnd;
        }
        self.last_cwnd = window.cwnd;
        let ready = !ack.in_recovery && self.falling.is_none() && (ack.advanced > 0.0 || ack.cwnd_limited);
        if ready && window.cwnd < window.ssthresh && self.hystart.ends(ack, self.rtt.map(|rtt| rtt.min)) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Reduces the window if the gradient requires it.
    fn turn(&mut self, ack: &Ack, window: &mut Window) -> Early {
        if ack.in_recovery {
            return Early::Hold;
        }
        if let Some(falling) = &mut self.falling {
            falling.acked += ack.acked;
            let Falling { until, to, .. } = *falling;
            let over = ack.snd_una > until;
            *window = if over { Window { cwnd: to, ssthresh: to } } else { falling.window() };
            self.last_cwnd = window.cwnd;
            if over {
                self.falling = None;
                self.next_round(ack);
            }
            return Early::Reduced;
        }
        if ack.advanced == 0.0 && !ack.cwnd_limited {
            // Linux grows the window by acknowledged data only (`tcp_may_raise_cwnd`).
            return Early::Hold;
        }
        let round_end = *self.round_end.get_or_insert(ack.snd_max);
        if let Some(rtt) = self.rtt.filter(|_| ack.snd_una > round_end) {
            self.gradient = self.rtt_prev.map_or(0, |before| self.add_gradient(rtt, before));
            self.next_round(ack);
            if self.backs_off() {
                self.shadow = self.shadow.max(window.cwnd);
                let to = libm::floor(window.cwnd * self.params.backoff_beta).max(2.0).min(window.cwnd);
                let falling = Falling { until: ack.snd_max, from: window.cwnd, to, acked: 0.0, first: ack.acked };
                self.falling = Some(falling);
                *window = falling.window();
                return Early::Reduced;
            }
        }
        if !ack.cwnd_limited {
            self.shadow = self.shadow.min(window.cwnd);
        }
        Early::None
    }

    /// Forgets all measurements before a pause.
    fn restart(&mut self, cwnd: f64) {
        let mut gradients = core::mem::take(&mut self.gradients);
        gradients.fill(Extremes::default());
        let random = self.random.clone();
        *self = CdgLaw { restarted: true, random, ..CdgLaw::new(self.params.clone(), gradients, cwnd) };
    }
}

impl WindowLaw for CdgLaw {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        match observation {
            Observation::Ack(ack) => self.on_ack(ack, window),
            Observation::Turn(ack) => return self.turn(ack, window),
            Observation::Event(Event::Random(random)) => self.random = random.clone(),
            // Linux `tcp_cdg_cwnd_event` with `CA_EVENT_CWND_RESTART`
            Observation::Event(Event::IdleRestart(_)) => self.restart(window.cwnd),
            Observation::Event(Event::ReductionEnd) => (self.round_end, self.rtt_prev, self.rtt, self.full) = (None, self.rtt, None, None),
            Observation::Event(_) => {}
        }
        Early::None
    }
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(1.0, ack)
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        // During a reduction for a gradient, a loss reduces no further.
        let kept = self.falling.take().map_or_else(|| self.after_loss(event.window), |falling| falling.to);
        self.last_cwnd = kept;
        Window { cwnd: kept, ssthresh: kept }
    }

    fn needs(&self) -> Needs {
        Needs { random: true, ..Needs::OF_LAW }
    }

    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        let kept = self.after_loss(window);
        (self.last_cwnd, self.falling) = (1.0, None);
        kept
    }
}

#[cfg(test)]
mod tests;
