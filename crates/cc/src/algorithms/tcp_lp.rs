//! TCP-LP: Reno that yields when the one-way delay exceeds a threshold.
//! Such a delay is an early congestion indication (Kuzmanovic and Knightly: TCP-LP, low-priority service via end-point congestion control,
//! IEEE/ACM Transactions on Networking 14, 2006).
//!
//! There are two variants: the paper's, and that of Linux's module, which is also in ns-2.35. The module forgets the range of delays at
//! every indication and stays in slow start. An indication within the inference phase leaves one segment and restarts the phase. The
//! receiver's clock rate is estimated from whole milliseconds.

use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, Floor, ParamError, Start, Variable, Window};
use alloc::boxed::Box;
use sojourn_units::Time;

/// The variant of TCP-LP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Variant {
    /// The paper's variant, kuzmanovic-2006.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "paper"))]
    Paper,
    /// `tcp_lp.c` of Linux 2.6 (`ns-2 linux/tcp_lp.c`).
    #[cfg_attr(feature = "serde", serde(rename = "linux"))]
    Linux,
}

/// TCP-LP.
pub type TcpLp = Box<DelayBased<TcpLpLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<TcpLp>] = &[DelayBased::QUEUING_DELAY];

/// Parameters of TCP-LP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The variant; default: the paper's.
    /// The kernel module has no parameters, so with it all others must have their defaults.
    pub variant: Variant,
    /// The delay threshold, above 0 and at most 0.999; default 0.15.
    /// It is a fraction of the range of delays (kuzmanovic-2006#III-B).
    pub threshold: f64,
    /// Weight of a new delay in the smoothed delay, above 0 and at most 1; default 1/8.
    /// Source: kuzmanovic-2006#III-B.
    pub weight: f64,
    /// The length of the inference phase in round trips, above 0 and at most 100; default 3.
    /// A second indication within it leaves one segment (kuzmanovic-2006#III-C).
    pub inference: f64,
    /// Parameters of the estimator of the queuing delay; default: from unfiltered delays.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        let delay = EstimatorParams { filter: 1, ..EstimatorParams::default() };
        Params { variant: Variant::Paper, threshold: 0.15, weight: 0.125, inference: 3.0, delay }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<TcpLpLaw>, ParamError> {
        let upto = |given: f64, most: f64| given > 0.0 && given <= most;
        ParamError::unless(upto(self.threshold, 0.999), "threshold", &self.threshold, "a number above 0 and at most 0.999")?;
        ParamError::unless(upto(self.weight, 1.0), "weight", &self.weight, "a number above 0 and at most 1")?;
        ParamError::unless(upto(self.inference, 100.0), "inference", &self.inference, "a number above 0 and at most 100")?;
        let linux = self.variant == Variant::Linux;
        let alone = !linux || *self == Params { variant: Variant::Linux, ..Params::default() };
        ParamError::unless(alone, "variant", &"linux with others", "linux with no other parameter")?;
        let law = TcpLpLaw {
            params: self.clone(),
            smoothed_delay: None,
            max_delay: 0.0,
            inference_end: Time::ZERO,
            module: linux.then(Module::default),
        };
        Ok(DelayBased::new(start, self.delay.build()?, law))
    }
}

/// The delay law. Delays are queuing delays in milliseconds.
#[derive(Clone, Debug)]
pub struct TcpLpLaw {
    params: Params,
    smoothed_delay: Option<f64>,
    max_delay: f64,
    /// The end of the inference phase.
    inference_end: Time,
    /// The state of Linux's module, if that variant is selected.
    module: Option<Module>,
}

/// Linux's module, with the names of `tcp_lp.c`. Times are 32-bit milliseconds.
#[derive(Clone, Debug, Default)]
struct Module {
    /// Eight times the smoothed delay.
    sowd: i64,
    /// The range of delays since the last indication; `None` before the first delay.
    range: Option<DelayRange>,
    owd_max_rsv: i64,
    remote_hz: u32,
    /// The timestamps of the last ACK.
    reference: Timestamps,
    last_drop: u32,
    inference: u32,
    /// Whether the inference phase is in progress.
    inferring: bool,
    /// Acknowledged segments that have not yet increased the window (`bytes_acked`).
    acked: f64,
}

