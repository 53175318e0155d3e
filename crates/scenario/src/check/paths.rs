//! Determines the paths of a group: along named nodes, or the shortest.

use super::links::Network;
use super::route::{LONGEST_PATH, PathFinder};
use crate::error::Error;
use crate::written::{Flows, PathChoice};
use sojourn_spec::paths::Paths;
use sojourn_units::{Duration, Time};
use std::collections::HashSet;
use std::path::Path;

/// The network of the flows, its paths, and the folder of files that groups name.
pub(super) struct Place<'a> {
    pub folder: &'a Path,
    pub network: &'a Network,
    pub paths: &'a PathFinder<'a>,
}

/// The paths of a group: forward, reverse, and all paths if there are several.
/// The reverse path is empty if nothing is sent back.
pub(super) struct FlowPaths {
    pub forward: Vec<u32>,
    pub back: Vec<u32>,
    pub all: Paths,
}

/// Paths in both directions, in the order of the file.
type Both = [Vec<Vec<u32>>; 2];

/// Finds the paths of a group.
pub(super) fn find(group: &Flows, field: &str, ends: (u32, u32), place: &Place<'_>) -> Result<FlowPaths, Error> {
    let search = Search { group, field, ends, place };
    let found = search.named(group.via.as_deref(), group.via_back.as_deref(), field)?;
    let several = found.iter().any(|paths| paths.len() > 1) && group.paths != PathChoice::First;
    let [forward, back] = found;
    let first = |paths: &[Vec<u32>]| paths.first().cloned().unwrap_or_default();
    let (first_forward, first_back) = (first(&forward), first(&back));
    let mut all = if several { Paths { forward, back, ..Paths::default() } } else { Paths::default() };
    if !group.reroute.is_empty() {
        if group.paths != PathChoice::First {
            return Err(Error::got(format!("{field}.reroute"), "both", "one of `paths` and `reroute`"));
        }
        all = search.reroutes(&first_forward, &first_back)?;
    }
    let longest = all.forward.iter().chain(&all.back).chain([&first_forward, &first_back]).map(Vec::len).max().unwrap_or(0);
    if longest > LONGEST_PATH {
        let got = format!("a path of {longest} links");
        return Err(Error::got(field, got, format_args!("a path of at most {LONGEST_PATH} links, not counting access and egress")));
    }
    Ok(FlowPaths { forward: first_forward, back: first_back, all })
}

/// The group whose paths are searched.
struct Search<'a> {
    group: &'a Flows,
    field: &'a str,
    ends: (u32, u32),
    place: &'a Place<'a>,
}

impl Search<'_> {
    /// The paths along the nodes that `at` names; else the shortest paths.
    fn named(&self, via: Option<&[String]>, via_back: Option<&[String]>, at: &str) -> Result<Both, Error> {
        let (from, to) = self.ends;
        let returns = self.group.traffic.0.uses_reverse_path();
        let via = via.map(|via| self.nodes(&format!("{at}.via"), via, (from, to))).transpose()?;
        let forward = match &via {
            Some(via) => self.along(&format!("{at}.via"), via)?,
            None => self.shortest((from, to), "forward")?,
        };
        let back = match (via_back, via) {
            (Some(_), _) if !returns => {
                let got = "a list for traffic over UDP";
                return Err(Error::got(format!("{at}.via_back"), got, "no reverse path, because nothing returns"));
            }
            _ if !returns => Vec::new(),
            (Some(back), _) => {
                let field = format!("{at}.via_back");
                self.along(&field, &self.nodes(&field, back, (to, from))?)?
            }
            (None, Some(mut via)) => {
                via.reverse();
                self.along(&format!("{at}.via"), &via).map_err(|error| Error {
                    problem: format!("{}; give `via_back` if the reverse path has other nodes", error.problem),
                    ..error
                })?
            }
            (None, None) => self.shortest((to, from), "reverse")?,
        };
        Ok([forward, back])
    }

    /// The initial paths, and those after each route change.
    fn reroutes(&self, forward: &[u32], back: &[u32]) -> Result<Paths, Error> {
        let mut all = Paths { forward: vec![forward.to_vec()], back: vec![back.to_vec()], ..Paths::default() };
        let mut before = Duration::ZERO;
        for (i, change) in self.group.reroute.iter().enumerate() {
            let at = format!("{}.reroute[{i}]", self.field);
            if change.at <= before {
                return Err(Error::got(format!("{at}.at"), change.at, format_args!("a time after {before}")));
            }
            before = change.at;
            let [forward, back] = self.named(Some(&change.via), change.via_back.as_deref(), &at)?;
            all.forward.extend(forward);
            all.back.extend(back);
            all.times.push(Time::ZERO + change.at);
        }
        if !self.group.traffic.0.uses_reverse_path() {
            all.back.clear();
        }
        Ok(all)
    }

    fn shortest(&self, (from, to): (u32, u32), what: &str) -> Result<Vec<Vec<u32>>, Error> {
        let name = |node: u32| &self.place.network.nodes[node as usize];
        let missing = || Error::got(self.field, "none", format!("links that make a {what} path from {} to {}", name(from), name(to)));
        if self.group.paths == PathChoice::First {
            return Ok(vec![self.place.paths.shortest(from, to).ok_or_else(missing)?]);
        }
        let all = self.place.paths.all_shortest(&format!("{}.paths", self.field), from, to)?;
        if all.is_empty() { Err(missing()) } else { Ok(all) }
    }

    fn along(&self, field: &str, nodes: &[u32]) -> Result<Vec<Vec<u32>>, Error> {
        match self.group.paths {
            PathChoice::First => Ok(vec![self.place.paths.along(field, nodes)?]),
            PathChoice::Flow | PathChoice::Packet => self.place.paths.all_along(field, nodes),
        }
    }

    /// The nodes with these names. They must lead from one end to the other.
    fn nodes(&self, at: &str, names: &[String], ends: (u32, u32)) -> Result<Vec<u32>, Error> {
        let node = |(i, name): (usize, &String)| self.place.network.node(format!("{at}[{i}]"), name);
        let nodes: Vec<u32> = names.iter().enumerate().map(node).collect::<Result<_, _>>()?;
        let got = format_args!("[{}]", names.join(", "));
        if (nodes.first(), nodes.last()) != (Some(&ends.0), Some(&ends.1)) {
            return Err(Error::got(at, got, "the nodes from the group's `from` to its `to`, both included"));
        }
        match nodes.iter().collect::<HashSet<_>>().len() == nodes.len() {
            true => Ok(nodes),
            false => Err(Error::got(at, got, "every node once")),
        }
    }
}
