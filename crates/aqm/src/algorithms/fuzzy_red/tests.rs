use super::*;
use crate::algorithms::test_link;
use crate::{Aqm, Backlog};
use alloc::string::ToString;
use proptest::prelude::*;

const PRESETS: [Preset; 3] = [Preset::Fit, Preset::Exact, Preset::Plane];

fn surface(params: &Params) -> impl Fn(f64, f64) -> f64 + use<> {
    let controller = params.controller().unwrap();
    move |q, dq| controller.evaluate(q, dq)
}

fn preset(preset: Preset) -> Params {
    Params { preset, ..Params::default() }
}

#[test]
fn the_default_surface_is_the_reconstructed_one() {
    let f = surface(&Params::default());
    let changes = [-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0];
    for (q, row) in [
        (0.0, [0.0; 7]),
        (22.0, [0.0; 7]),
        (26.0, [0.0, 1.0, 1.0, 1.0, 5.8, 9.0, 12.5]),
        (30.0, [0.0, 1.0, 1.5, 2.0, 7.75, 13.5, 25.0]),
        (34.0, [6.67, 6.05, 6.51, 8.13, 12.51, 16.97, 26.33]),
        (38.0, [13.33, 9.37, 11.41, 14.27, 17.41, 19.39, 27.67]),
        (45.0, [25.0, 25.0, 25.0, 25.0, 26.25, 27.5, 30.0]),
        (100.0, [25.0, 25.0, 25.0, 25.0, 26.25, 27.5, 30.0]),
    ] {
        for (dq, expected) in changes.into_iter().zip(row) {
            assert!((f(q, dq) - expected).abs() < 5.1e-3, "F({q}, {dq}) = {} for {expected}", f(q, dq));
        }
    }
}

#[test]
fn slopes_at_the_set_point_are_those_of_the_paper_or_near_them() {
    for (sets, k1, k2) in [(Preset::Fit, 0.892, 1.042), (Preset::Exact, 0.998, 1.000), (Preset::Plane, 1.0, 1.0)] {
        let f = surface(&preset(sets));
        for h in [1.0, 2.0, 3.0, 4.0, 5.0] {
            let (by_q, by_dq) = ((f(30.0 + h, 0.0) - f(30.0 - h, 0.0)) / (2.0 * h), (f(30.0, h) - f(30.0, -h)) / (2.0 * h));
            assert!((by_q - k1).abs() < 5e-4 && (by_dq - k2).abs() < 5e-4, "{sets:?}: {by_q}, {by_dq}");
        }
    }
    let plane = surface(&preset(Preset::Plane));
    for (q, dq) in [(34.0, 0.0), (26.0, 0.0), (30.0, 4.0), (30.0, -4.0)] {
        assert!((plane(q, dq) - (5.0 + q - 30.0 + dq)).abs() < 1e-12, "the plane is straight along both axes");
    }
}

#[test]
fn clipping_moves_the_surface_only_where_several_rules_are_active() {
    let (mean, clipped) = (surface(&Params::default()), surface(&Params { inference: Inference::Clipped, ..Params::default() }));
    for (q, dq) in [(0.0, 5.0), (22.0, 0.0), (30.0, 0.0), (30.0, 12.0), (45.0, 0.0), (60.0, 20.0)] {
        assert!((mean(q, dq) - clipped(q, dq)).abs() < 1e-9, "one rule at ({q}, {dq})");
    }
    // Low with 3/4, moderate with 1/4: a triangle clipped at m keeps 2m - m^2 of its area.
    let expected = (2.0 * 0.9375 + 25.0 * 0.4375) / (0.9375 + 0.4375);
    assert!((clipped(30.0, 3.0) - expected).abs() < 1e-9 && (mean(30.0, 3.0) - 7.75).abs() < 1e-12);
}

