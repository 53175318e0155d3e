//! Fuzzy controllers for Python: a design as JSON and points in, the results out.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde_json::Value;
use sojourn_fuzzy::{Controller, Defuzzifier, Design, FuzzyError, Implication, Membership, Method, Output, SNorm, TNorm, Variable};

/// Reads a field as tuples, lists, numbers and texts; `$expected` names what it must be.
macro_rules! field {
    ($design:expr, $path:literal, $expected:literal) => {{
        let given = $design.pointer($path).unwrap_or(&Value::Null);
        let name = $path[1..].replace('/', ".");
        serde_json::from_value(given.clone()).map_err(|_| format!("design.{name}: expected {}, got {given}", $expected))
    }};
}

/// The choice of this name.
fn choice<T: Copy>(design: &Value, key: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let given = &design[key];
    let found = choices.iter().find(|choice| given.as_str() == Some(choice.0));
    let names = || choices.iter().map(|choice| choice.0).collect::<Vec<_>>().join(", ");
    found.map(|choice| choice.1).ok_or_else(|| format!("design.{key}: expected one of {}, got {given}", names()))
}

fn method(design: &Value) -> Result<Method, String> {
    let points = if design["points"].is_null() { 1000 } else { field!(design, "/points", "a whole number")? };
    Ok(Method {
        and: choice(design, "and", &[("min", TNorm::Min), ("product", TNorm::Product), ("lukasiewicz", TNorm::Lukasiewicz)])?,
        implication: choice(design, "implication", &[("min", Implication::Min), ("product", Implication::Product)])?,
        aggregation: choice(
            design,
            "aggregation",
            &[("max", SNorm::Max), ("probabilistic-sum", SNorm::ProbabilisticSum), ("bounded-sum", SNorm::BoundedSum)],
        )?,
        defuzzifier: choice(
            design,
            "defuzzifier",
            &[
                ("rule-mean", Defuzzifier::RuleMean),
                ("term-mean", Defuzzifier::TermMean),
                ("centroid", Defuzzifier::Centroid),
                ("sampled-centroid", Defuzzifier::SampledCentroid(points)),
                ("center-of-sums", Defuzzifier::CenterOfSums),
            ],
        )?,
    })
}

fn controller(text: &str) -> Result<Controller, String> {
    let design: Value = serde_json::from_str(text).map_err(|error| format!("design: {error}"))?;
    let said = |error: FuzzyError| format!("design: {error}");
    let rows: Vec<(String, f64)> = field!(design, "/row", "a list of terms with their centers")?;
    let columns: Vec<(String, f64)> = field!(design, "/column", "a list of terms with their centers")?;
    let range: (f64, f64) = field!(design, "/output/range", "two numbers")?;
    let sets: Vec<(String, f64, f64, f64)> = field!(design, "/output/terms", "a list of terms with left, peak and right")?;
    let rules: String = field!(design, "/rules", "a table of rules")?;
    let row: Vec<(&str, f64)> = rows.iter().map(|(name, center)| (name.as_str(), *center)).collect();
    let column: Vec<(&str, f64)> = columns.iter().map(|(name, center)| (name.as_str(), *center)).collect();
    let sets = sets.iter().map(|(name, left, peak, right)| Ok((name.as_str(), Membership::triangle(*left, *peak, *right)?)));
    let sets = sets.collect::<Result<Vec<_>, FuzzyError>>().map_err(said)?;
    let design = Design {
        row: Variable::partition("row", &row).map_err(said)?,
        column: Variable::partition("column", &column).map_err(said)?,
        output: Output::new("output", range, &sets).map_err(said)?,
        rules: &rules,
        method: method(&design)?,
    };
    design.build().map_err(said)
}

/// The results of a fuzzy controller at the points `(a, b)`, in the units of its output; NaN if no rule fires. `design` is
/// JSON: `row` and `column` (terms with their centers), `output` (`range`, and `terms` with left, peak and right),
/// `rules` (a table as text), `and`, `implication`, `aggregation`, `defuzzifier`, and `points` of a sampled centroid.
///
/// Raises `ScenarioError` for a wrong design, or if `a` and `b` differ in length.
#[pyfunction]
pub fn infer<'py>(
    py: Python<'py>,
    design: &str,
    a: PyReadonlyArray1<'py, f64>,
    b: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let controller = controller(design).map_err(crate::refused)?;
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    if a.len() != b.len() {
        return Err(crate::refused(format!("b: expected {} numbers, as many as a has, got {}", a.len(), b.len())));
    }
    let values = a.iter().zip(b).map(|(&a, &b)| controller.infer(a, b).value_or(f64::NAN));
    Ok(values.collect::<Vec<_>>().into_pyarray(py))
}
