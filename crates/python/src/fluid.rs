//! The fluid model for Python: a queue and a plant as JSON in, arrays out.

use crate::laws::{OutOfRange, from_python};
use crate::listing::aqm_of;
use crate::trouble::Trouble;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use sojourn_aqm::{AqmConfig, Link};
use sojourn_fluid::{Change, Class, Control, NoPoint, Oscillation, Plant, Point, Response, Run, Start};
use sojourn_units::{Duration, Rate};
use std::sync::OnceLock;

/// A table of numbers with its name in messages.
struct Table<'a>(&'a str, Map<String, Value>);

impl<'a> Table<'a> {
    fn read(name: &'a str, text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(|map| Table(name, map)).map_err(|error| format!("{name}: {error}"))
    }

    fn number(&self, key: &str, default: f64) -> Result<f64, String> {
        match self.1.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| format!("{}.{key}: expected a number, got {value}", self.0)),
        }
    }

    fn list(&self, key: &'a str) -> Result<Vec<Table<'a>>, String> {
        let Some(list) = self.1.get(key) else { return Ok(Vec::new()) };
        let tables = list.as_array().map(|list| list.iter().map(|each| each.as_object().cloned().map(|map| Table(key, map))));
        let tables: Option<Option<Vec<_>>> = tables.map(Iterator::collect);
        tables.flatten().ok_or_else(|| format!("{}.{key}: expected a list of tables, got {list}", self.0))
    }
}

fn plant_of(table: &Table<'_>) -> Result<Plant, String> {
    let classes = table.list("classes")?;
    let class = |each: &Table<'_>| {
        let (flows, delay) = (each.number("flows", f64::NAN)?, each.number("delay", f64::NAN)?);
        Ok(Class { flows, delay, increase: each.number("increase", 1.0)?, decrease: each.number("decrease", 0.5)? })
    };
    let plant = Plant {
        classes: classes.iter().map(class).collect::<Result<_, String>>()?,
        capacity: table.number("capacity", f64::NAN)?,
        limit: table.number("limit", f64::INFINITY)?,
        packet: table.number("packet", 1000.0)?,
        drops: table.1.get("drops").and_then(Value::as_bool).unwrap_or(false),
    };
    plant.check().map_err(|error| format!("plant.{error}")).map(|()| plant)
}

fn run_of(text: &str) -> Result<Run, String> {
    let table = Table::read("run", text)?;
    let change = |each: &Table<'_>| {
        let class = each.number("class", 0.0)?;
        Ok(Change { at: each.number("at", 0.0)?, class: class as usize, flows: each.number("flows", 0.0)? })
    };
    Ok(Run {
        duration: table.number("duration", 60.0)?,
        step: table.number("step", 1e-3)?,
        every: table.number("every", 1.0)? as usize,
        start: Start {
            window: table.number("window", 1.0)?,
            queue: table.number("queue", 0.0)?,
            probability: table.number("probability", 0.0)?,
        },
        changes: table.list("changes")?.iter().map(change).collect::<Result<_, String>>()?,
    })
}

fn control_of(queue: &str, table: &Table<'_>, plant: &Plant, laws: Option<&Bound<'_, PyDict>>, trouble: &Trouble) -> PyResult<Control> {
    let refused = |text: String| crate::refused(text);
    let config = aqm_of(queue).map_err(refused)?;
    if let AqmConfig::External(params) = &config {
        let known = from_python(laws, "", OutOfRange::Limited, trouble)?;
        let law = known
            .queues
            .get(&params.law)
            .ok_or_else(|| refused(format!("queue.law: expected the name of a law that was supplied, got \"{}\"", params.law)))?;
        return Ok(Control::Law(law(params.interval)));
    }
    let mean = table.number("mean_packet", plant.packet).map_err(refused)?;
    let bps = table.number("rate_bps", plant.capacity * plant.packet * 8.0).map_err(refused)?.round();
    let limit = if plant.limit.is_finite() { plant.limit * plant.packet / mean } else { f64::from(u32::MAX) };
    let link = Link {
        rate: Rate::from_bps(bps as u64).ok_or_else(|| refused(format!("plant.rate_bps: expected bit/s above 0, got {bps}")))?,
        delay: Duration::from_secs_f64(table.number("link_delay", 0.0).map_err(refused)?),
        mean_packet: mean as u32,
        limit_packets: limit as u32,
    };
    Control::of(&config, &link, plant).map_err(|error| refused(format!("queue: {error}")))
}

fn closed(queue: &str, plant: &str, laws: Option<&Bound<'_, PyDict>>, trouble: &Trouble) -> PyResult<(Plant, Control)> {
    let table = Table::read("plant", plant).map_err(crate::refused)?;
    let plant = plant_of(&table).map_err(crate::refused)?;
    let control = control_of(queue, &table, &plant, laws, trouble)?;
    Ok((plant, control))
}

