//! DCTCP (rfc8257): once a window, marks reduce it by half of the part of segments that were marked lately.

use crate::{Ack, Classic, CongestionEvent, EcnNeed, Needs, ParamError, Signal, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use sojourn_units::Time;

/// DCTCP.
pub type Dctcp = Box<Classic<DctcpLaw>>;

/// What a trace can show of it.
pub const VARIABLES: &[Variable<Dctcp>] =
    &[Variable::new("alpha", "0..1", "the part of the segments that are marked, smoothed", |cc| cc.law().alpha)];

/// Parameters of DCTCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The weight g of the newest window in the estimate of the marked part, above 0 and at most 1; default 0.0625 (rfc8257#4.2).
    pub g: f64,
    /// The estimate alpha before the first window, 0 to 1; default 1 (rfc8257#3.3, Linux `dctcp_alpha_on_init`).
    pub alpha_on_init: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { g: 0.0625, alpha_on_init: 1.0 }
    }
}

impl Params {
    /// Makes the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Dctcp, ParamError> {
        ParamError::unless(self.g > 0.0 && self.g <= 1.0, "g", &self.g, "a number above 0 and at most 1")?;
        ParamError::unless((0.0..=1.0).contains(&self.alpha_on_init), "alpha_on_init", &self.alpha_on_init, "a number, 0 to 1")?;
        let law =
            DctcpLaw { g: self.g, alpha: self.alpha_on_init, window_end: 0, acked: 0.0, marked: 0.0, counts: true, takes_whole: false };
        Ok(Box::new(Classic::new(start, law)))
    }
}

/// The window law.
#[derive(Clone, Debug)]
pub struct DctcpLaw {
    g: f64,
    /// `DCTCP.Alpha`: the estimated part of segments that are marked.
    alpha: f64,
    /// `DCTCP.WindowEnd`: the observation window ends when this byte is acknowledged.
    window_end: u64,
    /// Segments acknowledged in this window, and those of them that were marked.
    acked: f64,
    marked: f64,
    /// Whether the feedback counts marks; without, it is Reno.
    counts: bool,
    /// Whether marks take whole segments from the window.
    takes_whole: bool,
}

impl WindowLaw for DctcpLaw {
    fn boxed() -> bool {
        true
    }

    #[inline]
    fn grow(&mut self, cwnd: f64, ack: &Ack) -> f64 {
        cwnd + ack.avoidance_count() / cwnd
    }

    fn segments_per_increase(&mut self, cwnd: f64, _acked: f64, _now: Time) -> Option<f64> {
        Some(cwnd)
    }

    /// rfc8257#3.3, steps 1 to 7.
    fn observe(&mut self, ack: &Ack, _window: Window) -> bool {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if ack.snd_una > self.window_end && self.acked > 0.0 {
            let part = (self.marked / self.acked).min(1.0);
            self.alpha += self.g * (part - self.alpha);
            self.window_end = ack.snd_max;
            (self.acked, self.marked) = (0.0, 0.0);
        }
        false
    }

    fn use_linux_growth(&mut self) -> bool {
        self.takes_whole = true;
        false
    }

    /// rfc8257#3.3 step 9 (Linux `dctcp_ssthresh`), and as Reno for losses (rfc8257#3.4).
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        if event.signal != Signal::Mark || !self.counts {
            return Window::reduced(event.window / 2.0);
        }
        let less = event.window * self.alpha / 2.0;
        Window::reduced(event.window - if self.takes_whole { libm::floor(less) } else { less })
    }

    fn needs(&self) -> Needs {
        Needs { ecn: EcnNeed::Count, ..Needs::default() }
    }

    fn use_classic_ecn(&mut self) {
        self.counts = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionController;

    /// The estimate after windows of 10 segments each, with so many marked.
    fn alpha_after(windows: &[f64], params: &Params) -> f64 {
        let mut law =
            DctcpLaw { g: params.g, alpha: params.alpha_on_init, window_end: 0, acked: 0.0, marked: 0.0, counts: true, takes_whole: false };
        for (round, &marked) in (1u64..).zip(windows) {
            let ack = Ack { acked: 10.0, marked, snd_una: round, snd_max: round, ..Ack::ONE };
            law.observe(&ack, Window { cwnd: 10.0, ssthresh: 10.0 });
        }
        law.alpha
    }

    #[test]
    fn the_estimate_is_a_moving_average_of_the_marked_part_with_gain_g() {
        // 1 - 1/16, then (15/16)^2, then 3/16 of 15/16 and 1/16 of a half.
        assert_eq!(alpha_after(&[0.0], &Params::default()), 0.9375);
        assert!((alpha_after(&[0.0, 0.0, 5.0], &Params::default()) - (0.9375f64.powi(3) + 0.5 / 16.0)).abs() < 1e-12);
        let from_zero = Params { alpha_on_init: 0.0, ..Params::default() };
        assert!((alpha_after(&[2.0; 400], &from_zero) - 0.2).abs() < 1e-9, "a steady part is found");
    }

    #[test]
    fn marks_reduce_by_half_the_estimate_losses_by_half_the_window() {
        let reduced = |alpha_on_init: f64, signal: Signal, classic: bool| {
            let mut cc = Params { alpha_on_init, ..Params::default() }.build(Start { window: 40.0, ssthresh: 20.0 }).unwrap();
            if classic {
                cc.use_classic_ecn();
            }
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 40.0, signal });
            cc.cwnd()
        };
        assert_eq!(reduced(1.0, Signal::Mark, false), 20.0);
        assert_eq!(reduced(0.1, Signal::Mark, false), 38.0);
        assert_eq!(reduced(0.1, Signal::Loss, false), 20.0);
        assert_eq!(reduced(0.1, Signal::Mark, true), 20.0, "without counts it is Reno");
    }

    /// Linux `dctcp_ssthresh`: it rounds the reduction, not the window that is left.
    #[test]
    fn marks_take_whole_segments_from_the_window_of_linux() {
        for (window, left) in [(41.0, 39.0), (19.0, 19.0)] {
            let mut cc = Params { alpha_on_init: 0.1, ..Params::default() }.build(Start { window, ssthresh: 10.0 }).unwrap();
            cc.use_linux_growth();
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window, signal: Signal::Mark });
            assert_eq!(cc.cwnd(), left);
        }
    }
}
