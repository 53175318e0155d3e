//! Runs whose endpoints are Python objects.

use crate::trouble::{Trouble, one_line};
use numpy::{IntoPyArray, ToPyArray};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sojourn_harness::{Datagram, Ecn, Endpoint, Error, Fate, FlowInfo, Harness, Log, PacketEvent, PacketKind, Pair, Run, State};
use sojourn_lab::Outcome;
use sojourn_scenario::Checked;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// A dumbbell: one bottleneck between two hosts, and a reverse path without a queue.
#[pyclass(frozen, module = "sojourn.harness")]
pub struct Dumbbell(sojourn_harness::Dumbbell);

#[pymethods]
impl Dumbbell {
    #[new]
    fn new(rate: &str, rtt: &str) -> Self {
        Dumbbell(sojourn_harness::Dumbbell::new(rate, rtt))
    }

    /// Sets the queue discipline.
    fn queue(&self, aqm: &str) -> Self {
        Dumbbell(self.0.clone().queue(aqm))
    }

    /// Sets the limit of the queue.
    fn limit(&self, limit: &str) -> Self {
        Dumbbell(self.0.clone().limit(limit))
    }

    /// Lets the queue mark ECN-capable packets instead of dropping them.
    fn ecn(&self) -> Self {
        Dumbbell(self.0.clone().ecn())
    }

    /// Sets the length of the run.
    fn duration(&self, duration: &str) -> Self {
        Dumbbell(self.0.clone().duration(duration))
    }

    /// Adds a flow of bulk data over the endpoints that are called `host`.
    fn flow(&self, name: &str, host: &str) -> Self {
        Dumbbell(self.0.clone().flow(name, host))
    }

    /// Adds a flow of bulk data over the simulator's TCP with this controller.
    fn tcp(&self, name: &str, controller: &str) -> Self {
        Dumbbell(self.0.clone().tcp(name, controller))
    }

    /// The scenario as TOML.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }
}

/// An endpoint in Python.
struct PyEndpoint {
    object: Py<PyAny>,
    trouble: Trouble,
    /// The first fault; no later call reaches the object.
    fault: RefCell<Option<String>>,
}

impl PyEndpoint {
    /// Calls a method.
    /// A wrong answer or an exception is a fault, and the result is `T::default()`.
    fn ask<T: Default>(
        &self,
        method: &str,
        expected: &str,
        arguments: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>,
    ) -> T {
        Python::attach(|py| match self.object.bind(py).call_method1(method, arguments) {
            Ok(answer) => read(&answer).unwrap_or_else(|| {
                let got = answer.repr().map_or_else(|_| answer.get_type().to_string(), |text| text.to_string());
                self.fail(format!("{method}: expected {expected}, got {}", one_line(&got)));
                T::default()
            }),
            Err(error) => {
                self.fail(format!("{method}: expected {expected}, got {}", one_line(&error.to_string())));
                self.trouble.set(error);
                T::default()
            }
        })
    }

    fn tell(&self, method: &str, arguments: impl for<'py> PyCallArgs<'py>) {
        self.ask(method, "a return", arguments, |_| Some(()));
    }

    fn fail(&self, fault: String) {
        self.fault.borrow_mut().get_or_insert(fault);
    }
}

/// The first nanosecond that is not before a time in seconds.
/// A timer has expired when it is called.
fn not_before(seconds: f64) -> Option<Duration> {
    if seconds.is_nan() {
        return None;
    }
    let nanos = (seconds.max(0.0) * 1e9).round() as u64;
    let early = Duration::from_nanos(nanos).as_secs_f64() < seconds;
    Some(Duration::from_nanos(nanos.saturating_add(u64::from(early))))
}

