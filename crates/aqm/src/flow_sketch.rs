//! Estimates the number of flows on a link in fixed memory, without help of the senders.
//! The method is linear counting (Whang, Vander-Zanden and Taylor 1990).
//!
//! Each packet's flow is hashed to one bit of a map. With n flows and m bits about m exp(-n/m) bits stay clear, so n is -m ln(clear/m),
//! with a standard error of sqrt(m (exp(t) - t - 1)), t = n/m. The host empties the map from time to time: the count is the number of flows
//! that sent since then.

use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::Memory;

/// The map and the number of set bits.
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

    /// Records a packet of this flow.
    #[inline]
    pub fn record(&mut self, flow: u64) {
        // The high bits, by a product instead of a division.
        let at = ((u128::from(mix(flow)) * (64 * self.words.len() as u128)) >> 64) as usize;
        let (word, bit) = (&mut self.words[at / 64], 1 << (at % 64));
        self.set += u32::from(*word & bit == 0);
        *word |= bit;
    }

    /// The number of flows since the map was emptied. A full map counts as if one bit were clear.
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
}

impl Memory for FlowSketch {
    fn memory(&self) -> usize {
        self.words.memory()
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
/// Every bit of a key affects every bit of the hash.
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
                (0..u64::from(flows)).for_each(|flow| sketch.record(first.wrapping_add(flow)));
            }
            let error = f64::from(sketch.count()) - f64::from(flows);
            prop_assert!(error.abs() <= bound(flows, 4096), "{} of {flows}", sketch.count());
        }
    }

    #[test]
    fn an_emptied_map_counts_from_zero_and_a_full_one_has_a_finite_count() {
        let mut sketch = FlowSketch::new(100);
        assert_eq!((sketch.count(), sketch.memory()), (0, 16));
        (0..100_000).for_each(|flow| sketch.record(flow));
        assert_eq!(f64::from(sketch.count()), (128.0 * 128f64.ln()).round());
        sketch.empty();
        assert_eq!(sketch.count(), 0);
        sketch.record(7);
        assert_eq!(sketch.count(), 1);
    }

    /// The first numbers of SplitMix64 with these seeds (Vigna's splitmix64.c).
    #[test]
    fn keys_are_mixed_by_the_finalizer_of_splitmix64() {
        for (key, hash) in [(0, 0xe220_a839_7b1d_cdaf), (1, 0x910a_2dec_8902_5cc1), (1_234_567, 0x599e_d017_fb08_fc85)] {
            assert_eq!(mix(key), hash, "{key}");
        }
    }
}
