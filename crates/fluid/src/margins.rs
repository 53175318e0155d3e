//! Stability margins of a loop from its frequency response.
//! Dead time is exact: there is no Padé approximation. `sojourn.analysis.margins` in Python does the same for any transfer function; a test
//! compares the two.

use crate::complex::Complex;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Frequencies in rad/s at equal steps of the logarithm.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid(pub Vec<f64>);

impl Grid {
    /// `count` frequencies from `low` to `high`.
    pub fn between(low: f64, high: f64, count: usize) -> Grid {
        let step = libm::log(high / low) / count.saturating_sub(1).max(1) as f64;
        Grid((0..count).map(|i| low * libm::exp(step * i as f64)).collect())
    }
}

/// Whether a loop is stable (Nyquist's criterion), and how far from the stability limit.
/// A loop may have several crossovers. The margins of a stable loop are the smallest over all of them. Those of an unstable loop tell how
/// much is missing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Margins {
    /// Whether the loop is stable.
    pub stable: bool,
    /// The gain margin as a factor.
    /// Stable: the smallest factor above 1 that makes the loop unstable, or infinity. Unstable: the factor below 1 that makes it stable, or
    /// NaN.
    pub gain: f64,
    /// The phase margin in degrees.
    /// Stable: the smallest additional lag that makes the loop unstable, or infinity without a crossover. Unstable: negative, or NaN.
    pub phase: f64,
    /// The delay margin in seconds: the phase margin as a dead time.
    pub delay: f64,
    /// The highest frequency with a gain of 1, in rad/s; NaN without one.
    pub crossover: f64,
    /// The frequency in rad/s at which `gain` is measured; NaN without one.
    pub turn: f64,
}

/// The gain below which the phase is ignored, because a dead time turns it without limit.
const NEGLIGIBLE_GAIN: f64 = 1e-3;

/// The margins of a loop with negative feedback.
/// The grid must be fine enough to unwrap the phase, and must begin far below every crossover: the slope at its low end determines the
/// number of integrators. All other poles must be stable.
pub fn margins(open: impl Fn(f64) -> Complex, grid: &Grid) -> Margins {
    let omega = &grid.0;
    let values: Vec<Complex> = omega.iter().map(|&w| open(w)).collect();
    let size: Vec<f64> = values.iter().map(|value| libm::log(value.size().max(1e-300))).collect();
    let integrators = (-(size[1] - size[0]) / libm::log(omega[1] / omega[0])).round().max(0.0);
    let stable = encloses_nothing(&values, integrators);
    let phase = unwrapped(&values, integrators);
    let crossovers: Vec<(f64, usize)> = changes(&size).map(|i| (root(|w| libm::log(open(w).size()), omega[i], omega[i + 1]), i)).collect();
    let none = if stable { f64::INFINITY } else { f64::NAN };
    // The distance of the phase above -180 degrees. More lag leads a stable loop to the next odd multiple of that.
    let lag = |&(w, i): &(f64, usize)| {
        let lag = phase[i] + open(w).over(values[i]).angle() + PI;
        (if stable { lag.rem_euclid(TAU) } else { lag }, w)
    };
    let wanted: Vec<(f64, f64)> = crossovers.iter().map(lag).filter(|(lag, _)| stable || *lag < 0.0).collect();
    let (gain, turn) = gain(&open, omega, &values, stable);
    Margins {
        stable,
        gain,
        phase: least(wanted.iter().map(|(lag, _)| lag.to_degrees())).unwrap_or(none),
        delay: least(wanted.iter().map(|(lag, w)| lag / w)).unwrap_or(none),
        crossover: crossovers.iter().map(|(w, _)| *w).fold(f64::NAN, f64::max),
        turn,
    }
}

fn least(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.min_by(f64::total_cmp)
}

/// The phase without jumps. At its low end it is that of the integrators.
fn unwrapped(values: &[Complex], integrators: f64) -> Vec<f64> {
    let mut phase = Vec::with_capacity(values.len());
    let first = values[0].angle();
    phase.push(first + TAU * ((-integrators * FRAC_PI_2 - first) / TAU).round());
    for pair in values.windows(2) {
        let last = phase[phase.len() - 1];
        phase.push(last + pair[1].over(pair[0]).angle());
    }
    phase
}

/// The gain margin, and the frequency at which it is measured.
fn gain(open: &impl Fn(f64) -> Complex, omega: &[f64], values: &[Complex], stable: bool) -> (f64, f64) {
    let strong = values.iter().rposition(|value| value.size() > NEGLIGIBLE_GAIN);
    let end = strong.map_or(0, |last| (last + 2).min(values.len()));
    let parts: Vec<f64> = values[..end].iter().map(|value| value.im).collect();
    let turns = changes(&parts).map(|i| root(|w| open(w).im, omega[i], omega[i + 1]));
    let factors = turns.filter(|&w| open(w).re < 0.0).map(|w| (1.0 / open(w).size(), w));
    let wanted = factors.filter(|(factor, _)| (*factor > 1.0) == stable);
    wanted.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((if stable { f64::INFINITY } else { f64::NAN }, f64::NAN))
}

/// The indices of samples after which a function changes its sign.
fn changes(values: &[f64]) -> impl Iterator<Item = usize> {
    values.windows(2).enumerate().filter(|(_, pair)| pair[0].is_sign_negative() != pair[1].is_sign_negative()).map(|(i, _)| i)
}

/// The zero of a function between `low` and `high`, by bisection.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let below = f(low) < 0.0;
    if below == (f(high) < 0.0) {
        return low;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        (low, high) = if (f(middle) < 0.0) == below { (middle, high) } else { (low, middle) };
    }
    0.5 * (low + high)
}

/// Nyquist's criterion: 1 + L turns by 90 degrees per integrator and no further.
fn encloses_nothing(values: &[Complex], integrators: f64) -> bool {
    let turned: f64 = values.windows(2).map(|pair| Complex::ONE.plus(pair[1]).over(Complex::ONE.plus(pair[0])).angle()).sum();
    (turned - integrators * FRAC_PI_2).abs() < FRAC_PI_2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests k e^(-sT)/s: the crossover is at k, the phase margin is 90 degrees minus kT.
    /// The gain margin is π/(2kT).
    #[test]
    fn an_integrator_with_a_dead_time_has_the_margins_of_the_textbook() {
        let open = |gain: f64, dead: f64| move |w: f64| Complex::turn(-w * dead).scaled(gain).over(Complex::new(0.0, w));
        let found = margins(open(2.0, 0.3), &Grid::between(1e-4, 100.0, 4000));
        assert!(found.stable);
        assert!((found.crossover - 2.0).abs() < 1e-9);
        assert!((found.phase - (90.0 - (0.6f64).to_degrees())).abs() < 1e-6);
        assert!((found.delay - (FRAC_PI_2 - 0.6) / 2.0).abs() < 1e-9);
        assert!((found.gain - PI / (2.0 * 0.6)).abs() < 1e-6);
        let found = margins(open(2.0, 1.0), &Grid::between(1e-4, 100.0, 4000));
        assert!(!found.stable && found.phase < 0.0 && (found.gain - PI / 4.0).abs() < 1e-6, "{found:?}");
    }
}