/// The datagram in an answer: bytes, or bytes with an ECN codepoint.
fn datagram(answer: &Bound<'_, PyAny>) -> Option<Datagram> {
    if let Ok(payload) = answer.extract::<Cow<'_, [u8]>>() {
        return Some(Datagram { payload: payload.into_owned(), ecn: Ecn::NotEct });
    }
    let (payload, bits) = answer.extract::<(Bound<'_, PyAny>, u8)>().ok()?;
    let ecn = Ecn::ALL.into_iter().find(|ecn| ecn.bits() == bits)?;
    Some(Datagram { payload: payload.extract::<Cow<'_, [u8]>>().ok()?.into_owned(), ecn })
}

/// The state in an answer: window, RTT, delivered bytes, and completion.
fn state(answer: &Bound<'_, PyAny>) -> Option<State> {
    if answer.is_none() {
        return Some(State::default());
    }
    let (window, rtt, delivered, complete) = answer.extract::<(Option<f64>, Option<f64>, u64, bool)>().ok()?;
    let rtt = rtt.map(Duration::try_from_secs_f64).transpose().ok()?;
    let window = window.map(|bytes| (0.0..=1e18).contains(&bytes).then_some(bytes as u64));
    Some(State { window: window.map_or(Some(None), |bytes| bytes.map(Some))?, rtt, delivered, complete, ..State::default() })
}

impl Endpoint for PyEndpoint {
    fn write(&mut self, now: Duration, bytes: Option<u64>, last: bool) {
        self.tell("write", (now.as_secs_f64(), bytes, last));
    }

    fn stop(&mut self, now: Duration) {
        self.tell("stop", (now.as_secs_f64(),));
    }

    fn receive(&mut self, now: Duration, datagram: Datagram) {
        Python::attach(|py| {
            let payload = PyBytes::new(py, &datagram.payload).unbind();
            self.tell("receive", (now.as_secs_f64(), payload, datagram.ecn.bits()));
        });
    }

    fn transmit(&mut self, now: Duration) -> Option<Datagram> {
        let expected = "bytes, (bytes, ECN codepoint) or None";
        self.ask("transmit", expected, (now.as_secs_f64(),), |answer| match answer.is_none() {
            true => Some(None),
            false => datagram(answer).map(Some),
        })
    }

    fn timeout(&mut self) -> Option<Duration> {
        self.ask("timeout", "a time in seconds or None", (), |answer| match answer.is_none() {
            true => Some(None),
            false => not_before(answer.extract().ok()?).map(Some),
        })
    }

    fn on_timeout(&mut self, now: Duration) {
        self.tell("on_timeout", (now.as_secs_f64(),));
    }

    fn state(&self) -> State {
        self.ask("state", "a State or None", (), state)
    }

    fn fault(&self) -> Option<String> {
        self.fault.borrow().clone()
    }
}

/// Both ends, made by a callable that gets name and seed of the flow.
fn pair(factory: &Py<PyAny>, flow: &FlowInfo, trouble: &Trouble) -> Pair {
    let end = |object: Py<PyAny>, fault: Option<&String>| -> Box<dyn Endpoint> {
        Box::new(PyEndpoint { object, trouble: trouble.clone(), fault: RefCell::new(fault.cloned()) })
    };
    Python::attach(|py| {
        let made = factory.call1(py, (flow.name.as_str(), flow.seed)).and_then(|made| made.extract::<(Py<PyAny>, Py<PyAny>)>(py));
        match made {
            Ok((sender, receiver)) => Pair { sender: end(sender, None), receiver: end(receiver, None) },
            Err(error) => {
                let fault = format!("expected a sender and a receiver of its host, got {}", one_line(&error.to_string()));
                trouble.set(error);
                Pair { sender: end(py.None(), Some(&fault)), receiver: end(py.None(), Some(&fault)) }
            }
        }
    })
}

/// A rule of a script.
/// Flow, whether for ACKs, first and last packet, fate, and the delay in seconds.
type Rule = (String, bool, u64, u64, String, f64);

fn with_rule<'a>(harness: Harness<'a>, rule: Rule) -> PyResult<Harness<'a>> {
    let (flow, acks, first, last, fate, delay) = rule;
    let fate = match fate.as_str() {
        "drop" => Fate::Drop,
        "mark" => Fate::Mark,
        _ => Fate::Delay(not_before(delay).ok_or_else(|| crate::refused("delay: expected a time in seconds, got NaN"))?),
    };
    Ok(if acks { harness.on_acks(&flow, first..=last, fate) } else { harness.on_data(&flow, first..=last, fate) })
}

/// A harness with this seed, or with the scenario's.
fn seeded<'a>(scenario: Checked, seed: Option<u64>) -> Harness<'a> {
    let seed = seed.unwrap_or(scenario.seed);
    Harness::new(scenario).seed(seed)
}

