//! LEDBAT (rfc6817): the queuing delay settles at the target, so it yields to other flows.
//!
//! There are two variants: RFC 6817, and the ns-2 module by Rossi, Testa, Valenti and others, which uses whole numbers. The figures of the
//! papers on LEDBAT were made with the module.

use crate::{
    Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, MARK_GAIN, Marks, ParamError, Start, Variable, Window,
};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

/// The variant of LEDBAT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Variant {
    /// RFC 6817.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "rfc6817"))]
    Rfc6817,
    /// The ns-2 module: whole segments, a counter, and a window of one segment or more.
    #[cfg_attr(feature = "serde", serde(rename = "ns2"))]
    Ns2,
}

/// LEDBAT.
pub type Ledbat = Box<DelayBased<LedbatLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Ledbat>] = &[DelayBased::QUEUING_DELAY];

/// Parameters of LEDBAT.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The variant; default: RFC 6817.
    pub variant: Variant,
    /// The target queuing delay, 1 ms to 10 s; default 100 ms (rfc6817#2.5 TARGET).
    /// The RFC allows no larger target.
    pub target: Duration,
    /// Segments added per round trip on an empty queue, above 0 and at most 1; default 1.
    /// Source: rfc6817#2.5 GAIN.
    pub gain: f64,
    /// Response to counted marks, 0 to 100; default 4. Prague uses 1/2.
    /// It is the window reduction per round trip divided by the marked fraction. With 0, marks count as losses.
    pub mark_gain: f64,
    /// Parameters of the estimator of the queuing delay.
    /// The ns-2 module has `{ history = 5, filter = 2, tick = "1 ms" }`.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            variant: Variant::Rfc6817,
            target: Duration::from_millis(100),
            gain: 1.0,
            mark_gain: MARK_GAIN,
            delay: EstimatorParams::default(),
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<LedbatLaw>, ParamError> {
        let target = target(self.target)?;
        ParamError::unless(self.gain > 0.0 && self.gain <= 1.0, "gain", &self.gain, "a number above 0 and at most 1")?;
        let law = LedbatLaw { variant: self.variant, target, gain: self.gain, counter: 0.0 };
        Ok(DelayBased::new(start, self.delay.build()?, law).with_marks(Marks::new(self.mark_gain, start)?))
    }
}

/// Checks a target and converts it to milliseconds.
///
/// # Errors
/// The target is below 1 ms or above 10 s.
pub(super) fn target(target: Duration) -> Result<f64, ParamError> {
    let fine = (Duration::from_millis(1)..=Duration::from_secs(10)).contains(&target);
    ParamError::unless(fine, "target", &target, "1 ms to 10 s")?;
    Ok(target.as_nanos() as f64 * 1e-6)
}

/// The delay law.
#[derive(Clone, Debug)]
pub struct LedbatLaw {
    variant: Variant,
    /// The target in milliseconds.
    target: f64,
    gain: f64,
    /// For the ns-2 module: the sum of distances from the target since the last change, in ms.
    counter: f64,
}

impl LedbatLaw {
    /// Changes the window in proportion to the distance from the target (rfc6817#2.4.2).
    fn on_ack_rfc6817(&self, window: &mut Window, ack: &Ack, queuing: f64) {
        let off = (self.target - queuing) / self.target;
        let next = window.cwnd + self.gain * off * ack.acked / window.cwnd;
        // At most one segment more than was in flight (rfc6817#2.4.2 ALLOWED_INCREASE), so an unused window shrinks. An ACK that must not
        // open the
        // window, such as one with an ECN echo, does not.
        let most = ack.in_flight + 1.0;
        window.cwnd = next.min(if ack.cwnd_limited { most } else { most.min(window.cwnd) }).max(2.0);
    }

    /// Changes the window by one segment if the counter leaves its range.
    /// The range is from zero to a window of targets.
    fn on_ack_ns2(&mut self, window: &mut Window, queuing: f64) {
        self.counter += self.gain * (self.target - queuing).min(self.target);
        let cwnd = libm::floor(window.cwnd).max(1.0);
        if self.counter >= cwnd * self.target {
            window.cwnd = cwnd + 1.0;
            self.counter = 0.0;
        } else if self.counter < 0.0 {
            window.cwnd = (cwnd - 1.0).max(1.0);
            self.counter = if cwnd > 1.0 { (window.cwnd - 1.0) * self.target } else { 0.0 };
        }
    }
}