/// The smallest and the largest delay.
#[derive(Clone, Copy, Debug)]
struct DelayRange {
    owd_min: i64,
    owd_max: i64,
}

/// The timestamps of an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Timestamps {
    /// The receiver's timestamp.
    value: u32,
    /// The sender's timestamp that it echoes.
    echo: u32,
}

const HZ: u32 = 1000;

/// A timestamp, rounded to milliseconds as in ns-2.35.
fn stamp(nanos: u64) -> u32 {
    ((nanos + 500_000) / 1_000_000) as u32
}

impl Module {
    /// `tcp_lp_remote_hz_estimator`: the rate of the receiver's clock in ticks per second.
    fn remote_hz(&mut self, now: Timestamps) -> u32 {
        let last = core::mem::replace(&mut self.reference, now);
        if last.value == 0 || last.echo == 0 || now.value == last.value || now.echo == last.echo {
            return self.remote_hz;
        }
        let m = i64::from(HZ.wrapping_mul(now.value.wrapping_sub(last.value)) / now.echo.wrapping_sub(last.echo));
        match i64::from(self.remote_hz) << 6 {
            0 => m as u32,
            rhz => ((rhz + m - (rhz >> 6)) >> 6) as u32,
        }
    }

    /// `tcp_lp_rtt_sample`: processes a delay.
    fn sample(&mut self, now: Timestamps) {
        self.remote_hz = self.remote_hz(now);
        if self.remote_hz == 0 {
            return;
        }
        let owd = (i64::from(now.value.wrapping_mul(HZ / self.remote_hz)) - i64::from(now.echo)).abs();
        if owd == 0 {
            return;
        }
        let DelayRange { owd_min, owd_max } = self.range.unwrap_or(DelayRange { owd_min: owd, owd_max: 0 });
        let largest = match owd {
            _ if owd <= owd_max => owd_max,
            // The largest delay of all is ignored. The second largest counts.
            _ if owd > self.owd_max_rsv => match core::mem::replace(&mut self.owd_max_rsv, owd) {
                0 => owd,
                below => below,
            },
            _ => owd,
        };
        self.range = Some(DelayRange { owd_min: owd_min.min(owd), owd_max: largest });
        self.sowd += if self.sowd == 0 { owd << 3 } else { owd - (self.sowd >> 3) };
    }

    /// `tcp_lp_pkts_acked`: reduces the window at an early congestion indication.
    fn check_delay(&mut self, window: &mut Window, now: u32, echo: u32) {
        if now > echo {
            self.inference = 3 * (now - echo);
        }
        self.inferring = self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        let smoothed = self.sowd >> 3;
        if self.range.is_none_or(|range| smoothed < range.owd_min + 15 * (range.owd_max - range.owd_min) / 100) {
            return;
        }
        self.range = Some(DelayRange { owd_min: smoothed, owd_max: self.sowd >> 2 });
        self.owd_max_rsv = self.sowd >> 2;
        window.cwnd = if self.inferring { 1.0 } else { libm::floor(window.cwnd / 2.0).max(1.0) };
        self.last_drop = now;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.acked += ack.acked;
        let (Some(rtt), Some(delay)) = (ack.rtt, ack.one_way_delay) else { return };
        let sent = ack.now.as_nanos().saturating_sub(rtt.as_nanos());
        let echo = stamp(sent);
        // ns-2.35 takes no sample while retransmissions are acknowledged.
        if !(ack.in_recovery || ack.after_timeout) {
            self.sample(Timestamps { value: stamp(sent.saturating_add_signed(delay)), echo });
        }
        self.check_delay(window, ack.now.as_millis() as u32, echo);
        if self.inferring || ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        let cwnd = libm::floor(window.cwnd).max(1.0);
        // Bytes are counted, even if the window must not grow (rfc3465#2.1).
        if cwnd <= window.ssthresh && self.acked >= 1.0 {
            (window.cwnd, self.acked) = (cwnd + 1.0, 0.0);
        } else if cwnd > window.ssthresh && self.acked >= cwnd {
            (window.cwnd, self.acked) = (cwnd + 1.0, self.acked - cwnd);
        }
    }
}

