//! `FuzzyRTT`'s controller (fuzzyrtt-2024: Boudi and Loudini).
//! The rules are fuzzyrtt-2024#table1. Two readings of the output of fuzzyrtt-2024#fig2 are tested with two defuzzifiers.

use sojourn_fuzzy::{Controller, Defuzzifier, Design, Method, Output, TNorm, Variable};

const TABLE_I: &str = "
    | e\\de | NB | NM | NS | Z  | PS | PM | PB |
    |-------|----|----|----|----|----|----|----|
    | NB    | NH | NH | NB | NB | NM | NS | Z  |
    | NM    | NH | NH | NB | NM | NS | Z  | PS |
    | NS    | NB | NB | NM | NS | Z  | PS | PM |
    | Z     | NB | NM | NS | Z  | PS | PM | PB |
    | PS    | NM | NS | Z  | PS | PM | PB | PB |
    | PM    | NS | Z  | PS | PM | PB | PH | PH |
    | PB    | Z  | PS | PM | PB | PB | PH | PH |";

/// Centers 0, .04, .08, .16, .32 and range .64: every tick of fuzzyrtt-2024#fig2.
const A: ([f64; 4], f64) = ([0.04, 0.08, 0.16, 0.32], 0.64);
/// Centers 0, .08, .16, .32, .64.
const B: ([f64; 4], f64) = ([0.08, 0.16, 0.32, 0.64], 1.28);

fn controller(output: ([f64; 4], f64), defuzzifier: Defuzzifier) -> Controller {
    with_method(output, Method { defuzzifier, ..Method::default() })
}

fn with_method((centers, high): ([f64; 4], f64), method: Method) -> Controller {
    let inputs: Vec<(&str, f64)> =
        ["NB", "NM", "NS", "Z", "PS", "PM", "PB"].into_iter().zip((-3..=3).map(|i| f64::from(i) / 3.0)).collect();
    let [small, medium, big, huge] = centers;
    let output = [
        ("NH", -huge),
        ("NB", -big),
        ("NM", -medium),
        ("NS", -small),
        ("Z", 0.0),
        ("PS", small),
        ("PM", medium),
        ("PB", big),
        ("PH", huge),
    ];
    Design {
        row: Variable::partition("e", &inputs).unwrap(),
        column: Variable::partition("de", &inputs).unwrap(),
        output: Output::partition("y", (-high, high), &output).unwrap(),
        rules: TABLE_I,
        method,
    }
    .build()
    .unwrap()
}

/// (x1, x2), option A by the mean of centers, option A by the centroid, option B by the mean.
const VECTORS: [((f64, f64), f64, f64, f64); 9] = [
    ((0.0, 0.0), 0.0, 0.0, 0.0),
    ((1.0, 0.0), 0.16, 0.18667, 0.32),
    ((1.0, 1.0), 0.32, 0.43735, 0.64),
    ((0.5, 0.0), 0.06, 0.07538, 0.12),
    ((0.5, -0.5), 0.0, 0.0, 0.0),
    ((-1.0, -1.0), -0.32, -0.43735, -0.64),
    ((0.1, 0.05), 0.02087, 0.03307, 0.04174),
    ((-0.2, 0.4), 0.02667, 0.03960, 0.05333),
    ((0.25, -0.1), 0.01440, 0.01264, 0.02880),
];

#[test]
fn table_i_is_symmetric_antisymmetric_and_without_gaps() {
    let controller = controller(A, Defuzzifier::TermMean);
    let rules = controller.rules();
    assert_eq!((rules.rules(), rules.gap()), (49, None));
    let rule = |i: usize, j: usize| rules.consequent(Some(i), Some(j)).unwrap() as i32 - 4;
    for i in 0..7 {
        for j in 0..7 {
            let s = (i + j) as i32 - 6;
            let size = match s.abs() {
                s @ 0..=3 => s,
                4 if i == j => 4,
                4 => 3,
                _ => 4,
            };
            assert_eq!(rule(i, j), size * s.signum());
            assert_eq!(rule(i, j), rule(j, i));
            assert_eq!(rule(i, j), -rule(6 - i, 6 - j));
        }
    }
}

#[test]
fn means_of_centers_are_those_of_the_vectors_for_both_readings_of_the_output() {
    let (a, b) = (controller(A, Defuzzifier::TermMean), controller(B, Defuzzifier::TermMean));
    for ((x1, x2), mean_a, _, mean_b) in VECTORS {
        let (y_a, y_b) = (a.evaluate(x1, x2), b.evaluate(x1, x2));
        assert!((y_a - mean_a).abs() < 5.1e-6, "A at ({x1}, {x2}): {y_a}");
        assert!((y_b - mean_b).abs() < 5.1e-6, "B at ({x1}, {x2}): {y_b}");
        assert!((y_b - 2.0 * y_a).abs() < 1e-15);
    }
}

