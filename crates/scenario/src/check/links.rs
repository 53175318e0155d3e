//! Checks links: names, nodes, rates, and the parameters of their queues.

use super::classes::disciplines;
use super::media::{self, Media};
use super::{LinkProcess, name};
use crate::error::Error;
use crate::path::element;
use crate::trace_file::read_trace;
use crate::written::library::{self, PathName};
use crate::written::{self, Back, Change, Impairment, Scenario};
use sojourn_link::ImpairmentConfig;
use sojourn_spec::link::{DelayChange, Link, RateChange, Trace};
use sojourn_spec::queue::Queue;
use sojourn_units::{AnyOverhead, Duration, Overhead, Rate, Time, range};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The nodes and links of a scenario.
pub(super) struct Network {
    pub nodes: Vec<String>,
    /// The indices of the nodes by name.
    by_name: HashMap<String, u32>,
    pub links: Vec<Link>,
    /// The field of each link in the file.
    pub fields: Vec<String>,
    /// The processes of links with a path whose rate varies.
    pub processes: Vec<LinkProcess>,
}

impl Network {
    /// The index of the node called `name`.
    ///
    /// # Errors
    /// No link has this node. The error is at `field`.
    pub fn node(&self, field: String, name: &str) -> Result<u32, Error> {
        match self.by_name.get(name) {
            Some(&i) => Ok(i),
            None => Err(Error::new(field, crate::error::unknown("node ", name, &self.nodes))),
        }
    }
}

/// The name of a link in the file.
pub(crate) fn label(link: &written::Link) -> String {
    link.name.clone().unwrap_or_else(|| format!("{}->{}", link.from, link.to))
}

/// Checks all links and numbers their nodes.
/// The reverse link of a duplex link directly follows it. `folder` is the folder of the scenario file.
pub(super) fn check(scenario: &Scenario, packet: u32, folder: &Path) -> Result<Network, Error> {
    let (links, media) = (&scenario.links, media::check(&scenario.media)?);
    if links.is_empty() {
        return Err(Error::got("links", "none", "at least one link"));
    }
    let mut network = Network { nodes: Vec::new(), by_name: HashMap::new(), links: Vec::new(), fields: Vec::new(), processes: Vec::new() };
    let mut names = HashSet::new();
    for (i, link) in links.iter().enumerate() {
        let label = label(link);
        let field = if link.name.is_some() { format!("links.{}", element(&label)) } else { format!("links[{i}]") };
        for (end, node) in [("from", &link.from), ("to", &link.to)] {
            name(format!("{field}.{end}"), "node", node)?;
        }
        name(format!("links[{i}].name"), "link", &label)?;
        if link.from == link.to {
            return Err(Error::got(format!("{field}.to"), format_args!("\"{}\", where it starts", link.to), "another node"));
        }
        let mut node = |name: &String| {
            *network.by_name.entry(name.clone()).or_insert_with(|| {
                network.nodes.push(name.clone());
                network.nodes.len() as u32 - 1
            })
        };
        let ends = (node(&link.from), node(&link.to));
        for (n, Directed { link: made, path }) in
            directed(link, label, ends, &Place { field: &field, packet, folder, media: &media })?.into_iter().enumerate()
        {
            if !names.insert(made.name.clone()) {
                let got = format!("\"{}\"", made.name);
                return Err(Error::got(format!("links[{i}].name"), got, "a name that no other link has"));
            }
            network.fields.push(if n == 0 || link.back.is_none() { field.clone() } else { format!("{field}.back") });
            network
                .processes
                .extend(path.and_then(library::Path::process).map(|process| LinkProcess { link: network.links.len() as u32, process }));
            network.links.push(made);
        }
    }
    media.check_use(&network.links)?;
    reverse(&mut network.links);
    Ok(network)
}

/// Finds for each link the nearest one in the opposite direction.
fn reverse(links: &mut [Link]) {
    let mut between: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for (i, link) in links.iter().enumerate() {
        between.entry((link.from, link.to)).or_default().push(i as u32);
    }
    for (i, link) in links.iter_mut().enumerate() {
        let opposite = between.get(&(link.to, link.from)).into_iter().flatten();
        link.reverse = opposite.copied().min_by_key(|other| other.abs_diff(i as u32));
    }
}

