//! The worked example of flower-2016, vectors computed by hand, and general properties.
//! The properties hold for any sequence of delays.

use super::*;
use crate::{CongestionController, Signal};
use proptest::prelude::*;

const START: Start = Start::new(1.0, 1e9);

fn change(answer: Answer) -> f64 {
    match answer {
        Answer::Change(change) => change,
        Answer::Reset => f64::NEG_INFINITY,
    }
}

#[test]
fn the_worked_example_and_others_give_what_the_rules_give_by_hand() {
    let grid = Grid::new(0.125);
    let vectors = [
        (35.0, 1.0, 0.55),
        (100.0, 0.0, 1.0),
        (0.0, 0.0, 0.0),
        (-20.0, -1.0, -0.4),
        (50.0, -1.2, 0.242_857_142_857),
        (12.0, -1.0, -0.08),
        (90.0, 2.5, 1.0),
        (-100.0, 3.5, -0.3),
        (70.0, -0.5, 0.6),
        (0.0, 4.0, 0.8),
        (0.0, 4.01, f64::NEG_INFINITY),
        (25.0, 3.5, 0.933_333_333_333),
        (-37.0, -2.4, -0.838_461_538_462),
        (10.0, 0.3, 0.175),
        (-100.0, -5.0, -1.0),
    ];
    for (error, trend, expected) in vectors {
        let got = change(grid.infer(error, trend));
        assert!(got == expected || (got - expected).abs() < 1e-9, "({error}, {trend}): {got}, expected {expected}");
    }
}

#[test]
fn an_adapted_grid_gives_what_it_gives_by_hand() {
    let mut grid = Grid::new(0.125);
    (grid.falling, grid.rising) = (-6.5, 18.63);
    grid.set_trends(100.0);
    let vectors = [
        (0.0, 10.0, 0.689_571_337_2),
        (50.0, -5.0, -0.207_692_307_7),
        (20.0, 18.63, 1.0),
        (20.0, 18.64, f64::NEG_INFINITY),
        (-30.0, -40.0, -1.0),
    ];
    for (error, trend, expected) in vectors {
        let got = change(grid.infer(error, trend));
        assert!(got == expected || (got - expected).abs() < 1e-9, "({error}, {trend}): {got}, expected {expected}");
    }
}

#[test]
fn trends_of_at_most_4_ms_are_learned_only_if_they_count() {
    // From 4 ms with weight 1/8: 3 ms gives 3.875 if it counts, and 12 ms then 4.890625; alone, 12 ms gives 5.
    for (small_trends, rising) in [(true, 4.890_625), (false, 5.0)] {
        let mut grid = Params { small_trends, ..Params::default() }.build(START).unwrap().law().grid.clone();
        for trend in [3.0, 12.0, -4.0] {
            grid.learn(trend, MIN_PEAK);
        }
        assert_eq!((grid.rising, grid.falling), (rising, -4.0));
    }
}

#[test]
fn the_rules_are_those_printed() {
    // flower-2016#fig4 without its last column, which resets.
    let printed = [
        [-5, -5, -5, -5, -5, -5, -4, -3, -2, -1],
        [-5, -5, -5, -5, -5, -4, -3, -2, -1, 0],
        [-5, -5, -5, -5, -4, -3, -2, -1, 0, 1],
        [-5, -5, -5, -4, -3, -2, -1, 0, 1, 2],
        [-5, -5, -4, -3, -2, -1, 0, 1, 2, 3],
        [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4],
        [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5],
        [-3, -2, -1, 0, 1, 2, 3, 4, 5, 5],
        [-2, -1, 0, 1, 2, 3, 4, 5, 5, 5],
        [-1, 0, 1, 2, 3, 4, 5, 5, 5, 5],
        [0, 1, 2, 3, 4, 5, 5, 5, 5, 5],
    ];
    for (e, row) in printed.iter().enumerate() {
        for (t, &expected) in row.iter().enumerate() {
            assert_eq!(rule(e as i32 - 5, t as i32 - 5), expected, "row {e}, column {t}");
        }
    }
}