#[test]
fn centroids_are_those_of_the_vectors() {
    // The vectors come from a quadrature with 25600 points. It misses the exact value by up to 2e-5 where a set ends vertically at the end
    // of
    // the range: (1, 1) is exactly 0.16 (82/75) / 0.4.
    let exact = controller(A, Defuzzifier::Centroid);
    let sampled = controller(A, Defuzzifier::SampledCentroid(25_600));
    for ((x1, x2), _, centroid, _) in VECTORS {
        let y = exact.evaluate(x1, x2);
        assert!((y - centroid).abs() < 2e-5, "({x1}, {x2}): {y}");
        assert!((y - sampled.evaluate(x1, x2)).abs() < 1e-6);
    }
    assert!((exact.evaluate(1.0, 1.0) - 0.16 * (82.0 / 75.0) / 0.4).abs() < 1e-15);
    assert!((exact.evaluate(1.0, 0.0) - 0.56 / 3.0).abs() < 1e-15, "the balance of the triangle .08, .16, .32");
}

#[test]
fn a_tick_of_the_second_category_gives_the_increment_worked_by_hand() {
    let (rate, target) = (10e6f64, 10e6f64 * 0.01 / (8.0 * 576.0));
    let (least, before) = (30.0f64, 5.0f64);
    let x1 = (least - target) / target;
    let x2 = ((least - target) - before) * 800.0 * 536.0 / rate;
    assert!((x1 - 0.382_400).abs() < 5e-7 && (x2 - 0.141_444).abs() < 5e-7, "{x1}, {x2}");
    let controller = controller(A, Defuzzifier::TermMean);
    let y = controller.evaluate(x1, x2);
    assert!((y - 0.070_193).abs() < 5e-7, "{y}");
    let mut strengths = [0.0f64; 9];
    controller.for_each_fired(x1, x2, |rule| strengths[rule.consequent] = strengths[rule.consequent].max(rule.strength));
    for (term, strength) in [(5, 0.57567), (6, 0.42433), (7, 0.14720)] {
        assert!((strengths[term] - strength).abs() < 5e-6, "{strengths:?}");
    }
    let increment = 1e-3 * y * 25f64.ln() * 2.0;
    assert!((increment - 4.5188e-4).abs() < 5e-9);
    assert!((0.998 * (0.01 + increment) + 0.002 * 0.02 - 0.010_470_98).abs() < 5e-9);
}

#[test]
fn the_controller_saturates_beyond_its_inputs_range() {
    let controller = controller(A, Defuzzifier::TermMean);
    assert_eq!(controller.evaluate(7.0, 9.0), controller.evaluate(1.0, 1.0));
    assert_eq!(controller.evaluate(f64::INFINITY, f64::NEG_INFINITY), controller.evaluate(1.0, -1.0));
}

/// The largest decrease of the output when one input grows: 0 for a monotone controller.
fn deepest_fall(controller: &Controller) -> f64 {
    let point = |i: i32| f64::from(i) / 120.0;
    let fall = |along: &dyn Fn(i32) -> f64| {
        let (mut highest, mut fall) = (f64::MIN, 0.0f64);
        for y in (-120..=120).map(along) {
            highest = highest.max(y);
            fall = fall.max(highest - y);
        }
        fall
    };
    let lines = (-120..=120).map(|i| {
        let (row, column) = (|j| controller.evaluate(point(i), point(j)), |j| controller.evaluate(point(j), point(i)));
        fall(&row).max(fall(&column))
    });
    lines.fold(0.0, f64::max)
}

#[test]
fn minimum_and_maximum_make_the_mean_of_centers_slightly_uneven_and_products_do_not() {
    // The table is monotone, but the minimum norm weights neighbors unevenly between their centers.
    let by_minimum = deepest_fall(&controller(A, Defuzzifier::TermMean));
    assert!(by_minimum > 0.01 && by_minimum < 0.014, "{by_minimum} of a range of 0.64");
    let by_product = deepest_fall(&with_method(A, Method { and: TNorm::Product, defuzzifier: Defuzzifier::RuleMean, ..Method::default() }));
    assert!(by_product < 1e-15, "{by_product}");
}
