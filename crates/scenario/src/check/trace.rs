//! Resolves the links and flows to trace.

use super::{Group, Link, Sampled, Trace, Waits};
use crate::error::{Error, unknown};
use crate::series::{CWND, FLOW_THROUGHPUT, LINK_THROUGHPUT, QUEUE, SUBQUEUE, SeriesKind, WAIT};
use crate::written;
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, range};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The maximum number of samples of a series.
const MOST_SAMPLES: u64 = 10_000_000;

/// The maximum number of values in all series of a run.
/// They use 0.8 GB, and as much again while the record is made.
const MOST_NUMBERS: u64 = 100_000_000;

/// The run to trace.
pub(super) struct Run<'a> {
    pub duration: Duration,
    /// Mean packet size in bytes.
    pub packet: u32,
    pub links: &'a [Link],
    pub groups: &'a [Group],
}

/// Resolves the patterns of a trace to indices of links and flows.
pub(super) fn check(trace: &written::Trace, run: &Run) -> Result<Trace, Error> {
    let &Run { duration, links, groups, .. } = run;
    let every = |field: &'static str, every: Duration| -> Result<Duration, Error> {
        range::positive_time(field, every)?;
        match duration.as_nanos() / every.as_nanos() {
            0..=MOST_SAMPLES => Ok(every),
            _ => Err(Error::got(field, every, format_args!("a time so long that the run has at most {MOST_SAMPLES} samples"))),
        }
    };
    let mut made = Trace::default();
    if let Some(asked) = &trace.queue {
        let every = every("trace.queue.every", asked.every)?;
        made.queue = Some(Sampled { links: find_links("trace.queue.links", &asked.links, links)?, flows: Vec::new(), every });
    }
    if let Some(asked) = &trace.cwnd {
        let every = every("trace.cwnd.every", asked.every)?;
        made.cwnd =
            Some(Sampled { links: Vec::new(), flows: find_flows("trace.cwnd.flows", &asked.flows, groups, &ONE_CONNECTION)?, every });
    }
    if let Some(asked) = &trace.throughput {
        made.throughput = Some(throughput(asked, every("trace.throughput.every", asked.every)?, run)?);
    }
    if let Some(asked) = &trace.rtt {
        made.rtt = find_flows(
            "trace.rtt.flows",
            &asked.flows,
            groups,
            &Kind { fits: Traffic::uses_reverse_path, named: "flows over TCP, or ping" },
        )?;
    }
    if let Some(asked) = &trace.wait {
        made.wait = Some(waits(asked, run)?);
    }
    if let Some(asked) = &trace.signals {
        made.signals = find_links("trace.signals.links", &asked.links, links)?;
    }
    if let Some(asked) = &trace.completions {
        let kind = Kind { fits: Traffic::completes, named: "flows whose connections end (a session, or bulk with a size)" };
        made.completions = find_flows("trace.completions.flows", &asked.flows, groups, &kind)?;
    }
    if let Some(asked) = &trace.controller {
        made.controller = find_flows("trace.controller.flows", &asked.flows, groups, &ONE_CONNECTION)?;
    }
    if let Some(asked) = &trace.retransmissions {
        made.retransmissions = find_flows("trace.retransmissions.flows", &asked.flows, groups, &ONE_CONNECTION)?;
    }
    if let Some(asked) = &trace.segments {
        made.segments = find_flows("trace.segments.flows", &asked.flows, groups, &ONE_CONNECTION)?;
    }
    together(&made, run)?;
    Ok(made)
}

/// The links and flows whose throughput is traced. At most one of the lists is empty.
fn throughput(asked: &written::TraceThroughput, every: Duration, run: &Run) -> Result<Sampled, Error> {
    let kind = Kind { fits: |_| true, named: "flows" };
    let (mut links, mut flows) = (Vec::new(), Vec::new());
    if !asked.links.is_empty() {
        links = find_links("trace.throughput.links", &asked.links, run.links)?;
    }
    if !asked.flows.is_empty() || asked.links.is_empty() {
        flows = find_flows("trace.throughput.flows", &asked.flows, run.groups, &kind)?;
    }
    Ok(Sampled { links, flows, every })
}

