//! TCP-LP: Reno that takes a one-way delay above a part of the range seen for congestion, and yields
//! (Kuzmanovic and Knightly: TCP-LP, low-priority service via end-point congestion control, ToN 14, 2006).
//!
//! Two rule sets: the paper's, and those of Linux's module, which ns-2.35 has too. The module forgets the range of delays at
//! every sign, slow start goes on after one, a sign within the inference phase leaves one segment and begins the phase
//! anew, and the receiver's clock is estimated from whole milliseconds.

use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, ParamError, Start, Window};
use sojourn_units::Time;

/// Which rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Variant {
    /// Kuzmanovic and Knightly 2006.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "paper"))]
    Paper,
    /// `tcp_lp.c` of Linux 2.6, `lp` in ns-2.35.
    #[cfg_attr(feature = "serde", serde(rename = "linux"))]
    Linux,
}

/// Parameters of the law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Which rules; default the paper's. The module has no parameters: with it the others must be as they are by default.
    pub variant: Variant,
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
        Params { variant: Variant::Paper, threshold: 0.15, weight: 0.125, inference: 3.0, delay }
    }
}

impl Params {
    /// The controller, or which parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<TcpLp>, ParamError> {
        let upto = |given: f64, most: f64| given > 0.0 && given <= most;
        ParamError::unless(upto(self.threshold, 0.999), "threshold", &self.threshold, "a number above 0 and at most 0.999")?;
        ParamError::unless(upto(self.weight, 1.0), "weight", &self.weight, "a number above 0 and at most 1")?;
        ParamError::unless(upto(self.inference, 100.0), "inference", &self.inference, "a number above 0 and at most 100")?;
        let linux = self.variant == Variant::Linux;
        let alone = !linux || *self == Params { variant: Variant::Linux, ..Params::default() };
        ParamError::unless(alone, "variant", &"linux with others", "linux with no other parameter")?;
        let law = TcpLp { params: self.clone(), smoothed: None, most: 0.0, until: Time::ZERO, module: linux.then(Module::default) };
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
    /// Linux's rules, where they are asked for.
    module: Option<Module>,
}

/// Linux's module: names as in `tcp_lp.c`, times in milliseconds of 32 bits.
#[derive(Clone, Debug, Default)]
struct Module {
    /// Eight times the smoothed delay.
    sowd: i64,
    /// The least and the largest delay since the last sign, none before the first one.
    range: Option<(i64, i64)>,
    owd_max_rsv: i64,
    remote_hz: u32,
    /// The stamps of the receiver and of the sender on the last acknowledgement.
    reference: (u32, u32),
    last_drop: u32,
    inference: u32,
    /// Within the inference phase.
    inferring: bool,
    /// Segments acknowledged that the window has not grown for (`bytes_acked`).
    acked: f64,
}

const HZ: u32 = 1000;

/// ns-2.35 rounds stamps to milliseconds.
fn stamp(nanos: u64) -> u32 {
    ((nanos + 500_000) / 1_000_000) as u32
}

impl Module {
    fn remote_hz(&mut self, value: u32, echo: u32) -> u32 {
        let (then, sent) = core::mem::replace(&mut self.reference, (value, echo));
        if then == 0 || sent == 0 || value == then || echo == sent {
            return self.remote_hz;
        }
        let m = i64::from(HZ.wrapping_mul(value.wrapping_sub(then)) / echo.wrapping_sub(sent));
        match i64::from(self.remote_hz) << 6 {
            0 => m as u32,
            rhz => ((rhz + m - (rhz >> 6)) >> 6) as u32,
        }
    }

    /// `tcp_lp_rtt_sample`.
    fn sample(&mut self, value: u32, echo: u32) {
        self.remote_hz = self.remote_hz(value, echo);
        if self.remote_hz == 0 {
            return;
        }
        let owd = (i64::from(value.wrapping_mul(HZ / self.remote_hz)) - i64::from(echo)).abs();
        if owd == 0 {
            return;
        }
        let (min, max) = self.range.unwrap_or((owd, 0));
        let largest = match owd {
            _ if owd <= max => max,
            // The largest of all is forgotten: the one below it counts.
            _ if owd > self.owd_max_rsv => match core::mem::replace(&mut self.owd_max_rsv, owd) {
                0 => owd,
                below => below,
            },
            _ => owd,
        };
        self.range = Some((min.min(owd), largest));
        self.sowd += if self.sowd == 0 { owd << 3 } else { owd - (self.sowd >> 3) };
    }

