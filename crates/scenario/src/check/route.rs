//! Paths through the network.

use super::Link;
use super::links::Network;
use crate::error::Error;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// The maximum length of a path.
/// A position on a path fits into a byte, including access and egress links.
pub(super) const LONGEST_PATH: usize = 253;

/// The maximum number of alternative paths.
const MOST_PATHS: usize = 64;

/// The network with the links that leave and enter each node, in file order.
pub(super) struct PathFinder<'a> {
    network: &'a Network,
    leaving: Vec<Vec<u32>>,
    entering: Vec<Vec<u32>>,
    search: RefCell<Search>,
}

/// The state of path searches.
#[derive(Default)]
struct Search {
    /// The link by which each node was first reached, with the number of the search.
    reached_by: Vec<(u32, u32)>,
    /// The number of searches.
    count: u32,
    /// The paths found so far, by their ends.
    found: HashMap<(u32, u32), Option<Vec<u32>>>,
}

impl<'a> PathFinder<'a> {
    pub fn new(network: &'a Network) -> Self {
        let (mut leaving, mut entering) = (vec![Vec::new(); network.nodes.len()], vec![Vec::new(); network.nodes.len()]);
        for (i, link) in network.links.iter().enumerate() {
            leaving[link.from as usize].push(i as u32);
            entering[link.to as usize].push(i as u32);
        }
        let search = Search { reached_by: vec![(0, 0); network.nodes.len()], ..Search::default() };
        PathFinder { network, leaving, entering, search: RefCell::new(search) }
    }

    /// The path with the fewest links.
    /// Among equally short paths, the one whose first differing link is earlier in the file wins.
    ///
    /// A node with a single link has no choice. So only the path between nodes with a choice is searched, once. The paths between all
    /// leaves of a tree of switches thus need time proportional to their number.
    pub fn shortest(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let (mut start, mut end) = (from, to);
        while let ([only], true) = (&self.leaving[start as usize][..], start != end && first.len() <= LONGEST_PATH) {
            first.push(*only);
            start = self.link(*only).to;
        }
        while let ([only], true) = (&self.entering[end as usize][..], start != end && last.len() <= LONGEST_PATH) {
            last.push(*only);
            end = self.link(*only).from;
        }
        let mut search = self.search.borrow_mut();
        let middle = match search.found.get(&(start, end)) {
            Some(found) => found.clone(),
            None => {
                let found = self.searched(&mut search, start, end);
                search.found.insert((start, end), found.clone());
                found
            }
        };
        first.extend(middle?);
        first.extend(last.into_iter().rev());
        Some(first)
    }

    /// Searches the path with the fewest links.
    fn searched(&self, search: &mut Search, from: u32, to: u32) -> Option<Vec<u32>> {
        search.count += 1;
        let Search { reached_by, count, .. } = search;
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            if node == to {
                break;
            }
            for &link in &self.leaving[node as usize] {
                let end = self.link(link).to;
                let reached = &mut reached_by[end as usize];
                if end != from && reached.0 != *count {
                    *reached = (*count, link);
                    next.push_back(end);
                }
            }
        }
        let (mut path, mut here) = (Vec::new(), to);
        while here != from {
            let (reached, link) = reached_by[here as usize];
            if reached != *count {
                return None;
            }
            path.push(link);
            here = self.link(link).from;
        }
        path.reverse();
        Some(path)
    }

    /// The path along these nodes, using the first of parallel links in the file.
    ///
    /// # Errors
    /// Two consecutive nodes have no link between them.
    pub fn along(&self, field: &str, nodes: &[u32]) -> Result<Vec<u32>, Error> {
        let step = |pair: &[u32]| {
            let link = self.leaving[pair[0] as usize].iter().find(|&&link| self.link(link).to == pair[1]);
            let name = |node: u32| &self.network.nodes[node as usize];
            link.copied().ok_or_else(|| Error::got(field, "none", format!("a link from {} to {}", name(pair[0]), name(pair[1]))))
        };
        nodes.windows(2).map(step).collect()
    }

    /// All paths with the fewest links, in file order; empty if there is no path.
    ///
    /// # Errors
    /// There are more than [`MOST_PATHS`] paths.
    pub fn all_shortest(&self, field: &str, from: u32, to: u32) -> Result<Vec<Vec<u32>>, Error> {
        let mut left = vec![usize::MAX; self.network.nodes.len()];
        left[to as usize] = 0;
        let mut next = VecDeque::from([to]);
        while let Some(node) = next.pop_front() {
            for &link in &self.entering[node as usize] {
                let before = self.link(link).from as usize;
                if left[before] == usize::MAX {
                    left[before] = left[node as usize] + 1;
                    next.push_back(before as u32);
                }
            }
        }
        if left[from as usize] == usize::MAX {
            return Ok(Vec::new());
        }
        let mut paths = vec![(from, Vec::new())];
        for links in (0..left[from as usize]).rev() {
            let onward = |(node, path): &(u32, Vec<u32>)| {
                let nearer = self.leaving[*node as usize].iter().filter(|&&link| left[self.link(link).to as usize] == links);
                nearer.map(|&link| (self.link(link).to, [&path[..], &[link]].concat())).collect::<Vec<_>>()
            };
            paths = self.few(field, paths.iter().flat_map(onward).collect())?;
        }
        Ok(paths.into_iter().map(|(_, path)| path).collect())
    }

    /// All paths along these nodes, one per choice of parallel links, in file order.
    ///
    /// # Errors
    /// Two consecutive nodes have no link between them, or there are more than [`MOST_PATHS`] paths.
    pub fn all_along(&self, field: &str, nodes: &[u32]) -> Result<Vec<Vec<u32>>, Error> {
        let mut paths = vec![Vec::new()];
        for pair in nodes.windows(2) {
            self.along(field, pair)?;
            let parallel: Vec<u32> = self.leaving[pair[0] as usize].iter().copied().filter(|&link| self.link(link).to == pair[1]).collect();
            let onward = |path: &Vec<u32>| parallel.iter().map(|&link| [&path[..], &[link]].concat()).collect::<Vec<_>>();
            paths = self.few(field, paths.iter().flat_map(onward).collect())?;
        }
        Ok(paths)
    }

    /// Returns these paths, or an error if there are too many.
    fn few<T>(&self, field: &str, paths: Vec<T>) -> Result<Vec<T>, Error> {
        match paths.len() <= MOST_PATHS {
            true => Ok(paths),
            false => Err(Error::got(field, "more", format_args!("at most {MOST_PATHS} equally short paths"))),
        }
    }

    fn link(&self, link: u32) -> &Link {
        &self.network.links[link as usize]
    }
}
