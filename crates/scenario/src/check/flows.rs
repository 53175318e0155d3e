//! Groups of flows: names, ways, times and TCP options.

use super::links::Network;
use super::route::Ways;
use super::{Group, MOST_FLOWS, Tcp, above_zero, name, number, packet, within};
use crate::error::Error;
use crate::path::element;
use crate::quantity::{Quantity, Varying};
use crate::written::{self, Access, Flows, Switched};
use sojourn_units::{Bytes, Duration};
use std::collections::HashSet;

/// Checks all groups.
pub(super) fn check(flows: &[Flows], common: &written::Tcp, network: &Network) -> Result<Vec<Group>, Error> {
    tcp("tcp", common)?;
    let (mut names, mut total) = (HashSet::new(), 0u64);
    let ways = Ways::new(network);
    let mut groups = Vec::with_capacity(flows.len());
    for (i, group) in flows.iter().enumerate() {
        name(format!("flows[{i}].name"), "group", &group.name)?;
        if !names.insert(&group.name) {
            return Err(Error::given(format!("flows[{i}].name"), format_args!("\"{}\"", group.name), "a name that no other group has"));
        }
        let field = format!("flows.{}", element(&group.name));
        total += u64::from(group.count);
        if group.count == 0 || total > MOST_FLOWS {
            let taken = format!("a whole number above zero, so that all groups together have at most {MOST_FLOWS} flows");
            return Err(Error::given(format!("{field}.count"), group.count, taken));
        }
        groups.push(one(group, &field, common, &Place { network, ways: &ways })?);
    }
    Ok(groups)
}

struct Place<'a> {
    network: &'a Network,
    ways: &'a Ways<'a>,
}

/// Checks one group.
fn one(group: &Flows, field: &str, common: &written::Tcp, place: &Place<'_>) -> Result<Group, Error> {
    let count = group.count;
    let from = place.network.node(format!("{field}.from"), &group.from)?;
    let to = place.network.node(format!("{field}.to"), &group.to)?;
    if from == to {
        return Err(Error::given(format!("{field}.to"), format_args!("\"{}\", where it starts", group.to), "another node"));
    }
    varying(&group.start, format!("{field}.start"), count)?;
    if let Some(stop) = &group.stop {
        varying(stop, format!("{field}.stop"), count)?;
        if let (Some(start), Some(stop)) = (group.start.one(), stop.one())
            && stop <= start
        {
            return Err(Error::given(format!("{field}.stop"), stop, format_args!("a time after the start ({start})")));
        }
    }
    for (side, access) in [("access", &group.access), ("egress", &group.egress)] {
        if let Some(Access { rate, delay }) = access {
            varying(delay, format!("{field}.{side}.delay"), count)?;
            rate.iter().try_for_each(|rate| varying(rate, format!("{field}.{side}.rate"), count))?;
        }
    }
    let traffic = &group.traffic.0;
    traffic.check().map_err(|error| Error::given(format!("{field}.traffic.{}", error.field), error.given, error.taken))?;
    let is_tcp = traffic.is_tcp();
    let options = match (&group.tcp, is_tcp) {
        (Some(_), false) => {
            return Err(Error::new(format!("{field}.tcp"), format!("given for {} traffic over UDP, taken is beside TCP", traffic.name())));
        }
        (Some(own), true) => {
            tcp(&format!("{field}.tcp"), own)?;
            let merged = own.over(common);
            tcp(&format!("{field}.tcp"), &merged)?;
            Some(merged)
        }
        (None, true) => Some(common.clone()),
        (None, false) => None,
    };
    let (forward, back) = routes(group, field, (from, to), place)?;
    Ok(Group {
        name: group.name.clone(),
        count,
        from,
        to,
        forward,
        back,
        access: group.access.clone(),
        egress: group.egress.clone(),
        start: group.start.clone(),
        stop: group.stop.clone(),
        traffic: traffic.clone(),
        tcp: options.map(resolve),
    })
}

fn resolve(options: written::Tcp) -> Tcp {
    let profile = options.profile.unwrap_or_default();
    Tcp { profile, control: options.control.clone().map(|control| control.0), options: written::Tcp { profile: Some(profile), ..options } }
}

/// The most links a way may have, two short of what fits a byte: access and egress come on top.
const LONGEST_WAY: usize = 253;

