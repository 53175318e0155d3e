//! TCP-LP: Reno that takes a one-way delay above a part of the range seen for congestion, and yields
//! (Kuzmanovic and Knightly: TCP-LP, low-priority service via end-point congestion control, ToN 14, 2006).

use crate::{Ack, Congestion, DelayBased, DelayLaw, DelaySample, EstimatorParams, ParamError, Start, Window};
use sojourn_units::Time;

/// Parameters of the law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The part of the range of delays above which there is congestion, above 0 and below 1; default 0.15 (section III-B).
    pub threshold: f64,
    /// Weight of a new delay in the smoothed one, above 0 and at most 1; default 1/8 (section III-B).
    pub weight: f64,
    /// Round trips in which a second sign leaves one segment, above 0; default 3 (section III-C).
    pub inference: f64,
    /// How the queuing delay is estimated; default of single delays.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        let delay = EstimatorParams { filter: 1, ..EstimatorParams::default() };
        Params { threshold: 0.15, weight: 0.125, inference: 3.0, delay }
    }
}

impl Params {
    /// The controller, or which parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<TcpLp>, ParamError> {
        let upto = |given: f64, most: f64| given > 0.0 && given <= most;
        ParamError::unless(upto(self.threshold, 0.999), "threshold", &self.threshold, "a number above 0 and at most 0.999")?;
        ParamError::unless(upto(self.weight, 1.0), "weight", &self.weight, "a number above 0 and at most 1")?;
        ParamError::unless(upto(self.inference, 100.0), "inference", &self.inference, "a number above 0 and at most 100")?;
        let law = TcpLp { params: self.clone(), smoothed: None, most: 0.0, until: Time::ZERO };
        Ok(DelayBased::new(start, self.delay.build()?, law))
    }
}

/// The law. Delays are in milliseconds above the least seen.
#[derive(Clone, Debug)]
pub struct TcpLp {
    params: Params,
    smoothed: Option<f64>,
    most: f64,
    /// The inference phase ends then.
    until: Time,
}

impl DelayLaw for TcpLp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        if let Some(sample) = sample {
            let smoothed = self.smoothed.map_or(sample.queuing, |old| old + self.params.weight * (sample.queuing - old));
            self.smoothed = Some(smoothed);
            self.most = self.most.max(sample.queuing);
            if smoothed > self.params.threshold * self.most && !ack.recovering && ack.now >= self.until {
                // The first sign halves, a second right after the inference phase leaves one segment.
                let again = ack.now < self.until + ack.srtt.mul_f64(self.params.inference) && self.until > Time::ZERO;
                window.cwnd = if again { 1.0 } else { (window.cwnd / 2.0).max(1.0) };
                window.ssthresh = window.cwnd;
                self.until = ack.now + ack.srtt.mul_f64(self.params.inference);
                return;
            }
        }
        if ack.recovering || !ack.window_limited || ack.now < self.until {
            return;
        }
        window.cwnd += if window.cwnd < window.ssthresh { ack.acked.min(1.0) } else { 1.0 / window.cwnd };
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        window.ssthresh = libm::floor(event.window / 2.0).max(2.0);
        window.cwnd = window.ssthresh;
    }

    fn on_rto(&mut self, window: &mut Window, _now: Time, in_use: f64) {
        window.ssthresh = libm::floor(in_use / 2.0).max(2.0);
        window.cwnd = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionController;
    use sojourn_units::Duration;

    fn ack(at: u64, ms: i64) -> Ack {
        let srtt = Duration::from_millis(100);
        Ack { now: Time::ZERO + Duration::from_millis(at), one_way_delay: Some(ms * 1_000_000), srtt, ..Ack::ONE }
    }

    #[test]
    fn a_first_sign_halves_and_stops_growth_and_a_second_one_leaves_one_segment() {
        let mut cc = Params { weight: 1.0, ..Params::default() }.build(Start { window: 16.0, ssthresh: 16.0 }).unwrap();
        cc.on_ack(&ack(0, 0));
        cc.on_ack(&ack(1, 100));
        let halved = cc.cwnd();
        assert!((halved - 8.0).abs() < 0.1, "{halved}");
        (2..300).for_each(|at| cc.on_ack(&ack(at, 1)));
        assert_eq!(cc.cwnd(), halved);
        cc.on_ack(&ack(320, 50));
        assert_eq!(cc.cwnd(), 1.0);
    }
}