/// The result, or the first error of a Python law.
fn unless<T>(trouble: &Trouble, result: Result<T, impl std::fmt::Display>) -> PyResult<T> {
    match trouble.take() {
        Some(error) => Err(error),
        None => result.map_err(crate::refused),
    }
}

/// A trajectory of the fluid model.
/// It consists of the arrays `t`, `queue`, `probability`, `load` and `window0`, `window1`, ...
#[pyfunction]
#[pyo3(signature = (queue, plant, run, laws=None))]
pub fn fluid(py: Python<'_>, queue: &str, plant: &str, run: &str, laws: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyDict>> {
    let trouble = Trouble::default();
    let (plant, control) = closed(queue, plant, laws, &trouble)?;
    let run = run_of(run).map_err(crate::refused)?;
    let trace = unless(&trouble, py.detach(|| sojourn_fluid::simulate(&plant, &control, &run)))?;
    let table = PyDict::new(py);
    for (name, column) in [("t", trace.t), ("queue", trace.queue), ("probability", trace.probability), ("load", trace.load)] {
        table.set_item(name, column.into_pyarray(py))?;
    }
    for (i, column) in trace.windows.into_iter().enumerate() {
        table.set_item(format!("window{i}"), column.into_pyarray(py))?;
    }
    Ok(table.unbind())
}

fn written(point: &Point, interval: Option<Duration>) -> String {
    json!({
        "queue": point.queue, "utilization": point.utilization, "load": point.load, "probability": point.probability,
        "window": point.window, "rtts": point.rtts, "interval": interval.map(Duration::as_secs_f64),
    })
    .to_string()
}

/// The operating point of a plant with `packets` waiting, as JSON.
/// Its probability is the one that the flows need.
#[pyfunction]
pub fn point_with(plant: &str, packets: f64) -> PyResult<String> {
    let plant = plant_of(&Table::read("plant", plant).map_err(crate::refused)?).map_err(crate::refused)?;
    if !(packets >= 0.0 && packets.is_finite()) {
        return Err(crate::refused(format!("packets: expected 0 or more, got {packets}")));
    }
    Ok(written(&plant.at(packets), None))
}

/// A loop in steady state, computed once.
#[pyclass(frozen)]
pub struct Resting {
    plant: Plant,
    control: Control,
    point: Point,
    response: OnceLock<Response>,
    trouble: Trouble,
}

#[pymethods]
impl Resting {
    #[new]
    #[pyo3(signature = (queue, plant, laws=None))]
    fn new(queue: &str, plant: &str, laws: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let trouble = Trouble::default();
        let (plant, control) = closed(queue, plant, laws, &trouble)?;
        let point = unless(&trouble, sojourn_fluid::operating_point(&plant, &control))?;
        // A discontinuous law may have no steady state. Later calls report that.
        let control = sojourn_fluid::at_rest(&plant, &control, &point).unwrap_or(control);
        unless(&trouble, Ok::<_, NoPoint>(()))?;
        Ok(Resting { plant, control, point, response: OnceLock::new(), trouble })
    }

    /// The operating point as JSON.
    /// The fields are queue, utilization, load, probability, window, rtts and interval.
    fn point(&self) -> String {
        written(&self.point, self.control.interval())
    }

    /// The law's frequency response around the point, measured on its code.
    /// A row per frequency (rad/s) has the response to the queue (real, imaginary, per packet) and to the load (real, imaginary).
    fn response<'py>(&self, py: Python<'py>, omega: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if self.response.get().is_none() {
            let found = unless(&self.trouble, Response::around(&self.plant, &self.control, &self.point))?;
            self.response.get_or_init(|| found);
        }
        let answers = omega.as_slice()?.iter().filter_map(|&w| self.response.get().map(|response| response.at(w)));
        table(py, answers.map(|gain| vec![gain.queue.re, gain.queue.im, gain.load.re, gain.load.im]).collect())
    }

    /// The law's describing function, measured on its code.
    /// A row per oscillation of the queue (mean and amplitude in packets, frequency in rad/s) has its real and imaginary part (per packet)
    /// and the mean probability.
    fn describe<'py>(&self, py: Python<'py>, oscillations: Vec<(f64, f64, f64)>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let answer = |(mean, amplitude, omega)| {
            let oscillation = Oscillation { mean, amplitude, omega };
            let found = sojourn_fluid::describe(&self.plant, &self.control, &self.point, oscillation)?;
            Ok(vec![found.gain.re, found.gain.im, found.mean])
        };
        let rows: Result<Vec<_>, NoPoint> = oscillations.into_iter().map(answer).collect();
        table(py, unless(&self.trouble, rows)?)
    }
}

fn table(py: Python<'_>, rows: Vec<Vec<f64>>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    PyArray2::from_vec2(py, &rows).map_err(|error| PyValueError::new_err(error.to_string()))
}
