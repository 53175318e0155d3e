//! From a plan to a world.

use crate::Error;
use crate::recorder::Recorder;
use sojourn_aqm::{AnyAqm, AqmConfig, Bernoulli, Law, QueueController, Sampled};
use sojourn_scenario::plan::Plan;
use sojourn_scenario::{check, written};
use sojourn_sim::tcp::{Handshake, Recovery, RttHint, TcpParams};
use sojourn_sim::{FlowConfig, Hints, LinkConfig, Measure, World, WorldConfig};
use sojourn_spec::link::{self as spec, Link};
use sojourn_spec::queue::Queue;
use sojourn_units::{Amount, Duration, Rate, Stream, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Makes a law that the caller supplies, fresh for each queue.
pub type LawFactory = Arc<dyn Fn(Duration) -> Box<dyn ExternalLaw> + Send + Sync>;

/// Laws that the caller supplies, by the name that queues use (`aqm = "external", law = "..."`).
pub type Laws = BTreeMap<String, LawFactory>;

/// A law from outside that can be branched like any other.
pub trait ExternalLaw: Law + Send + Sync {
    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn ExternalLaw>;
}

struct Boxed(Box<dyn ExternalLaw>);

impl Clone for Boxed {
    fn clone(&self) -> Self {
        Boxed(self.0.boxed_clone())
    }
}

impl Law for Boxed {
    fn interval(&self) -> Duration {
        self.0.interval()
    }
    fn step(&mut self, sample: &sojourn_aqm::Sample) -> sojourn_units::Probability {
        self.0.step(sample)
    }
    fn needs(&self) -> sojourn_aqm::Needs {
        sojourn_aqm::Needs { departures: true, ..self.0.needs() }
    }
    fn first_step(&self) -> Time {
        self.0.first_step()
    }
}

/// A law from outside as an algorithm.
pub fn external(law: Box<dyn ExternalLaw>) -> AnyAqm {
    AnyAqm::Custom(Box::new(Sampled::new(Boxed(law), Bernoulli)))
}

/// Builds the world of a plan.
///
/// # Errors
/// A queue names a law that `laws` does not have; a parameter is out of range for its link.
pub fn build(plan: &Plan, laws: &Laws) -> Result<World<Recorder>, Error> {
    let mut stacks = Stacks::default();
    let mut flows = Vec::new();
    for flow in &plan.flows {
        let stack = flow.tcp.as_ref().map(|tcp| stacks.position(tcp));
        if let Some(TcpParams { min_rto, max_rto, .. }) = stack.map(|at| &stacks.params[at as usize]).filter(|p| p.min_rto > p.max_rto) {
            let group = &plan.groups[flow.group as usize].name;
            return Err(Error::Build(format!("flows.{group}.tcp.min_rto: given {min_rto}, taken is at most max_rto ({max_rto})")));
        }
        let needs_stamps = |p: &&TcpParams| !p.timestamps && matches!(p.control, sojourn_cc::CcConfig::RLedbat(_));
        if stack.map(|at| &stacks.params[at as usize]).filter(needs_stamps).is_some() {
            let group = &plan.groups[flow.group as usize].name;
            let taken = "taken is true beside rledbat, whose receiver measures by them";
            return Err(Error::Build(format!("flows.{group}.tcp.timestamps: given false, {taken}")));
        }
        flows.push(FlowConfig {
            name: flow.name.clone(),
            group: flow.group,
            forward: flow.forward.clone(),
            back: flow.back.clone(),
            stack,
            traffic: flow.traffic.clone(),
            start: flow.start,
            stop: if flow.stop >= plan.duration { Time::NEVER } else { flow.stop },
        });
    }
    let links = plan.links.iter().map(|config| link(plan, config, laws));
    let config = WorldConfig {
        seed: plan.seed,
        end: plan.duration,
        warmup: plan.warmup,
        links: links.collect::<Result<_, _>>()?,
        stacks: stacks.params,
        flows,
        all_events: false,
    };
    let mut world = World::watched(config, Recorder::new(plan)).map_err(|error| Error::Build(error.to_string()))?;
    for trace in [&plan.trace.queue, &plan.trace.throughput].into_iter().flatten() {
        trace.links.iter().for_each(|&link| world.links_mut()[link as usize].start_trace(trace.every));
    }
    Ok(world)
}

fn link(plan: &Plan, link: &Link, laws: &Laws) -> Result<LinkConfig, Error> {
    let random = Stream::named(plan.seed, &format!("link/{}/aqm", link.name));
    let controller = match (&link.queue, link.rate) {
        (Some(queue), Some(rate)) => {
            QueueController::new(aqm(plan, link, queue, rate, laws)?, queue.options.limit, queue.options.ecn, random)
        }
        _ => QueueController::new(AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail), Amount::Packets(u32::MAX), false, random),
    };
    Ok(LinkConfig {
        name: link.name.clone(),
        rate: link.rate,
        delay: link.delay,
        controller,
        changes: link.rate_changes.iter().map(|change| (change.at, change.rate)).collect(),
        hints: hints(link),
        delays: link.delay_changes.iter().map(|change| (change.at, change.delay)).collect(),
        measure: match link.measure {
            spec::Measure::Counts => Measure::Counts,
            spec::Measure::Moments => Measure::Moments,
            spec::Measure::All => Measure::All,
        },
    })
}

