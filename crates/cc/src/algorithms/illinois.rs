//! TCP Illinois (liu-2006): losses trigger reductions, delays determine growth and reduction.
//! As in Linux `tcp_illinois.c`, without its fixed-point numbers; `illinois/kernel.rs` has Linux's numbers.

mod kernel;

use crate::{Ack, Classic, CongestionEvent, Counted, Early, LawOrKernel, Observation, ParamError, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use kernel::Kernel;
use sojourn_units::Time;

/// TCP Illinois.
pub type Illinois = Box<Classic<LawOrKernel<IllinoisLaw, Kernel>>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Illinois>] = &[
    Variable::new("increase", "segments", "the window's increase per round trip", |cc| increase_and_decrease(cc).0),
    Variable::new("decrease", "0..1", "the share of the window that a loss removes", |cc| increase_and_decrease(cc).1),
];

/// Parameters of TCP Illinois.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Segments added per round trip at the largest queuing delay, above 0; default 0.3.
    /// Source: liu-2006.
    pub alpha_min: f64,
    /// Segments added per round trip without queuing delay; default 10 (liu-2006).
    /// It is at least `alpha_min`.
    pub alpha_max: f64,
    /// Fraction of the window removed by a loss at a small delay, above 0 and below 1.
    /// It is at most `beta_max`; default 0.125 (liu-2006).
    pub beta_min: f64,
    /// Fraction of the window removed by a loss at a large delay, below 1; default 0.5.
    /// It is at least `beta_min` (liu-2006).
    pub beta_max: f64,
    /// Window in segments below which it behaves as Reno, 0 or more; default 15.
    /// Source: Linux `win_thresh`.
    pub win_thresh: f64,
    /// Round trips with a small delay before growth returns to `alpha_max`, 1 or more; default 5.
    /// Source: Linux `theta`.
    pub theta: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { alpha_min: 0.3, alpha_max: 10.0, beta_min: 0.125, beta_max: 0.5, win_thresh: 15.0, theta: 5 }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Illinois, ParamError> {
        ParamError::unless(
            self.alpha_min > 0.0 && self.alpha_min <= 1000.0,
            "alpha_min",
            &self.alpha_min,
            "a number above 0, at most 1000",
        )?;
        let alpha = self.alpha_max >= self.alpha_min && self.alpha_max <= 1000.0;
        ParamError::unless(alpha, "alpha_max", &self.alpha_max, "a number, alpha_min to 1000")?;
        let beta = self.beta_min > 0.0 && self.beta_min < 1.0;
        ParamError::unless(beta, "beta_min", &self.beta_min, "a fraction above 0 and below 1")?;
        let beta = self.beta_max >= self.beta_min && self.beta_max < 1.0;
        ParamError::unless(beta, "beta_max", &self.beta_max, "a fraction, at least beta_min and below 1")?;
        ParamError::unless(self.win_thresh >= 0.0, "win_thresh", &self.win_thresh, "a number of segments, 0 or more")?;
        ParamError::unless(self.theta > 0, "theta", &self.theta, "a number of round trips, 1 or more")?;
        if start.is_linux() {
            let (alpha, beta) = ([self.alpha_min, self.alpha_max], [self.beta_min, self.beta_max]);
            return Ok(Box::new(Classic::new(start, LawOrKernel::Kernel(Kernel::new(alpha, beta, self.win_thresh, self.theta)))));
        }
        Ok(Box::new(Classic::new(start, LawOrKernel::Law(IllinoisLaw::new(self)))))
    }
}

fn increase_and_decrease(cc: &Illinois) -> (f64, f64) {
    match cc.law() {
        LawOrKernel::Law(law) => (law.alpha, law.beta),
        LawOrKernel::Kernel(kernel) => kernel.increase_and_decrease(),
    }
}

/// Thresholds as fractions of the maximum delay (Linux `alpha`, `beta`).
/// They are a small delay for growth, and a small and a large one for reductions.
const LITTLE_FOR_GROWTH: f64 = 0.01;
const LITTLE_FOR_REDUCTION: f64 = 0.1;
const MUCH_FOR_REDUCTION: f64 = 0.8;

/// The window law. Times are in seconds.
#[derive(Clone, Debug)]
pub struct IllinoisLaw {
    params: Params,
    alpha: f64,
    beta: f64,
    base_rtt: f64,
    max_rtt: f64,
    /// The sum of the samples of this round trip.
    sum_rtt: f64,
    samples: u32,
    round_end: u64,
    /// Whether the delay exceeded the small one since growth was fastest.
    above: bool,
    low_rounds: u32,
}

impl IllinoisLaw {
    fn new(params: &Params) -> Self {
        IllinoisLaw {
            alpha: params.alpha_max,
            beta: params.beta_max,
            params: params.clone(),
            base_rtt: f64::INFINITY,
            max_rtt: 0.0,
            sum_rtt: 0.0,
            samples: 0,
            round_end: 0,
            above: false,
            low_rounds: 0,
        }
    }

