//! Builds the world of a plan.

use crate::Error;
use crate::recorder::Recorder;
use sojourn_aqm::{AnyAqm, AnyLaw, AqmConfig, Bernoulli, Sampled};
use sojourn_cc::CcConfig;
use sojourn_cc::algorithms::external::Supplier;
use sojourn_net::Packet;
use sojourn_scenario::check::{check_controller, check_laws};
use sojourn_scenario::plan::Plan;
use sojourn_sim::{LinkConfig, World, WorldConfig};
use sojourn_spec::link::Link;
use sojourn_spec::queue::Queue;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Rate};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Creates a law for a queue whose timer has the given interval.
pub type LawFactory = Arc<dyn Fn(Duration) -> Box<dyn AnyLaw> + Send + Sync>;

/// The caller's laws of queues and congestion controllers, by name.
/// A scenario refers to them by `aqm = "external", law = "..."` and `cc = "external", controller = "..."`.
#[derive(Clone, Default)]
pub struct Laws {
    /// The laws of queues.
    pub queues: BTreeMap<String, LawFactory>,
    /// The congestion controllers.
    pub controllers: BTreeMap<String, Supplier>,
}

impl Laws {
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.controllers.is_empty()
    }
}

/// Builds the world of a plan; with `all_events`, with an event at every hop.
///
/// # Errors
/// A queue names a law that `laws` lacks, or a parameter is out of range for its link.
pub fn build(plan: &Plan, laws: &Laws, all_events: bool) -> Result<World<Recorder>, Error> {
    let mut stacks = plan.stacks.clone();
    supply(plan, &mut stacks, laws)?;
    let links = plan.links.iter().map(|config| link(plan, config, laws));
    let config = WorldConfig {
        seed: plan.seed,
        end: plan.duration,
        warmup: plan.warmup,
        links: links.collect::<Result<_, _>>()?,
        access_links: Cow::from(&plan.access_links),
        stacks,
        flows: Cow::from(&plan.flows),
        all_events,
    };
    let mut world = World::watched(config, Recorder::new(plan)).map_err(|error| Error::Build(error.to_string()))?;
    start_traces(plan, world.links_mut());
    Ok(world)
}

/// Starts the link traces of a plan.
pub(crate) fn start_traces<P: Packet>(plan: &Plan, links: &mut [sojourn_net::Link<P>]) {
    if let Some(trace) = &plan.trace.queue {
        trace.links.iter().for_each(|&link| links[link as usize].trace_queue(trace.every));
    }
    if let Some(trace) = &plan.trace.throughput {
        trace.links.iter().for_each(|&link| links[link as usize].trace_throughput(trace.every));
    }
    if let Some(trace) = &plan.trace.wait {
        trace.links.iter().for_each(|&link| links[link as usize].trace_waits(trace.one_in));
    }
}

fn link(plan: &Plan, link: &Link, laws: &Laws) -> Result<LinkConfig, Error> {
    let known: Vec<&str> = laws.queues.keys().map(String::as_str).collect();
    check_laws(link, &known).map_err(|error| Error::Build(error.to_string()))?;
    let mut aqms = Vec::new();
    if let (Some(queue), Some(rate)) = (&link.queue, link.rate) {
        for (queue, packets) in queue.disciplines().zip(plan.classifications(queue)) {
            aqms.push((aqm(plan, link, queue, rate, laws)?, packets));
        }
    }
    let mut config = LinkConfig::planned(link.clone(), aqms, plan.seed);
    config.set_dscps(&plan.groups.iter().map(|group| group.dscp.0).collect::<Vec<_>>());
    Ok(config)
}

/// Assigns external controllers to TCP stacks.
fn supply(plan: &Plan, stacks: &mut [TcpOptions], laws: &Laws) -> Result<(), Error> {
    let known: Vec<&str> = laws.controllers.keys().map(String::as_str).collect();
    for (position, stack) in stacks.iter_mut().enumerate() {
        let flow = plan.flows.iter().find(|flow| flow.stack == Some(position as u32));
        let group = flow.map_or("", |flow| plan.groups[flow.group as usize].name.as_str());
        check_controller(group, stack, &known).map_err(|error| Error::Build(error.to_string()))?;
        if let CcConfig::External(params) = &mut stack.control {
            params.supplier = laws.controllers.get(&params.controller).cloned();
        }
    }
    Ok(())
}

fn aqm(plan: &Plan, link: &Link, queue: &Queue, rate: Rate, laws: &Laws) -> Result<AnyAqm, Error> {
    if let AqmConfig::External(params) = &queue.aqm {
        let Some(factory) = laws.queues.get(&params.law) else { unreachable!("the laws of a link are checked before its queues are made") };
        return Ok(AnyAqm::Custom(Box::new(Sampled::new(factory(params.interval), Bernoulli))));
    }
    queue.build(rate, link.delay, plan.packet).map_err(|error| Error::Build(format!("links.{}.queue.{error}", link.name)))
}
