//! FLOWER's controller (flower-2016: Trang and Lochin, Computer Networks).
//! It is built from the public interface: an uneven partition whose terms move, and a consequent that overrides every number.

use sojourn_fuzzy::{Controller, Defuzzifier, Design, Method, Outcome, Output, Variable};

/// The rule table of flower-2016#fig4, rows e, columns de; -6 is the reset.
const RULES: &str = "
    e\\de -5 -4 -3 -2 -1  0  1  2  3  4  5
    -5    -5 -5 -5 -5 -5 -5 -4 -3 -2 -1 -6
    -4    -5 -5 -5 -5 -5 -4 -3 -2 -1  0 -6
    -3    -5 -5 -5 -5 -4 -3 -2 -1  0  1 -6
    -2    -5 -5 -5 -4 -3 -2 -1  0  1  2 -6
    -1    -5 -5 -4 -3 -2 -1  0  1  2  3 -6
     0    -5 -4 -3 -2 -1  0  1  2  3  4 -6
     1    -4 -3 -2 -1  0  1  2  3  4  5 -6
     2    -3 -2 -1  0  1  2  3  4  5  5 -6
     3    -2 -1  0  1  2  3  4  5  5  5 -6
     4    -1  0  1  2  3  4  5  5  5  5 -6
     5     0  1  2  3  4  5  5  5  5  5 -6";

const NAMES: [&str; 11] = ["-5", "-4", "-3", "-2", "-1", "0", "1", "2", "3", "4", "5"];

fn terms(center: impl Fn(i32) -> f64) -> Vec<(&'static str, f64)> {
    NAMES.into_iter().zip((-5..=5).map(center)).collect()
}

/// The controller with this grid of de.
fn over(grid: [f64; 11]) -> Controller {
    let column: Vec<(&str, f64)> = NAMES.into_iter().zip(grid).collect();
    Design {
        row: Variable::partition("e", &terms(|i| 20.0 * f64::from(i))).unwrap(),
        column: Variable::partition("de", &column).unwrap(),
        output: Output::partition("dcwnd", (-1.0, 1.0), &terms(|i| f64::from(i) / 5.0)).unwrap().with_override("-6").unwrap(),
        rules: RULES,
        method: Method { defuzzifier: Defuzzifier::RuleMean, ..Method::default() },
    }
    .build()
    .unwrap()
}

/// The fuzzy part of FLOWER: it moves the window by up to one packet per RTT, or resets it.
struct Flower {
    controller: Controller,
    sde: (f64, f64),
    ewma: (f64, f64),
}

#[derive(Debug, PartialEq)]
enum Step {
    By(f64),
    Reset,
}