/// The ways there and back. Over UDP nothing goes back.
fn routes(group: &Flows, field: &str, (from, to): (u32, u32), place: &Place<'_>) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let shortest = |from: u32, to: u32, what: &str| {
        let way = place.ways.shortest(from, to);
        let name = |node: u32| &place.network.nodes[node as usize];
        way.ok_or_else(|| Error::new(field, format!("there is no way {what} from {} to {}", name(from), name(to))))
    };
    let nodes = |key: &str, given: &[String], ends: (u32, u32)| -> Result<Vec<u32>, Error> {
        let at = format!("{field}.{key}");
        let nodes: Vec<u32> =
            given.iter().enumerate().map(|(i, name)| place.network.node(format!("{at}[{i}]"), name)).collect::<Result<_, _>>()?;
        if (nodes.first(), nodes.last()) != (Some(&ends.0), Some(&ends.1)) {
            return Err(Error::given(
                at,
                format_args!("[{}]", given.join(", ")),
                "the nodes from the group's `from` to its `to`, both included",
            ));
        }
        match nodes.iter().collect::<HashSet<_>>().len() == nodes.len() {
            true => Ok(nodes),
            false => Err(Error::given(at, format_args!("[{}]", given.join(", ")), "every node once")),
        }
    };
    let via = group.via.as_ref().map(|via| nodes("via", via, (from, to))).transpose()?;
    let forward = match &via {
        Some(via) => place.ways.along(&format!("{field}.via"), via)?,
        None => shortest(from, to, "there")?,
    };
    let back = match (&group.via_back, via) {
        (Some(_), _) if !group.traffic.0.uses_reverse_path() => {
            return Err(Error::new(format!("{field}.via_back"), "given for traffic over UDP, of which nothing goes back"));
        }
        _ if !group.traffic.0.uses_reverse_path() => Vec::new(),
        (Some(given), _) => place.ways.along(&format!("{field}.via_back"), &nodes("via_back", given, (to, from))?)?,
        (None, Some(mut via)) => {
            via.reverse();
            let way = place.ways.along(&format!("{field}.via"), &via);
            way.map_err(|error| Error { problem: format!("{}; give `via_back` where the way back is another", error.problem), ..error })?
        }
        (None, None) => shortest(to, from, "back")?,
    };
    if forward.len().max(back.len()) > LONGEST_WAY {
        let given = format!("a way of {} links", forward.len().max(back.len()));
        return Err(Error::given(field, given, format_args!("at most {LONGEST_WAY} beside access and egress")));
    }
    Ok((forward, back))
}

fn varying<T: Quantity>(value: &Varying<T>, field: String, count: u32) -> Result<(), Error> {
    match value.problem(count) {
        Some((part, problem)) => Err(Error::new(format!("{field}{part}"), problem)),
        None => Ok(()),
    }
}

/// Header bytes where none are given: no profile's are more.
const HEADER: u64 = 60;
/// What blocks add to an ACK at most (rfc2018#3): three of them, and the option's own 4 bytes.
const SACK: u64 = 28;

/// Checks TCP options, one by one and where two contradict each other.
fn tcp(field: &str, tcp: &written::Tcp) -> Result<(), Error> {
    let at = |key: &str| format!("{field}.{key}");
    tcp.mss.map(|size| packet(at("mss"), size)).transpose()?;
    tcp.header.map(|size| packet(at("header"), size)).transpose()?;
    let full = tcp.mss.map_or(0, |mss| mss.0).max(SACK) + tcp.header.map_or(HEADER, |header| header.0);
    if full > 65_535 {
        let at = if tcp.mss.is_some() { at("mss") } else { at("header") };
        return Err(Error::given(at, format_args!("a packet of {full} B with its header"), "at most 65535 B"));
    }
    for (key, amount) in [("window", tcp.window), ("initial_ssthresh", tcp.initial_ssthresh)] {
        if let Some(amount) = amount.filter(|amount| amount.is_zero()) {
            return Err(Error::given(at(key), amount, "more than nothing"));
        }
    }
    let mss = tcp.mss.unwrap_or(Bytes(1)).0;
    if let Some(crate::Amount::Bytes(bytes)) = tcp.window.filter(|window| window.in_bytes(u32::MAX) < mss) {
        return Err(Error::given(at("window"), format_args!("{bytes} B"), format_args!("at least one full segment ({mss} B)")));
    }
    for (key, number) in [("ack_every", tcp.ack_every), ("initial_window", tcp.initial_window), ("dupack_threshold", tcp.dupack_threshold)]
    {
        if let Some(number) = number.filter(|number| !(1..=65_535).contains(number)) {
            return Err(Error::given(at(key), number, "a whole number, 1 to 65535"));
        }
    }
    if let Some(abc) = tcp.abc.filter(|abc| *abc > 65_535) {
        return Err(Error::given(at("abc"), abc, "a number of segments, 0 to 65535"));
    }
    if let Some(control) = &tcp.control {
        let start = sojourn_cc::Start { window: f64::from(tcp.initial_window.unwrap_or(1)), ssthresh: f64::INFINITY };
        if let Err(error) = control.0.build(start) {
            return Err(Error::given(at(&format!("control.{}", error.field)), error.given, error.taken));
        }
    }
    times(field, tcp)
}

/// Checks the times among TCP options.
fn times(field: &str, tcp: &written::Tcp) -> Result<(), Error> {
    let at = |key: &str| format!("{field}.{key}");
    for (key, time) in [("min_rto", tcp.min_rto), ("max_rto", tcp.max_rto), ("initial_rto", tcp.initial_rto)] {
        time.map(|time| above_zero(at(key), time)).transpose()?;
    }
    for (key, time) in [("tick", tcp.tick), ("rto_slop", tcp.rto_slop), ("clock_offset", tcp.clock_offset)] {
        time.map(|time| within(at(key), time)).transpose()?;
    }
    if let Some(skew) = tcp.clock_skew_ppm {
        number(at("clock_skew_ppm"), skew, -1000.0..=1000.0, "a number, -1000 to 1000")?;
    }
    if let Some(Switched::Time(time)) = tcp.delayed_ack {
        above_zero(at("delayed_ack"), time)?;
    }
    if let Some(Switched::Time(time)) = tcp.rtt_hint
        && !(Duration::from_millis(1)..=Duration::from_millis(65_535)).contains(&time)
    {
        return Err(Error::given(at("rtt_hint"), time, "true, false, or a time to claim, 1 ms to 65535 ms"));
    }
    let least = tcp.min_rto.unwrap_or(Duration::ZERO);
    match tcp.max_rto.filter(|most| *most < least) {
        Some(most) => Err(Error::given(at("max_rto"), most, format_args!("at least min_rto ({least})"))),
        None => Ok(()),
    }
}
