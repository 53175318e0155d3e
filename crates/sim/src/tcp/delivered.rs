//! How much ACKs with SACK newly deliver, where nobody takes samples of segments.

use super::ack_options::SackBlocks;
use super::ranges::Ranges;

/// What is known to have arrived above the cumulative ACK.
#[derive(Clone, Default, Debug)]
pub struct DeliveredBytes(Ranges);

impl DeliveredBytes {
    /// Takes an ACK of everything below `ack`, where everything below `una` was acknowledged before; gives the bytes that no ACK before
    /// it delivered.
    pub fn on_ack(&mut self, una: u64, ack: u64, sack: Option<&SackBlocks>) -> u64 {
        let ack = ack.max(una);
        let cumulative = ack - una - self.0.forget_below(ack);
        let Some(blocks) = sack else { return cumulative };
        cumulative + blocks.iter().map(|(from, to)| self.0.insert(from.max(ack), to)).sum::<u64>()
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::sampler::Sampler;
    use crate::tcp::sent_segments::{Delivery, SentSegments};
    use proptest::prelude::*;
    use sojourn_units::Time;

    const MSS: u32 = 1000;
    const SEGMENTS: u64 = 40;

    proptest! {
        #[test]
        fn it_counts_what_samples_of_segments_count(
            acks in prop::collection::vec((0..SEGMENTS, prop::collection::vec((0..SEGMENTS, 1..6u64), 0..3)), 1..60),
        ) {
            let (mut counted, mut una) = (DeliveredBytes::default(), 0);
            let (mut segments, mut sampler) = (SentSegments::default(), Sampler::default());
            let size = u64::from(MSS);
            (0..SEGMENTS + 6).for_each(|n| segments.on_sent(n * size, (n + 1) * size, Time::ZERO, &mut sampler));
            for (ack, reported) in acks {
                let mut blocks = SackBlocks::default();
                for (from, length) in reported {
                    blocks.blocks[usize::from(blocks.count)] = (from * size, (from + length) * size);
                    blocks.count += 1;
                }
                // Now and then an ACK is older than the last one.
                let ack = if ack % 5 == 0 { ack * size } else { una + ack % 3 * size }.min(SEGMENTS * size);
                let delivery = Delivery { now: Time::ZERO, ack, sack: Some(&blocks), duplicate: false };
                let sampled = segments.on_ack(&delivery, MSS, &mut sampler);
                prop_assert_eq!(counted.on_ack(una, ack, Some(&blocks)) as f64 / f64::from(MSS), sampled);
                una = una.max(ack);
            }
        }
    }
}