/// Checks the total size of sampled series and of waits, as far as it is known.
/// The numbers of RTT samples, drops, marks, segments and completed connections are unknown before the run. A run that exceeds its
/// memory by them fails.
fn together(made: &Trace, run: &Run) -> Result<(), Error> {
    let sampled = |trace: &Option<Sampled>, links: &SeriesKind, flows: &SeriesKind| {
        trace.as_ref().map_or(0, |trace| {
            let rows = run.duration.as_nanos() / trace.every.as_nanos() + 1;
            let columns = trace.links.len() as u64 * links.numbers() + trace.flows.len() as u64 * flows.numbers();
            rows.saturating_mul(columns)
        })
    };
    let subqueues = made.queue.as_ref().map_or(0, |trace| {
        let queues = trace.links.iter().filter_map(|&link| run.links[link as usize].queue.as_ref());
        let parts: usize = queues.map(|queue| queue.subqueues().len()).sum();
        (run.duration.as_nanos() / trace.every.as_nanos() + 1).saturating_mul(parts as u64 * SUBQUEUE.numbers())
    });
    let waits = made.wait.as_ref().map_or(0, |trace| {
        let packets: u64 = trace.links.iter().map(|&link| most_packets(&run.links[link as usize], run) / u64::from(trace.one_in)).sum();
        packets.saturating_mul(WAIT.numbers())
    });
    let each = [
        ("trace.queue.every", sampled(&made.queue, &QUEUE, &QUEUE).saturating_add(subqueues)),
        ("trace.cwnd.every", sampled(&made.cwnd, &CWND, &CWND)),
        ("trace.throughput.every", sampled(&made.throughput, &LINK_THROUGHPUT, &FLOW_THROUGHPUT)),
        ("trace.wait.one_in", waits),
    ];
    let all = each.iter().fold(0u64, |sum, (_, numbers)| sum.saturating_add(*numbers));
    match each.into_iter().max_by_key(|(_, numbers)| *numbers) {
        Some((field, _)) if all > MOST_NUMBERS => {
            Err(Error::got(field, all, format_args!("traces of at most {MOST_NUMBERS} numbers together")))
        }
        _ => Ok(()),
    }
}

/// The number of packets of mean size that a link can carry in the run at its highest rate.
fn most_packets(link: &Link, run: &Run) -> u64 {
    let rates = link.rate.into_iter().chain(link.rate_changes.iter().map(|change| change.rate));
    let most = rates.map(|rate| rate.as_bps()).max().unwrap_or_default();
    (most as f64 * run.duration.as_secs_f64() / (8.0 * f64::from(run.packet))) as u64
}

/// The links whose waits are traced.
/// The number of packets is unknown before the run, so the number of mean packets at the highest rate must be below the limit.
fn waits(asked: &written::TraceWait, run: &Run) -> Result<Waits, Error> {
    let links = find_links("trace.wait.links", &asked.links, run.links)?;
    let most = links.iter().map(|&link| most_packets(&run.links[link as usize], run)).max().unwrap_or_default();
    let least = most.div_ceil(MOST_SAMPLES).clamp(1, u64::from(u32::MAX)) as u32;
    match asked.one_in {
        one_in if one_in >= least => Ok(Waits { links, one_in }),
        one_in if least == 1 => Err(Error::got("trace.wait.one_in", one_in, "a whole number, 1 or more")),
        one_in => {
            let expected = format_args!("{least} or more, so that a link of this rate has at most {MOST_SAMPLES} samples");
            Err(Error::got("trace.wait.one_in", one_in, expected))
        }
    }
}

/// Rejects an empty trace.
fn not_empty(field: &str, patterns: &[String], expected: &str) -> Result<(), Error> {
    if patterns.is_empty() { Err(Error::got(field, "an empty list", expected)) } else { Ok(()) }
}

