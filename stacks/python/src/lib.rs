//! The extension module `sojourn_stacks`: endpoints of QUIC stacks with the methods of `sojourn.harness.Endpoint`.
//!
//! Times are in seconds. Each method raises `RuntimeError` if the endpoint panics or has a fault.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_harness::{Datagram, Ecn, Endpoint, FlowInfo, Pair};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::time::Duration;

/// A stack: its name as host, its controllers, and what makes both ends of a connection.
struct Stack {
    name: &'static str,
    controllers: fn() -> Vec<String>,
    pair: fn(&FlowInfo, Option<&str>) -> Option<Pair>,
}

const STACKS: [Stack; 3] = [
    Stack { name: "quinn", controllers: sojourn_quinn::names, pair: |flow, name| sojourn_quinn::pair_named(flow, name).ok() },
    Stack { name: "noq", controllers: sojourn_noq::names, pair: |flow, name| sojourn_noq::pair_named(flow, name).ok() },
    Stack { name: "s2n-quic", controllers: sojourn_s2n_quic::names, pair: |flow, name| sojourn_s2n_quic::pair_named(flow, name).ok() },
];

fn stack(name: &str) -> PyResult<&'static Stack> {
    let unknown = || PyValueError::new_err(format!("stack: expected one of {}, got {name:?}", STACKS.map(|stack| stack.name).join(", ")));
    STACKS.iter().find(|stack| stack.name == name).ok_or_else(unknown)
}

/// The names of the controllers that connections of a stack can use.
#[pyfunction]
fn controllers(stack_name: &str) -> PyResult<Vec<String>> {
    Ok((stack(stack_name)?.controllers)())
}

/// The sender and the receiver of a flow, with this controller or the stack's default.
#[pyfunction]
fn pair(stack_name: &str, controller: Option<&str>, flow: String, seed: u64) -> PyResult<(End, End)> {
    let unknown = || PyValueError::new_err(format!("controller: expected one of {stack_name}, got {controller:?}"));
    let made = (stack(stack_name)?.pair)(&FlowInfo { name: flow, seed }, controller).ok_or_else(unknown)?;
    Ok((End(made.sender), End(made.receiver)))
}

/// One end of a connection.
#[pyclass(unsendable, module = "sojourn_stacks")]
struct End(Box<dyn Endpoint>);

/// The latest sample of an end: window in bytes, RTT in seconds, delivered bytes, completion.
type State = (Option<u64>, Option<f64>, u64, bool);

impl End {
    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Endpoint) -> T) -> PyResult<T> {
        let endpoint = &mut *self.0;
        match catch_unwind(AssertUnwindSafe(|| (call(endpoint), endpoint.fault()))) {
            Ok((answer, None)) => Ok(answer),
            Ok((_, Some(fault))) => Err(PyRuntimeError::new_err(fault)),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
                Err(PyRuntimeError::new_err(format!("a panic: {}", text.unwrap_or("without a text"))))
            }
        }
    }
}

#[pymethods]
impl End {
    fn write(&mut self, now: f64, size: Option<u64>, last: bool) -> PyResult<()> {
        self.call(|endpoint| endpoint.write(Duration::from_secs_f64(now), size, last))
    }

    fn stop(&mut self, now: f64) -> PyResult<()> {
        self.call(|endpoint| endpoint.stop(Duration::from_secs_f64(now)))
    }

    fn receive(&mut self, now: f64, payload: &[u8], ecn: u8) -> PyResult<()> {
        let received = |bits: &Ecn| bits.bits() == ecn;
        let expected = || PyValueError::new_err(format!("ecn: expected a codepoint from 0 to 3, got {ecn}"));
        let ecn = Ecn::ALL.into_iter().find(received).ok_or_else(expected)?;
        self.call(|endpoint| endpoint.receive(Duration::from_secs_f64(now), Datagram { payload: payload.into(), ecn }))
    }

    fn transmit<'py>(&mut self, py: Python<'py>, now: f64) -> PyResult<Option<(Bound<'py, PyBytes>, u8)>> {
        let sent = self.call(|endpoint| endpoint.transmit(Duration::from_secs_f64(now)))?;
        Ok(sent.map(|datagram| (PyBytes::new(py, &datagram.payload), datagram.ecn.bits())))
    }

    fn timeout(&mut self) -> PyResult<Option<f64>> {
        Ok(self.call(|endpoint| endpoint.timeout())?.map(|at| at.as_secs_f64()))
    }

    fn on_timeout(&mut self, now: f64) -> PyResult<()> {
        self.call(|endpoint| endpoint.on_timeout(Duration::from_secs_f64(now)))
    }

    fn state(&mut self) -> PyResult<State> {
        let state = self.call(|endpoint| endpoint.state())?;
        Ok((state.window, state.rtt.map(|rtt| rtt.as_secs_f64()), state.delivered, state.complete))
    }
}

#[pymodule]
fn sojourn_stacks(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A panic becomes an exception; nothing else is printed.
    set_hook(Box::new(|_| {}));
    module.add_function(wrap_pyfunction!(controllers, module)?)?;
    module.add_function(wrap_pyfunction!(pair, module)?)
}
