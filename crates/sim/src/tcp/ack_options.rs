//! The options of ACKs in the network: SACK blocks and `AccECN`'s option.

use super::ecn::ByteCounts;
use sojourn_units::{Memory, memory_of};
use std::collections::VecDeque;

/// The largest number of SACK blocks in an ACK (rfc2018#3, with timestamps).
pub(super) const MAX_SACK_BLOCKS: usize = 3;

/// The SACK blocks of an ACK, the most recent first (rfc2018#4).
#[derive(Clone, Copy, Default, Debug)]
pub struct SackBlocks {
    pub(super) blocks: [(u64, u64); MAX_SACK_BLOCKS],
    pub(super) count: u8,
}

impl FromIterator<(u64, u64)> for SackBlocks {
    /// The first blocks, as many as an ACK has room for.
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(all: T) -> Self {
        all.into_iter().take(MAX_SACK_BLOCKS).fold(SackBlocks::default(), |mut sack, block| {
            sack.blocks[usize::from(sack.count)] = block;
            sack.count += 1;
            sack
        })
    }
}

impl SackBlocks {
    /// The duplicate bytes that the receiver reports (rfc2883#4).
    /// They are those of the first block, if that lies below `ack` or within the second block.
    pub fn duplicate(&self, ack: u64) -> Option<(u64, u64)> {
        let mut blocks = self.iter();
        let first = blocks.next()?;
        let within = |second: (u64, u64)| second.0 <= first.0 && first.1 <= second.1;
        (first.0 < ack || blocks.next().is_some_and(within)).then_some(first)
    }

    /// The blocks as an ACK filter reads them, and their number.
    pub fn headers(&self) -> ([(u32, u32); 4], usize) {
        let mut read = [(0, 0); 4];
        for (to, from) in read.iter_mut().zip(&self.blocks) {
            *to = (from.0 as u32, from.1 as u32);
        }
        (read, self.count.into())
    }

    /// The blocks: the first byte of each, and one past its last.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..self.count as usize].iter().copied()
    }
}

/// The options of an ACK that are stored separately from its header.
#[derive(Clone, Copy, Default, Debug)]
pub struct AckOptions {
    /// SACK blocks, at least one.
    pub sack: Option<SackBlocks>,
    /// `AccECN`'s option.
    pub byte_counts: Option<ByteCounts>,
}

/// The options of ACKs in flight.
/// A packet carries a handle to them; handle 0 means no options.
/// The handle that was returned first is reused first.
/// Most ACKs arrive in the order in which they left, so memory is accessed in order and the processor reads ahead.
#[derive(Clone, Debug, Default)]
pub struct AckOptionsPool {
    options: Vec<AckOptions>,
    free: VecDeque<u32>,
}

impl AckOptionsPool {
    /// Stores options; returns their handle.
    pub fn store(&mut self, options: AckOptions) -> u32 {
        match self.free.pop_front() {
            Some(handle) => {
                self.options[handle as usize - 1] = options;
                handle
            }
            None => self.add(options),
        }
    }

    /// Stores options in a new slot.
    #[cold]
    #[inline(never)]
    fn add(&mut self, options: AckOptions) -> u32 {
        self.options.push(options);
        self.options.len() as u32
    }

    /// A handle of the same options, for a copy of their ACK; 0 for handle 0.
    pub fn copy(&mut self, handle: u32) -> u32 {
        if handle == 0 { 0 } else { self.store(self.options[handle as usize - 1]) }
    }

    /// The options of a handle, which stay stored; `None` for handle 0.
    pub fn get(&self, handle: u32) -> Option<&AckOptions> {
        self.options.get((handle as usize).checked_sub(1)?)
    }

    /// The options of a handle, to be changed; `None` for handle 0.
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut AckOptions> {
        self.options.get_mut((handle as usize).checked_sub(1)?)
    }

    /// Takes the options out and frees the handle; no options for handle 0.
    #[inline]
    pub fn take(&mut self, handle: u32) -> AckOptions {
        if handle == 0 {
            return AckOptions::default();
        }
        self.free.push_back(handle);
        self.options[handle as usize - 1]
    }
}

impl Memory for AckOptionsPool {
    fn memory(&self) -> usize {
        memory_of([&self.options, &self.free])
    }
}