/// The distinct patterns with their positions in the file.
/// A file may contain many duplicates.
fn once(patterns: &[String]) -> impl Iterator<Item = (usize, &String)> {
    let mut seen = HashSet::new();
    patterns.iter().enumerate().filter(move |(_, pattern)| seen.insert(pattern.as_str()))
}

/// The links with a rate that match the patterns.
/// On other links no packet waits, and packets arrive in no particular order.
fn find_links(field: &str, patterns: &[String], links: &[Link]) -> Result<Vec<u32>, Error> {
    not_empty(field, patterns, "one link or more")?;
    let by_name: HashMap<&str, u32> = links.iter().zip(0..).map(|(link, i)| (link.name.as_str(), i)).collect();
    let fits = |link: u32| links[link as usize].rate.is_some();
    let mut found = Vec::new();
    for (i, pattern) in once(patterns) {
        if pattern == "*" {
            found.extend((0..links.len() as u32).filter(|&link| fits(link)));
            continue;
        }
        match by_name.get(pattern.as_str()) {
            Some(&link) if fits(link) => found.push(link),
            Some(_) => {
                return Err(Error::got(format!("{field}[{i}]"), format_args!("\"{pattern}\""), "a link with a rate"));
            }
            None => {
                let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).chain(["*"]).collect();
                return Err(Error::new(format!("{field}[{i}]"), unknown("link ", pattern, &names)));
            }
        }
    }
    Ok(in_order(found))
}

/// The kind of flow that a trace supports.
struct Kind {
    fits: fn(&Traffic) -> bool,
    named: &'static str,
}

const ONE_CONNECTION: Kind =
    Kind { fits: |traffic| traffic.is_tcp() && !traffic.opens_connections(), named: "flows of one TCP connection" };

/// The flows of this kind that match the patterns.
fn find_flows(field: &str, patterns: &[String], groups: &[Group], kind: &Kind) -> Result<Vec<u32>, Error> {
    not_empty(field, patterns, "one flow or more")?;
    let mut first = 0;
    let range = |group: &Group| {
        let flows = first..first + group.count;
        first = flows.end;
        flows
    };
    let members: Vec<Range<u32>> = groups.iter().map(range).collect();
    let by_name: HashMap<&str, usize> = groups.iter().enumerate().map(|(i, group)| (group.name.as_str(), i)).collect();
    let mut found = Vec::new();
    for (i, pattern) in once(patterns) {
        if pattern == "*" {
            found.extend(groups.iter().zip(&members).filter(|(group, _)| (kind.fits)(&group.traffic)).flat_map(|(_, flows)| flows.clone()));
            continue;
        }
        let at = format!("{field}[{i}]");
        let (name, which) = pattern.rsplit_once('/').unwrap_or((pattern, ""));
        let Some(&group) = by_name.get(name) else {
            let names: Vec<String> = groups.iter().map(|group| format!("{}/*", group.name)).chain(["*".to_string()]).collect();
            return Err(Error::new(at, unknown("flow ", pattern, &names)));
        };
        let (group, flows) = (&groups[group], members[group].clone());
        match which.parse::<u32>() {
            _ if !(kind.fits)(&group.traffic) => return Err(Error::got(at, format_args!("\"{pattern}\""), kind.named)),
            _ if which == "*" => found.extend(flows),
            Ok(i) if i < group.count => found.push(flows.start + i),
            _ if which.is_empty() => {
                let expected = format!("\"{name}/*\" for all flows of the group, or one of {name}/0 to {name}/{}", group.count - 1);
                return Err(Error::got(at, format_args!("\"{pattern}\""), expected));
            }
            _ => return Err(Error::got(at, format_args!("\"{pattern}\""), format_args!("{name}/0 to {name}/{}", group.count - 1))),
        }
    }
    Ok(in_order(found))
}

fn in_order(mut found: Vec<u32>) -> Vec<u32> {
    found.sort_unstable();
    found.dedup();
    found
}
