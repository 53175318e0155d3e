//! CDG, CAIA delay gradient (hayes-2011): the window is reduced with a probability that grows with the rise of the round-trip time from
//! one round trip to the next, so before a queue is full; a shadow window, which only losses reduce, keeps such a flow from starving
//! beside flows that lose.
//!
//! As in Linux `tcp_cdg.c`: gradients are sums over the last rounds in microseconds, the probability is `1 - exp(-gradient * factor)`, and
//! slow start ends by trains of ACKs or delays (HyStart). A reduction for a gradient takes a round trip, in which the window falls in
//! proportion to what is acknowledged (rfc6937#3). A loss in it begins a recovery of its own, in Linux it goes on with what was
//! acknowledged.

use crate::controller::same_stream;
use crate::{Ack, Classic, CongestionEvent, Counted, Early, Event, Needs, ParamError, Seen, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Stream, Time};

/// CDG.
pub type Cdg = Box<Classic<CdgLaw>>;

/// What a trace can show of it.
pub(crate) const VARIABLES: &[Variable<Cdg>] = &[
    Variable::new("shadow", "segments", "the window that it would have if only losses reduced it", |cc| cc.law().shadow),
    Variable::new("gradient", "ms", "the sum of the rises of the round-trip time over the last rounds", |cc| {
        cc.law().gradient as f64 / 1e3
    }),
];

/// Parameters of CDG.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Rounds whose gradients are summed, 1 to 256; default 8 (Linux `window`).
    pub window: u32,
    /// Fraction of the window kept after a delay-gradient backoff, above 0 and at most 1; default 0.7071 (Linux `backoff_beta`).
    pub backoff_beta: f64,
    /// Factor on the summed gradient in seconds, which sets the backoff probability, 0 or more; default 42 (Linux `backoff_factor`).
    pub backoff_factor: f64,
    /// Maximum number of consecutive gradient backoffs that do not reduce the delay; 0: no limit; default 5 (Linux `use_ineff`).
    pub use_ineff: u32,
    /// Whether a loss reduces the window to the shadow window if that is more than half the window; default true (Linux `use_shadow`).
    pub use_shadow: bool,
    /// Whether losses are ignored while the delays indicate that the queue is not full; default false (Linux `use_tolerance`).
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
    /// Makes the controller of a new connection.
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

/// The smallest and the largest round-trip time of a round, or the rise of both, in us.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    min: i64,
    max: i64,
}

/// The slow start of Linux's CDG. Times are in us.
#[derive(Clone, Copy, Debug, Default)]
struct HyStart {
    /// 0 before the first sample.
    delay_min: i64,
    samples: u32,
    /// Of the train of ACKs, if there is one: when it began, and its last.
    train: Option<(u64, u64)>,
}

/// ACKs that are nearer than this belong to a train, in us (Linux).
const TRAIN_GAP: u64 = 3_000;
/// A delay or half of it counts as this at least, in us (Linux).
const LEAST_DELAY: i64 = 125;
/// Samples of a round before its delay counts (Linux).
const SAMPLES: u32 = 8;

impl HyStart {
    /// Whether slow start ends, with the least round-trip time of this round so far.
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

    /// A round begins.
    fn next_round(&mut self) {
        (self.samples, self.train) = (0, None);
    }
}

/// A reduction for a gradient, in segments.
#[derive(Clone, Copy, Debug)]
struct Falling {
    /// It is over when more than this byte is acknowledged, as in Linux's state CWR: what was sent before it began counts for its round.
    until: u64,
    from: f64,
    to: f64,
    /// Acknowledged since.
    acked: f64,
    /// Segments that left at the acknowledgment with which it began (Linux `prr_out`).
    first: f64,
}