impl DelayLaw for LedbatLaw {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        let Some(sample) = sample else { return };
        if ack.in_recovery || ack.acked <= 0.0 {
            return;
        }
        match self.variant {
            Variant::Rfc6817 => self.on_ack_rfc6817(window, ack, sample.queuing),
            Variant::Ns2 if ack.cwnd_limited => self.on_ack_ns2(window, sample.queuing),
            Variant::Ns2 => {}
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        self.counter = 0.0;
        window.ssthresh = match self.variant {
            Variant::Rfc6817 => window.cwnd.min((event.window / 2.0).max(2.0)),
            Variant::Ns2 => libm::floor(event.window / 2.0).max(2.0),
        };
        window.cwnd = window.ssthresh;
    }

    fn on_rto(&mut self, window: &mut Window, _now: Time, in_use: f64) {
        self.counter = 0.0;
        *window = Window::after_timeout(libm::floor(in_use / 2.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Signal};

    fn ack(delay: u64, in_flight: f64) -> Ack {
        Ack { one_way_delay: Some(delay as i64 * 1_000_000), in_flight, ..Ack::ONE }
    }

    fn at(cwnd: f64, variant: Variant) -> DelayBased<LedbatLaw> {
        let mut cc = Params { variant, ..Params::default() }.build(Start::new(cwnd, 1e9)).unwrap();
        // Four equal delays, so that the minimum is the tested one. In recovery the window does not change.
        let measure = |delay| Ack { in_recovery: true, ..ack(delay, cwnd) };
        cc.on_ack(&measure(0));
        (0..4).for_each(|_| cc.on_ack(&measure(50)));
        cc
    }

    #[test]
    fn half_the_target_grows_by_half_a_segment_per_round_trip() {
        let mut cc = at(20.0, Variant::Rfc6817);
        (0..20).for_each(|_| cc.on_ack(&ack(50, 20.0)));
        assert!((cc.cwnd() - 20.5).abs() < 0.01, "{}", cc.cwnd());
    }

    #[test]
    fn twice_the_target_shrinks_by_one_segment_per_round_trip() {
        let mut cc = at(20.0, Variant::Rfc6817);
        (0..3).for_each(|_| cc.on_ack(&ack(200, 20.0)));
        let before = cc.cwnd();
        (0..20).for_each(|_| cc.on_ack(&ack(200, 20.0)));
        assert!((before - cc.cwnd() - 1.0).abs() < 0.05, "{before} {}", cc.cwnd());
    }

    #[test]
    fn the_window_is_at_most_one_segment_more_than_was_in_flight() {
        for cwnd_limited in [true, false] {
            let mut cc = at(20.0, Variant::Rfc6817);
            cc.on_ack(&Ack { cwnd_limited, ..ack(50, 5.0) });
            assert_eq!(cc.cwnd(), 6.0);
        }
    }

    #[test]
    fn a_window_that_is_not_used_shrinks_above_the_target_and_does_not_grow_below_it() {
        let mut cc = at(20.0, Variant::Rfc6817);
        (0..20).for_each(|_| cc.on_ack(&Ack { cwnd_limited: false, ..ack(0, 19.5) }));
        assert_eq!(cc.cwnd(), 20.0);
        (0..4).for_each(|_| cc.on_ack(&Ack { cwnd_limited: false, ..ack(200, 19.5) }));
        assert!(cc.cwnd() < 20.0);
    }

    #[test]
    fn a_loss_halves_and_a_timeout_leaves_one_segment() {
        for (variant, window, kept) in [(Variant::Rfc6817, 21.0, 10.5), (Variant::Ns2, 21.0, 10.0), (Variant::Rfc6817, 3.0, 2.0)] {
            let mut cc = at(window, variant);
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window, signal: Signal::Loss });
            assert_eq!(cc.cwnd(), kept);
            cc.on_rto(Time::ZERO, window);
            assert_eq!(cc.cwnd(), 1.0);
        }
    }

    #[test]
    fn the_counter_of_the_ns2_module_adds_a_segment_after_a_window_of_empty_queues_and_takes_one_below_zero() {
        let mut law = LedbatLaw { variant: Variant::Ns2, target: 100.0, gain: 1.0, counter: 0.0 };
        let mut window = Window { cwnd: 4.0, ssthresh: 1e9 };
        (0..4).for_each(|_| law.on_ack_ns2(&mut window, 0.0));
        assert_eq!((window.cwnd, law.counter), (5.0, 0.0));
        law.on_ack_ns2(&mut window, 101.0);
        assert_eq!((window.cwnd, law.counter), (4.0, 300.0));
        (0..2000).for_each(|_| law.on_ack_ns2(&mut window, 300.0));
        assert_eq!(window.cwnd, 1.0);
    }
}
