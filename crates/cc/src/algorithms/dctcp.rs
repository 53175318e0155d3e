//! DCTCP (rfc8257): marks reduce the window by half of the fraction of marked segments.
//! It does so once per window. The fraction is a moving average.

use crate::{
    Ack, Classic, CongestionEvent, Counted, Early, EcnNeed, Event, Needs, Observation, ParamError, Signal, Start, Variable, Window,
    WindowLaw,
};
use alloc::boxed::Box;

/// DCTCP.
pub type Dctcp = Box<Classic<DctcpLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Dctcp>] =
    &[Variable::new("alpha", "0..1", "the smoothed share of marked segments", |cc| cc.law().alpha)];

/// Parameters of DCTCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Weight g of the newest window, above 0 and at most 1; default 0.0625.
    /// It applies to the estimate of the marked fraction.
    /// Source: rfc8257#4.2.
    pub g: f64,
    /// The estimate alpha before the first window, 0 to 1; default 1.
    /// Sources: rfc8257#3.3, Linux `dctcp_alpha_on_init`.
    pub alpha_on_init: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { g: 0.0625, alpha_on_init: 1.0 }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Dctcp, ParamError> {
        ParamError::unless(self.g > 0.0 && self.g <= 1.0, "g", &self.g, "a number above 0 and at most 1")?;
        ParamError::unless((0.0..=1.0).contains(&self.alpha_on_init), "alpha_on_init", &self.alpha_on_init, "a number, 0 to 1")?;
        Ok(Box::new(Classic::new(start, DctcpLaw::new(self, start))))
    }
}

/// The window law.
#[derive(Clone, Debug)]
pub struct DctcpLaw {
    g: f64,
    /// `DCTCP.Alpha`: the estimated fraction of marked segments.
    alpha: f64,
    /// `DCTCP.WindowEnd`: the observation window ends when this byte is acknowledged.
    window_end: u64,
    /// Segments acknowledged in this window, and how many of them were marked.
    acked: f64,
    marked: f64,
    /// Whether the feedback counts marks. If not, it is Reno.
    counts: bool,
    /// Whether it counts as Linux: in whole segments and whole parts of alpha.
    as_linux: bool,
}

/// The largest alpha in Linux (`DCTCP_MAX_ALPHA`).
const PARTS: f64 = 1024.0;

impl DctcpLaw {
    fn new(params: &Params, start: Start) -> Self {
        let Params { g, alpha_on_init: alpha } = *params;
        let alpha = if start.is_linux() { libm::floor(alpha * PARTS) / PARTS } else { alpha };
        let counts = start.ecn.counts_for(EcnNeed::Count);
        DctcpLaw { g, alpha, window_end: 0, acked: 0.0, marked: 0.0, counts, as_linux: start.is_linux() }
    }

    /// The estimate after a window (rfc8257#3.3 step 5).
    fn estimate(&self) -> f64 {
        self.alpha + self.g * ((self.marked / self.acked).min(1.0) - self.alpha)
    }

    /// The estimate in whole 1024ths (Linux `dctcp_update_alpha`).
    /// It can fall to 0, and few marks in a large window have no effect.
    fn estimate_in_parts(&self) -> f64 {
        let alpha = self.alpha * PARTS;
        let less = match libm::floor(alpha * self.g) {
            0.0 => alpha,
            less => less,
        };
        let more = libm::floor(self.marked * (self.g * PARTS) / self.acked);
        (alpha - less + more).min(PARTS) / PARTS
    }
}

