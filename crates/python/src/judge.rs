//! Replays of senders' logs: `sojourn_judge` with events that are dicts of Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use sojourn_cc::Window;
use sojourn_judge::{Acked, Action, Divergence, Event, Judgement, Limit, Subject, Transport, controllers, judge};
use sojourn_units::{Duration, Time};

/// An event of Python: times in seconds, sizes in bytes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Written {
    at: f64,
    kind: String,
    #[pyo3(default)]
    bytes: u64,
    #[pyo3(default)]
    sent: Option<f64>,
    #[pyo3(default)]
    rtt: Option<f64>,
    #[pyo3(default)]
    srtt: f64,
    #[pyo3(default)]
    rtt_min: f64,
    #[pyo3(default)]
    in_flight: u64,
    #[pyo3(default)]
    limit: Option<String>,
    #[pyo3(default)]
    persistent: bool,
    #[pyo3(default)]
    after_timeout: bool,
    #[pyo3(default)]
    ssthresh: Option<u64>,
}

impl Written {
    fn event(&self) -> PyResult<Event> {
        let span = |seconds: f64| Duration::from_secs_f64(seconds.max(0.0));
        let sent = self.sent.map(Time::from_secs_f64);
        let limit = match self.limit.as_deref() {
            Some("window") => Limit::Window,
            Some("application") => Limit::Application,
            _ => Limit::Unknown,
        };
        let action = match self.kind.as_str() {
            "acked" => Action::Acked(Acked {
                bytes: self.bytes,
                sent,
                rtt: self.rtt.map(span),
                srtt: span(self.srtt),
                rtt_min: span(self.rtt_min),
                in_flight: self.in_flight,
                limit,
                after_timeout: self.after_timeout,
            }),
            "lost" => {
                let in_flight = (self.in_flight > 0).then_some(self.in_flight);
                Action::Lost { sent, persistent: self.persistent, in_flight }
            }
            "marked" => Action::Marked { sent },
            "timeout" => Action::Timeout,
            "recovered" => Action::Recovered,
            "spurious" => Action::Spurious,
            "mss" => Action::Mss { bytes: u32::try_from(self.bytes).unwrap_or(u32::MAX) },
            "window" => Action::Window { cwnd: self.bytes, ssthresh: self.ssthresh },
            other => return Err(crate::refused(format_args!("kind: expected an event of a sender, got \"{other}\""))),
        };
        Ok(Event { at: Time::from_secs_f64(self.at), action })
    }
}

/// The names of the controllers that can be judged.
#[pyfunction]
pub fn judged_controllers() -> Vec<&'static str> {
    controllers()
}

/// Replays a log through a controller of the registry.
/// Returns columns of both windows, and the divergences as JSON. Sizes are in bytes.
#[pyfunction]
pub fn judge_log(
    py: Python<'_>,
    controller: &str,
    tcp: bool,
    linux: bool,
    estimated: bool,
    mss: u32,
    events: Vec<Written>,
) -> PyResult<(Py<PyDict>, String)> {
    let events = events.iter().map(Written::event).collect::<PyResult<Vec<_>>>()?;
    let transport = if tcp { Transport::Tcp } else { Transport::Quic };
    let subject = Subject { controller: controller.into(), transport, linux, mss, estimated };
    let judged = py.detach(|| judge(&subject, &events)).map_err(crate::refused)?;
    Ok((columns(py, &judged)?, report(&judged, controller).to_string()))
}

/// Both windows at each report, in bytes.
fn columns(py: Python<'_>, judged: &Judgement) -> PyResult<Py<PyDict>> {
    use numpy::IntoPyArray;
    let column = |value: &dyn Fn(&sojourn_judge::Point) -> f64| judged.points.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    let found = PyDict::new(py);
    found.set_item("t", column(&|point| point.at.as_secs_f64()))?;
    found.set_item("theirs", column(&|point| point.theirs.cwnd))?;
    found.set_item("ours", column(&|point| point.ours.cwnd))?;
    found.set_item("their_ssthresh", column(&|point| point.theirs.ssthresh))?;
    found.set_item("our_ssthresh", column(&|point| point.ours.ssthresh))?;
    Ok(found.unbind())
}

fn report(judged: &Judgement, controller: &str) -> Value {
    let size = |bytes: f64| bytes.is_finite().then_some(bytes);
    let windows = |window: &Window| json!({"cwnd": size(window.cwnd), "ssthresh": size(window.ssthresh)});
    let divergence = |found: &Divergence| {
        let about = found.cause.about();
        json!({
            "at_s": found.at.as_secs_f64(),
            "event": found.event,
            "before": found.before.and_then(size),
            "theirs": windows(&found.theirs),
            "ours": windows(&found.ours),
            "cause": about.name,
            "says": about.says,
            "rule": found.cause.rule(controller),
            "count": found.count,
        })
    };
    json!({
        "divergences": judged.divergences.iter().map(divergence).collect::<Vec<_>>(),
        "reports": judged.points.len(),
        "reductions": judged.reductions,
    })
}