/// The context of a link.
/// It has the link's field, the mean packet size, the folder of the file, and the media.
struct Place<'a> {
    field: &'a str,
    packet: u32,
    folder: &'a Path,
    media: &'a Media,
}

/// A link, and its path if it has one.
struct Directed {
    link: Link,
    path: Option<&'static library::Path>,
}

/// The links of a table: one, or both directions of a duplex link.
fn directed(link: &written::Link, label: String, (from, to): (u32, u32), place: &Place<'_>) -> Result<Vec<Directed>, Error> {
    let Place { field, folder, media, .. } = *place;
    let one = |back: &Back, field: &str, name: String, (from, to)| -> Result<Directed, Error> {
        let path = path(back, field)?;
        let delay = back.delay.unwrap_or_default();
        range::time("delay", delay).map_err(|error| Error::parameter(field, error))?;
        let delay = delay + path.map_or(Duration::ZERO, library::Path::propagation);
        let trace = trace(back, field, folder)?;
        let sends = trace.as_ref().map(|trace| trace.rows.mean_rate()).or(path.map(library::Path::mean_rate)).or(back.rate);
        sends.map_or(Ok(()), |rate| range::rate("rate", rate)).map_err(|error| Error::parameter(field, error))?;
        let queue = queue(back.queue.as_ref(), &Place { field, ..*place }, sends, delay)?;
        changes(&back.changes, field, sends)?;
        let at = |change: &Change| Time::ZERO + change.at;
        let rate_changes = back.changes.iter().filter_map(|change| Some(RateChange { at: at(change), rate: change.rate? })).collect();
        let delay_changes = back.changes.iter().filter_map(|change| Some(DelayChange { at: at(change), delay: change.delay? })).collect();
        let mut impairments = impairments(&back.impairments, field)?;
        impairments.extend(path.iter().flat_map(|path| &path.impairments).map(|impairment| impairment.0.clone()));
        let overhead = overhead(back.overhead.or(path.and_then(|path| path.overhead)), field, sends)?;
        let medium = media.of(back.medium.as_deref(), field, sends)?;
        let made = Link { rate_changes, delay_changes, trace, overhead, impairments, medium, ..Link::default() };
        Ok(Directed { link: Link { name, from, to, rate: sends, delay, queue, ..made }, path })
    };
    let forward = Back {
        rate: link.rate,
        trace: link.trace.clone(),
        path: link.path,
        delay: Some(link.delay),
        queue: link.queue.clone(),
        overhead: link.overhead,
        medium: link.medium.clone(),
        changes: link.changes.clone(),
        impairments: link.impairments.clone(),
    };
    let mut made = vec![one(&forward, field, label.clone(), (from, to))?];
    let back_name = if link.name.is_some() { format!("{label}:back") } else { format!("{}->{}", link.to, link.from) };
    match (&link.back, link.duplex) {
        (Some(_), false) => {
            return Err(Error::got(format!("{field}.back"), "a table for a link in one direction", "duplex = true with it"));
        }
        (None, true) => {
            let Back { rate, trace, path, delay, overhead, medium, .. } = forward;
            let back = Back { rate, trace, path, delay, overhead, medium, ..Back::default() };
            made.push(one(&back, field, back_name, (to, from))?);
        }
        (Some(back), true) => {
            let own = back.rate.is_some() || back.trace.is_some() || back.path.is_some();
            let Back { rate, trace, path, .. } = if own { back.clone() } else { forward.clone() };
            // A path adds its delay itself. Without one, the delay is that of the first link with its path.
            let of_first = link.path.filter(|_| path.is_none()).map(PathName::path);
            let whole = link.delay + of_first.map_or(Duration::ZERO, library::Path::propagation);
            let delay = back.delay.or(Some(whole));
            let overhead = back.overhead.or(forward.overhead).or(of_first.and_then(|path| path.overhead));
            let medium = back.medium.clone().or(forward.medium);
            let back = Back { rate, trace, path, delay, overhead, medium, ..back.clone() };
            made.push(one(&back, &format!("{field}.back"), back_name, (to, from))?);
        }
        (None, false) => {}
    }
    Ok(made)
}

