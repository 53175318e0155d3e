//! fLEDBAT: LEDBAT with a constant increase and a decrease proportional to the window.
//! Flows that start later thus get a fair share (Carofiglio, Muscariello, Rossi, Testa, Valenti: Rethinking the low extra delay background
//! transport protocol, Computer Networks 57, 2013).

use super::ledbat::target;
use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, ParamError, Start, Variable, Window};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

/// fLEDBAT.
pub type Fledbat = Box<DelayBased<FledbatLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Fledbat>] = &[DelayBased::QUEUING_DELAY];

/// Parameters of fLEDBAT.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The target queuing delay, 1 ms to 10 s; default 100 ms.
    pub target: Duration,
    /// Segments added per round trip, above 0 and at most 100; default 1.
    pub increase: f64,
    /// Decrease at twice the target, above 0 and at most 100; default 5.
    /// It is the fraction of the window removed per acknowledged segment.
    pub decrease: f64,
    /// Parameters of the estimator of the queuing delay.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { target: Duration::from_millis(100), increase: 1.0, decrease: 5.0, delay: EstimatorParams::default() }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<FledbatLaw>, ParamError> {
        let target = target(self.target)?;
        for (field, given) in [("increase", self.increase), ("decrease", self.decrease)] {
            ParamError::unless(given > 0.0 && given <= 100.0, field, &given, "a number above 0 and at most 100")?;
        }
        let law = FledbatLaw { target, increase: self.increase, decrease: self.decrease };
        Ok(DelayBased::new(start, self.delay.build()?, law))
    }
}

/// The delay law.
#[derive(Clone, Debug)]
pub struct FledbatLaw {
    target: f64,
    increase: f64,
    decrease: f64,
}

impl DelayLaw for FledbatLaw {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        let Some(sample) = sample else { return };
        if ack.in_recovery || !ack.cwnd_limited || ack.acked <= 0.0 {
            return;
        }
        let above = (sample.queuing / self.target - 1.0).max(0.0);
        // At most half a segment per acknowledged segment: half the window in a round trip.
        let step = self.increase / window.cwnd - (self.decrease * above).min(0.5);
        window.cwnd = (window.cwnd + step * ack.acked).max(Window::MIN_CWND);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        *window = Window::reduced(event.window / 2.0);
    }

    fn on_rto(&mut self, window: &mut Window, _now: Time, in_use: f64) {
        *window = Window::after_timeout(in_use / 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionController;

    #[test]
    fn the_decrease_is_in_proportion_to_the_window_and_the_increase_is_not() {
        for window in [10.0, 40.0] {
            let start = Start::new(window, 1e9);
            let mut cc =
                Params { delay: EstimatorParams { filter: 1, ..EstimatorParams::default() }, ..Params::default() }.build(start).unwrap();
            let ack = |ms: i64| Ack { one_way_delay: Some(ms * 1_000_000), in_flight: window, ..Ack::ONE };
            cc.on_ack(&Ack { cwnd_limited: false, ..ack(0) });
            (0..window as u64).for_each(|_| cc.on_ack(&ack(50)));
            assert!((cc.cwnd() - window - 1.0).abs() < 0.05, "{}", cc.cwnd());
            let before = cc.cwnd();
            (0..before as u64).for_each(|_| cc.on_ack(&ack(102)));
            assert!((cc.cwnd() - (before + 1.0 - 0.1 * before)).abs() < 0.15, "{before} {}", cc.cwnd());
        }
    }
}
