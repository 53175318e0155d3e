//! Gates: from a probability to a decision about each packet.

use crate::{Backlog, Needs, PacketView};
use sojourn_units::{Probability, Stream};

/// An arriving or departing packet, as a gate sees it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The law's probability.
    pub probability: Probability,
    /// The packet.
    pub packet: &'a PacketView,
    /// The queue without the packet.
    pub backlog: &'a Backlog,
}

/// Decides about single packets by a probability.
/// In the long run the share of signals (drops or marks) follows the probability.
pub trait Gate {
    /// Whether to signal congestion with this packet.
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool;

    /// A packet was lost because the queue was full.
    fn reset(&mut self) {}

    /// Whether a signal at this probability is a drop even if the packet can be marked.
    fn forces_drop(&self, _probability: Probability) -> bool {
        false
    }

    /// Whether packets that can be marked are drawn at their departure.
    /// The others are drawn at their arrival.
    fn at_departure(&self) -> bool {
        false
    }

    /// Whether the packets that cannot be marked pass if ECN is on.
    fn spares_unmarkable(&self) -> bool {
        false
    }

    /// What the host must supply for the gate.
    fn needs(&self) -> Needs {
        Needs { head_drop: self.at_departure(), ..Needs::default() }
    }
}

/// Independent draws.
#[derive(Clone, Debug, Default)]
pub struct Bernoulli;

impl Gate for Bernoulli {
    #[inline]
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool {
        // A probability of 0 draws too, so that schemes compared on one seed use the same numbers.
        random.unit() < candidate.probability.get()
    }
}

/// Independent draws with a probability in proportion to the packet's size.
/// The share of bytes, not of packets, follows the law's probability (`bytes_` of ns-2's RED and PI).
#[derive(Clone, Debug)]
pub struct Scaled {
    mean_packet: Option<f64>,
    at_departure: bool,
    spares_unmarkable: bool,
}

impl Scaled {
    /// Scales by the packet's size over this mean in bytes.
    /// `None` does not scale, like [`Bernoulli`].
    pub fn new(mean_packet: Option<u32>) -> Self {
        Scaled { mean_packet: mean_packet.map(|mean| f64::from(mean.max(1))), at_departure: false, spares_unmarkable: false }
    }

    /// Sets whether packets that can be marked are drawn at their departure.
    /// `spares_unmarkable` is whether the others then pass if ECN is on.
    pub fn at_departure(self, at_departure: bool, spares_unmarkable: bool) -> Self {
        Scaled { at_departure, spares_unmarkable, ..self }
    }
}

impl Gate for Scaled {
    #[inline]
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool {
        let scale = self.mean_packet.map_or(1.0, |mean| f64::from(candidate.packet.size) / mean);
        random.unit() < candidate.probability.get() * scale
    }

    #[inline]
    fn at_departure(&self) -> bool {
        self.at_departure
    }

    #[inline]
    fn spares_unmarkable(&self) -> bool {
        self.spares_unmarkable
    }
}

/// RED's even spacing: the gaps between signals are uniform instead of geometric.
/// Source: floyd-1993#7; `wait` as in ns-2.
///
/// As a [`Gate`] it counts the packets since the last signal, without the one under decision, and counts nothing while the probability is
/// 0. RED itself counts the packet under decision too (as ns-2 does) and therefore calls [`Spread::count`] and [`Spread::corrected`]
/// directly.
#[derive(Clone, Debug)]
pub struct Spread {
    wait: bool,
    mean_packet: Option<u32>,
    packets: u64,
    bytes: u64,
}

impl Spread {
    /// A gate with a count of zero.
    ///
    /// `wait`: no signal in the first 1/p packets after the last one, so that gaps are uniform on `[1/p, 2/p]` instead of `[1, 1/p]`.
    /// `mean_packet`: the mean size in bytes, if bytes are counted and the probability scales with the packet's size; `None` counts
    /// packets.
    pub fn new(wait: bool, mean_packet: Option<u32>) -> Self {
        Spread { wait, mean_packet: mean_packet.map(|mean| mean.max(1)), packets: 0, bytes: 0 }
    }

    /// Counts a packet of `size` bytes.
    #[inline]
    pub fn count(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Starts the count again, with this packet as the first.
    #[inline]
    pub fn restart(&mut self, size: u32) {
        self.packets = 1;
        self.bytes = u64::from(size);
    }

    /// Starts the count again, with no packet.
    #[inline]
    pub fn clear(&mut self) {
        self.packets = 0;
        self.bytes = 0;
    }

    /// The probability for the next packet: `p` corrected by the count since the last signal.
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

    /// Draws for a packet of `size` bytes at the probability `p`, and counts it.
    pub fn draw(&mut self, p: Probability, size: u32, random: &mut Stream) -> bool {
        let signal = random.unit() < self.corrected(p.get(), size);
        match signal || p == Probability::ZERO {
            true => self.clear(),
            false => self.count(size),
        }
        signal
    }
}

impl Gate for Spread {
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool {
        self.draw(candidate.probability, candidate.packet.size, random)
    }

