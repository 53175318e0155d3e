//! Westwood+ (grieco-2004): Reno's growth, and a reduction to the measured BDP.
//! The BDP is the measured bandwidth times the minimum RTT. As in Linux `tcp_westwood.c`, without its whole numbers, and reduced at once;
//! `westwood/kernel.rs` does both as Linux.

mod kernel;

use crate::{Ack, Classic, CongestionEvent, Counted, Early, LawOrKernel, Observation, ParamError, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use kernel::Kernel;
use sojourn_units::{Duration, Time, range};

/// Westwood+.
pub type Westwood = Box<Classic<LawOrKernel<WestwoodLaw, Kernel>>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Westwood>] =
    &[Variable::new("bandwidth", "segments/s", "the measured bandwidth", |cc| match cc.law() {
        LawOrKernel::Law(law) => law.bandwidth.unwrap_or(f64::NAN),
        LawOrKernel::Kernel(_) => f64::NAN,
    })];

/// Parameters of Westwood+.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Minimum time over which the bandwidth is measured, above zero; default "50 ms".
    /// Source: Linux `TCP_WESTWOOD_RTT_MIN`.
    pub min_interval: Duration,
    /// The weight of the newest measurement, above 0 and at most 1; default 0.125.
    /// Source: Linux `westwood_do_filter`.
    pub weight: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { min_interval: Duration::from_millis(50), weight: 0.125 }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Westwood, ParamError> {
        range::positive_time("min_interval", self.min_interval)?;
        let weight = self.weight > 0.0 && self.weight <= 1.0;
        ParamError::unless(weight, "weight", &self.weight, "a number above 0 and at most 1")?;
        if start.is_linux() {
            return Ok(Box::new(Classic::new(start, LawOrKernel::Kernel(Kernel::new(self.min_interval, self.weight)))));
        }
        let (params, rtt) = (self.clone(), Duration::ZERO);
        let law = WestwoodLaw { params, interval_start: None, acked: 0.0, bandwidth: None, smoothed: 0.0, rtt, rtt_min: None };
        Ok(Box::new(Classic::new(start, LawOrKernel::Law(law))))
    }
}

/// The window law. Bandwidths are in segments per second.
#[derive(Clone, Debug)]
pub struct WestwoodLaw {
    params: Params,
    interval_start: Option<Time>,
    /// Segments acknowledged in this interval.
    acked: f64,
    /// The bandwidth, smoothed once.
    bandwidth: Option<f64>,
    /// The bandwidth, smoothed twice.
    smoothed: f64,
    rtt: Duration,
    /// The minimum RTT; `None` right after a timeout, until the next sample.
    rtt_min: Option<Duration>,
}

impl WestwoodLaw {
    fn end_interval(&mut self, now: Time) {
        let start = *self.interval_start.get_or_insert(now);
        let length = now.since(start);
        if self.rtt == Duration::ZERO || length <= self.rtt.max(self.params.min_interval) {
            return;
        }
        let measured = self.acked / length.as_secs_f64();
        let weight = self.params.weight;
        match &mut self.bandwidth {
            None => (self.bandwidth, self.smoothed) = (Some(measured), measured),
            Some(bandwidth) => {
                *bandwidth += weight * (measured - *bandwidth);
                self.smoothed += weight * (*bandwidth - self.smoothed);
            }
        }
        (self.acked, self.interval_start) = (0.0, Some(now));
    }

    /// The bandwidth-delay product without a queue.
    fn bdp(&self) -> f64 {
        let rtt = self.rtt_min.unwrap_or(self.rtt);
        (self.smoothed * rtt.as_secs_f64()).max(Window::MIN_CWND)
    }
}

impl WindowLaw for WestwoodLaw {
    fn observe(&mut self, observation: Observation, _window: &mut Window) -> Early {
        if let Observation::Ack(ack) = observation {
            self.end_interval(ack.now);
            self.acked += ack.acked;
            if let Some(rtt) = ack.rtt {
                self.rtt = rtt;
                self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
            }
        }
        Early::None
    }

    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(1.0, ack)
    }

    fn on_reduction(&mut self, _event: &CongestionEvent) -> Window {
        let bdp = self.bdp();
        Window { cwnd: bdp, ssthresh: bdp }
    }

    fn after_rto(&mut self, _now: Time, _window: f64) -> f64 {
        let bdp = self.bdp();
        self.rtt_min = None;
        bdp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Event, Signal};

    #[test]
    fn congestion_leaves_the_bandwidth_delay_product_of_the_path() {
        let mut cc = Params::default().build(Start::new(100.0, 50.0)).unwrap();
        // A segment each ms, an RTT of 60 ms, and occasionally 90.
        for i in 1..3000u64 {
            let rtt = Duration::from_millis(if i % 100 < 50 { 60 } else { 90 });
            cc.on_ack(&Ack { now: Time::ZERO + Duration::from_millis(i), rtt: Some(rtt), ..Ack::ONE });
        }
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 150.0, signal: Signal::Loss });
        assert!((cc.cwnd() - 60.0).abs() < 1.0, "{}", cc.cwnd());
    }

    #[test]
    fn as_linux_it_takes_its_window_after_what_the_acknowledgment_brings_that_ends_a_reduction() {
        let mut cc = Params::default().build(Start::new(40.0, 20.0).in_linux()).unwrap();
        let at = |millis| Ack { now: Time::ZERO + Duration::from_millis(millis), in_recovery: true, ..Ack::ONE };
        let rtt = Some(Duration::from_millis(100));
        for ms in 1..200 {
            let bytes = 1_448 * 10 * ms;
            cc.on_ack(&Ack { rtt, snd_una: bytes, acked: 10.0, advanced: 10.0, ..at(100 * ms) });
        }
        let before = cc.cwnd();
        cc.on_event(&Event::ReductionEnd);
        assert_eq!(cc.cwnd(), before, "its round-trip time is not known yet");
        cc.on_ack(&Ack { rtt: Some(Duration::from_millis(50)), snd_una: 1_448 * 2_000, acked: 10.0, advanced: 10.0, ..at(20_000) });
        // 10 segments in 100 ms, and the minimum RTT is that of this ACK.
        assert!((4.0..=5.0).contains(&cc.cwnd()), "{}", cc.cwnd());
    }
}