impl DelayLaw for TcpLpLaw {
    fn floor(&self) -> Floor {
        if self.module.is_some() { Floor::HalfSsthresh } else { Floor::Window }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        if let Some(module) = &mut self.module {
            module.on_ack(window, ack);
            return;
        }
        if let Some(sample) = sample {
            let smoothed = self.smoothed_delay.map_or(sample.queuing, |old| old + self.params.weight * (sample.queuing - old));
            self.smoothed_delay = Some(smoothed);
            self.max_delay = self.max_delay.max(sample.queuing);
            if smoothed > self.params.threshold * self.max_delay && !ack.in_recovery && ack.now >= self.inference_end {
                // The first indication halves the window. A second one right after the inference phase leaves one segment.
                let second = ack.now < self.inference_end + ack.srtt.mul_f64(self.params.inference) && self.inference_end > Time::ZERO;
                window.cwnd = if second { 1.0 } else { (window.cwnd / 2.0).max(1.0) };
                window.ssthresh = window.cwnd;
                self.inference_end = ack.now + ack.srtt.mul_f64(self.params.inference);
                return;
            }
        }
        if ack.in_recovery || !ack.cwnd_limited || ack.now < self.inference_end {
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
        *window = Window::after_timeout(libm::floor(in_use / 2.0));
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
    fn a_first_indication_halves_and_stops_growth_and_a_second_one_leaves_one_segment() {
        let mut cc = Params { weight: 1.0, ..Params::default() }.build(Start::new(16.0, 16.0)).unwrap();
        cc.on_ack(&ack(0, 0));
        cc.on_ack(&ack(1, 100));
        let halved = cc.cwnd();
        assert!((halved - 8.0).abs() < 0.1, "{halved}");
        (2..300).for_each(|at| cc.on_ack(&ack(at, 1)));
        assert_eq!(cc.cwnd(), halved);
        cc.on_ack(&ack(320, 50));
        assert_eq!(cc.cwnd(), 1.0);
    }

    /// An ACK at `at` of a segment that took `delay` to arrive; the ACK took 20 ms.
    fn of(at: u64, delay: u64) -> Ack {
        let rtt = Duration::from_millis(delay + 20);
        Ack { now: Time::ZERO + Duration::from_millis(at), one_way_delay: Some(delay as i64 * 1_000_000), rtt: Some(rtt), ..Ack::ONE }
    }

    #[test]
    fn in_linux_the_first_delay_is_an_indication_and_one_within_the_inference_phase_leaves_one_segment() {
        let params = Params { variant: Variant::Linux, ..Params::default() };
        let mut cc = params.build(Start::new(6.0, 1000.0)).unwrap();
        // The first ACK sets the reference for the receiver's clock and opens the window.
        cc.on_ack(&of(1000, 30));
        assert_eq!(cc.cwnd(), 7.0);
        // ns-2.35: the range is one point, which equals its own threshold. The same ACK still adds one segment.
        cc.on_ack(&of(1010, 30));
        assert_eq!(cc.cwnd(), 4.0);
        // The range is now 30 to 60 ms, so the threshold is 34 ms. The window does not grow for three round trips.
        (1..14).for_each(|i| cc.on_ack(&of(1010 + 10 * i, 30)));
        assert_eq!(cc.cwnd(), 4.0);
        (14..60).for_each(|i| cc.on_ack(&of(1010 + 10 * i, 30)));
        let grown = cc.cwnd();
        assert!(grown > 30.0, "{grown}");
        // Two consecutive indications.
        (0..20).for_each(|i| cc.on_ack(&of(1610 + 10 * i, 50)));
        assert_eq!(cc.cwnd(), 1.0);
    }

    #[test]
    fn linux_has_no_parameters() {
        let params = Params { variant: Variant::Linux, threshold: 0.2, ..Params::default() };
        assert_eq!(params.build(Start::new(2.0, 64.0)).unwrap_err().field, "variant");
    }
}
