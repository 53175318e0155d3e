//! The hashes of flows, as a router computes them from addresses and ports.

use crate::flow_sketch::mix;
use alloc::vec::Vec;
use sojourn_units::{Memory, name_hash};

/// The hash of each flow, by its number.
/// Numbers count the flows of a whole network. A hash depends on its connection alone, so that an additional flow does not move others to
/// another queue.
#[derive(Clone, Default, Debug)]
pub struct FlowHashes(Vec<u64>);

impl FlowHashes {
    /// Sets the hash of a flow.
    pub fn set(&mut self, flow: u32, hash: u64) {
        // Flows without a hash use their number.
        self.0.extend(self.0.len() as u64..=u64::from(flow));
        self.0[flow as usize] = hash;
    }

    /// The hash of a flow, if one was set for it or for one with a higher number.
    #[inline]
    pub fn get(&self, flow: u32) -> Option<u64> {
        self.0.get(flow as usize).copied()
    }

    /// The hash in 32 bits, as queues use it; the number of a flow without a hash.
    #[inline]
    pub fn of(&self, flow: u32) -> u32 {
        self.get(flow).map_or(flow, FlowHashes::short)
    }

    /// The hash of the connection of this name: the same in every run.
    pub fn of_name(name: &str) -> u64 {
        mix(name_hash([name]))
    }

    /// A hash in 32 bits.
    #[inline]
    pub fn short(hash: u64) -> u32 {
        (hash ^ (hash >> 32)) as u32
    }
}

impl Memory for FlowHashes {
    fn memory(&self) -> usize {
        self.0.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_without_a_hash_has_its_number_and_names_have_different_ones() {
        let mut hashes = FlowHashes::default();
        hashes.set(2, 0x0000_0005_0000_0006);
        assert_eq!([0, 1, 2, 3].map(|flow| hashes.of(flow)), [0, 1, 3, 3]);
        assert_eq!(hashes.memory(), 8 * hashes.0.capacity());
        let names = (0..100_000).map(|number| FlowHashes::short(FlowHashes::of_name(&std::format!("group/{number}"))));
        // Among 100,000 flows one pair shares its 32 bits on average.
        assert!(names.collect::<std::collections::BTreeSet<_>>().len() > 99_990);
        assert_eq!([2, 3].map(|flow| hashes.get(flow)), [Some(0x0000_0005_0000_0006), None]);
    }
}