    fn reset(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_packet;

    fn signals(gate: &mut impl Gate, p: Probability, size: u32, random: &mut Stream) -> bool {
        let packet = PacketView { size, ..test_packet() };
        let backlog = Backlog { packets: 9, bytes: 9000, idle_since: None };
        gate.signals(&Candidate { probability: p, packet: &packet, backlog: &backlog }, random)
    }

    #[test]
    fn spread_with_wait_gives_the_probabilities_of_the_paper() {
        // RED of lehto-2005#table1 as ns-2 runs it: the corrected probability at p_b and a count.
        let at = |count: u64| {
            let mut gate = Spread::new(true, None);
            (0..count).for_each(|_| gate.count(1000));
            gate.corrected(0.05, 1000)
        };
        assert_eq!(at(5), 0.0);
        assert!((at(25) - 0.05 / 0.75).abs() < 1e-12);
        assert!((at(39) - 1.0).abs() < 1e-12);
    }

    fn rate(gate: &mut impl Gate, p: f64, size: u32) -> f64 {
        let mut random = Stream::named(1, "gate");
        (0..400_000).filter(|_| signals(gate, Probability::clamped(p), size, &mut random)).count() as f64 / 400_000.0
    }

    #[test]
    fn long_run_rates_are_those_of_the_theory() {
        // Gaps are uniform on [1/p, 2/p] with wait; on [1, 1/p] without, when the packet under
        // decision is not counted before its own draw.
        assert!((rate(&mut Bernoulli, 0.05, 1000) - 0.05).abs() < 0.001);
        assert!((rate(&mut Spread::new(true, None), 0.05, 1000) - 2.0 / 3.0 * 0.05).abs() < 0.002);
        for p in [0.01, 0.1, 0.25, 0.5] {
            let theory = 2.0 * p / (1.0 + p);
            assert!((rate(&mut Spread::new(false, None), p, 1000) - theory).abs() < 0.003, "{p}");
        }
    }

    #[test]
    fn a_scaled_gate_signals_a_share_of_bytes() {
        for size in [500, 1000, 2000] {
            let asked = 0.05 * f64::from(size) / 1000.0;
            assert!((rate(&mut Scaled::new(Some(1000)), 0.05, size) - asked).abs() < 0.001);
        }
        assert!((rate(&mut Scaled::new(None), 0.05, 2000) - 0.05).abs() < 0.001);
    }

    #[test]
    fn spread_in_bytes_counts_whole_mean_packets_and_scales_with_the_size() {
        // ns-2.35 divides the bytes counted by the mean in whole numbers.
        let mut gate = Spread::new(true, Some(500));
        (0..13).for_each(|_| gate.count(750));
        assert_eq!(gate.corrected(0.05, 1000), 0.0);
        gate.count(750);
        assert!((gate.corrected(0.05, 1000) - 2.0 * 0.05 / (2.0 - 21.0 * 0.05)).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_counted_while_the_probability_is_zero() {
        let (mut gate, mut random) = (Spread::new(false, None), Stream::named(1, "gate"));
        (0..1000).for_each(|_| assert!(!signals(&mut gate, Probability::ZERO, 1000, &mut random)));
        assert_eq!(gate.corrected(0.01, 1000), 0.01);
    }

    #[test]
    fn a_probability_of_one_always_signals() {
        let mut random = Stream::named(1, "gate");
        for mut gate in [Spread::new(false, None), Spread::new(false, Some(1))] {
            (0..1000).for_each(|_| assert!(signals(&mut gate, Probability::ONE, 1, &mut random)));
        }
    }

    /// ns-2.35 `REDQueue::modify_p` scales only a probability below 1 by the packet's size.
    #[test]
    fn a_certain_signal_does_not_depend_on_the_size() {
        let mut gate = Spread::new(true, Some(500));
        (0..40).for_each(|_| gate.count(500));
        assert_eq!(gate.corrected(0.05, 40), 1.0);
    }

    /// The packet with which the average passes the threshold is the first of the count.
    /// Source: ns-2.35 `REDQueue::enque`.
    #[test]
    fn a_count_that_starts_again_has_one_packet() {
        for (mean, expected) in [(None, 0.1 / 0.9), (Some(500), 0.1 / 0.8 * 600.0 / 500.0)] {
            let mut gate = Spread::new(false, mean);
            (0..7).for_each(|_| gate.count(1500));
            gate.restart(1000);
            assert!((gate.corrected(0.1, 600) - expected).abs() < 1e-12, "{mean:?}");
        }
    }
}
