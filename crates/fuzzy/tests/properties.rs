//! Properties that every controller has.

use proptest::prelude::*;
use sojourn_fuzzy::{
    Axis, Controller, Defuzzifier, Design, FuzzyError, Implication, IntegerAxis, IntegerSurface, Membership, Method, Outcome, Output,
    SNorm, Surface, TNorm, Variable,
};

const WORDS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

fn centers(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::btree_set(-50i32..=50, count).prop_map(|set| set.into_iter().map(|c| f64::from(c) / 10.0).collect())
}

fn named(centers: &[f64]) -> Vec<(&'static str, f64)> {
    WORDS.into_iter().zip(centers.iter().copied()).collect()
}

fn grid(columns: usize, cells: &[usize]) -> String {
    let header = WORDS[..columns].join(" ");
    let rows = cells.chunks(columns).zip(WORDS).map(|(row, name)| {
        let row: Vec<&str> = row.iter().map(|&cell| WORDS[cell]).collect();
        format!("{name} {}\n", row.join(" "))
    });
    format!("{header}\n{}", rows.collect::<String>())
}

fn build(rows: &[f64], columns: &[f64], outputs: &[f64], cells: &[usize], method: Method) -> Controller {
    Design {
        row: Variable::partition("x", &named(rows)).unwrap(),
        column: Variable::partition("y", &named(columns)).unwrap(),
        output: Output::partition("z", (-6.0, 6.0), &named(outputs)).unwrap(),
        rules: &grid(columns.len(), cells),
        method,
    }
    .build()
    .unwrap()
}

fn any_method(norms: &'static [TNorm]) -> impl Strategy<Value = Method> {
    let and = prop::sample::select(norms);
    let implication = prop::sample::select(vec![Implication::Min, Implication::Product]);
    let how = prop::sample::select(vec![
        (SNorm::ProbabilisticSum, Defuzzifier::RuleMean),
        (SNorm::BoundedSum, Defuzzifier::TermMean),
        (SNorm::Max, Defuzzifier::TermMean),
        (SNorm::Max, Defuzzifier::Centroid),
        (SNorm::ProbabilisticSum, Defuzzifier::CenterOfSums),
        (SNorm::BoundedSum, Defuzzifier::SampledCentroid(200)),
    ]);
    (and, implication, how).prop_map(|(and, implication, (aggregation, defuzzifier))| Method { and, implication, aggregation, defuzzifier })
}

const NORMS: &[TNorm] = &[TNorm::Min, TNorm::Product, TNorm::Lukasiewicz];

fn any_controller(norms: &'static [TNorm]) -> impl Strategy<Value = Controller> {
    (centers(5), centers(4), centers(7), prop::collection::vec(0usize..7, 20), any_method(norms))
        .prop_map(|(rows, columns, outputs, cells, method)| build(&rows, &columns, &outputs, &cells, method))
}

/// A table whose values grow along its rows and columns.
fn monotone_cells() -> impl Strategy<Value = Vec<usize>> {
    (prop::collection::vec(0usize..3, 5), prop::collection::vec(0usize..3, 4)).prop_map(|(down, across)| {
        let sums = |steps: &[usize]| steps.iter().scan(0, |sum, step| (*sum += step, Some(*sum)).1).collect::<Vec<_>>();
        let (down, across) = (sums(&down), sums(&across));
        down.iter().flat_map(|i| across.iter().map(move |j| (i + j).min(6))).collect()
    })
}

