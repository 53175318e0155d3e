//! Reno's window law: one segment more per round trip, half the window after congestion.
//! Source: rfc5681#3.1.
//!
//! Reno, NewReno and SACK have the same window law. They differ in loss recovery, which is part of the endpoint.

use crate::{Ack, Classic, CongestionEvent, Counted, Floor, Needs, ParamError, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;

/// Reno.
pub type Reno = Classic<RenoLaw>;

/// No variables: window and threshold are the whole state.
pub(crate) const VARIABLES: &[Variable<Reno>] = &[];

/// Parameters of Reno.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Segments added per round trip in congestion avoidance, above 0; default 1.
    /// Source: rfc5681#3.1 eq. 3.
    pub increase: f64,
    /// The fraction of the window kept after congestion, above 0 and below 1; default 0.5.
    /// Source: rfc5681#3.1 eq. 4.
    pub decrease: f64,
    /// Smallest window after congestion in segments, 1 to 2; default 1 (ns-2).
    /// With 2, as in rfc5681#3.1 eq. 4, ECN marks cannot slow down a flow with a window of 2.
    pub floor: f64,
    /// Whether the reduced window is rounded down to whole segments; default false.
    /// ns-2 did so until 2006 (`precisionReduce_`).
    pub whole: bool,
}

const STANDARD: Params = Params { increase: 1.0, decrease: 0.5, floor: 1.0, whole: false };

impl Default for Params {
    fn default() -> Self {
        STANDARD
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Reno, ParamError> {
        let increase = self.increase > 0.0 && self.increase.is_finite();
        ParamError::unless(increase, "increase", &self.increase, "a number of segments above 0")?;
        let decrease = self.decrease > 0.0 && self.decrease < 1.0;
        ParamError::unless(decrease, "decrease", &self.decrease, "a fraction above 0 and below 1")?;
        ParamError::unless((1.0..=2.0).contains(&self.floor), "floor", &self.floor, "1 to 2 segments")?;
        Ok(Classic::new(start, RenoLaw { own: (*self != STANDARD).then(|| Box::new(self.clone())) }))
    }
}

/// The window law.
#[derive(Clone, Debug)]
pub struct RenoLaw {
    /// The parameters, if they are not the defaults.
    own: Option<Box<Params>>,
}

impl RenoLaw {
    #[inline]
    fn params(&self) -> &Params {
        self.own.as_deref().unwrap_or(&STANDARD)
    }
}

impl WindowLaw for RenoLaw {
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(self.params().increase, ack)
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let params = self.params();
        let whole = |segments: f64| if params.whole { libm::floor(segments) } else { segments };
        let kept = whole(whole(event.window) * params.decrease);
        Window { cwnd: kept.max(params.floor), ssthresh: libm::floor(kept).max(2.0) }
    }

    /// `tcp_reno_min_cwnd` of Linux 2.6.
    fn needs(&self) -> Needs {
        Needs { floor: Floor::HalfSsthresh, ..Needs::OF_LAW }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arithmetic, CongestionController, Event, Signal};
    use sojourn_units::Time;

    #[test]
    fn the_window_doubles_in_slow_start_and_grows_by_one_segment_a_round_trip_after_it() {
        let mut reno = Params::default().build(Start::new(2.0, 16.0)).unwrap();
        (0..14).for_each(|_| reno.on_ack(&Ack::ONE));
        assert_eq!(reno.cwnd(), 16.0);
        (0..16).for_each(|_| reno.on_ack(&Ack::ONE));
        assert!((reno.cwnd() - 17.0).abs() < 0.05);
    }

    #[test]
    fn congestion_halves_the_window_and_the_threshold_is_whole_and_at_least_two() {
        let mut reno = Params::default().build(Start::new(21.5, 100.0)).unwrap();
        reno.on_congestion(&CongestionEvent { now: Time::ZERO, window: 21.5, signal: Signal::Loss });
        assert_eq!((reno.ssthresh(), reno.cwnd()), (10.0, 10.75));
        reno.on_congestion(&CongestionEvent { now: Time::ZERO, window: 1.5, signal: Signal::Loss });
        assert_eq!((reno.ssthresh(), reno.cwnd()), (2.0, 1.0));
    }

