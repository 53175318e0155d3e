//! The series of a finished run as tables.

use crate::recorder::{Recorder, Signal};
use crate::traced::Traced;
use sojourn_cc::REGISTRY;
use sojourn_net::{Link, Packet};
use sojourn_scenario::plan::Plan;
use sojourn_scenario::series::{
    ACKS, COMPLETIONS, CONTROLLER, CWND, FLOW_THROUGHPUT, LINK_THROUGHPUT, QUEUE, RETRANSMISSIONS, RTT, SEGMENTS, SIGNALS, SUBQUEUE,
    SeriesKind, WAIT,
};
use sojourn_sim::{Completion, PacketWait};
use sojourn_units::Time;
use std::collections::BTreeMap;

/// Traces by name. Each is a table of columns.
pub type Series = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// The series that the scenario requests.
pub(crate) fn series<P: Packet>(plan: &Plan, links: &[Link<P>], recorder: &Recorder) -> Series {
    let mut series = Series::new();
    sampled_links(plan, links, &mut series);
    waits(plan, links, recorder, &mut series);
    let name = |flow: u32| plan.flows[flow as usize].name.as_str();
    for (flow, window) in recorder.windows.iter() {
        let columns = vec![window.packets.clone(), window.ssthresh.clone()];
        series.insert(CWND.name(name(flow)), CWND.table(window.t.clone(), columns));
    }
    for (flow, bytes) in recorder.delivered.iter() {
        let every = plan.trace.throughput.as_ref().map_or(1.0, |trace| trace.every.as_secs_f64());
        let t = (0..bytes.len()).map(|bin| bin as f64 * every).collect();
        let bps = bytes.iter().map(|bytes| bytes * 8.0 / every).collect();
        series.insert(FLOW_THROUGHPUT.name(name(flow)), FLOW_THROUGHPUT.table(t, vec![bps]));
    }
    for (flow, samples) in recorder.rtts.iter() {
        // Connections of a session may be simulated ahead of each other.
        let mut samples = samples.clone();
        samples.sort_unstable();
        let t = samples.iter().map(|(at, _)| at.as_secs_f64()).collect();
        series.insert(RTT.name(name(flow)), RTT.table(t, vec![samples.iter().map(|(_, rtt)| rtt.as_secs_f64()).collect()]));
    }
    signals(links, recorder, &mut series);
    completions(plan, recorder, &mut series);
    controllers(plan, recorder, &mut series);
    segments(plan, &recorder.retransmissions, &RETRANSMISSIONS, &mut series);
    segments(plan, &recorder.segments, &SEGMENTS, &mut series);
    for (flow, acks) in recorder.acks.iter() {
        let column = |value: &dyn Fn(&(Time, u64)) -> f64| acks.iter().map(value).collect::<Vec<f64>>();
        series.insert(ACKS.name(name(flow)), ACKS.table(column(&|(at, _)| at.as_secs_f64()), vec![column(&|&(_, next)| next as f64)]));
    }
    series
}

/// Adds the series of links at equal steps.
fn sampled_links<P: Packet>(plan: &Plan, links: &[Link<P>], series: &mut Series) {
    for &index in plan.trace.queue.iter().flat_map(|trace| &trace.links) {
        let link = &links[index as usize];
        let Some(samples) = link.traced_queue() else { continue };
        let columns = vec![samples.packets.clone(), samples.bytes.clone(), samples.delay.clone(), samples.probability.clone()];
        series.insert(QUEUE.name(link.name()), QUEUE.table(samples.t.clone(), columns));
        let parts = plan.links[index as usize].queue.iter().flat_map(|queue| queue.subqueues());
        for (name, part) in parts.zip(&samples.subqueues) {
            let columns = vec![part.packets.clone(), part.bytes.clone(), part.oldest.clone(), part.probability.clone()];
            series.insert(SUBQUEUE.name(&format!("{}/{name}", link.name())), SUBQUEUE.table(samples.t.clone(), columns));
        }
    }
    for &index in plan.trace.throughput.iter().flat_map(|trace| &trace.links) {
        let link = &links[index as usize];
        let Some(steps) = link.traced_throughput() else { continue };
        series.insert(LINK_THROUGHPUT.name(link.name()), LINK_THROUGHPUT.table(steps.t.clone(), vec![steps.bps.clone()]));
    }
}

/// A value of each packet.
/// It is generic, because a call for each packet would cost more than the value.
fn column(packets: &[&PacketWait], value: impl Fn(&PacketWait) -> f64) -> Vec<f64> {
    packets.iter().map(|packet| value(packet)).collect()
}

