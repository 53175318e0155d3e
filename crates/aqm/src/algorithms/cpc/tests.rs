use super::*;
use crate::algorithms::test_packet;
use crate::{Aqm, Backlog, PacketView};
use proptest::prelude::*;
use sojourn_units::{Rate, Stream, Time};

/// The link of the paper's numerical example: 3750 packets of 500 bytes a second.
fn example_link() -> Link {
    let rate = Rate::from_bps(15_000_000).expect("above zero");
    Link { rate, delay: Duration::from_millis(100), mean_packet: 500, limit_packets: 800 }
}

/// The paper's numerical example: N = 60, C = 3750/s, R = 0.246 s.
/// The round-trip time is split into propagation and queuing.
fn example() -> Params {
    Params { flows: 60.0, rtt: Duration::from_millis(200), target: 172.5, ..Params::default() }
}

fn law(params: &Params) -> CpcLaw {
    params.law(&example_link()).unwrap()
}

fn steps(law: &mut CpcLaw, queue: f64, arrived: f64) -> [f64; 3] {
    let window = law.window(queue, arrived);
    let p = law.control(queue, window);
    [law.load, window, p]
}

#[test]
fn the_design_is_the_papers() {
    // cpc-2015#4.2 to three digits, and the closed forms to six; the window of the example is 15.375 packets.
    let design = law(&example()).design;
    assert!((design.window - 15.375).abs() < 1e-9);
    assert!((design.inner_gain - 0.000_290_98).abs() < 5e-9);
    assert!((design.outer_gain - 0.128_125).abs() < 1e-9);
    assert!((design.integral_time - 3.782_25).abs() < 1e-6);
    assert!((design.derivative_time - 1.891_125).abs() < 1e-6);
    // 2 Mbit/s, three flows, 0.18 s.
    let link = Link { rate: Rate::from_bps(2_000_000).unwrap(), mean_packet: 1500, ..example_link() };
    let small = Params::default().law(&link).unwrap().design;
    let found = [small.window, 1.0 / small.inner_gain, small.outer_gain, small.integral_time, small.derivative_time];
    for (found, expected) in found.into_iter().zip([10.0, 450.0, 1.666_67, 1.8, 0.9]) {
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }
}

#[test]
fn a_start_agrees_with_a_calculation_by_hand() {
    // (queue, arrivals) -> load, window, probability; computed without this code, to the digits given.
    let rows = [
        (0.0, 10.0, [39.062_500, 0.130_208, 0.0]),
        (5.0, 40.0, [193.786_621, 0.650_262, 0.000_247_065]),
        (20.0, 60.0, [420.591_831, 1.439_359, 0.001_206_917]),
        (180.0, 80.0, [716.662_463, 2.962_205, 0.012_454_049]),
        (200.0, 60.0, [923.042_835, 3.897_292, 0.013_840_718]),
        (190.0, 40.0, [1_043.236_475, 4.358_410, 0.013_109_875]),
    ];
    let mut law = law(&example());
    for (queue, arrived, expected) in rows {
        let found = steps(&mut law, queue, arrived);
        for ((found, expected), half_a_digit) in found.into_iter().zip(expected).zip([5e-7, 5e-7, 5e-10]) {
            assert!((found - expected).abs() <= half_a_digit, "{queue}: {found} {expected}");
        }
        if queue == 0.0 {
            assert_eq!(law.integral, 15.375, "frozen while the probability can't fall");
        }
    }
}

#[test]
fn around_the_operating_point_it_agrees_with_a_calculation_by_hand() {
    let rows = [
        (172.5, 37.5, 15.375, 0.008_5),
        (180.0, 39.0, 15.524_219, 0.009_032_023_5),
        (185.0, 38.0, 15.614_847, 0.009_389_925_2),
        (170.0, 36.0, 15.339_172, 0.008_331_334_6),
    ];
    let mut law = law(&example());
    (law.probability, law.load, law.previous) = (0.008_5, 3750.0, Some(0.0));
    for (queue, arrived, window, p) in rows {
        let found = steps(&mut law, queue, arrived);
        assert!((found[1] - window).abs() < 5e-7 && (found[2] - p).abs() < 5e-11, "{queue}: {found:?}");
    }
}

#[test]
fn the_probability_falls_to_zero_while_nothing_arrives() {
    let mut law = law(&example());
    (law.probability, law.load, law.previous) = (0.008_5, 3750.0, Some(172.5));
    // With no window at all the integrator falls by the set point over T_C: 37.5 packets in 3437 packet seconds.
    let idle = (0..).take_while(|_| steps(&mut law, 0.0, 0.0)[2] > 0.0).take(1000).count();
    assert!((80..200).contains(&idle), "{idle} intervals");
    let kept = law.integral;
    (0..1000).for_each(|_| assert_eq!(steps(&mut law, 0.0, 0.0)[2], 0.0));
    assert_eq!(law.integral, kept, "the outer integrator waits");
}

#[test]
fn a_window_near_one_gives_no_extreme_gains() {
    let many = law(&Params { flows: 3000.0, ..example() }).design;
    assert!(many.window < 0.31 && (many.inner_gain - 4.0 / (0.246 * 16.0)).abs() < 1e-9);
}

