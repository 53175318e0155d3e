use super::*;
use crate::algorithms::{test_link, test_packet};
use proptest::prelude::*;

/// 10 Mbit/s and packets of 576 bytes, as in the paper.
fn link() -> Link {
    Link { mean_packet: 576, ..test_link() }
}

fn fuzzy(params: &Params) -> FuzzyRtt {
    params.build(&link()).unwrap()
}

fn backlog(packets: u32) -> Backlog {
    Backlog { packets, bytes: 576 * u64::from(packets), idle_since: None }
}

fn close(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() <= by, "{a} is not {b}");
}

#[test]
fn one_update_of_the_second_category_is_the_worked_example() {
    let mut f = fuzzy(&Params::default());
    close(f.rules.axes.target, 21.701_389, 1e-6);
    close(f.rules.axes.change, 0.042_88, 1e-12);
    f.on_flows(Time::ZERO, 25);
    f.categories[0].probability = 0.02;
    f.categories[1] = Category { probability: 0.01, error: Some(5.0), least: 30, ..f.categories[1] };
    let error = 30.0 - f.rules.axes.target;
    let (x1, x2) = f.rules.axes.scaled(error, error - 5.0);
    close(x1, 0.382_400, 1e-6);
    close(x2, 0.141_444, 1e-6);
    close(f.rules.controller.evaluate(x1, x2), 0.070_193, 1e-6);
    f.update_category(1, 12);
    close(f.categories[1].probability, 0.010_470_98, 5e-9);
    assert_eq!((f.categories[1].least, f.categories[1].error), (12, Some(error)));
}

#[test]
fn r1_a_round_trip_time_between_two_categories_gets_an_interpolated_probability() {
    let mut f = fuzzy(&Params::default());
    let p = [0.5, 0.4, 0.3, 0.2, 0.1];
    f.categories.iter_mut().zip(p).for_each(|(category, p)| category.probability = p);
    for (ms, expected) in [
        (100, 0.75 * 0.4 + 0.25 * 0.3),
        (120, 0.35),
        (54, 0.65 * 0.5 + 0.35 * 0.4),
        (0, 0.5),
        (1, 0.5),
        (40, 0.5),
        (80, 0.4),
        (640, 0.1),
        (641, 0.1),
        (65_535, 0.1),
    ] {
        close(f.probability_for(ms), expected, 1e-12);
    }
}

#[test]
fn r3_the_categories_together_are_updated_48_times_a_second() {
    let mut f = fuzzy(&Params::default());
    let (mut now, mut ticks) = (Time::ZERO + f.update_interval().unwrap(), [0; 5]);
    assert_eq!(now, Time::from_secs_f64(0.04));
    while now <= Time::from_secs_f64(64.0) {
        let due: Vec<Time> = f.categories.iter().map(|category| category.due).collect();
        f.on_update(now, &backlog(0));
        f.categories.iter().zip(due).zip(&mut ticks).for_each(|((category, due), ticks)| *ticks += u32::from(category.due != due));
        now += f.update_interval().unwrap();
    }
    assert_eq!(ticks, [1600, 800, 400, 200, 100]);
    assert_eq!(f64::from(ticks.iter().sum::<u32>()) / 64.0, 48.4375);
}

/// The probabilities after `seconds` of a constant queue of `packets`.
fn after(params: &Params, packets: u32, seconds: f64) -> Vec<f64> {
    let mut f = fuzzy(params);
    f.categories
        .iter_mut()
        .for_each(|category| (category.least, category.error) = (packets, Some(f64::from(packets) - f.rules.axes.target)));
    f.least = packets;
    let mut now = Time::ZERO + f.update_interval().unwrap();
    while now <= Time::from_secs_f64(seconds) {
        f.on_update(now, &backlog(packets));
        now += f.update_interval().unwrap();
    }
    f.categories.iter().map(|category| category.probability).collect()
}

#[test]
fn r4_without_gains_each_category_takes_twice_the_time_of_the_one_before_and_with_them_the_same() {
    let plain = Params { weights: vec![0.0; 4], ..Params::default() };
    let equal = after(&plain, 30, 0.64);
    equal.iter().for_each(|p| close(*p, equal[0], 1e-12));
    let slow = after(&Params { gains: vec![1.0; 5], ..plain.clone() }, 30, 0.64);
    assert!(slow[0] > 0.0);
    slow.windows(2).for_each(|pair| close(pair[0], 2.0 * pair[1], 1e-12));
}