#[test]
fn the_probability_follows_the_queue_from_update_to_update() {
    for queue_in_bytes in [false, true] {
        let link = Link { mean_packet: 522, ..test_link() };
        let mut aqm = Params { queue_in_bytes, ..Params::default() }.build(&link).unwrap();
        assert_eq!((aqm.needs().first_update, aqm.update_interval()), (Some(Time::ZERO), Some(Duration::from_millis(10))));
        for (packets, percent) in [(0u32, 0.0), (24, 6.25), (30, 13.5), (30, 2.0), (90, 30.0), (90, 25.0), (0, 0.0)] {
            let counted = if queue_in_bytes { 1 } else { packets };
            aqm.on_update(Time::ZERO, &Backlog { packets: counted, bytes: 522 * u64::from(packets), idle_since: None });
            let p = aqm.probability().unwrap().get();
            assert!((p - percent / 100.0).abs() < 1e-12, "{p} for {percent} at {packets}");
        }
    }
}

#[test]
fn every_number_of_the_sets_moves_the_surface() {
    let usual = surface(&Params::default());
    let some = Params::default;
    for (name, params) in [
        ("empty", Params { empty: Some(20.0), ..some() }),
        ("modest", Params { modest: Some(33.0), ..some() }),
        ("full", Params { full: Some(50.0), ..some() }),
        ("fall", Params { fall: Some(6.0), ..some() }),
        ("rise", Params { rise: Some(6.0), ..some() }),
        ("low", Params { low: Some(4.0), ..some() }),
        ("moderate", Params { moderate: Some(20.0), ..some() }),
        ("high", Params { high: Some(60.0), ..some() }),
        ("full_falling", Params { full_falling: Some(Level::Zero), ..some() }),
        ("full_falling", Params { full_falling: Some(Level::High), ..some() }),
        ("preset", preset(Preset::Exact)),
        ("inference", Params { inference: Inference::Clipped, ..some() }),
    ] {
        let other = surface(&params);
        let points = (0..=60).flat_map(|q| (-14..=14).map(move |dq| (f64::from(q), f64::from(dq))));
        assert!(points.into_iter().any(|(q, dq)| (usual(q, dq) - other(q, dq)).abs() > 0.1), "{name} moves nothing");
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let some = Params::default;
    for (params, field) in [
        (Params { interval: Duration::ZERO, ..some() }, "interval"),
        (Params { empty: Some(-1.0), ..some() }, "empty"),
        (Params { empty: Some(30.0), ..some() }, "modest"),
        (Params { modest: Some(f64::NAN), ..some() }, "modest"),
        (Params { full: Some(30.0), ..some() }, "full"),
        (Params { full: Some(f64::INFINITY), ..some() }, "full"),
        (Params { fall: Some(0.0), ..some() }, "fall"),
        (Params { rise: Some(f64::NAN), ..some() }, "rise"),
        (Params { low: Some(0.0), ..some() }, "low"),
        (Params { low: Some(26.0), ..some() }, "moderate"),
        (Params { moderate: Some(35.0), ..some() }, "high"),
        (Params { high: Some(101.0), ..some() }, "high"),
    ] {
        assert_eq!(params.build(&test_link()).unwrap_err().field, field, "{params:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn a_preset_can_be_named_and_a_number_of_it_replaced() {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let params = read(r#"{"preset": "plane", "full": 40, "interval": "5 ms", "full_falling": "zero"}"#).unwrap();
    let expected =
        Params { full: Some(40.0), interval: Duration::from_millis(5), full_falling: Some(Level::Zero), ..preset(Preset::Plane) };
    assert_eq!(params, expected);
    assert_eq!(read(&serde_json::to_string(&expected).unwrap()).unwrap(), expected);
    assert!(read(r#"{"preset": "flat"}"#).unwrap_err().to_string().contains("`fit`, `exact`, `plane`"));
    assert!(read(r#"{"fullness": 3}"#).unwrap_err().to_string().contains("unknown field"));
}

proptest! {
    #[test]
    fn the_probability_is_one_of_the_levels_or_between_them_at_any_queue(
        which in 0usize..3, clipped in any::<bool>(), q in 0.0f64..2000.0, before in 0.0f64..2000.0,
    ) {
        let inference = if clipped { Inference::Clipped } else { Inference::Mean };
        let f = surface(&Params { inference, ..preset(PRESETS[which]) });
        for (q, dq) in [(q, q - before), (q / 40.0, (q - before) / 40.0)] {
            let percent = f(q, dq);
            prop_assert!((-1e-9..=30.0 + 1e-9).contains(&percent), "{percent}");
        }
    }
}