#[test]
fn given_gains_replace_those_of_the_design() {
    let own = Params {
        inner_gain: Some(0.00039),
        outer_gain: Some(0.1),
        integral_time: Some(Duration::from_secs(3)),
        derivative_time: Some(Duration::ZERO),
        averaging: Duration::from_millis(50),
        ..example()
    };
    let d = law(&own).design;
    assert_eq!((d.inner_gain, d.outer_gain, d.integral_time, d.derivative_time, d.averaging), (0.00039, 0.1, 3.0, 0.0, 0.05));
}

#[test]
fn without_the_inner_loop_the_set_point_gives_the_probability_of_tcp_at_that_window() {
    let mut law = law(&Params { inner: Inner::Static, ..example() });
    let p = steps(&mut law, 172.5, 37.5)[2];
    assert!((p - 2.0 / (15.375 * 15.375)).abs() < 1e-12);
    let mut open_loop = self::law(&Params { inner: Inner::OpenLoop, ..example() });
    assert_eq!(steps(&mut open_loop, 172.5, 0.0)[2], 0.0, "at the set point an open loop does not move, whatever the load");
}

#[test]
fn impossible_designs_are_refused_with_the_field() {
    let field = |params: Params| params.build(&example_link()).unwrap_err().field;
    assert_eq!(field(Params { flows: 0.0, ..example() }), "flows");
    assert_eq!(field(Params { flows: f64::NAN, ..example() }), "flows");
    assert_eq!(field(Params { rtt: Duration::ZERO, target: 0.0, ..example() }), "rtt");
    assert!(Params { rtt: Duration::ZERO, target: 1.0, ..example() }.build(&example_link()).is_ok());
    assert_eq!(field(Params { target: -1.0, ..example() }), "target");
    assert_eq!(field(Params { interval: Duration::ZERO, ..example() }), "interval");
    assert_eq!(field(Params { max_p: 0.0, ..example() }), "max_p");
    assert_eq!(field(Params { max_window: 0.5, ..example() }), "max_window");
    assert_eq!(field(Params { min_window: 0.0, ..example() }), "min_window");
    assert_eq!(field(Params { inner_gain: Some(f64::NAN), ..example() }), "inner_gain");
    assert_eq!(field(Params { outer_gain: Some(-1.0), ..example() }), "outer_gain");
    assert_eq!(field(Params { integral_time: Some(Duration::ZERO), ..example() }), "integral_time");
}

#[test]
fn measured_in_bytes_half_a_packet_counts_half() {
    let run = |queue_in_bytes, size: u32, number: u32| {
        let mut cpc = Params { queue_in_bytes, ..example() }.build(&example_link()).unwrap();
        let mut random = Stream::named(1, "cpc");
        let mut now = Time::ZERO;
        for packets in [0u32, 100, 300, 350] {
            now += Duration::from_millis(10);
            let packet = PacketView { now, size, ..test_packet() };
            let backlog = Backlog { packets: packets * number, bytes: 500 * u64::from(packets), idle_since: None };
            (0..40 * number).for_each(|_| _ = cpc.on_enqueue(&packet, &backlog, &mut random));
            cpc.on_update(now, &backlog);
        }
        cpc.probability().unwrap().get()
    };
    assert!(run(true, 250, 2) > 0.0);
    assert!((run(true, 250, 2) - run(false, 500, 1)).abs() < 1e-15);
}

proptest! {
    #[test]
    fn the_probability_stays_in_its_range_at_any_input(
        flows in 0.001f64..1e6, target in 0.0f64..1e4, rtt_us in 1u64..10_000_000,
        seen in prop::collection::vec((0.0f64..1e5, 0.0f64..1e5), 1..100),
    ) {
        let mut law = law(&Params { flows, target, rtt: Duration::from_micros(rtt_us), ..Params::default() });
        for (queue, arrived) in seen {
            let p = steps(&mut law, queue, arrived)[2];
            prop_assert!((0.0..=1.0).contains(&p), "{}", p);
            prop_assert!(law.integral.is_finite() && law.integral >= 1.0);
        }
    }
}

#[test]
fn tuning_estimates_the_number_of_flows_and_designs_for_it() {
    // 60 flows in steady state: 3750 packets/s over 0.246 s at 2/w^2 with w = 15.375; designed for 15 and for 240.
    for wrong in [15.0, 240.0] {
        let span = Duration::from_secs(2);
        let mut tuned = law(&Params { flows: wrong, tuning: span, ..example() });
        (tuned.probability, tuned.load) = (2.0 / (15.375 * 15.375), 3750.0);
        for _ in 0..10_000 {
            tuned.probability = 2.0 / (15.375 * 15.375);
            tuned.tune(172.5);
        }
        let own = law(&example()).design;
        assert!((tuned.flows - 60.0).abs() < 0.01, "{}", tuned.flows);
        assert!((tuned.design.inner_gain / own.inner_gain - 1.0).abs() < 1e-3);
        assert!((tuned.design.outer_gain / own.outer_gain - 1.0).abs() < 1e-3);
    }
}

#[test]
fn tuning_waits_until_its_averages_have_settled() {
    let mut tuned = law(&Params { flows: 15.0, tuning: Duration::from_secs(2), ..example() });
    (tuned.probability, tuned.load) = (0.01, 3750.0);
    for n in 0..400 {
        assert_eq!(tuned.flows, 15.0, "step {n}");
        tuned.tune(172.5);
    }
    (0..10).for_each(|_| tuned.tune(172.5));
    assert!(tuned.flows > 15.0);
}