#[test]
fn a_peak_is_known_six_round_trips_after_it() {
    let delays = [0, 2, 7, 16, 36, 71, 88, 71, 52, 52, 53, 54, 56, 57, 59, 60, 62, 63, 64, 98, 0, 0, 2, 4, 6, 7, 10, 11];
    let mut peaks = Params::default().build(START).unwrap().law().peaks.clone();
    let mut seen = std::vec::Vec::new();
    for (k, &delay) in delays.iter().enumerate() {
        let before = peaks.finding_peak;
        peaks.push(f64::from(delay));
        if peaks.finding_peak != before {
            seen.push((k, peaks.finding_peak, peaks.threshold, peaks.peak));
        }
    }
    assert_eq!(seen, [(11, false, 11.0, 88.0), (14, true, 11.0, 88.0), (24, false, 21.875, 98.0), (26, true, 21.875, 98.0)]);
}

#[test]
fn the_error_above_the_target_is_relative_to_the_peak_and_100_percent_before_one_is_known() {
    let mut law = Params::default().build(START).unwrap().law().clone();
    assert_eq!((law.error(0.0), law.error(100.0), law.error(101.0)), (100.0, 0.0, -100.0));
    law.peaks.peak = 102.0;
    assert_eq!((law.error(101.0), law.error(500.0)), (-50.0, -100.0));
}

#[test]
fn losses_and_marks_leave_one_segment_and_end_slow_start() {
    for signal in [Signal::Loss, Signal::Mark] {
        let mut cc = Params::default().build(START.echoing()).unwrap();
        (1..100).for_each(|i| cc.on_ack(&Ack { snd_una: i, snd_max: i + 10, one_way_delay: Some(0), ..Ack::ONE }));
        assert_eq!(cc.cwnd(), 100.0);
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 100.0, signal });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 1.0));
        cc.on_ack(&Ack { snd_una: 100, snd_max: 101, one_way_delay: Some(0), ..Ack::ONE });
        assert!(cc.cwnd() < 2.5);
    }
}

proptest! {
    #[test]
    fn any_delays_leave_a_window_that_is_finite_and_at_least_one_segment_and_changes_by_one_a_round_at_most(
        acks in prop::collection::vec(
            (prop::option::of(any::<i64>()), prop::option::of(0u64..20_000_000_000_000), any::<bool>(), 0u8..20, 0u64..200_000_000_000),
            1..400,
        )
    ) {
        let mut cc = Params::default().build(START).unwrap();
        let mut now = 0;
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 1.0, signal: Signal::Loss });
        for (i, &(delay, rtt, limited, event, gap)) in acks.iter().enumerate() {
            now += gap;
            let before = cc.cwnd();
            let at = Time::from_nanos(now);
            if event == 0 {
                cc.on_congestion(&CongestionEvent { now: at, window: before, signal: Signal::Loss });
            } else {
                cc.on_ack(&Ack {
                    now: at,
                    one_way_delay: delay,
                    rtt: rtt.map(Duration::from_nanos),
                    cwnd_limited: limited,
                    snd_una: i as u64 + 1,
                    snd_max: i as u64 + 2,
                    ..Ack::ONE
                });
            }
            prop_assert!(cc.cwnd().is_finite() && cc.cwnd() >= 1.0);
            prop_assert!(cc.cwnd() <= before + 1.0 && (cc.cwnd() >= before - 1.0 - 1e-12 || cc.cwnd() == 1.0));
        }
    }
}

#[test]
fn the_controller_that_is_shown_is_the_law() {
    let (shown, law) = (controller().unwrap(), Grid::new(0.125));
    for error in -11..=11 {
        for trend in -26..=26 {
            let (error, trend) = (f64::from(error) * 10.0, f64::from(trend) * 0.25);
            let expected = match shown.infer(error, trend) {
                sojourn_fuzzy::Outcome::Value(change) => Answer::Change(change),
                sojourn_fuzzy::Outcome::Override { .. } => Answer::Reset,
                sojourn_fuzzy::Outcome::Nothing => unreachable!("the terms cover everything"),
            };
            match (law.infer(error, trend), expected) {
                (Answer::Change(a), Answer::Change(b)) => assert!((a - b).abs() < 1e-12, "{error} {trend}: {a} {b}"),
                (a, b) => assert_eq!(a, b, "{error} {trend}"),
            }
        }
    }
}
