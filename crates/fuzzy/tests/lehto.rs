//! The fuzzy RED of lehto-2005 as reconstructed: seven rules over queue and change of queue.

use sojourn_fuzzy::{Controller, Defuzzifier, Design, Implication, Membership, Method, Output, Variable};

const RULES: &str = "
    IF q IS empty THEN p IS zero
    q\\dq   decreasing zero     increasing
    modest  zero       low      moderate
    full    moderate   moderate high";

fn f_fit(method: Method) -> Controller {
    let triangle = |center: f64| Membership::triangle(center - 1.0, center, center + 1.0).unwrap();
    let output = [("zero", triangle(0.0)), ("low", triangle(2.0)), ("moderate", triangle(25.0)), ("high", triangle(30.0))];
    Design {
        row: Variable::partition("q", &[("empty", 22.0), ("modest", 30.0), ("full", 45.0)]).unwrap(),
        column: Variable::partition("dq", &[("decreasing", -12.0), ("zero", 0.0), ("increasing", 12.0)]).unwrap(),
        output: Output::new("p", (-1.0, 31.0), &output).unwrap(),
        rules: RULES,
        method,
    }
    .build()
    .unwrap()
}

/// F in percent at dq = -12, -6, -3, 0, 3, 6, 12.
const SURFACE: [(f64, [f64; 7]); 7] = [
    (0.0, [0.0; 7]),
    (22.0, [0.0; 7]),
    (26.0, [0.0, 1.0, 1.0, 1.0, 5.8, 9.0, 12.5]),
    (30.0, [0.0, 1.0, 1.5, 2.0, 7.75, 13.5, 25.0]),
    (34.0, [6.67, 6.05, 6.51, 8.13, 12.51, 16.97, 26.33]),
    (38.0, [13.33, 9.37, 11.41, 14.27, 17.41, 19.39, 27.67]),
    (45.0, [25.0, 25.0, 25.0, 25.0, 26.25, 27.5, 30.0]),
];

#[test]
fn the_surface_is_the_reconstructed_one() {
    let f = f_fit(Method::default());
    for (q, row) in SURFACE {
        for (dq, expected) in [-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0].into_iter().zip(row) {
            let p = f.evaluate(q, dq);
            assert!((p - expected).abs() < 5.1e-3, "F({q}, {dq}) = {p} for {expected}");
        }
    }
    assert_eq!(f.evaluate(90.0, 12.0), f.evaluate(45.0, 12.0));
}

#[test]
fn with_equal_apart_sets_and_scaling_the_centroid_is_the_mean_of_centers() {
    let mean = f_fit(Method::default());
    for defuzzifier in [Defuzzifier::Centroid, Defuzzifier::CenterOfSums] {
        let centroid = f_fit(Method { implication: Implication::Product, defuzzifier, ..Method::default() });
        for (q, dq) in (0..2000).map(|i| (f64::from(i % 61), f64::from(i * 7 % 41) - 20.0)) {
            assert!((mean.evaluate(q, dq) - centroid.evaluate(q, dq)).abs() < 1e-12);
        }
    }
}

#[test]
fn clipping_weighs_weak_rules_by_what_a_clipped_triangle_keeps() {
    let clipped = f_fit(Method { defuzzifier: Defuzzifier::Centroid, ..Method::default() });
    // At (30, 3): low with 3/4, moderate with 1/4; areas are proportional to 2m - m^2.
    let (low, moderate) = (0.9375, 0.4375);
    let expected = (2.0 * low + 25.0 * moderate) / (low + moderate);
    assert!((clipped.evaluate(30.0, 3.0) - expected).abs() < 1e-12);
}
