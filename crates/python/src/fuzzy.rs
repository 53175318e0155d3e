//! Fuzzy controllers for Python: evaluates a JSON design at points.

use crate::listing::aqm_of;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::Value;
use sojourn_fuzzy::{Controller, Defuzzifier, Design, FuzzyError, Implication, Membership, Method, Output, SNorm, TNorm, Variable};

/// Parses a field from tuples, lists, numbers and texts; `$expected` names the expectation.
macro_rules! field {
    ($design:expr, $path:literal, $expected:literal) => {{
        let given = $design.pointer($path).unwrap_or(&Value::Null);
        let name = $path[1..].replace('/', ".");
        serde_json::from_value(given.clone()).map_err(|_| format!("design.{name}: expected {}, got {given}", $expected))
    }};
}

/// The choice with this name.
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

/// The results of a fuzzy controller at the points `(a, b)`, in the units of its output.
/// NaN if no rule fires. `design` is JSON: `row` and `column` (terms with their centers), `output` (`range`, and `terms` with left, peak
/// and right), `rules` (a table as text), `and`, `implication`, `aggregation`, `defuzzifier`, and `points` of a sampled centroid.
///
/// Raises `ScenarioError` for an invalid design, or if `a` and `b` differ in length.
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

/// The fuzzy controller of a queue discipline or of a congestion controller, for display.
/// It has terms, rules and results.
#[pyclass(frozen, module = "sojourn")]
pub struct FuzzyLaw {
    controller: Controller,
}

#[pymethods]
impl FuzzyLaw {
    /// The fuzzy controller of a queue table (JSON).
    /// Raises `ScenarioError` for an invalid table, or a discipline without fuzzy rules.
    #[staticmethod]
    fn of_queue(queue: &str) -> PyResult<FuzzyLaw> {
        let config = aqm_of(queue).map_err(crate::refused)?;
        match config.fuzzy() {
            Some(Ok(controller)) => Ok(FuzzyLaw { controller }),
            Some(Err(error)) => Err(crate::refused(format!("queue.{error}"))),
            None => Err(crate::refused(format!("queue.aqm: expected a law with fuzzy rules, got \"{}\"", config.name()))),
        }
    }

    /// The fuzzy controller of a congestion controller at the start of a connection.
    /// Raises `ScenarioError` for a controller without fuzzy rules.
    #[staticmethod]
    fn of_controller(name: &str) -> PyResult<FuzzyLaw> {
        let config = sojourn_cc::REGISTRY.iter().find(|entry| entry.name == name).map(|entry| (entry.default)());
        match config.and_then(|config| config.fuzzy()) {
            Some(Ok(controller)) => Ok(FuzzyLaw { controller }),
            Some(Err(error)) => Err(crate::refused(error.to_string())),
            None => Err(crate::refused(format!("expected a congestion controller with fuzzy rules, got \"{name}\""))),
        }
    }

    /// The two inputs and the output in order, each as name and terms.
    fn variables(&self) -> Vec<(String, Vec<String>)> {
        let (row, column, output) = (self.controller.row(), self.controller.column(), self.controller.output());
        [(row.name(), row.terms()), (column.name(), column.terms()), (output.name(), output.terms())]
            .map(|(name, terms)| (name.to_string(), terms.to_vec()))
            .to_vec()
    }

    /// The grades of numbers in the terms of a variable: a row per term that is a set.
    fn grades<'py>(&self, py: Python<'py>, variable: &str, x: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (row, column, output) = (self.controller.row(), self.controller.column(), self.controller.output());
        let x = x.as_slice()?;
        let input = |of: &Variable| (0..of.terms().len()).map(|term| x.iter().map(|&x| of.grade(term, x)).collect()).collect::<Vec<_>>();
        let rows = if variable == row.name() {
            input(row)
        } else if variable == column.name() {
            input(column)
        } else if variable == output.name() {
            output.sets().iter().map(|set| x.iter().map(|&x| set.grade(x)).collect()).collect()
        } else {
            return Err(PyKeyError::new_err(variable.to_string()));
        };
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// The rule table; `None` is a missing rule.
    /// It has the output's term for each term of the first input (rows) and of the second.
    fn rules(&self) -> Vec<Vec<Option<String>>> {
        let (rules, output) = (self.controller.rules(), self.controller.output());
        let consequent = |i, j| {
            let found = [(Some(i), Some(j)), (Some(i), None), (None, Some(j))].into_iter().find_map(|(i, j)| rules.consequent(i, j));
            found.map(|term| output.terms()[term].clone())
        };
        let columns = self.controller.column().terms().len();
        (0..self.controller.row().terms().len()).map(|i| (0..columns).map(|j| consequent(i, j)).collect()).collect()
    }

    /// The results over a grid: a row per number of the first input.
    /// NaN if the result is not a number.
    fn surface<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, f64>,
        columns: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = columns.as_slice()?;
        let row = |&x: &f64| columns.iter().map(|&y| self.controller.infer(x, y).value_or(f64::NAN)).collect();
        Ok(PyArray2::from_vec2(py, &rows.as_slice()?.iter().map(row).collect::<Vec<_>>())?)
    }

    /// The rules that fire at a point: the terms of both inputs and the output, and the strength.
    /// A term that a rule ignores is "".
    fn fired(&self, row: f64, column: f64) -> Vec<(String, String, String, f64)> {
        let (first, second, output) = (self.controller.row().terms(), self.controller.column().terms(), self.controller.output().terms());
        let name = |terms: &[String], at: Option<usize>| at.map_or(String::new(), |at| terms[at].clone());
        let mut fired = Vec::new();
        self.controller.for_each_fired(row, column, |rule| {
            fired.push((name(first, rule.row), name(second, rule.column), output[rule.consequent].clone(), rule.strength));
        });
        fired
    }
}