#[test]
fn each_category_sees_the_shortest_queue_of_its_own_time() {
    let mut f = fuzzy(&Params::default());
    let departure = PacketView { size: 576, ..test_packet() };
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    f.on_update(at(40), &backlog(50));
    f.on_update(at(80), &backlog(50));
    f.on_dequeue(&departure, Duration::ZERO, &backlog(20), &mut Stream::named(1, "fuzzy"));
    f.on_update(at(120), &backlog(50));
    f.on_update(at(160), &backlog(60));
    let errors: Vec<f64> = f.categories[..3].iter().map(|category| category.error.unwrap() + f.rules.axes.target).collect();
    assert_eq!(errors, [50.0, 20.0, 0.0], "the third began with an empty queue");
}

#[test]
fn with_few_flows_the_probabilities_still_change() {
    for active in [0, 1, 2] {
        let mut f = fuzzy(&Params::default());
        f.on_flows(Time::ZERO, active);
        assert_eq!(f.log_flows, core::f64::consts::LN_2);
    }
}

#[test]
fn acknowledgments_are_exempt_and_a_missing_hint_gives_no_advantage() {
    let mut f = fuzzy(&Params::default());
    f.categories[0].probability = 1.0;
    let mut random = Stream::named(1, "x");
    let mut verdict = |rtt_hint_ms, has_data| {
        let arrival = PacketView { size: 576, rtt_hint_ms, has_data, ..test_packet() };
        f.on_enqueue(&arrival, &backlog(9), &mut random)
    };
    assert_eq!(
        (verdict(0, true), verdict(640, true), verdict(0, false)),
        (ArrivalVerdict::Signal, ArrivalVerdict::Pass, ArrivalVerdict::Pass)
    );
}

#[test]
fn parameters_out_of_range_are_named() {
    let default = Params::default;
    for (params, field) in [
        (Params { rtts: vec![], ..default() }, "rtts"),
        (Params { rtts: [40, 40, 50, 60, 70].map(Duration::from_millis).to_vec(), ..default() }, "rtts"),
        (Params { gains: vec![1.0], ..default() }, "gains"),
        (Params { weights: vec![2.0; 4], ..default() }, "weights"),
        (Params { unit: 0.0, ..default() }, "unit"),
        (Params { target: Duration::ZERO, ..default() }, "target"),
    ] {
        assert_eq!(params.build(&link()).unwrap_err().field, field);
    }
}

proptest! {
    #[test]
    fn r2_the_error_reaches_its_ends_at_an_empty_queue_and_at_twice_the_target(queue in 0.0f64..200.0) {
        let axes = fuzzy(&Params::default()).rules.axes;
        let (x, _) = axes.scaled(queue - axes.target, 0.0);
        prop_assert!((-1.0..=1.0).contains(&x));
        prop_assert!(queue > 2.0 * axes.target || (x - (queue / axes.target - 1.0)).abs() < 1e-12);
        prop_assert!(queue < 2.0 * axes.target || x == 1.0);
    }

    #[test]
    fn no_probability_leaves_its_range_or_exceeds_that_of_every_category(
        ticks in prop::collection::vec((0u32..200, 0u32..200, 0u32..1000), 1..300),
        unit in prop::sample::select(vec![1e-4, 1e-3, 1.0, 100.0]),
    ) {
        let mut f = fuzzy(&Params { unit, ..Params::default() });
        let mut now = Time::ZERO + f.update_interval().unwrap();
        for (low, queue, flows) in ticks {
            f.on_flows(now, flows);
            f.least = f.least.min(low);
            f.on_update(now, &backlog(queue));
            let most = f.categories.iter().map(|category| category.probability).fold(0.0, f64::max);
            for ms in [0, 39, 100, 500, 65_535] {
                prop_assert!((0.0..=most).contains(&f.probability_for(ms)));
            }
            now += f.update_interval().unwrap();
        }
    }
}
