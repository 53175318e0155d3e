//! Checks that the host supports the scenario.
//! The simulator has no kernel algorithms, and a kernel supports few TCP options.

use super::Group;
use super::links::Network;
use crate::error::Error;
use crate::path::element;
use crate::written::{Host, PathChoice, SIMULATOR, Scenario};
use sojourn_aqm::AqmConfig;
use sojourn_cc::CcConfig;
use sojourn_spec::tcp::{OPTIONS, TcpOptions};
use sojourn_traffic::Traffic;

/// The TCP options that a Linux host supports. The kernel determines the others.
const TAKEN: &[&str] = &["control", "ecn", "header", "mss", "pacing", "recovery"];

/// Checks that the host of a scenario can run it.
pub(super) fn check(scenario: &Scenario, network: &Network, groups: &[Group]) -> Result<(), Error> {
    match scenario.host {
        Host::Simulator => simulator(network, groups),
        Host::Linux => impairments(network).and_then(|()| linux(scenario, groups)),
        Host::Live => queues(network).and_then(|()| impairments(network)).and_then(|()| linux(scenario, groups)),
    }
}

fn simulator(network: &Network, groups: &[Group]) -> Result<(), Error> {
    queues(network)?;
    for group in groups {
        if let Some(CcConfig::Linux(params)) = group.tcp.as_ref().map(|tcp| &tcp.control) {
            let field = format!("flows.{}.tcp.control.linux", element(&group.name));
            let expected = "host = \"linux\" for a congestion control of the kernel";
            return Err(Error::got(field, format_args!("\"{}\" on the simulator", params.linux), expected));
        }
    }
    Ok(())
}

/// Rejects queue disciplines of the kernel, because the queues are the simulator's.
fn queues(network: &Network) -> Result<(), Error> {
    for (link, field) in network.links.iter().zip(&network.fields) {
        let mut queues = link.queue.iter().flat_map(|queue| queue.disciplines());
        if let Some(AqmConfig::Linux(params)) = queues.find_map(|queue| matches!(queue.aqm, AqmConfig::Linux(_)).then_some(&queue.aqm)) {
            let expected = "host = \"linux\" for a queue discipline of the kernel";
            return Err(Error::got(format!("{field}.queue.linux"), format_args!("\"{}\" on the simulator", params.linux), expected));
        }
    }
    Ok(())
}

/// Rejects impairments that change headers, because the kernel's packets are read-only.
fn impairments(network: &Network) -> Result<(), Error> {
    for (link, field) in network.links.iter().zip(&network.fields) {
        if let Some(i) = link.impairments.iter().position(|each| each.kind.changes_headers()) {
            let got = "\"strip\" on a Linux host";
            let expected = "\"drop\", or host = \"simulator\": headers of a kernel's packets are only read";
            return Err(Error::got(format!("{field}.impairments[{i}].action"), got, expected));
        }
    }
    Ok(())
}

/// Rejects options that the kernel would ignore.
/// Options with the values of the profile `linux` are accepted.
fn linux(scenario: &Scenario, groups: &[Group]) -> Result<(), Error> {
    if let Some(group) = scenario.flows.iter().find(|group| group.host.as_deref() == Some(SIMULATOR)) {
        return Err(Error::got(format!("flows.{}.host", element(&group.name)), "\"simulator\" on a Linux host", "none"));
    }
    for group in groups {
        let field = format!("flows.{}", element(&group.name));
        if let Traffic::Schedule(schedule) = &group.traffic
            && schedule.has_unlimited_parts()
        {
            let got = "a part without a rate on a Linux host";
            return Err(Error::got(format!("{field}.traffic.rates"), got, "a rate or silent = true in each part"));
        }
        if group.paths == PathChoice::Packet {
            return Err(Error::got(format!("{field}.paths"), "\"packet\" on a Linux host", "one of first, flow"));
        }
        if !group.reroute.is_empty() {
            return Err(Error::got(format!("{field}.reroute"), "a list on a Linux host", "none: its routes don't change"));
        }
    }
    if scenario.trace.controller.is_some() {
        let expected = "none: what a kernel's controllers keep is not read; trace.cwnd has their windows";
        return Err(Error::got("trace.controller", "a table on a Linux host", expected));
    }
    let watched = [("retransmissions", scenario.trace.retransmissions.is_some()), ("segments", scenario.trace.segments.is_some())];
    if let Some((kind, _)) = watched.iter().find(|(_, asked)| *asked) {
        let expected = "none: a kernel's senders are not watched; --pcap-hosts has their packets";
        return Err(Error::got(format!("trace.{kind}"), "a table on a Linux host", expected));
    }
    let own = TcpOptions::linux();
    for (written, group) in scenario.flows.iter().zip(groups) {
        let (Some(resolved), tcp) = (&group.tcp, written.tcp.clone().unwrap_or_default()) else { continue };
        let ignored = OPTIONS.iter().filter(|option| !TAKEN.contains(&option.name));
        for option in ignored.filter(|option| tcp.gives(option.name) || scenario.tcp.gives(option.name)) {
            let (got, kernel) = ((option.show)(resolved), (option.show)(&own));
            if got != kernel {
                let table = if tcp.gives(option.name) { format!("flows.{}.tcp", element(&group.name)) } else { "tcp".into() };
                let expected = format!("none or {kernel}, for a Linux host takes only {} of the options of TCP", TAKEN.join(", "));
                return Err(Error::got(format!("{table}.{}", option.name), got, expected));
            }
        }
    }
    Ok(())
}
