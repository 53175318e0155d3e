//! Gates: from a probability to yes or no, packet by packet.

use sojourn_units::{Probability, Stream};

/// Decides about single packets so that the long-run rate follows a probability.
pub trait Gate {
    /// Whether this packet of `size` bytes is to be dropped or marked.
    fn strikes(&mut self, p: Probability, size: u32, random: &mut Stream) -> bool;

    /// Something else dropped a packet (the queue was full).
    fn reset(&mut self) {}
}

/// Independent draws.
#[derive(Clone, Debug, Default)]
pub struct Bernoulli;

impl Gate for Bernoulli {
    #[inline]
    fn strikes(&mut self, p: Probability, _size: u32, random: &mut Stream) -> bool {
        // A draw is made even for p = 0 so that schemes compared on one seed use the same numbers.
        random.unit() < p.get()
    }
}

/// RED's count spreading: gaps between strikes are uniform instead of geometric
/// (Floyd and Jacobson 1993, section 7; `wait` as in ns-2).
#[derive(Clone, Debug)]
pub struct Spread {
    /// Wait 1/p packets before the next strike becomes possible: gaps uniform on `[1/p, 2/p]` instead of `[1, 1/p]`.
    pub wait: bool,
    /// Mean packet size in bytes when the count and the probability are to follow bytes; `None` counts packets.
    pub mean_packet: Option<u32>,
    packets: u64,
    bytes: u64,
}

impl Spread {
    /// A gate that has counted nothing yet.
    pub fn new(wait: bool, mean_packet: Option<u32>) -> Self {
        Spread { wait, mean_packet, packets: 0, bytes: 0 }
    }

    /// Counts a packet of `size` bytes that may be struck later.
    #[inline]
    pub fn count(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Starts counting anew with this packet as the first.
    pub fn restart(&mut self, size: u32) {
        self.packets = 1;
        self.bytes = u64::from(size);
    }

    /// The probability for the next packet: `p` corrected by what was counted since the last strike.
    #[inline]
    pub fn corrected(&self, p: f64, size: u32) -> f64 {
        let count = self.mean_packet.map_or(self.packets, |mean| self.bytes / u64::from(mean)) as f64;
        let x = count * p;
        let spread = match self.wait {
            true if x < 1.0 => 0.0,
            true if x < 2.0 => (p / (2.0 - x)).min(1.0),
            false if x < 1.0 => (p / (1.0 - x)).min(1.0),
            _ => 1.0,
        };
        match self.mean_packet {
            Some(mean) if spread < 1.0 => (spread * f64::from(size) / f64::from(mean)).min(1.0),
            _ => spread,
        }
    }
}

impl Gate for Spread {
    fn strikes(&mut self, p: Probability, size: u32, random: &mut Stream) -> bool {
        let struck = random.unit() <= self.corrected(p.get(), size);
        if struck {
            self.reset();
        }
        struck
    }

    fn reset(&mut self) {
        self.packets = 0;
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_with_wait_gives_the_cards_probabilities() {
        // Lehto et al., Table 1's RED as ns-2 runs it: spread(p_b, count).
        let at = |count: u64| {
            let mut gate = Spread::new(true, None);
            (0..count).for_each(|_| gate.count(1000));
            gate.corrected(0.05, 1000)
        };
        assert_eq!(at(5), 0.0);
        assert!((at(25) - 0.05 / 0.75).abs() < 1e-12);
        assert!((at(39) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn long_run_rates_are_those_of_the_theory() {
        // Gaps are uniform on [1/p, 2/p] with wait; on [1, 1/p] without, when the packet under
        // decision is not counted before its own draw.
        let rate = |wait: bool, p: f64| {
            let (mut gate, mut random) = (Spread::new(wait, None), Stream::named(1, "gate"));
            let struck = (0..400_000).filter(|_| {
                let struck = gate.strikes(Probability::clamped(p), 1000, &mut random);
                if !struck {
                    gate.count(1000);
                }
                struck
            });
            struck.count() as f64 / 400_000.0
        };
        assert!((rate(true, 0.05) - 2.0 / 3.0 * 0.05).abs() < 0.002);
        assert!((rate(false, 0.05) - 2.0 * 0.05 / 1.05).abs() < 0.001);
    }
}