    /// `tcp_lp_pkts_acked`.
    fn judge(&mut self, window: &mut Window, now: u32, echo: u32) {
        if now > echo {
            self.inference = 3 * (now - echo);
        }
        self.inferring = self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        let smoothed = self.sowd >> 3;
        if self.range.is_none_or(|(min, max)| smoothed < min + 15 * (max - min) / 100) {
            return;
        }
        self.range = Some((smoothed, self.sowd >> 2));
        self.owd_max_rsv = self.sowd >> 2;
        window.cwnd = if self.inferring { 1.0 } else { libm::floor(window.cwnd / 2.0).max(1.0) };
        self.last_drop = now;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.acked += ack.acked;
        let (Some(rtt), Some(delay)) = (ack.rtt, ack.one_way_delay) else { return };
        let sent = ack.now.as_nanos().saturating_sub(rtt.as_nanos());
        let echo = stamp(sent);
        // ns-2.35 takes no sample where a segment that was sent again is acknowledged.
        if !(ack.in_recovery || ack.after_timeout) {
            self.sample(stamp(sent.saturating_add_signed(delay)), echo);
        }
        self.judge(window, (ack.now.as_nanos() / 1_000_000) as u32, echo);
        if self.inferring || ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        let cwnd = libm::floor(window.cwnd).max(1.0);
        // Bytes are counted (RFC 3465), also while the window must not grow.
        if cwnd <= window.ssthresh && self.acked >= 1.0 {
            (window.cwnd, self.acked) = (cwnd + 1.0, 0.0);
        } else if cwnd > window.ssthresh && self.acked >= cwnd {
            (window.cwnd, self.acked) = (cwnd + 1.0, self.acked - cwnd);
        }
    }
}

impl DelayLaw for TcpLp {
    fn min_cwnd(&self, window: &Window) -> f64 {
        if self.module.is_some() { libm::floor(window.ssthresh / 2.0) } else { window.cwnd }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        if let Some(module) = &mut self.module {
            module.on_ack(window, ack);
            return;
        }
        if let Some(sample) = sample {
            let smoothed = self.smoothed.map_or(sample.queuing, |old| old + self.params.weight * (sample.queuing - old));
            self.smoothed = Some(smoothed);
            self.most = self.most.max(sample.queuing);
            if smoothed > self.params.threshold * self.most && !ack.in_recovery && ack.now >= self.until {
                // The first sign halves, a second right after the inference phase leaves one segment.
                let again = ack.now < self.until + ack.srtt.mul_f64(self.params.inference) && self.until > Time::ZERO;
                window.cwnd = if again { 1.0 } else { (window.cwnd / 2.0).max(1.0) };
                window.ssthresh = window.cwnd;
                self.until = ack.now + ack.srtt.mul_f64(self.params.inference);
                return;
            }
        }
        if ack.in_recovery || !ack.cwnd_limited || ack.now < self.until {
            return;
        }
        window.cwnd += if window.cwnd < window.ssthresh { ack.acked.min(1.0) } else { 1.0 / window.cwnd };
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        if let Some(module) = &mut self.module {
            module.acked = 0.0;
        }
        window.ssthresh = libm::floor(event.window / 2.0).max(2.0);
        window.cwnd = window.ssthresh;
    }

    fn on_rto(&mut self, window: &mut Window, _now: Time, in_use: f64) {
        if let Some(module) = &mut self.module {
            module.acked = 0.0;
        }
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

    /// An acknowledgement at `at` of a segment that took `delay` to arrive, and as long as 20 ms for its acknowledgement.
    fn of(at: u64, delay: u64) -> Ack {
        let rtt = Duration::from_millis(delay + 20);
        Ack { now: Time::ZERO + Duration::from_millis(at), one_way_delay: Some(delay as i64 * 1_000_000), rtt: Some(rtt), ..Ack::ONE }
    }

    #[test]
    fn linux_takes_its_first_delay_for_a_sign_and_one_within_the_inference_phase_leaves_one_segment() {
        let params = Params { variant: Variant::Linux, ..Params::default() };
        let mut cc = params.build(Start { window: 6.0, ssthresh: 1000.0 }).unwrap();
        // The first acknowledgement sets the reference for the receiver's clock and grows the window.
        cc.on_ack(&of(1000, 30));
        assert_eq!(cc.cwnd(), 7.0);
        // ns-2.35: the range is one point then, which is no less than itself; the same acknowledgement still grows by one.
        cc.on_ack(&of(1010, 30));
        assert_eq!(cc.cwnd(), 4.0);
        // From 30 to 60 ms is the range after it: 34 ms are the threshold. Nothing grows for three round trips.
        (1..14).for_each(|i| cc.on_ack(&of(1010 + 10 * i, 30)));
        assert_eq!(cc.cwnd(), 4.0);
        (14..60).for_each(|i| cc.on_ack(&of(1010 + 10 * i, 30)));
        let grown = cc.cwnd();
        assert!(grown > 30.0, "{grown}");
        // Two signs in a row.
        (0..20).for_each(|i| cc.on_ack(&of(1610 + 10 * i, 50)));
        assert_eq!(cc.cwnd(), 1.0);
    }

    #[test]
    fn linux_has_no_parameters() {
        let params = Params { variant: Variant::Linux, threshold: 0.2, ..Params::default() };
        assert_eq!(params.build(Start { window: 2.0, ssthresh: 64.0 }).unwrap_err().field, "variant");
    }
}