impl Flower {
    fn new() -> Flower {
        let grid = [-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        Flower { controller: over(grid), sde: (-4.0, 4.0), ewma: (-4.0, 4.0) }
    }

    /// Moves the grid of de to the learned size of changes.
    fn adapt(&mut self, q_max: f64, sde: (f64, f64)) {
        self.sde = sde;
        let outer = (q_max.max(1e-6 - sde.0), q_max.max(sde.1 + 1e-6));
        self.controller = over([-outer.0, sde.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, sde.1, outer.1]);
    }

    /// Learns the typical size of a change, never below the initial 4 ms.
    fn learn(&mut self, de: f64, q_max: f64) {
        if de > 0.0 {
            self.ewma.1 += (de - self.ewma.1) / 8.0;
        } else if de < 0.0 {
            self.ewma.0 += (de - self.ewma.0) / 8.0;
        }
        self.adapt(q_max, (self.ewma.0.min(-4.0), self.ewma.1.max(4.0)));
    }

    fn step(&self, e: f64, de: f64) -> Step {
        match self.controller.infer(e, de) {
            Outcome::Value(by) => Step::By(by),
            Outcome::Override { .. } => Step::Reset,
            Outcome::Nothing => unreachable!("the table has no gap"),
        }
    }
}

/// The error in percent (flower-2016#eq3, flower-2016#eq7, limited).
fn error(q: f64, tau: f64, q_max: f64) -> f64 {
    match q {
        q if q <= tau => 100.0 * (tau - q) / tau,
        q if q_max > tau => (100.0 * (tau - q) / (q_max - tau)).max(-100.0),
        _ => -100.0,
    }
}

fn near(step: Step, expected: f64) {
    match step {
        Step::By(by) => assert!((by - expected).abs() < 1e-9, "{by} for {expected}"),
        Step::Reset => panic!("reset for {expected}"),
    }
}

#[test]
fn the_table_is_the_clipped_sum_of_its_indices_but_for_the_reset() {
    let flower = Flower::new();
    let rules = flower.controller.rules();
    assert_eq!((rules.rules(), rules.gap()), (121, None));
    for i in -5i32..=5 {
        for j in -5i32..=5 {
            let expected = if j == 5 { 11 } else { (i + j).clamp(-5, 5) + 5 };
            assert_eq!(rules.consequent(Some((i + 5) as usize), Some((j + 5) as usize)), Some(expected as usize));
        }
    }
}

#[test]
fn the_papers_worked_example_gives_0_55() {
    near(Flower::new().step(35.0, 1.0), 0.55);
    let mut fired = Vec::new();
    Flower::new().controller.for_each_fired(35.0, 1.0, |rule| fired.push((rule.row, rule.consequent, rule.strength)));
    assert_eq!(fired, [(Some(6), 7, 0.25), (Some(7), 8, 0.75)]);
}

#[test]
fn steps_on_the_initial_grid_are_those_of_the_vectors() {
    let flower = Flower::new();
    for (e, de, expected) in [
        (70.0, -0.5, 0.6),
        (100.0, 0.0, 1.0),
        (0.0, 4.0, 0.8),
        (0.0, 0.0, 0.0),
        (-20.0, -1.0, -0.4),
        (25.0, 3.5, 0.933_333_333_3),
        (50.0, -1.2, 0.242_857_142_9),
        (-37.0, -2.4, -0.838_461_538_5),
        (12.0, -1.0, -0.08),
        (10.0, 0.3, 0.175),
        (90.0, 2.5, 1.0),
        (-100.0, -5.0, -1.0),
        (-100.0, 3.5, -0.3),
    ] {
        near(flower.step(e, de), expected);
    }
}

#[test]
fn any_membership_in_the_outermost_rise_of_delay_resets_whatever_the_error() {
    let flower = Flower::new();
    for e in [-100.0, -37.0, 0.0, 64.0, 100.0] {
        assert_eq!(flower.step(e, 4.01), Step::Reset);
        assert_eq!(flower.step(e, 1e9), Step::Reset);
        assert_ne!(flower.step(e, 4.0), Step::Reset);
    }
}

#[test]
fn steps_on_an_adapted_grid_are_those_of_the_vectors() {
    let mut flower = Flower::new();
    flower.adapt(100.0, (-6.5, 18.63));
    near(flower.step(0.0, 10.0), 0.689_571_337_2);
    near(flower.step(50.0, -5.0), -0.207_692_307_7);
    near(flower.step(20.0, 18.63), 1.0);
    assert_eq!(flower.step(20.0, 18.64), Step::Reset);
    near(flower.step(-30.0, -40.0), -1.0);
}

#[test]
fn the_error_is_normalized_on_either_side_of_the_target() {
    assert_eq!(error(101.0, 100.0, 102.0), -50.0);
    assert_eq!(error(101.0, 100.0, 100.0), -100.0);
    assert_eq!(error(300.0, 100.0, 102.0), -100.0);
    assert_eq!(error(0.0, 100.0, 5.0), 100.0);
}

#[test]
fn a_grid_that_learns_stays_a_grid_and_steps_stay_within_a_packet() {
    let (mut flower, mut state) = (Flower::new(), 1u64);
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = |shift: u32| f64::from((state >> shift) as u16) / 65_535.0;
        let (e, de, q_max) = (200.0 * unit(48) - 100.0, 400.0 * (unit(32) - 0.5), 5.0 + 200.0 * unit(16));
        match flower.step(e, de) {
            Step::By(by) => assert!((-1.0..=1.0).contains(&by) && de <= flower.sde.1),
            Step::Reset => assert!(de > flower.sde.1),
        }
        flower.learn(de, q_max);
    }
}