    /// The growth at this mean delay (liu-2006).
    fn alpha_for(&mut self, delay: f64, greatest: f64) -> f64 {
        let little = LITTLE_FOR_GROWTH * greatest;
        let Params { alpha_min, alpha_max, theta, .. } = self.params;
        if delay <= little {
            self.low_rounds += u32::from(self.above);
            if self.above && self.low_rounds < theta {
                return self.alpha;
            }
            (self.low_rounds, self.above) = (0, false);
            return alpha_max;
        }
        self.above = true;
        // The curve k1/(k2 + delay) through both ends.
        let (span, delay) = (greatest - little, delay - little);
        span * alpha_max / (span + delay * (alpha_max - alpha_min) / alpha_min)
    }

    /// The reduction at this mean delay (liu-2006).
    fn beta_for(&self, delay: f64, greatest: f64) -> f64 {
        let Params { beta_min, beta_max, .. } = self.params;
        let (little, much) = (LITTLE_FOR_REDUCTION * greatest, MUCH_FOR_REDUCTION * greatest);
        if delay <= little {
            return beta_min;
        }
        let position = (delay - little) / (much - little);
        beta_min + (beta_max - beta_min) * position.min(1.0)
    }

    /// Updates growth and reduction once per round trip (Linux `update_params`).
    fn update(&mut self, cwnd: f64) {
        if cwnd < self.params.win_thresh {
            (self.alpha, self.beta) = (1.0, self.params.beta_max);
        } else if self.samples > 0 {
            let greatest = self.max_rtt - self.base_rtt;
            let delay = self.sum_rtt / f64::from(self.samples) - self.base_rtt;
            self.alpha = self.alpha_for(delay, greatest);
            self.beta = self.beta_for(delay, greatest);
        }
        (self.sum_rtt, self.samples) = (0.0, 0);
    }
}

impl WindowLaw for IllinoisLaw {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        let Observation::Ack(ack) = observation else { return Early::None };
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.sum_rtt += rtt;
            self.samples += 1;
        }
        if ack.snd_una > self.round_end {
            self.round_end = ack.snd_max;
            self.update(window.cwnd);
        }
        Early::None
    }

    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(self.alpha, ack)
    }

    fn growth_of_round(&self, _window: f64, _now: Time) -> f64 {
        self.alpha
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = (event.window * (1.0 - self.beta)).max(1.0);
        Window { cwnd: kept, ssthresh: kept.max(2.0) }
    }

    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        let kept = window * (1.0 - self.beta);
        (self.alpha, self.beta) = (1.0, self.params.beta_max);
        (self.above, self.low_rounds, self.sum_rtt, self.samples) = (false, 0, 0.0, 0);
        kept.max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Duration;

    /// Growth and reduction after one round trip with this RTT in ms.
    /// The path has RTTs from 100 to 200 ms.
    fn after(rtt: u64, window: f64) -> (f64, f64) {
        let mut law = IllinoisLaw::new(&Params::default());
        let mut number = 1;
        let mut see = |rtt: u64| {
            number += 1;
            let rtt = Some(Duration::from_millis(rtt));
            let ack = Ack { rtt, in_flight: window, snd_una: number, snd_max: number, ..Ack::ONE };
            law.observe(Observation::Ack(&ack), &mut Window { cwnd: window, ssthresh: 2.0 });
        };
        [100, 200, rtt].into_iter().for_each(&mut see);
        (law.alpha, law.beta)
    }

    #[test]
    fn growth_falls_and_reductions_rise_with_the_delay_between_their_bounds() {
        // d1 = 1 ms, dm = 100 ms: alpha(da) = 99*10/(99 + (da - 1)*9.7/0.3).
        let close = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
        assert!(close(after(200, 50.0), (0.3, 0.5)));
        assert!(close(after(150, 50.0), (990.0 / (99.0 + 49.0 * 9.7 / 0.3), 0.125 + 0.375 * 40.0 / 70.0)));
        assert!(after(100, 50.0).1 == 0.125);
    }

    #[test]
    fn small_windows_are_renos() {
        assert_eq!(after(150, 10.0), (1.0, 0.5));
    }

    #[test]
    fn a_timeout_keeps_what_a_loss_keeps_and_forgets_the_delay() {
        let mut law = IllinoisLaw::new(&Params::default());
        (law.alpha, law.beta) = (10.0, 0.125);
        assert_eq!(law.after_rto(Time::ZERO, 80.0), 70.0);
        assert_eq!((law.alpha, law.beta), (1.0, 0.5));
        assert_eq!(law.after_rto(Time::ZERO, 3.0), 2.0);
    }
}
