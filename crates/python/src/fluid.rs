//! The fluid model: a queue and a plant as JSON in, arrays out.

use crate::laws::{Trouble, from_python};
use crate::listing::aqm_of;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use sojourn_aqm::{AqmConfig, Link};
use sojourn_fluid::{Change, Class, Control, Plant, Point, Response, Run, Start};
use sojourn_units::{Duration, Rate};

/// A table of numbers with the name it has in messages.
struct Table<'a>(&'a str, Map<String, Value>);

impl<'a> Table<'a> {
    fn read(name: &'a str, text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(|map| Table(name, map)).map_err(|error| format!("{name}: {error}"))
    }

    fn number(&self, key: &str, default: f64) -> Result<f64, String> {
        match self.1.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| format!("{}.{key}: given {value}, taken is a number", self.0)),
        }
    }

    fn list(&self, key: &'a str) -> Result<Vec<Table<'a>>, String> {
        let Some(list) = self.1.get(key) else { return Ok(Vec::new()) };
        let tables = list.as_array().map(|list| list.iter().map(|each| each.as_object().cloned().map(|map| Table(key, map))));
        let tables: Option<Option<Vec<_>>> = tables.map(Iterator::collect);
        tables.flatten().ok_or_else(|| format!("{}.{key}: given {list}, taken is a list of tables", self.0))
    }
}

fn plant_of(table: &Table<'_>) -> Result<Plant, String> {
    let classes = table.list("classes")?;
    let class = |each: &Table<'_>| Ok(Class { flows: each.number("flows", f64::NAN)?, delay: each.number("delay", f64::NAN)? });
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
        let known = laws.map_or_else(|| Ok(Default::default()), |laws| from_python(laws, trouble))?;
        let law =
            known.get(&params.law).ok_or_else(|| refused(format!("queue.law: given \"{}\": no such law was supplied", params.law)))?;
        return Ok(Control::law(sojourn_lab::external(law(params.interval))));
    }
    let mean = table.number("mean_packet", plant.packet).map_err(refused)?;
    let bps = table.number("rate_bps", plant.capacity * plant.packet * 8.0).map_err(refused)?.round();
    let limit = if plant.limit.is_finite() { plant.limit * plant.packet / mean } else { f64::from(u32::MAX) };
    let link = Link {
        rate: Rate::from_bps(bps as u64).ok_or_else(|| refused("plant.rate_bps: taken is above 0".into()))?,
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

/// The first error of a Python law, or what was computed.
fn unless<T>(trouble: &Trouble, result: Result<T, impl std::fmt::Display>) -> PyResult<T> {
    match trouble.take() {
        Some(error) => Err(error),
        None => result.map_err(crate::refused),
    }
}

/// A trajectory of the fluid model: arrays `t`, `queue`, `probability`, `load` and `window0`, `window1`, ...
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

/// A loop and where it rests.
fn resting(queue: &str, plant: &str, laws: Option<&Bound<'_, PyDict>>, trouble: &Trouble) -> PyResult<(Plant, Control, Point)> {
    let (plant, control) = closed(queue, plant, laws, trouble)?;
    let point = unless(trouble, sojourn_fluid::operating_point(&plant, &control))?;
    Ok((plant, control, point))
}

/// Where the loop rests, as JSON: queue, utilization, load, probability, window, rtts.
#[pyfunction]
#[pyo3(signature = (queue, plant, laws=None))]
pub fn operating_point(queue: &str, plant: &str, laws: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let trouble = Trouble::default();
    let (_, control, p) = resting(queue, plant, laws, &trouble)?;
    let interval = control.interval().map(Duration::as_secs_f64);
    Ok(json!({
        "queue": p.queue, "utilization": p.utilization, "load": p.load, "probability": p.probability,
        "window": p.window, "rtts": p.rtts, "interval": interval,
    })
    .to_string())
}

/// The law's frequency response around its operating point, from its code: a row a frequency (rad/s), in columns the
/// answer to the queue (real, imaginary, per packet) and to the load (real, imaginary).
#[pyfunction]
#[pyo3(signature = (queue, plant, omega, laws=None))]
pub fn law_response<'py>(
    py: Python<'py>,
    queue: &str,
    plant: &str,
    omega: PyReadonlyArray1<'py, f64>,
    laws: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let trouble = Trouble::default();
    let (plant, control, point) = resting(queue, plant, laws, &trouble)?;
    let response = unless(&trouble, Response::around(&plant, &control, &point))?;
    let rows: Vec<Vec<f64>> = omega
        .as_slice()?
        .iter()
        .map(|&w| {
            let (queue, load) = response.at(w);
            vec![queue.0, queue.1, load.0, load.1]
        })
        .collect();
    PyArray2::from_vec2(py, &rows).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The law's describing function around its operating point, from its code: a row a pair of amplitude (packets) and
/// frequency (rad/s), in columns its real and imaginary part (per packet) and the mean probability.
#[pyfunction]
#[pyo3(signature = (queue, plant, amplitude, omega, laws=None))]
pub fn describe<'py>(
    py: Python<'py>,
    queue: &str,
    plant: &str,
    amplitude: PyReadonlyArray1<'py, f64>,
    omega: PyReadonlyArray1<'py, f64>,
    laws: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (amplitude, omega) = (amplitude.as_slice()?, omega.as_slice()?);
    if amplitude.len() != omega.len() {
        let problem = format!("describe: given {} amplitudes and {} frequencies, taken is as many", amplitude.len(), omega.len());
        return Err(crate::refused(problem));
    }
    let trouble = Trouble::default();
    let (plant, control, point) = resting(queue, plant, laws, &trouble)?;
    let pairs = amplitude.iter().zip(omega);
    let rows = pairs.map(|(&a, &w)| sojourn_fluid::describe(&plant, &control, &point, a, w).map(|d| vec![d.gain.0, d.gain.1, d.mean]));
    let rows: Result<Vec<_>, _> = rows.collect();
    PyArray2::from_vec2(py, &unless(&trouble, rows)?).map_err(|error| PyValueError::new_err(error.to_string()))
}
