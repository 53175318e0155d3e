//! Scalable TCP (kelly-2003): an acknowledged segment adds 0.01, a loss removes an eighth.
//! The time between losses thus does not depend on the window. Small windows grow as Reno's do (Linux `tcp_scalable.c`).

use crate::{Ack, Arithmetic, Classic, CongestionEvent, Counted, ParamError, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use sojourn_units::Time;

/// Scalable TCP.
pub type Scalable = Box<Classic<ScalableLaw>>;

/// No variables: window and threshold are the whole state.
pub(crate) const VARIABLES: &[Variable<Scalable>] = &[];

/// Parameters of Scalable TCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Segments added per acknowledged segment, above 0 and at most 1; default 0.01.
    /// Source: kelly-2003.
    pub increase: f64,
    /// Fraction of the window removed by a loss, above 0 and below 1; default 0.125 (kelly-2003).
    pub decrease: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { increase: 0.01, decrease: 0.125 }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Classic<ScalableLaw>, ParamError> {
        let increase = self.increase > 0.0 && self.increase <= 1.0;
        ParamError::unless(increase, "increase", &self.increase, "a number above 0 and at most 1")?;
        let decrease = self.decrease > 0.0 && self.decrease < 1.0;
        ParamError::unless(decrease, "decrease", &self.decrease, "a fraction above 0 and below 1")?;
        Ok(Classic::new(start, ScalableLaw { params: self.clone(), takes_whole: start.is_linux() }))
    }
}

/// The window law.
#[derive(Clone, Debug)]
pub struct ScalableLaw {
    params: Params,
    /// Whether a loss removes whole segments (Linux `tcp_scalable_ssthresh`).
    takes_whole: bool,
}

impl ScalableLaw {
    fn kept(&self, window: f64) -> f64 {
        let taken = window * self.params.decrease;
        window - if self.takes_whole { libm::floor(taken) } else { taken }
    }
}

impl WindowLaw for ScalableLaw {
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        match from.arithmetic {
            Arithmetic::Linux => from.every(from.cwnd.min(1.0 / self.params.increase)),
            _ => from.to(from.cwnd + ack.acked * self.params.increase.max(1.0 / from.cwnd)),
        }
    }

    fn growth_of_round(&self, window: f64, _now: Time) -> f64 {
        (self.params.increase * window).max(1.0)
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = self.kept(event.window).max(1.0);
        Window { cwnd: kept, ssthresh: kept.max(2.0) }
    }

    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        self.kept(window).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionController;

    #[test]
    fn a_window_of_1000_recovers_from_a_loss_in_14_round_trips_whatever_its_size() {
        // ln(1/0.875)/ln(1.01) = 13.4 round trips (kelly-2003).
        for window in [1000.0, 10_000.0] {
            let law = ScalableLaw { params: Params::default(), takes_whole: false };
            let mut cc = Classic::new(Start::new(window, 2.0), law);
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window, signal: crate::Signal::Loss });
            assert_eq!(cc.cwnd(), 0.875 * window);
            let rounds = (1..100).find(|_| {
                (0..cc.cwnd() as u32).for_each(|_| cc.on_ack(&Ack::ONE));
                cc.cwnd() >= window
            });
            assert_eq!(rounds, Some(14));
        }
    }
}
