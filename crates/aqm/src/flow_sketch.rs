//! How many flows send over a link, without a word from them and in fixed memory: linear counting (Whang, Vander-Zanden and
//! Taylor 1990).
//!
//! Each packet's flow is hashed to one bit of a map. Of n flows and m bits about m exp(-n/m) stay clear, so n is
//! -m ln(clear/m), off by about sqrt(m (exp(t) - t - 1)) with t = n/m. The host empties the map from time to time: what it
//! counts is the flows that sent since.

use alloc::vec;
use alloc::vec::Vec;

/// The map and how much of it is set.
#[derive(Clone, Debug)]
pub struct FlowSketch {
    words: Vec<u64>,
    set: u32,
}

impl FlowSketch {
    /// An empty map of `bits`, rounded up to a multiple of 64 and at least 64.
    pub fn new(bits: u32) -> Self {
        FlowSketch { words: vec![0; bits.div_ceil(64).max(1) as usize], set: 0 }
    }

    /// A packet of this flow passed.
    #[inline]
    pub fn see(&mut self, flow: u64) {
        // The high bits, by a product instead of a division.
        let at = ((u128::from(mix(flow)) * (64 * self.words.len() as u128)) >> 64) as usize;
        let (word, bit) = (&mut self.words[at / 64], 1 << (at % 64));
        self.set += u32::from(*word & bit == 0);
        *word |= bit;
    }

    /// How many flows passed since the map was emptied. A full map counts as if one bit were clear.
    pub fn count(&self) -> u32 {
        let bits = (64 * self.words.len()) as f64;
        let clear = (bits - f64::from(self.set)).max(1.0);
        libm::round(bits * libm::log(bits / clear)) as u32
    }

    /// Empties the map.
    pub fn empty(&mut self) {
        self.words.fill(0);
        self.set = 0;
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.words.capacity() * 8
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit of a key moves every bit of the hash.
#[inline]
pub(crate) fn mix(key: u64) -> u64 {
    let mut hash = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Six standard errors of Whang et al., and half a flow of rounding.
    fn bound(flows: u32, bits: u32) -> f64 {
        let t = f64::from(flows) / f64::from(bits);
        0.5 + 6.0 * (f64::from(bits) * (t.exp() - t - 1.0)).sqrt()
    }

    proptest! {
        #[test]
        fn the_count_is_within_six_standard_errors_however_often_each_flow_sends(
            flows in 0u32..6000, again in 1u64..4, first in any::<u64>(),
        ) {
            let mut sketch = FlowSketch::new(4096);
            for _ in 0..again {
                (0..u64::from(flows)).for_each(|flow| sketch.see(first.wrapping_add(flow)));
            }
            let error = f64::from(sketch.count()) - f64::from(flows);
            prop_assert!(error.abs() <= bound(flows, 4096), "{} of {flows}", sketch.count());
        }
    }

    #[test]
    fn it_forgets_when_it_is_emptied_and_never_counts_without_end() {
        let mut sketch = FlowSketch::new(100);
        assert_eq!((sketch.count(), sketch.memory()), (0, 16));
        (0..100_000).for_each(|flow| sketch.see(flow));
        assert_eq!(f64::from(sketch.count()), (128.0 * 128f64.ln()).round());
        sketch.empty();
        assert_eq!(sketch.count(), 0);
        sketch.see(7);
        assert_eq!(sketch.count(), 1);
    }
}
