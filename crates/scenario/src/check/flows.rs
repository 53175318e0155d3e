//! Checks groups of flows: names, paths, times and TCP options.

use super::links::Network;
use super::paths::{self, FlowPaths, Place};
use super::route::PathFinder;
use super::{Group, name, one_instant};
use crate::error::Error;
use crate::path::element;
use crate::quantity::{Quantity, Varying};
use crate::trace_file::read_pairs;
use crate::written::{Access, FLOW_COUNT, Flows, MOST_FLOWS};
use sojourn_spec::tcp::{TcpOptions, TcpOverrides};
use sojourn_traffic::Traffic;
use std::collections::HashSet;
use std::path::Path;

/// Checks all groups. File names are relative to `folder`.
pub(super) fn check(flows: &[Flows], common: &TcpOverrides, network: &Network, folder: &Path) -> Result<Vec<Group>, Error> {
    common.check().map_err(|error| Error::parameter("tcp", error))?;
    let (mut names, mut total) = (HashSet::new(), 0u64);
    let paths = PathFinder::new(network);
    let mut groups = Vec::with_capacity(flows.len());
    for (i, group) in flows.iter().enumerate() {
        name(format!("flows[{i}].name"), "group", &group.name)?;
        if !names.insert(&group.name) {
            return Err(Error::got(format!("flows[{i}].name"), format_args!("\"{}\"", group.name), "a name that no other group has"));
        }
        let field = format!("flows.{}", element(&group.name));
        total += u64::from(group.count);
        if group.count == 0 || total > MOST_FLOWS {
            return Err(Error::got(format!("{field}.count"), group.count, FLOW_COUNT));
        }
        groups.push(one(group, &field, common, &Place { network, paths: &paths, folder })?);
    }
    one_instant::check(&groups, network)?;
    Ok(groups)
}

/// Checks one group.
fn one(group: &Flows, field: &str, common: &TcpOverrides, place: &Place<'_>) -> Result<Group, Error> {
    let count = group.count;
    let from = place.network.node(format!("{field}.from"), &group.from)?;
    let to = place.network.node(format!("{field}.to"), &group.to)?;
    if from == to {
        return Err(Error::got(format!("{field}.to"), format_args!("\"{}\", where it starts", group.to), "another node"));
    }
    varying(&group.start, format!("{field}.start"), count)?;
    if let Some(stop) = &group.stop {
        varying(stop, format!("{field}.stop"), count)?;
        if let (Some(start), Some(stop)) = (group.start.one(), stop.one())
            && stop <= start
        {
            return Err(Error::got(format!("{field}.stop"), stop, format_args!("a time after the start ({start})")));
        }
    }
    for (side, access) in [("access", &group.access), ("egress", &group.egress)] {
        if let Some(Access { rate, delay }) = access {
            varying(delay, format!("{field}.{side}.delay"), count)?;
            rate.iter().try_for_each(|rate| varying(rate, format!("{field}.{side}.rate"), count))?;
        }
    }
    let traffic = traffic(group, &format!("{field}.traffic"), place.folder)?;
    let is_tcp = traffic.is_tcp();
    if group.tcp.is_some() && !is_tcp {
        return Err(Error::got(format!("{field}.tcp"), format_args!("a table for {} traffic over UDP", traffic.name()), "no TCP options"));
    }
    foreign(group, &traffic, field)?;
    let options = (is_tcp && group.foreign().is_none()).then(|| tcp(group.tcp.as_ref(), common, field)).transpose()?;
    let FlowPaths { forward, back, all } = paths::find(group, field, (from, to), place)?;
    Ok(Group {
        name: group.name.clone(),
        count,
        from,
        to,
        forward,
        back,
        paths: group.paths,
        all_paths: all,
        reroute: group.reroute.clone(),
        access: group.access.clone(),
        egress: group.egress.clone(),
        start: group.start.clone(),
        stop: group.stop.clone(),
        dscp: group.dscp,
        port: group.port,
        traffic,
        host: group.foreign().cloned(),
        tcp: options,
    })
}

/// Checks that endpoints of a program can carry a group's traffic.
fn foreign(group: &Flows, traffic: &Traffic, field: &str) -> Result<(), Error> {
    let Some(host) = group.foreign() else { return Ok(()) };
    name(format!("{field}.host"), "host", host)?;
    if !traffic.is_tcp() || traffic.opens_connections() {
        let got = format_args!("\"{}\" with host = \"{host}\"", traffic.name());
        return Err(Error::got(format!("{field}.traffic.kind"), got, "traffic over one connection, such as bulk"));
    }
    match group.tcp {
        Some(_) => Err(Error::got(
            format!("{field}.tcp"),
            format_args!("a table with host = \"{host}\""),
            "none: its endpoints are no TCP of the simulator",
        )),
        None => Ok(()),
    }
}

/// Reads the files of a group's traffic and checks its parameters.
fn traffic(group: &Flows, field: &str, folder: &Path) -> Result<Traffic, Error> {
    let mut traffic = group.traffic.0.clone();
    let mut read = |file: &str, columns: &_| read_pairs(&folder.join(file), columns).map_err(|error| Box::new((error, file.to_owned())));
    traffic.read_files(&mut read).map_err(|(parameter, refused)| {
        let (error, file) = *refused;
        error.of_file_in(format!("{field}.{parameter}"), &file)
    })?;
    traffic.check().map_err(|error| Error::parameter(field, error))?;
    Ok(traffic)
}

/// The TCP options of a group.
/// Its own options override the scenario's, and those the profile's. An error names the place where the value is set.
fn tcp(own: Option<&TcpOverrides>, common: &TcpOverrides, field: &str) -> Result<TcpOptions, Error> {
    let table = format!("{field}.tcp");
    let own = own.cloned().unwrap_or_default();
    own.check().map_err(|error| Error::parameter(&table, error))?;
    let options = own.over(common).resolve();
    let is_given = |name: &str| own.gives(name) || common.gives(name);
    options.check_timeouts(is_given).and_then(|()| options.check()).map_err(|error| {
        let of_scenario = common.gives(&error.field) && !own.gives(&error.field);
        Error::parameter(if of_scenario { "tcp" } else { &table }, error)
    })?;
    Ok(options)
}

fn varying<T: Quantity>(value: &Varying<T>, field: String, count: u32) -> Result<(), Error> {
    match value.problem(count) {
        Some((part, problem)) => Err(Error::new(format!("{field}{part}"), problem)),
        None => Ok(()),
    }
}