impl WindowLaw for DctcpLaw {
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(1.0, ack)
    }

    /// Steps 1 to 7 of rfc8257#3.3.
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        let ack = match observation {
            Observation::Ack(ack) => ack,
            // rfc8257#3.4: a loss halves the window, in Linux also during a reduction for marks (`dctcp_state`).
            Observation::Event(Event::LossInReduction { in_use }) if self.as_linux => {
                window.ssthresh = libm::floor(in_use / 2.0).max(Window::MIN_CWND);
                return Early::None;
            }
            _ => return Early::None,
        };
        self.acked += ack.acked;
        self.marked += ack.marked;
        let is_over = ack.snd_una > self.window_end || (self.as_linux && ack.snd_una == self.window_end);
        if is_over && self.acked > 0.0 {
            self.alpha = if self.as_linux { self.estimate_in_parts() } else { self.estimate() };
            self.window_end = ack.snd_max;
            (self.acked, self.marked) = (0.0, 0.0);
        }
        Early::None
    }

    /// Step 9 of rfc8257#3.3 (Linux `dctcp_ssthresh`); as Reno for losses (rfc8257#3.4).
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        if event.signal != Signal::Mark || !self.counts {
            return Window::reduced(event.window / 2.0);
        }
        let less = event.window * self.alpha / 2.0;
        Window::reduced(event.window - if self.as_linux { libm::floor(less) } else { less })
    }

    fn needs(&self) -> Needs {
        Needs { ecn: EcnNeed::Count, ..Needs::OF_LAW }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionController;
    use sojourn_units::Time;

    const START: Start = Start::new(40.0, 20.0);

    /// The estimate after windows of 10 segments with these numbers of marks.
    fn alpha_after(windows: &[f64], params: &Params) -> f64 {
        let mut law = DctcpLaw::new(params, START);
        for (round, &marked) in (1u64..).zip(windows) {
            let ack = Ack { acked: 10.0, marked, snd_una: round, snd_max: round, ..Ack::ONE };
            law.observe(Observation::Ack(&ack), &mut Window { cwnd: 10.0, ssthresh: 10.0 });
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
    fn in_linux_the_estimate_is_in_whole_parts_and_few_marks_do_not_count() {
        let mut law = DctcpLaw::new(&Params::default(), START.in_linux());
        let mut after = |acked: f64, marked: f64| {
            let end = law.window_end;
            let ack = Ack { acked, marked, snd_una: end, snd_max: end + 1, ..Ack::ONE };
            law.observe(Observation::Ack(&ack), &mut Window { cwnd: 10.0, ssthresh: 10.0 });
            law.alpha * PARTS
        };
        // 1024 - 64, then 960 - 60 + 64/10 rounded down.
        assert_eq!((after(10.0, 0.0), after(10.0, 1.0)), (960.0, 906.0));
        // Below 16 parts it falls to 0 at once. One mark in more than 64 segments adds nothing.
        let least = (0..200).map(|_| after(10.0, 0.0)).filter(|&alpha| alpha > 0.0).fold(PARTS, f64::min);
        assert_eq!((least, after(65.0, 1.0), after(64.0, 1.0)), (15.0, 0.0, 1.0));
    }

    #[test]
    fn in_linux_a_loss_halves_a_window_that_is_being_reduced_for_marks() {
        let ssthresh = |start| {
            let mut cc = Params::default().build(start).unwrap();
            cc.on_event(&Event::LossInReduction { in_use: 33.0 });
            cc.ssthresh()
        };
        assert_eq!((ssthresh(START), ssthresh(START.in_linux())), (20.0, 16.0));
    }

    #[test]
    fn marks_reduce_by_half_the_estimate_losses_by_half_the_window() {
        let reduced = |alpha_on_init: f64, signal: Signal, classic: bool| {
            let start = if classic { START.echoing() } else { START };
            let mut cc = Params { alpha_on_init, ..Params::default() }.build(start).unwrap();
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 40.0, signal });
            cc.cwnd()
        };
        assert_eq!(reduced(1.0, Signal::Mark, false), 20.0);
        assert_eq!(reduced(0.1, Signal::Mark, false), 38.0);
        assert_eq!(reduced(0.1, Signal::Loss, false), 20.0);
        assert_eq!(reduced(0.1, Signal::Mark, true), 20.0, "without counts it is Reno");
    }

    /// Tests Linux `dctcp_ssthresh`: it rounds the reduction, not the remaining window.
    #[test]
    fn marks_take_whole_segments_from_the_window_of_linux() {
        for (window, left) in [(41.0, 39.0), (19.0, 19.0)] {
            let mut cc = Params { alpha_on_init: 0.1, ..Params::default() }.build(Start::new(window, 10.0).in_linux()).unwrap();
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window, signal: Signal::Mark });
            assert_eq!(cc.cwnd(), left);
        }
    }
}