    #[test]
    fn the_kept_window_is_rounded_down_where_asked_for() {
        for (window, kept) in [(21.5, 10.0), (3.9, 1.0), (1.9, 1.0), (8.0, 4.0)] {
            let mut reno = Params { whole: true, ..Params::default() }.build(Start::new(window, 100.0)).unwrap();
            reno.on_congestion(&CongestionEvent { now: Time::ZERO, window, signal: Signal::Mark });
            assert_eq!(reno.cwnd(), kept);
        }
    }

    #[test]
    fn in_whole_segments_a_window_of_acks_adds_one_and_slow_start_includes_the_threshold() {
        let mut reno = Params::default().build(Start { arithmetic: Arithmetic::Whole, ..Start::new(4.0, 5.0) }).unwrap();
        let mut windows = || {
            reno.on_ack(&Ack::ONE);
            reno.cwnd()
        };
        assert_eq!([windows(), windows()], [5.0, 6.0]);
        assert_eq!(std::array::from_fn(|_| windows()), [6.0, 6.0, 6.0, 6.0, 6.0, 7.0]);
        reno.on_congestion(&CongestionEvent { now: Time::ZERO, window: 7.0, signal: Signal::Loss });
        assert_eq!((reno.ssthresh(), reno.cwnd(), reno.needs().floor), (3.0, 3.0, Floor::HalfSsthresh));
    }

    #[test]
    fn as_in_linux_slow_start_ends_at_the_threshold_and_acknowledged_segments_count_in_whole_ones() {
        let mut reno = Params::default().build(Start::new(4.0, 6.0).in_linux()).unwrap();
        let mut acked = |acked| {
            reno.on_ack(&Ack { acked, ..Ack::ONE });
            reno.cwnd()
        };
        // Two of three segments reach the threshold. The third counts in avoidance.
        assert_eq!([acked(3.0), acked(2.0), acked(2.0), acked(1.0)], [6.0, 6.0, 6.0, 7.0]);
        // 6 of 7 segments, and then 22.
        assert_eq!([acked(6.0), acked(16.0)], [7.0, 10.0]);
        reno.on_congestion(&CongestionEvent { now: Time::ZERO, window: 9.0, signal: Signal::Loss });
        assert_eq!((reno.ssthresh(), reno.cwnd()), (4.0, 4.0));
        reno.on_event(&Event::Undo(Window { cwnd: 9.0, ssthresh: 6.0 }));
        assert_eq!((reno.ssthresh(), reno.cwnd()), (6.0, 9.0));
    }

    #[test]
    fn a_timeout_starts_again_from_one_segment() {
        let mut reno = Params::default().build(Start::new(20.0, 100.0)).unwrap();
        reno.on_rto(Time::ZERO, 20.0);
        assert_eq!((reno.ssthresh(), reno.cwnd()), (10.0, 1.0));
    }

    #[test]
    fn counting_bytes_makes_up_for_acks_that_stand_for_two_segments() {
        let grown = |abc_limit: f64, acks: u32, acked: f64| {
            let mut reno = Params::default().build(Start::new(4.0, 8.0)).unwrap();
            (0..acks).for_each(|_| reno.on_ack(&Ack { acked, abc_limit, ..Ack::ONE }));
            reno.cwnd()
        };
        // Slow start: four segments acknowledged by two ACKs double the window only if bytes count, up to the limit.
        assert_eq!([grown(0.0, 2, 2.0), grown(1.0, 2, 2.0), grown(2.0, 2, 2.0), grown(2.0, 1, 4.0)], [6.0, 6.0, 8.0, 6.0]);
        // Avoidance: acknowledging a window adds one segment, whatever the number of ACKs.
        let avoid = |abc_limit: f64, acks: u32, acked: f64| {
            let mut reno = Params::default().build(Start::new(8.0, 8.0)).unwrap();
            (0..acks).for_each(|_| reno.on_ack(&Ack { acked, abc_limit, ..Ack::ONE }));
            reno.cwnd()
        };
        assert!((avoid(2.0, 4, 2.0) - avoid(0.0, 8, 1.0)).abs() < 0.05);
        assert!((avoid(0.0, 4, 2.0) - 8.5).abs() < 0.02);
    }
}