fn hints(link: &Link) -> Hints {
    match link.queue.as_ref().map(|queue| queue.options.hints) {
        Some(written::Hints::Router) => Hints::Router { back: link.reverse },
        _ => Hints::Senders,
    }
}

fn aqm(plan: &Plan, link: &Link, queue: &Queue, rate: Rate, laws: &Laws) -> Result<AnyAqm, Error> {
    if let AqmConfig::External(params) = &queue.aqm {
        let Some(factory) = laws.get(&params.law) else {
            let taken = match laws.keys().map(String::as_str).collect::<Vec<_>>().join(", ") {
                known if known.is_empty() => "the name of a law that a run from Python is given, which this one is not".to_string(),
                known => format!("one of {known}"),
            };
            return Err(Error::Build(format!("links.{}.queue.law: given \"{}\", taken is {taken}", link.name, params.law)));
        };
        return Ok(external(factory(params.interval)));
    }
    queue.build(rate, link.delay, plan.packet).map_err(|error| Error::Build(format!("links.{}.queue.{error}", link.name)))
}

/// The different stacks of a plan; flows of a group share one.
#[derive(Default)]
struct Stacks {
    params: Vec<TcpParams>,
    known: Vec<*const check::Tcp>,
}

impl Stacks {
    fn position(&mut self, tcp: &Arc<check::Tcp>) -> u32 {
        let place = self.known.iter().rposition(|&known| std::ptr::eq(known, &**tcp)).unwrap_or_else(|| {
            self.known.push(&raw const **tcp);
            self.params.push(stack(tcp));
            self.params.len() - 1
        });
        place as u32
    }
}

/// A profile with what the scenario changes of it.
fn stack(tcp: &check::Tcp) -> TcpParams {
    let mut p = match tcp.profile {
        written::Profile::Rfc => TcpParams::rfc(),
        written::Profile::Ns2 => TcpParams::ns2(),
        written::Profile::Ns2Linux => TcpParams::ns2_linux(),
        written::Profile::Linux => TcpParams::linux(),
        written::Profile::Freebsd => TcpParams::freebsd(),
    };
    let o = &tcp.options;
    macro_rules! take {
        ($($field:ident),*) => { $(if let Some(value) = o.$field { p.$field = value; })* };
    }
    take!(min_rto, max_rto, initial_rto, tick, limited_transmit, timestamps, dupack_threshold, ack_every, ecn);
    take!(rto_slop, abc, inflight_limit, restart_after_idle, clock_skew_ppm);
    // Exact clocks have no ticks to count in.
    p.tick_arithmetic &= p.tick > Duration::ZERO;
    p.reader = o.reader;
    p.clock_offset = o.clock_offset.map_or(p.clock_offset, |ahead| ahead.as_nanos() as i64);
    p.mss = o.mss.map_or(p.mss, |mss| mss.0 as u32);
    p.header = o.header.map_or(p.header, |header| header.0 as u32);
    if let Some(window) = o.window {
        p.window = window.in_packets(p.mss);
        // A sender can't know of a threshold above what its receiver takes (ns-2 starts with that).
        p.initial_ssthresh = f64::from(p.window);
    }
    p.initial_ssthresh = o.initial_ssthresh.map_or(p.initial_ssthresh, |amount| f64::from(amount.in_packets(p.mss)));
    p.initial_window = o.initial_window.map_or(p.initial_window, f64::from);
    if let Some(control) = &tcp.control {
        p.control = control.clone();
    }
    p.recovery = o.recovery.map_or(p.recovery, |recovery| match recovery {
        written::Recovery::Reno => Recovery::Reno,
        written::Recovery::Newreno => Recovery::NewReno,
        written::Recovery::Sack => Recovery::Sack,
    });
    p.handshake = o.handshake.map_or(p.handshake, |handshake| match handshake {
        written::Handshake::None => Handshake::None,
        written::Handshake::Oneway => Handshake::OneWay,
        written::Handshake::Threeway => Handshake::ThreeWay,
    });
    p.rtt_hint = match o.rtt_hint {
        None => p.rtt_hint,
        Some(written::Switched::Off) => RttHint::Off,
        Some(written::Switched::On) => RttHint::Smoothed,
        Some(written::Switched::Time(time)) => RttHint::Claimed((time.as_nanos() / 1_000_000).clamp(1, 0xffff) as u16),
    };
    p.delayed_ack = match o.delayed_ack {
        None => p.delayed_ack,
        Some(written::Switched::Off) => None,
        // ns-2's receivers acknowledge at once unless told otherwise, and wait 100 ms then (`interval_`).
        Some(written::Switched::On) => p.delayed_ack.or(Some(Duration::from_millis(100))),
        Some(written::Switched::Time(time)) => Some(time),
    };
    p
}