proptest! {
    #[test]
    fn a_value_lies_within_the_hull_of_the_consequents_that_fired(
        controller in any_controller(NORMS), x in -7.0f64..7.0, y in -7.0f64..7.0,
    ) {
        let mut hull = (f64::MAX, f64::MIN);
        controller.for_each_fired(x, y, |fired| {
            // A mean lies between centers. A set extends from neighbor to neighbor, or to the end of the range.
            let (left, right) = controller.output().sets()[fired.consequent].support();
            hull = (hull.0.min(left.max(-6.0)), hull.1.max(right.min(6.0)));
        });
        match controller.infer(x, y) {
            Outcome::Value(z) => prop_assert!(hull.0 - 1e-9 <= z && z <= hull.1 + 1e-9, "{z} outside {hull:?}"),
            Outcome::Nothing => prop_assert_eq!(hull, (f64::MAX, f64::MIN)),
            Outcome::Override { .. } => prop_assert!(false),
        }
    }

    #[test]
    fn a_mean_of_centers_lies_between_the_centers_that_fired(
        rows in centers(5), columns in centers(4), outputs in centers(7), cells in prop::collection::vec(0usize..7, 20),
        mean in prop::sample::select(vec![Defuzzifier::RuleMean, Defuzzifier::TermMean]), x in -7.0f64..7.0, y in -7.0f64..7.0,
    ) {
        let controller = build(&rows, &columns, &outputs, &cells, Method { defuzzifier: mean, ..Method::default() });
        let mut hull = (f64::MAX, f64::MIN);
        controller.for_each_fired(x, y, |fired| hull = (hull.0.min(outputs[fired.consequent]), hull.1.max(outputs[fired.consequent])));
        let z = controller.evaluate(x, y);
        prop_assert!(hull.0 - 1e-12 <= z && z <= hull.1 + 1e-12, "{z} outside {hull:?}");
    }

    #[test]
    fn at_the_centers_of_its_terms_a_mean_is_the_center_of_the_one_rule(
        rows in centers(5), columns in centers(4), outputs in centers(7), cells in prop::collection::vec(0usize..7, 20),
    ) {
        let controller = build(&rows, &columns, &outputs, &cells, Method::default());
        for (i, &x) in rows.iter().enumerate() {
            for (j, &y) in columns.iter().enumerate() {
                prop_assert_eq!(controller.evaluate(x, y), outputs[cells[4 * i + j]]);
            }
        }
    }

    #[test]
    fn with_products_a_monotone_table_gives_a_monotone_mean(
        rows in centers(5), columns in centers(4), outputs in centers(7), cells in monotone_cells(),
        x in -6.0f64..6.0, y in -6.0f64..6.0, dx in 0.0f64..3.0, dy in 0.0f64..3.0,
    ) {
        let method = Method { and: TNorm::Product, defuzzifier: Defuzzifier::RuleMean, ..Method::default() };
        let controller = build(&rows, &columns, &outputs, &cells, method);
        prop_assert!(controller.evaluate(x + dx, y + dy) >= controller.evaluate(x, y) - 1e-12);
    }

    #[test]
    fn an_input_that_is_no_number_fires_nothing(controller in any_controller(NORMS), x in prop::num::f64::ANY) {
        prop_assert_eq!(controller.infer(f64::NAN, x), Outcome::Nothing);
        prop_assert_eq!(controller.infer(x, f64::NAN), Outcome::Nothing);
        prop_assert!(controller.evaluate(x, -x).is_finite() || x.is_nan());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[ignore = "4 s: `make slow-test`"]
    fn tables_are_as_exact_as_they_say(
        controller in any_controller(&NORMS[..2]), cells in 3usize..24, points in prop::collection::vec((-6.0f64..=6.0, -6.0f64..=6.0), 300),
    ) {
        // Lukasiewicz's norm is excluded. If almost nothing fires, its mean jumps, and no table can follow.
        let exact = |x: f64, y: f64| controller.evaluate(x, y);
        let axis = Axis::new(-6.0, 6.0, cells).unwrap();
        let surface = Surface::compile(axis, axis, exact).unwrap();
        let steps = IntegerAxis { unit: 12.0 / (cells as f64 * 32.0), low: -(cells as i32 * 16), shift: 5, cells: cells as u32 };
        let table = IntegerSurface::compile(steps, steps, 16, exact).unwrap();
        for (x, y) in points {
            let (off, wide) = ((surface.evaluate(x, y) - exact(x, y)).abs(), (table.evaluate(x, y) - exact(x, y)).abs());
            prop_assert!(off <= surface.error_bound(), "{off} above {} at ({x}, {y})", surface.error_bound());
            prop_assert!(wide <= table.error_bound(), "{wide} above {} at ({x}, {y})", table.error_bound());
        }
    }
}

#[test]
fn bells_are_inferred_with_by_sampling_and_refused_by_exact_integration() {
    let bell = |center: f64| Membership::gaussian(center, 1.0).unwrap();
    let bells = [("a", bell(-2.0)), ("b", bell(2.0))];
    let design = |defuzzifier, aggregation| Design {
        row: Variable::new("x", &bells).unwrap(),
        column: Variable::partition("y", &[("a", 0.0)]).unwrap(),
        output: Output::new("z", (-5.0, 5.0), &bells).unwrap(),
        rules: "IF x IS a THEN b\nIF x IS b THEN a",
        method: Method { defuzzifier, aggregation, ..Method::default() },
    };
    let refused = |design: Design| matches!(design.build(), Err(FuzzyError::Value { .. }));
    assert!(refused(design(Defuzzifier::Centroid, SNorm::Max)));
    assert!(refused(design(Defuzzifier::CenterOfSums, SNorm::Max)));
    assert!(refused(design(Defuzzifier::SampledCentroid(1), SNorm::Max)));
    let sampled = design(Defuzzifier::SampledCentroid(1000), SNorm::ProbabilisticSum).build().unwrap();
    assert!(sampled.evaluate(0.0, 0.0).abs() < 1e-12, "two bells on either side balance");
    assert!((sampled.evaluate(-2.0, 0.0) - sampled.evaluate(-2.0, 9.0)).abs() < 1e-15, "the second input is not asked for");
    assert!(sampled.evaluate(-2.0, 0.0) > 1.5 && sampled.evaluate(2.0, 0.0) < -1.5);
}

#[test]
fn numbers_and_exact_centroids_do_not_go_together() {
    let design = |defuzzifier, aggregation| Design {
        row: Variable::partition("x", &[("a", 0.0), ("b", 1.0)]).unwrap(),
        column: Variable::partition("y", &[("a", 0.0)]).unwrap(),
        output: Output::numbers("z", &[("a", 0.0), ("b", 1.0)]).unwrap(),
        rules: "IF x IS a THEN b\nIF x IS b THEN a",
        method: Method { defuzzifier, aggregation, ..Method::default() },
    };
    assert!(design(Defuzzifier::Centroid, SNorm::Max).build().is_err());
    assert!(design(Defuzzifier::SampledCentroid(100), SNorm::Max).build().is_err());
    assert!(design(Defuzzifier::TermMean, SNorm::BoundedSum).build().unwrap().evaluate(0.25, 0.0) == 0.75);
}