/// Runs a scenario over endpoints in Python.
/// `hosts` are the callables that make both ends of a flow.
fn run(py: Python<'_>, mut harness: Harness<'_>, file: &str, hosts: &Bound<'_, PyDict>, rules: Vec<Rule>) -> PyResult<Run> {
    let trouble = Trouble::default();
    for (name, factory) in hosts {
        let (factory, trouble) = (factory.unbind(), trouble.clone());
        harness = harness.host(&name.extract::<String>()?, move |flow| pair(&factory, flow, &trouble));
    }
    for rule in rules {
        harness = with_rule(harness, rule)?;
    }
    let done = harness.run();
    match (trouble.take(), done) {
        (None, Ok(run)) => Ok(run),
        (Some(error), _) if !error.is_instance_of::<PyException>(py) => Err(error),
        (cause, Err(error)) => {
            let raised = match error {
                Error::Engine(error) => crate::failed(file, error),
                Error::Scenario(_) => crate::refused(format_args!("{file}: {error}")),
                Error::Endpoint { .. } => PyRuntimeError::new_err(sojourn_scenario::one_line(&error.to_string())),
            };
            raised.set_cause(py, cause);
            Err(raised)
        }
        (Some(error), Ok(_)) => Err(error),
    }
}

/// The columns of a log: its packets, and the windows of each flow.
fn columns<'py>(py: Python<'py>, log: &Log) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let (packets, windows) = (PyDict::new(py), PyDict::new(py));
    let seconds = |packet: &PacketEvent| packet.at.as_secs_f64();
    let kind = |packet: &PacketEvent| match packet.kind {
        PacketKind::Sent => "sent",
        PacketKind::Arrived => "arrived",
        PacketKind::Dropped => "dropped",
    };
    let of = &log.packets;
    packets.set_item("at_s", of.iter().map(seconds).collect::<Vec<_>>().into_pyarray(py))?;
    packets.set_item("flow", of.iter().map(|packet| &*packet.flow).collect::<Vec<_>>())?;
    packets.set_item("back", of.iter().map(|packet| packet.back).collect::<Vec<_>>().into_pyarray(py))?;
    packets.set_item("number", of.iter().map(|packet| packet.number).collect::<Vec<_>>().into_pyarray(py))?;
    packets.set_item("size_bytes", of.iter().map(|packet| packet.size).collect::<Vec<_>>().into_pyarray(py))?;
    packets.set_item("marked", of.iter().map(|packet| packet.is_marked()).collect::<Vec<_>>().into_pyarray(py))?;
    packets.set_item("event", of.iter().map(kind).collect::<Vec<_>>())?;
    for (flow, changes) in &log.windows {
        let table = PyDict::new(py);
        table.set_item("at_s", changes.iter().map(|(at, _)| at.as_secs_f64()).collect::<Vec<_>>().to_pyarray(py))?;
        table.set_item("window_bytes", changes.iter().map(|&(_, window)| window).collect::<Vec<_>>().to_pyarray(py))?;
        windows.set_item(flow, table)?;
    }
    Ok((packets, windows))
}

/// The record as JSON, its series, the packets, and the windows by flow.
type Ran<'py> = (String, Py<PyDict>, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// Runs a scenario over endpoints in Python.
#[pyfunction]
pub fn run_hosts<'py>(
    py: Python<'py>,
    text: &str,
    filename: &str,
    seed: Option<u64>,
    hosts: &Bound<'py, PyDict>,
    script: Vec<Rule>,
) -> PyResult<Ran<'py>> {
    let done = run(py, seeded(crate::checked(text, filename)?, seed), filename, hosts, script)?;
    let (packets, windows) = columns(py, &done.log)?;
    let (record, series) = crate::outcome(py, Outcome { record: done.record, series: done.series })?;
    Ok((record, series, packets, windows))
}

/// Whether flows of a scenario have endpoints that are not the simulator's.
pub fn has_hosts(scenario: &Checked) -> bool {
    scenario.groups.iter().any(|group| group.host.is_some())
}

/// Runs a scenario over the endpoints that the package has for its hosts.
/// Returns the record as JSON, and its series.
pub fn run_supplied(py: Python<'_>, scenario: &Checked, filename: &str, seed: Option<u64>) -> PyResult<(String, Py<PyDict>)> {
    let named: BTreeMap<_, _> = scenario.groups.iter().filter_map(|group| Some((&group.name, group.host.as_ref()?))).collect();
    let hosts = py.import("sojourn.runs.stacks")?.call_method1("supplied", (named,))?.cast_into::<PyDict>()?;
    let done = run(py, seeded(scenario.clone(), seed), filename, &hosts, Vec::new())?;
    crate::outcome(py, Outcome { record: done.record, series: done.series })
}
