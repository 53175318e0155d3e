//! `HighSpeed` TCP (rfc3649#5), for large windows with few losses.
//! Above 38 segments, the larger the window is, the faster it grows and the less it falls. It thus tolerates more losses than Reno.

use crate::{Ack, Arithmetic, Classic, CongestionEvent, Counted, ParamError, Start, Variable, Window, WindowLaw};
use alloc::boxed::Box;
use sojourn_units::Time;

/// `HighSpeed` TCP.
pub type HighSpeed = Box<Classic<HighSpeedLaw>>;

/// No variables: window and threshold are the whole state.
pub(crate) const VARIABLES: &[Variable<HighSpeed>] = &[];

/// Parameters of `HighSpeed` TCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Window in segments up to which it behaves as Reno, 1 or more; default 38.
    /// Source: rfc3649#5, `Low_Window`.
    pub low_window: f64,
    /// Window in segments at which `high_decrease` applies, above `low_window`; default 83000.
    /// Source: rfc3649#5, `High_Window`.
    pub high_window: f64,
    /// Fraction of `high_window` removed by a loss, above 0 and at most 0.5; default 0.1.
    /// Source: rfc3649#5, `High_Decrease`.
    pub high_decrease: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { low_window: 38.0, high_window: 83_000.0, high_decrease: 0.1 }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Classic<HighSpeedLaw>, ParamError> {
        let low = self.low_window >= 1.0 && self.low_window.is_finite();
        ParamError::unless(low, "low_window", &self.low_window, "a number of segments, 1 or more")?;
        let high = self.high_window > self.low_window && self.high_window.is_finite();
        ParamError::unless(high, "high_window", &self.high_window, "a number of segments above low_window")?;
        let decrease = self.high_decrease > 0.0 && self.high_decrease <= 0.5;
        ParamError::unless(decrease, "high_decrease", &self.high_decrease, "a fraction above 0 and at most 0.5")?;
        Ok(Classic::new(start, HighSpeedLaw { params: self.clone(), row: start.is_linux().then_some(1.0) }))
    }
}

/// The loss rate that Reno needs for one segment of window (rfc3649#5: p(w) = 0.078/w^1.2).
const LOSS_FACTOR: f64 = 0.078;
const LOSS_EXPONENT: f64 = 1.2;

/// The window law.
#[derive(Clone, Debug)]
pub struct HighSpeedLaw {
    params: Params,
    /// The row of the RFC's table, as a(w), for the window at its last growth in avoidance.
    /// This is Linux's arithmetic; the row is 1 before. `None` if the formula is used.
    row: Option<f64>,
}

/// A row of the table applies up to a window whose increase exceeds its own by this.
const ROW: f64 = 0.01;

impl HighSpeedLaw {
    /// b(w): the fraction of the window that a loss removes (rfc3649#5).
    fn decrease(&self, w: f64) -> f64 {
        let Params { low_window, high_window, high_decrease } = self.params;
        if w <= low_window {
            return 0.5;
        }
        let position = libm::log(w / low_window) / libm::log(high_window / low_window);
        (0.5 + (high_decrease - 0.5) * position).clamp(high_decrease, 0.5)
    }

    /// a(w): the growth of the window per round trip in segments (rfc3649#5).
    fn increase(&self, w: f64) -> f64 {
        if w <= self.params.low_window {
            return 1.0;
        }
        let b = self.decrease(w);
        (LOSS_FACTOR * libm::pow(w, 2.0 - LOSS_EXPONENT) * 2.0 * b / (2.0 - b)).max(1.0)
    }

    /// The part of a window `w` that a loss leaves.
    /// With rows it removes whole segments, by the 256ths of the row's last window (Linux `hstcp_ssthresh`).
    fn kept(&self, w: f64) -> f64 {
        let Some(row) = self.row else { return w * (1.0 - self.decrease(w)) };
        let parts = libm::floor(256.0 * self.decrease(self.end_of(row)));
        w - libm::floor(w * parts / 256.0)
    }

    /// The last window of a row of the table.
    fn end_of(&self, row: f64) -> f64 {
        if row <= 1.0 {
            return self.params.low_window;
        }
        let (mut low, mut high) = (self.params.low_window, self.params.high_window);
        while high - low > 0.01 {
            let middle = f64::midpoint(low, high);
            if self.increase(middle) < row + ROW { low = middle } else { high = middle }
        }
        libm::floor(high)
    }
}

impl WindowLaw for HighSpeedLaw {
    /// Linux counts ACKs, not segments (`hstcp_cong_avoid`).
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        let cwnd = from.cwnd;
        if from.arithmetic != Arithmetic::Linux {
            return from.by(self.increase(cwnd), ack);
        }
        if from.in_slow_start {
            return from;
        }
        let row = if cwnd <= self.params.low_window { 1.0 } else { libm::ceil(self.increase(cwnd) - ROW).max(2.0) };
        self.row = Some(row);
        let count = from.count + row;
        if count < cwnd { Counted { count, ..from } } else { Counted { cwnd: cwnd + 1.0, count: count - cwnd, ..from } }
    }

    fn growth_of_round(&self, window: f64, _now: Time) -> f64 {
        self.increase(window)
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = self.kept(event.window);
        Window { cwnd: kept.max(1.0), ssthresh: libm::floor(kept).max(2.0) }
    }

    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        libm::floor(self.kept(window)).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increases_and_decreases_are_those_of_the_table_in_rfc_3649_b() {
        let law = HighSpeedLaw { params: Params::default(), row: None };
        // rfc3649#B: w, a(w), b(w).
        let table = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (495.0, 5.0, 0.37),
            (1058.0, 8.0, 0.33),
            (10_661.0, 30.0, 0.21),
            (84_035.0, 71.0, 0.10),
        ];
        for (w, a, b) in table {
            assert!((law.increase(w) - a).abs() <= 0.02 * a + 0.05, "a({w}) = {}", law.increase(w));
            assert!((law.decrease(w) - b).abs() <= 0.006, "b({w}) = {}", law.decrease(w));
        }
    }

    #[test]
    fn as_in_linux_a_window_between_two_rows_of_the_table_has_the_upper_one() {
        let mut law = HighSpeedLaw { params: Params::default(), row: None };
        law.row = Some(1.0);
        assert_eq!(law.kept(200.0), 100.0, "slow start takes no row");
        // tcp_highspeed.c: 112, 104, 98 and 41 of 256 up to 118, 221, 347 and 24,402 segments.
        let rows = [(30.0, 1.0, 128.0), (39.0, 2.0, 112.0), (118.0, 2.0, 112.0), (119.0, 3.0, 104.0), (221.0, 3.0, 104.0)];
        for (w, a, parts) in rows.into_iter().chain([(347.0, 4.0, 98.0), (24_402.0, 45.0, 41.0)]) {
            assert_eq!(law.grow(Counted::in_linux(w, 0.0), &Ack::ONE), Counted::in_linux(w, a));
            assert_eq!(law.kept(w), w - libm::floor(w * parts / 256.0), "{w}");
        }
    }

    #[test]
    fn after_a_timeout_whole_segments_are_kept_and_no_less_than_two() {
        let mut law = HighSpeedLaw { params: Params::default(), row: None };
        let kept = [2.0, 7.0, 1000.0].map(|window| law.after_rto(Time::ZERO, window));
        assert_eq!(kept, [2.0, 3.0, libm::floor(1000.0 * (1.0 - law.decrease(1000.0)))]);
    }
}
