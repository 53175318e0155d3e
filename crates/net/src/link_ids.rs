//! The numbers of links, in the order in which all of them were added.

use alloc::vec::Vec;
use sojourn_units::{Memory, memory_of};

/// The numbers of the links of a network, by their indices among those of their kind.
#[derive(Clone, Default, Debug)]
pub(crate) struct LinkIds {
    /// Those of links that decide or measure, in ascending order.
    links: Vec<u32>,
    /// Those of access links, by index: a flow's four mostly follow those of the flow before.
    access_links: Vec<Run>,
}

/// Access links whose numbers ascend one by one, up to the next run.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: usize,
    id: u32,
}

impl Run {
    fn id(self, at: usize) -> Option<u32> {
        Some(self.id + at.checked_sub(self.first)? as u32)
    }
}

impl LinkIds {
    /// Adds the number of the next link that decides or measures.
    pub fn add_link(&mut self, id: u32) {
        self.links.push(id);
    }

    /// Adds the number of the access link at an index, the highest so far.
    pub fn add_access_link(&mut self, at: usize, id: u32) {
        if self.access_links.last().and_then(|run| run.id(at)) != Some(id) {
            self.access_links.push(Run { first: at, id });
        }
    }

    /// Ends the additions.
    pub fn finish(&mut self) {
        self.access_links.sort_unstable_by_key(|run| run.first);
    }

    /// The number of a link that decides or measures.
    #[inline]
    pub fn link(&self, at: usize) -> u32 {
        self.links[at]
    }

    /// The index of the link of this number among those that decide or measure.
    pub fn place_of(&self, id: u32) -> Option<usize> {
        self.links.binary_search(&id).ok()
    }

    /// The number of an access link.
    pub fn access_link(&self, at: usize) -> Option<u32> {
        let after = self.access_links.partition_point(|run| run.first <= at);
        self.access_links[..after].last()?.id(at)
    }
}

impl Memory for LinkIds {
    fn memory(&self) -> usize {
        memory_of([&self.links, &self.access_links])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_links_keep_their_numbers_among_others() {
        // Four access links have the numbers 0, 1, 4, 5, and another one the number 2; number 3 is not an access link.
        let numbers = [(0, 0), (1, 1), (4, 2), (2, 4), (3, 5)];
        let mut ids = LinkIds::default();
        ids.add_link(3);
        for (at, id) in numbers {
            ids.add_access_link(at, id);
        }
        ids.finish();
        assert_eq!(ids.access_links.len(), 3);
        assert!(numbers.into_iter().all(|(at, id)| ids.access_link(at) == Some(id)));
        let (links, runs) = (ids.links.capacity() * size_of::<u32>(), ids.access_links.capacity() * size_of::<Run>());
        assert_eq!(ids.memory(), links + runs);
        assert_eq!((ids.link(0), ids.place_of(3), ids.place_of(2)), (3, Some(0), None));
    }
}
