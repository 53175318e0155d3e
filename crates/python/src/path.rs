//! Paths of fields (`links.bottleneck.queue.min`), parsed as in scenarios.

use pyo3::prelude::*;

/// The steps of a path, positions as digits. Raises `ScenarioError` for an invalid path.
#[pyfunction]
pub fn path_split(path: &str) -> PyResult<Vec<String>> {
    sojourn_scenario::split_path(path).map_err(crate::refused)
}

/// A name as a step of a path, quoted if it contains a dot, a bracket or a quotation mark.
#[pyfunction]
pub fn path_element(name: &str) -> String {
    sojourn_scenario::path_element(name)
}
