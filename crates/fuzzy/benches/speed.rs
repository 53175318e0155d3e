//! The time of an evaluation in nanoseconds: `cargo bench -p sojourn-fuzzy`.
#![allow(clippy::disallowed_methods, reason = "a stopwatch needs a clock")]

use sojourn_fuzzy::{Axis, Defuzzifier, Design, IntegerAxis, IntegerSurface, Method, Output, Surface, Variable};
use std::hint::black_box;
use std::time::Instant;

const NAMES: [&str; 7] = ["NB", "NM", "NS", "Z", "PS", "PM", "PB"];
const TABLE: &str = "
    e\\de NB NM NS Z  PS PM PB
    NB    NH NH NB NB NM NS Z
    NM    NH NH NB NM NS Z  PS
    NS    NB NB NM NS Z  PS PM
    Z     NB NM NS Z  PS PM PB
    PS    NM NS Z  PS PM PB PB
    PM    NS Z  PS PM PB PH PH
    PB    Z  PS PM PB PB PH PH";

fn design(defuzzifier: Defuzzifier) -> Design<'static> {
    let terms: Vec<(&str, f64)> = NAMES.iter().zip(-3..=3).map(|(&name, i)| (name, f64::from(i) / 3.0)).collect();
    let names = ["NH", "NB", "NM", "NS", "Z", "PS", "PM", "PB", "PH"];
    let centers = [-0.32, -0.16, -0.08, -0.04, 0.0, 0.04, 0.08, 0.16, 0.32];
    let output: Vec<(&str, f64)> = names.into_iter().zip(centers).collect();
    Design {
        row: Variable::partition("e", &terms).unwrap(),
        column: Variable::partition("de", &terms).unwrap(),
        output: Output::partition("y", (-0.64, 0.64), &output).unwrap(),
        rules: TABLE,
        method: Method { defuzzifier, ..Method::default() },
    }
}

fn time(what: &str, evaluate: impl Fn(f64, f64) -> f64) {
    let points: Vec<(f64, f64)> =
        (0..1024).map(|i| (f64::from(i * 37 % 1021) / 500.0 - 1.02, f64::from(i * 91 % 1019) / 500.0 - 1.02)).collect();
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..20 {
                for &(x, y) in &points {
                    black_box(evaluate(black_box(x), black_box(y)));
                }
            }
            start.elapsed().as_secs_f64() * 1e9 / (20.0 * 1024.0)
        })
        .fold(f64::MAX, f64::min);
    println!("{what:<44} {best:7.1} ns");
}

fn main() {
    for (name, defuzzifier) in [
        ("7x7, mean of centers over rules", Defuzzifier::RuleMean),
        ("7x7, mean of centers over terms", Defuzzifier::TermMean),
        ("7x7, center of sums", Defuzzifier::CenterOfSums),
        ("7x7, exact centroid", Defuzzifier::Centroid),
        ("7x7, centroid of 1001 samples", Defuzzifier::SampledCentroid(1001)),
    ] {
        let controller = design(defuzzifier).build().unwrap();
        time(name, |x, y| controller.evaluate(x, y));
    }
    let controller = design(Defuzzifier::TermMean).build().unwrap();
    let axis = Axis::new(-1.0, 1.0, 48).unwrap();
    let surface = Surface::compile(axis, axis, |x, y| controller.evaluate(x, y)).unwrap();
    time("surface, 48 x 48", |x, y| surface.evaluate(x, y));
    println!("    error at most {:.2e} of a range of 0.64", surface.error_bound());
    let axis = IntegerAxis { unit: 1.0 / 1536.0, low: -1536, shift: 6, cells: 48 };
    let table = IntegerSurface::compile(axis, axis, 24, |x, y| controller.evaluate(x, y)).unwrap();
    time("integer table, 48 x 48", |x, y| f64::from(table.lookup((x * 1536.0) as i32, (y * 1536.0) as i32)));
    println!("    error at most {:.2e} of a range of 0.64", table.error_bound());
}