impl Falling {
    /// The window now.
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
    /// Of this round, and of the one before.
    rtt: Option<Extremes>,
    rtt_prev: Option<Extremes>,
    /// The last gradients, the place of the next, and their sum.
    gradients: Vec<Extremes>,
    next: usize,
    filled: bool,
    sum: Extremes,
    /// The last sum that counted, in us.
    gradient: i64,
    /// When this round ends; after a recovery it begins anew with the next acknowledgment.
    round_end: Option<u64>,
    /// The reduction for a gradient that goes on.
    falling: Option<Falling>,
    /// Whether the queue is full, as far as delays say.
    full: Option<bool>,
    delayed_acks: u32,
    /// Reductions for gradients since the delay fell last.
    backoffs: u32,
    shadow: f64,
    last_cwnd: f64,
    /// Whether a pause has cleared the state, whose first round then does not begin with the handshake.
    restarted: bool,
    hystart: HyStart,
    random: Stream,
}

/// A fall of the sum of gradients that shows that a reduction helped, in us (Linux).
const FALL: i64 = 32;
/// Sums of gradients are rounded to multiples of this where losses are tolerated, in us (Linux).
const SMALL: i64 = 64;
/// Delayed ACKs that are expected at most (Linux).
const DELAYED_ACKS: u32 = 5;

impl CdgLaw {
    /// The state without a sample; all `gradients` are zero.
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

    /// Takes a round-trip time; one of an ACK that was delayed counts for the least alone.
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
        // The first round begins with the handshake.
        let is_first = self.rtt_prev.is_none() && !self.restarted;
        let first = if is_first { (ack.rtt_min.as_nanos() / 1_000) as i64 } else { rtt };
        let seen = self.rtt.get_or_insert(Extremes { min: if first > 0 { first } else { rtt }, max: rtt });
        *seen = Extremes { min: seen.min.min(rtt), max: seen.max.max(rtt) };
    }

    /// The sum of the last gradients after a round (Linux `tcp_cdg_grad`).
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

    /// Whether a gradient is a reason to reduce (Linux `tcp_cdg_backoff`).
    fn backs_off(&mut self) -> bool {
        let kept = libm::exp(-(self.gradient as f64) * self.params.backoff_factor * 1e-6);
        if self.gradient <= 0 || self.random.unit() <= kept {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.params.use_ineff == 0 || self.backoffs <= self.params.use_ineff
    }

    /// A round ends.
    fn next_round(&mut self, ack: &Ack) {
        (self.round_end, self.rtt_prev, self.rtt) = (Some(ack.snd_max), self.rtt, None);
        self.hystart.next_round();
    }

    /// The threshold after a loss (Linux `tcp_cdg_ssthresh`).
    fn after_loss(&mut self, window: f64) -> f64 {
        if self.params.use_tolerance && self.full == Some(false) {
            return window;
        }
        self.shadow = libm::floor(self.shadow / 2.0).min(window);
        let half = libm::floor(window / 2.0).max(2.0);
        if self.params.use_shadow { half.max(self.shadow) } else { half }
    }

    /// An acknowledgment arrives: ends slow start where delays say so.
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

    /// The window falls where the gradient asks for it.
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
            // Linux asks for growth by acknowledged data alone (`tcp_may_raise_cwnd`).
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

    /// Forgets what it measured before a pause.
    fn restart(&mut self, cwnd: f64) {
        let mut gradients = core::mem::take(&mut self.gradients);
        gradients.fill(Extremes::default());
        let random = self.random.clone();
        *self = CdgLaw { restarted: true, random, ..CdgLaw::new(self.params.clone(), gradients, cwnd) };
    }
}

impl WindowLaw for CdgLaw {
    fn observe(&mut self, seen: Seen, window: &mut Window) -> Early {
        match seen {
            Seen::Ack(ack) => self.on_ack(ack, window),
            Seen::Turn(ack) => return self.turn(ack, window),
            Seen::Event(Event::Random(random)) => self.random = random.clone(),
            // Linux `tcp_cdg_cwnd_event` with `CA_EVENT_CWND_RESTART`
            Seen::Event(Event::IdleRestart(_)) => self.restart(window.cwnd),
            Seen::Event(Event::ReductionEnd) => (self.round_end, self.rtt_prev, self.rtt, self.full) = (None, self.rtt, None, None),
            Seen::Event(_) => {}
        }
        Early::None
    }
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(1.0, ack)
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        // During a reduction for a gradient a loss reduces no more.
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