/// The path of a link, if it has one.
fn path(link: &Back, field: &str) -> Result<Option<&'static library::Path>, Error> {
    let Some(name) = link.path else { return Ok(None) };
    if link.rate.is_some() || link.trace.is_some() {
        let problem = "expected a path, a rate or a trace, got two; --set can't leave one out: delete it in the file";
        return Err(Error::new(format!("{field}.path"), problem));
    }
    if !link.changes.is_empty() {
        return Err(Error::got(format!("{field}.changes"), "changes of a link with a path", "a rate with them"));
    }
    Ok(Some(name.path()))
}

/// Reads the trace of a link, if it has one.
fn trace(link: &Back, field: &str, folder: &Path) -> Result<Option<Trace>, Error> {
    let Some(trace) = &link.trace else { return Ok(None) };
    if link.rate.is_some() {
        let problem = "expected a trace or a rate, got both; --set can't leave one out: delete it in the file";
        return Err(Error::new(format!("{field}.trace"), problem));
    }
    if !link.changes.is_empty() {
        return Err(Error::got(format!("{field}.changes"), "changes of a link with a trace", "them in the trace"));
    }
    let read = read_trace(&folder.join(&trace.file), trace.format);
    read.map(Some).map_err(|error| error.of_file_in(format!("{field}.trace.file"), &trace.file))
}

/// The queue of a link with a rate. A link without a rate has none.
fn queue(written: Option<&Queue>, place: &Place<'_>, rate: Option<Rate>, delay: Duration) -> Result<Option<Arc<Queue>>, Error> {
    let Place { field, packet, .. } = *place;
    let Some(rate) = rate else {
        return match written {
            Some(_) => Err(Error::got(format!("{field}.queue"), "a queue on a link without rate, where nothing waits", "a rate with it")),
            None => Ok(None),
        };
    };
    let queue = written.cloned().unwrap_or_default();
    for (queue, at) in disciplines(&queue, &format!("{field}.queue")) {
        if queue.options.limit.amount().is_none() {
            // The limit may depend on flows, so it is checked after its conversion.
            continue;
        }
        queue.build(rate, delay, packet).map_err(|error| Error::parameter(&at, error))?;
    }
    Ok(Some(Arc::new(queue)))
}

/// Checks the link-layer overhead. An overhead of zero becomes `None`.
fn overhead(given: Option<AnyOverhead>, field: &str, rate: Option<Rate>) -> Result<Option<Overhead>, Error> {
    let Some(overhead) = given.map(AnyOverhead::overhead) else { return Ok(None) };
    overhead.check().map_err(|error| Error::parameter(field, error))?;
    if rate.is_none() {
        let got = "an overhead on a link without rate, where packets take no time";
        return Err(Error::got(format!("{field}.overhead"), got, "a rate with it"));
    }
    Ok(Some(overhead).filter(|overhead| *overhead != Overhead::default()))
}

/// Checks the parameters of the impairments.
fn impairments(given: &[Impairment], field: &str) -> Result<Vec<ImpairmentConfig>, Error> {
    let check = |(i, Impairment(config)): (usize, &Impairment)| {
        config.check().map_err(|error| Error::parameter(&format!("{field}.impairments[{i}]"), error))?;
        Ok(config.clone())
    };
    given.iter().enumerate().map(check).collect()
}

/// Checks that the changes of rate and delay are in chronological order.
fn changes(changes: &[Change], field: &str, before: Option<Rate>) -> Result<(), Error> {
    if before.is_none() && !changes.is_empty() {
        return Err(Error::got(format!("{field}.changes"), "changes of a link without rate", "a rate with them"));
    }
    let mut last: Option<Duration> = None;
    for (i, change) in changes.iter().enumerate() {
        let at = format!("{field}.changes[{i}]");
        range::time("at", change.at).map_err(|error| Error::parameter(&at, error))?;
        if change.rate.is_none() && change.delay.is_none() {
            return Err(Error::got(at, "neither", "a rate, a delay, or both"));
        }
        change.rate.map_or(Ok(()), |rate| range::rate("rate", rate)).map_err(|error| Error::parameter(&at, error))?;
        change.delay.map_or(Ok(()), |delay| range::time("delay", delay)).map_err(|error| Error::parameter(&at, error))?;
        if let Some(last) = last.filter(|last| *last >= change.at) {
            return Err(Error::got(format!("{at}.at"), change.at, format_args!("a time after {last}, the change before")));
        }
        last = Some(change.at);
    }
    Ok(())
}
