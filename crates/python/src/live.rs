//! Live runs: real packets of file descriptors through the network of a scenario.

use crate::{checked, failed, outcome, refused};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use sojourn_lab::{CapturePoints, Error, LiveCapture, Outcome};
use sojourn_linux::{Source, Wiring};
use sojourn_live::{Completed, PREFIX_V4, PREFIX_V6, Ports, Router, SenderState, Snapshot, Switch, address_v4, address_v6, adopt};
use sojourn_scenario::Checked;
use sojourn_scenario::plan::Plan;
use sojourn_scenario::record::{Host, Pace};
use sojourn_spec::tcp::EcnChoice;
use sojourn_units::{Duration, Time};
use std::fs::OpenOptions;
use std::io::BufWriter;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time between two snapshots.
const SNAPSHOT_EVERY: Duration = Duration::from_millis(100);

/// The most lateness at the 99th percentile of a machine that keeps up.
const MOST_LATE: Duration = Duration::from_millis(1);

/// The networks of all hosts, in IPv4 and IPv6.
pub const NETWORKS: (&str, &str) = (PREFIX_V4, PREFIX_V6);

/// The smallest MTU of IPv6 (rfc8200#5), in bytes.
const LEAST_MTU: u32 = 1280;

/// A live run. One thread calls `run`; others stop it and show its state.
#[pyclass(frozen)]
pub struct LiveNetwork {
    plan: Plan,
    wiring: Wiring,
    filename: String,
    stopped: AtomicBool,
    snapshot: Mutex<Option<String>>,
    /// Reports of senders that the router has not yet recorded.
    senders: Mutex<Vec<(u32, SenderState)>>,
    /// Completed connections that it has not yet recorded.
    completed: Mutex<Vec<(u32, Completed)>>,
}

/// The application of a flow: when it writes, and how much.
#[pyclass]
pub struct LiveSource {
    source: Source,
}

#[pymethods]
impl LiveSource {
    /// The time of its next action in seconds; infinite if none is known.
    fn due(&self) -> f64 {
        let due = self.source.due();
        if due == Time::NEVER { f64::INFINITY } else { due.as_secs_f64() }
    }

    /// Whether each action opens a connection of its own.
    fn is_session(&self) -> bool {
        self.source.is_session()
    }

    /// Handles the completion of a session's connection, at a time in seconds.
    fn on_complete(&mut self, at: f64) {
        self.source.on_complete(Time::from_secs_f64(at));
    }

    /// Performs the action that is due.
    /// Returns the bytes to write, None for endless data, and whether it is the last action.
    fn act(&mut self) -> (Option<u64>, bool) {
        let written = self.source.act();
        ((written.bytes != u64::MAX).then_some(written.bytes), written.last == 1)
    }
}

/// The files and the description of a run.
struct Setup {
    hosts: Vec<OwnedFd>,
    switch: Switch,
    own_port: Option<u16>,
    capture: Option<LiveCapture>,
    version: String,
}

#[pymethods]
impl LiveNetwork {
    #[new]
    fn new(text: &str, filename: String, seed: Option<u64>) -> PyResult<LiveNetwork> {
        let scenario: Checked = checked(text, &filename)?;
        let plan = scenario.plan(seed.unwrap_or(scenario.seed));
        let wiring = sojourn_lab::wiring(&plan).map_err(|error| failed(&filename, error))?;
        Ok(LiveNetwork {
            plan,
            wiring,
            filename,
            stopped: AtomicBool::new(false),
            snapshot: Mutex::new(None),
            senders: Mutex::default(),
            completed: Mutex::default(),
        })
    }

    /// The hosts: name, IPv4 and IPv6 address.
    fn hosts(&self) -> PyResult<Vec<(String, String, String)>> {
        let names = sojourn_lab::live_hosts(&self.plan).map_err(|error| failed(&self.filename, error))?;
        if names.len() >= usize::from(u16::MAX) {
            return Err(refused(format_args!("{}: flows: expected fewer than 65535 hosts, got {}", self.filename, names.len())));
        }
        let addressed = |(number, name)| (name, address_v4(number).to_string(), address_v6(number).to_string());
        Ok((0u16..).zip(names).map(addressed).collect())
    }

    /// The numbers of the hosts at which a group's data starts and ends, by its first flow.
    fn ends(&self) -> Vec<(String, u32, u32)> {
        let first = |group: usize| self.wiring.flows.get(self.plan.groups[group].flows.start as usize);
        let named = |group: usize| first(group).map(|flow| (self.plan.groups[group].name.clone(), flow.source, flow.destination));
        (0..self.plan.groups.len()).filter_map(named).collect()
    }

    /// The largest packet of any flow, but not less than IPv6 needs, in bytes.
    fn mtu(&self) -> u32 {
        self.wiring.largest_packet().max(LEAST_MTU)
    }

    /// The flows of the plan as JSON.
    fn flows(&self) -> String {
        let told = |flow: &sojourn_linux::Flow| {
            json!({
                "name": flow.name, "source": flow.source, "destination": flow.destination, "dscp": flow.dscp,
                "kind": flow.traffic.name(), "echoes": flow.traffic.echoes(), "requests": flow.traffic.requests(),
                "tcp": flow.tcp.as_ref().map(|tcp| json!({
                    "controller": tcp.controller, "own": tcp.control.as_ref().map(|own| own.0.name()), "ecn": tcp.ecn != EcnChoice::Off,
                })),
            })
        };
        json!(self.wiring.flows.iter().map(told).collect::<Vec<_>>()).to_string()
    }

