//! Warnings about links: late changes, and buckets and queues below a full packet.

use super::{Finding, Subject, full_packet, group_field, link_field};
use crate::check::Group;
use crate::check::links::label;
use crate::path::element;
use crate::written::{Change, Impairment};
use sojourn_aqm::AqmConfig;
use sojourn_link::ImpairmentKind;
use sojourn_units::{Amount, Duration, Limit};

/// Events at or after the end of the run.
///
/// These are changes of links, starts of impairments, new routes, and the start of a group's first flow.
pub(super) fn after_the_end(subject: &Subject<'_>) -> Vec<Finding> {
    let end = subject.written.duration;
    let late = |(field, time): (String, Duration)| {
        (time >= end).then(|| (field, format!("{time} is not before the end of the run ({end}): it never happens")))
    };
    events(subject).into_iter().filter_map(late).collect()
}

/// The events of a scenario: their fields and times.
fn events(subject: &Subject<'_>) -> Vec<(String, Duration)> {
    let mut events = Vec::new();
    let mut of_link = |field: &str, changes: &[Change], impairments: &[Impairment]| {
        events.extend(changes.iter().enumerate().map(|(i, change)| (format!("{field}.changes[{i}].at"), change.at)));
        for (i, Impairment(config)) in impairments.iter().enumerate() {
            events.push((format!("{field}.impairments[{i}].from"), config.from));
            if let ImpairmentKind::Outage(outage) = &config.kind {
                events.push((format!("{field}.impairments[{i}].at"), outage.at));
            }
        }
    };
    for link in &subject.written.links {
        let field = format!("links.{}", element(&label(link)));
        of_link(&field, &link.changes, &link.impairments);
        if let Some(back) = &link.back {
            of_link(&format!("{field}.back"), &back.changes, &back.impairments);
        }
    }
    for group in &subject.checked.groups {
        let field = group_field(group);
        events.push((format!("{field}.start"), Duration::from_nanos(group.start.least() as u64)));
        events.extend(group.reroute.iter().enumerate().map(|(i, change)| (format!("{field}.reroute[{i}].at"), change.at)));
    }
    events
}

/// Policers and shapers whose `burst` is smaller than full packets of the TCP flows there.
///
/// They pass smaller packets such as ACKs.
pub(super) fn small_buckets(subject: &Subject<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, link) in (0..).zip(&subject.checked.links) {
        for (at, impairment) in link.impairments.iter().enumerate() {
            let burst = match &impairment.kind {
                ImpairmentKind::Policer(params) => params.burst,
                ImpairmentKind::Shaper(params) => params.burst,
                _ => continue,
            };
            if let Some(flows) = flows_with_larger_packets(subject, number, burst.0) {
                let field = format!("{}.impairments[{at}].burst", link_field(link));
                found.push((field, format!("{burst} is less than a full packet of {flows}: none passes")));
            }
        }
    }
    found
}

/// Queues whose `limit` in bytes is smaller than full packets of the TCP flows there.
///
/// A full packet that finds the link busy is dropped.
pub(super) fn small_queues(subject: &Subject<'_>) -> Vec<Finding> {
    let small = |queue: super::QueueOf<'_>| {
        let Limit::Amount(Amount::Bytes(limit)) = queue.queue.options.limit else { return None };
        if matches!(queue.queue.aqm, AqmConfig::Linux(_)) {
            return None;
        }
        let flows = flows_with_larger_packets(subject, queue.number, limit)?;
        Some((format!("{}.limit", queue.field), format!("{limit} B is less than a full packet of {flows}: it can hold none")))
    };
    subject.queues().filter_map(small).collect()
}

/// The TCP groups that send packets of more bytes over this link, with their sizes.
///
/// `None` means no group. `link` is a position in the scenario.
fn flows_with_larger_packets(subject: &Subject<'_>, link: u32, bytes: u64) -> Option<String> {
    let over = |group: &Group| group.forward_links().any(|at| at == link);
    let larger = subject.stacks().filter(|(group, tcp)| full_packet(tcp) > bytes && over(group));
    let named: Vec<String> = larger.map(|(group, tcp)| format!("{} ({} B)", group_field(group), full_packet(tcp))).collect();
    (!named.is_empty()).then(|| named.join(", "))
}
