//! Which links and flows are traced.

use super::{Group, Link, Sampled, Trace};
use crate::error::{Error, unknown};
use crate::written;
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, range};

/// The most samples one series may have.
const MOST_SAMPLES: u64 = 10_000_000;

/// Turns the patterns of a trace into positions of links and flows.
pub(super) fn check(trace: &written::Trace, links: &[Link], groups: &[Group], duration: Duration) -> Result<Trace, Error> {
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
        made.queue = Some(Sampled { links: find_links("trace.queue.links", &asked.links, links, true)?, flows: Vec::new(), every });
    }
    if let Some(asked) = &trace.cwnd {
        let every = every("trace.cwnd.every", asked.every)?;
        made.cwnd = Some(Sampled {
            links: Vec::new(),
            flows: find_flows(
                "trace.cwnd.flows",
                &asked.flows,
                groups,
                &Kind { fits: |traffic| traffic.is_tcp(), named: "flows over TCP" },
            )?,
            every,
        });
    }
    if let Some(asked) = &trace.throughput {
        let every = every("trace.throughput.every", asked.every)?;
        let links = find_links("trace.throughput.links", &asked.links, links, false)?;
        made.throughput = Some(Sampled {
            links,
            flows: find_flows("trace.throughput.flows", &asked.flows, groups, &Kind { fits: |_| true, named: "flows" })?,
            every,
        });
    }
    if let Some(asked) = &trace.rtt {
        made.rtt = find_flows(
            "trace.rtt.flows",
            &asked.flows,
            groups,
            &Kind { fits: Traffic::uses_reverse_path, named: "flows over TCP, or ping" },
        )?;
    }
    Ok(made)
}

/// The links that match the patterns. With `queues`, only links with a queue.
fn find_links(field: &str, patterns: &[String], links: &[Link], queues: bool) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for (i, pattern) in patterns.iter().enumerate() {
        let fits = |link: &Link| !queues || link.queue.is_some();
        if pattern == "*" {
            found.extend((0..links.len() as u32).filter(|&link| fits(&links[link as usize])));
            continue;
        }
        match links.iter().position(|link| link.name == *pattern) {
            Some(link) if fits(&links[link]) => found.push(link as u32),
            Some(_) => {
                return Err(Error::got(format!("{field}[{i}]"), format_args!("\"{pattern}\""), "a link with a rate, where packets wait"));
            }
            None => {
                let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).chain(["*"]).collect();
                return Err(Error::new(format!("{field}[{i}]"), unknown("link ", pattern, &names)));
            }
        }
    }
    Ok(in_order(found))
}

/// The kind of flow that a trace is possible for.
struct Kind {
    fits: fn(&Traffic) -> bool,
    named: &'static str,
}

/// The flows of this kind that match the patterns.
fn find_flows(field: &str, patterns: &[String], groups: &[Group], kind: &Kind) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for (i, pattern) in patterns.iter().enumerate() {
        let at = format!("{field}[{i}]");
        let (mut first, before) = (0, found.len());
        let (name, which) = pattern.rsplit_once('/').unwrap_or((pattern, ""));
        for group in groups {
            let (flows, fits) = (first..first + group.count, (kind.fits)(&group.traffic));
            first = flows.end;
            match which.parse::<u32>() {
                _ if pattern == "*" && fits => found.extend(flows),
                _ if group.name != name || pattern == "*" => {}
                _ if !fits => return Err(Error::got(at, format_args!("\"{pattern}\""), kind.named)),
                _ if which == "*" => found.extend(flows),
                Ok(i) if i < group.count => found.push(flows.start + i),
                _ => return Err(Error::got(at, format_args!("\"{pattern}\""), format_args!("{name}/0 to {name}/{}", group.count - 1))),
            }
        }
        if found.len() == before && pattern != "*" {
            let names: Vec<String> = groups.iter().map(|group| format!("{}/*", group.name)).chain(["*".to_string()]).collect();
            return Err(Error::new(at, unknown("flow ", pattern, &names)));
        }
    }
    Ok(in_order(found))
}

fn in_order(mut found: Vec<u32>) -> Vec<u32> {
    found.sort_unstable();
    found.dedup();
    found
}
