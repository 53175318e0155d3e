//! Paths through the network.

use super::Link;
use super::links::Network;
use crate::error::Error;
use std::collections::VecDeque;

/// The network, and the links that leave each node in the order of the file.
pub(super) struct PathFinder<'a> {
    network: &'a Network,
    leaving: Vec<Vec<u32>>,
}

impl<'a> PathFinder<'a> {
    pub fn new(network: &'a Network) -> Self {
        let mut leaving = vec![Vec::new(); network.nodes.len()];
        for (i, link) in network.links.iter().enumerate() {
            leaving[link.from as usize].push(i as u32);
        }
        PathFinder { network, leaving }
    }

    /// The path with the fewest links. Among several, the one whose first link that differs is earlier in the file.
    pub fn shortest(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut reached_by: Vec<Option<u32>> = vec![None; self.leaving.len()];
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            if node == to {
                break;
            }
            for &link in &self.leaving[node as usize] {
                let end = self.link(link).to;
                if end != from && reached_by[end as usize].is_none() {
                    reached_by[end as usize] = Some(link);
                    next.push_back(end);
                }
            }
        }
        let (mut path, mut here) = (Vec::new(), to);
        while here != from {
            let link = reached_by[here as usize]?;
            path.push(link);
            here = self.link(link).from;
        }
        path.reverse();
        Some(path)
    }

    /// The path along these nodes. Among parallel links it takes the first in the file.
    ///
    /// # Errors
    /// Two nodes in a row without a link between them.
    pub fn along(&self, field: &str, nodes: &[u32]) -> Result<Vec<u32>, Error> {
        let step = |pair: &[u32]| {
            let link = self.leaving[pair[0] as usize].iter().find(|&&link| self.link(link).to == pair[1]);
            let name = |node: u32| &self.network.nodes[node as usize];
            link.copied().ok_or_else(|| Error::got(field, "none", format!("a link from {} to {}", name(pair[0]), name(pair[1]))))
        };
        nodes.windows(2).map(step).collect()
    }

    fn link(&self, link: u32) -> &Link {
        &self.network.links[link as usize]
    }
}