/// Adds waits in the order of arrival.
/// With flow queues it differs from the order of transmission.
fn waits<P: Packet>(plan: &Plan, links: &[Link<P>], recorder: &Recorder, series: &mut Series) {
    for &index in plan.trace.wait.iter().flat_map(|trace| &trace.links) {
        let link = &links[index as usize];
        let mut packets: Vec<&PacketWait> = link.traced_waits().iter().collect();
        packets.sort_by_key(|packet| packet.arrived);
        let entries = &recorder.entries;
        let columns = vec![
            column(&packets, |packet| packet.wait.as_secs_f64()),
            column(&packets, |packet| f64::from(packet.size)),
            column(&packets, |packet| f64::from(entries[packet.flow as usize])),
        ];
        series.insert(WAIT.name(link.name()), WAIT.table(column(&packets, |packet| packet.arrived.as_secs_f64()), columns));
    }
}

/// Adds drops and marks in the order of time; simultaneous ones in the order of flows.
fn signals<P: Packet>(links: &[Link<P>], recorder: &Recorder, series: &mut Series) {
    for (link, signals) in recorder.signals.iter() {
        let mut signals = signals.clone();
        signals.sort_unstable();
        let column = |value: &dyn Fn(&Signal) -> f64| signals.iter().map(value).collect::<Vec<f64>>();
        let flow = |signal: &Signal| f64::from(recorder.entries[signal.flow as usize]);
        let columns = vec![column(&flow), column(&|signal| f64::from(signal.cause as u8))];
        let table = SIGNALS.table(column(&|signal| signal.at.as_secs_f64()), columns);
        series.insert(SIGNALS.name(links[link as usize].name()), table);
    }
}

/// Adds congestion controllers: common columns, and the variables of each.
fn controllers(plan: &Plan, recorder: &Recorder, series: &mut Series) {
    for (index, rows) in recorder.controllers.by_flow.iter() {
        let flow = &plan.flows[index as usize];
        let name = plan.tcp(flow).map_or("", |tcp| tcp.control.name());
        let variables = REGISTRY.iter().find(|entry| entry.name == name).map_or_else(Vec::new, |entry| (entry.variables)());
        let names = CONTROLLER.columns.iter().map(|column| column.name).chain(variables.iter().map(|about| about.name));
        // A flow without activity has columns but no rows.
        let columns = rows.columns.iter().cloned().chain(std::iter::repeat(Vec::new()));
        let table = std::iter::once(("t", rows.t.clone())).chain(names.zip(columns));
        series.insert(CONTROLLER.name(&flow.name), table.map(|(name, column)| (name.to_string(), column)).collect());
    }
}

/// Adds segments that flows send.
fn segments(plan: &Plan, traced: &Traced<Vec<(Time, u64, u16)>>, kind: &SeriesKind, series: &mut Series) {
    for (index, segments) in traced.iter() {
        let flow = &plan.flows[index as usize];
        let header = plan.tcp(flow).map_or(0, |tcp| tcp.header);
        let (t, columns) = (
            segments.iter().map(|(at, ..)| at.as_secs_f64()).collect(),
            [
                segments.iter().map(|&(_, first, _)| first as f64).collect(),
                segments.iter().map(|&(.., size)| f64::from(u32::from(size) - header)).collect(),
            ],
        );
        series.insert(kind.name(&flow.name), kind.table(t, columns.into()));
    }
}

/// Adds the completed connections of every group with a traced flow.
fn completions(plan: &Plan, recorder: &Recorder, series: &mut Series) {
    let mut groups: BTreeMap<u32, Vec<&Completion>> =
        plan.trace.completions.iter().map(|&flow| (plan.flows[flow as usize].group, Vec::new())).collect();
    for done in &recorder.completions {
        groups.entry(done.group).or_default().push(done);
    }
    for (group, mut done) in groups {
        // Senders are simulated ahead of each other, so simultaneous completions have no natural order.
        done.sort_by_key(|done| (done.closed, done.opened, done.entry, done.size));
        let column = |value: &dyn Fn(&Completion) -> f64| done.iter().map(|done| value(done)).collect::<Vec<f64>>();
        let columns = vec![
            column(&|done| done.opened.as_secs_f64()),
            column(&|done| done.closed.since(done.opened).as_secs_f64()),
            column(&|done| done.size as f64),
            column(&|done| f64::from(done.entry)),
        ];
        let name = COMPLETIONS.name(&plan.groups[group as usize].name);
        series.insert(name, COMPLETIONS.table(column(&|done| done.closed.as_secs_f64()), columns));
    }
}
