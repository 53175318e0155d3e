//! The plant of a scenario's link for the fluid model: its endless TCP flows.

use sojourn_cc::CcConfig;
use sojourn_fluid::{Class, Plant};
use sojourn_scenario::Checked;
use sojourn_scenario::plan::{Flow, Plan};
use sojourn_spec::link::Link;
use sojourn_spec::queue::Queue;
use sojourn_spec::tcp::{Ecn, TcpOptions};
use sojourn_traffic::Traffic;
use sojourn_units::Rate;
use std::collections::BTreeSet;

/// The maximum number of flow classes. Flows of similar RTT form one class.
const CLASSES: usize = 8;

/// A link with a queue.
pub(crate) struct Managed<'a> {
    pub index: u32,
    pub link: &'a Link,
    pub rate: Rate,
    pub queue: &'a Queue,
}

/// The link called `name`.
pub(crate) fn managed<'a>(scenario: &'a Checked, name: &str) -> Result<Managed<'a>, String> {
    let found = (0..).zip(&scenario.links).find(|(_, link)| link.name == name);
    let found = found.and_then(|(index, link)| Some(Managed { index, link, rate: link.rate?, queue: link.queue.as_deref()? }));
    found.filter(|found| found.queue.classes.is_none()).ok_or_else(|| format!("link: expected one with a rate and a queue, got \"{name}\""))
}

/// A plant, with notes on what the model omits.
pub(crate) struct Modeled {
    pub plant: Plant,
    pub notes: BTreeSet<String>,
}

/// The plant of a link in a run.
pub(crate) fn plant(plan: &Plan, managed: &Managed<'_>) -> Result<Modeled, String> {
    let through: Vec<&Flow> = plan.flows.iter().filter(|flow| flow.forward.contains(&managed.index)).collect();
    let bulk: Vec<(&Flow, &TcpOptions)> =
        through.iter().filter_map(|flow| Some((*flow, plan.tcp(flow)?))).filter(|(flow, _)| flow.traffic.name() == "bulk").collect();
    if bulk.is_empty() {
        return Err(format!("links.{}: expected endless TCP flows through it, got none: there is nothing to control", managed.link.name));
    }
    let mut notes = BTreeSet::new();
    let packet = bulk.iter().map(|(_, tcp)| f64::from(tcp.mss + tcp.header)).sum::<f64>() / bulk.len() as f64;
    let rate = managed.rate.as_bps() as f64;
    let constant: f64 = through.iter().filter(|flow| flow.traffic.name() != "bulk").map(|flow| mean_rate(flow, &mut notes)).sum();
    if constant >= rate {
        return Err(format!("flows: expected traffic without congestion control below {rate} bit/s, got {constant}"));
    }
    let mut each: Vec<Class> = bulk.iter().map(|&(flow, tcp)| class(plan, flow, tcp, packet, &mut notes)).collect();
    each.sort_by(|a, b| a.delay.total_cmp(&b.delay));
    let drops = !managed.queue.options.ecn || bulk.iter().any(|(_, tcp)| tcp.ecn == Ecn::Off);
    let limit = f64::from(managed.queue.options.planned_limit().in_packets(packet as u32));
    Ok(Modeled { plant: Plant { classes: merged(&each), capacity: (rate - constant) / (8.0 * packet), limit, packet, drops }, notes })
}

/// A flow as a class of its own.
fn class(plan: &Plan, flow: &Flow, tcp: &TcpOptions, packet: f64, notes: &mut BTreeSet<String>) -> Class {
    let over = |links: &[u32], size: f64| -> f64 {
        let time = |&link: &u32| {
            let link = plan.link(link);
            link.delay.as_secs_f64() + link.rate.map_or(0.0, |rate| 8.0 * size / rate.as_bps() as f64)
        };
        links.iter().map(time).sum()
    };
    let delay = over(&flow.forward, packet) + over(&flow.back, f64::from(tcp.header));
    let acks = if tcp.delayed_ack.is_some() && tcp.abc == 0 { f64::from(tcp.ack_every) } else { 1.0 };
    let (increase, decrease) = match &tcp.control {
        CcConfig::Reno(reno) => (reno.increase, 1.0 - reno.decrease),
        other => {
            notes.insert(format!("the model treats {} as Reno", other.name()));
            (1.0, 0.5)
        }
    };
    Class { flows: 1.0, delay: delay.max(1e-5), increase: increase / acks, decrease }
}

/// Merges classes into at most [`CLASSES`] classes of similar round-trip times.
/// Neighbors in the order of round-trip times are merged. If the classes cannot have equal sizes, the first ones are larger by one.
fn merged(each: &[Class]) -> Vec<Class> {
    let alike = each.windows(2).all(|pair| (pair[1].delay - pair[0].delay) < 1e-9);
    let parts = if alike { 1 } else { each.len().min(CLASSES) };
    let mean = |some: &[Class], of: fn(&Class) -> f64| some.iter().map(of).sum::<f64>() / some.len() as f64;
    let merge = |some: &[Class]| Class {
        flows: some.len() as f64,
        delay: mean(some, |class| class.delay),
        increase: mean(some, |class| class.increase),
        decrease: mean(some, |class| class.decrease),
    };
    let (size, larger) = (each.len() / parts, each.len() % parts);
    let begin = |part: usize| part * size + part.min(larger);
    (0..parts).map(|part| merge(&each[begin(part)..begin(part + 1)])).collect()
}

/// The mean rate in bit/s of traffic without congestion control.
fn mean_rate(flow: &Flow, notes: &mut BTreeSet<String>) -> f64 {
    match &flow.traffic {
        Traffic::Cbr(cbr) => cbr.rate.as_bps() as f64,
        Traffic::OnOff(onoff) if flow.stack.is_none() => {
            let (on, off) = (onoff.on.as_secs_f64(), onoff.off.as_secs_f64());
            onoff.rate.as_bps() as f64 * on / (on + off)
        }
        other => {
            notes.insert(format!("{} is left out: it has no steady window", other.name()));
            0.0
        }
    }
}