    /// The application of a flow.
    fn source(&self, flow: usize) -> PyResult<LiveSource> {
        let of_flow = self.wiring.flows.get(flow).ok_or_else(|| refused(format_args!("expected a flow of the plan, got number {flow}")))?;
        Ok(LiveSource { source: Source::new(of_flow, &self.wiring) })
    }

    /// Records the states of senders.
    /// Each has the number of a flow, window and slow-start threshold in segments, and the recoveries and timeouts since its last state.
    fn note_senders(&self, states: Vec<(u32, u32, u32, u32, u32)>) {
        let told = states
            .into_iter()
            .map(|(flow, cwnd, ssthresh, recoveries, timeouts)| (flow, SenderState { cwnd, ssthresh, recoveries, timeouts }));
        self.senders.lock().unwrap_or_else(|held| held.into_inner()).extend(told);
    }

    /// Records completed connections of sessions.
    /// Each has the number of a flow, the times of its opening and of its end in seconds, and its payload in bytes.
    fn note_completed(&self, connections: Vec<(u32, f64, f64, u64)>) {
        let told = connections.into_iter().map(|(flow, opened, closed, bytes)| {
            (flow, Completed { opened: Time::from_secs_f64(opened), closed: Time::from_secs_f64(closed), bytes })
        });
        self.completed.lock().unwrap_or_else(|held| held.into_inner()).extend(told);
    }

    /// Passes packets between the descriptors of the hosts until the end or `stop`.
    /// `own_port` is the port of the receiver of the first flow if the caller sends the flows; the others have those after it.
    /// With `bridged` the two descriptors are packet sockets of interfaces.
    #[pyo3(signature = (descriptors, version, capture=None, own_port=None, bridged=false))]
    fn run(
        &self,
        py: Python<'_>,
        descriptors: Vec<i32>,
        version: String,
        capture: Option<(PathBuf, Vec<String>, Vec<String>)>,
        own_port: Option<u16>,
        bridged: bool,
    ) -> PyResult<(String, Py<PyDict>)> {
        let hosts = descriptors.into_iter().map(adopt).collect::<Result<_, _>>().map_err(PyOSError::new_err)?;
        let capture = capture.map(|(path, links, hosts)| -> PyResult<LiveCapture> {
            let file = OpenOptions::new().write(true).truncate(true).open(path)?;
            Ok((CapturePoints { links, hosts }, Box::new(BufWriter::new(file))))
        });
        let switch = if bridged { Switch::Pair } else { Switch::Addresses };
        let setup = Setup { hosts, switch, own_port, capture: capture.transpose()?, version };
        outcome(py, py.detach(|| self.serve(setup)).map_err(|error| failed(&self.filename, error))?)
    }

    /// Ends the run: the packets in the network leave it first.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The state of links and groups as JSON; None before the first packet.
    fn snapshot(&self) -> Option<String> {
        self.snapshot.lock().unwrap_or_else(|held| held.into_inner()).clone()
    }
}

impl LiveNetwork {
    fn serve(&self, setup: Setup) -> Result<Outcome, Error> {
        let mut router = Router::new(&self.plan, setup.switch, setup.own_port, setup.capture)?;
        let mut ports = Ports::new(setup.hosts);
        let mut next = Time::ZERO;
        ports.serve(&mut router, self.plan.duration, &mut |router, ports| {
            let now = ports.now();
            if now >= next {
                next = now + SNAPSHOT_EVERY;
                let told = told(&router.snapshot(now), ports).to_string();
                *self.snapshot.lock().unwrap_or_else(|held| held.into_inner()) = Some(told);
            }
            for (flow, state) in self.senders.lock().unwrap_or_else(|held| held.into_inner()).drain(..) {
                router.note_sender(now, flow, &state);
            }
            for (flow, connection) in self.completed.lock().unwrap_or_else(|held| held.into_inner()).drain(..) {
                router.note_completed(flow, &connection);
            }
            self.stopped.load(Ordering::Relaxed)
        })?;
        let (now, pace) = (ports.now(), pace(&ports, &router));
        let mut outcome = router.finish(now)?;
        outcome.record.host = Some(Host { name: "live".into(), version: setup.version, pace: Some(pace), ..Host::default() });
        Ok(outcome)
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

fn pace(ports: &Ports, router: &Router<'_>) -> Pace {
    let (late, counts) = (ports.lateness(), router.counts());
    Pace {
        kept_up: late.quantile(0.99) <= MOST_LATE && counts.refused == 0,
        delivered: late.count(),
        late_p50_us: micros(late.quantile(0.5)),
        late_p99_us: micros(late.quantile(0.99)),
        late_max_us: micros(late.most()),
        unread: 0,
        refused: counts.refused,
        malformed: counts.malformed,
        strayed: counts.strayed,
        unconnected: counts.unconnected,
    }
}

fn told(snapshot: &Snapshot, ports: &Ports) -> Value {
    let ms = |duration: Duration| duration.as_nanos() as f64 / 1e6;
    json!({
        "at_s": snapshot.at.as_secs_f64(),
        "late_p99_us": micros(ports.lateness().quantile(0.99)),
        "links": snapshot.links.iter().map(|link| json!({
            "name": link.name, "rate_bps": link.rate_bps, "bytes": link.bytes, "dropped": link.dropped, "marked": link.marked,
            "queue": link.queue, "delay_ms": ms(link.delay),
        })).collect::<Vec<_>>(),
        "groups": snapshot.groups.iter().map(|group| json!({
            "name": group.name, "bytes": group.bytes, "goodput_bytes": group.goodput_bytes, "dropped": group.dropped,
            "marked": group.marked, "rtt_ms": group.rtt().map(ms),
        })).collect::<Vec<_>>(),
    })
}
