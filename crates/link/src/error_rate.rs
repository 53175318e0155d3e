//! Random errors of packets, bytes or bits (ns-3's `RateErrorModel` with its three units).

use crate::ParamError;
use sojourn_units::Stream;

/// The unit of an error probability.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Per {
    /// Per packet, independent of its size.
    #[default]
    Packet,
    /// Per byte: a packet has an error if any of its bytes has one.
    Byte,
    /// Per bit: a packet has an error if any of its bits has one.
    Bit,
}

/// Checks that a number is a probability.
///
/// # Errors
/// The number is not in 0 to 1.
pub(crate) fn check(field: &'static str, probability: f64) -> Result<(), ParamError> {
    ParamError::unless((0.0..=1.0).contains(&probability), field, &probability, "a number, 0 to 1")
}

/// The loss rate from which a retransmission is often lost too.
/// Its connection then waits for its timer.
const OFTEN: f64 = 0.01;

/// Whether even small packets have errors so often that connections wait for their timers.
pub(crate) fn is_often(probability: f64, per: Per) -> bool {
    of_packet(probability, per, 40) >= OFTEN
}

/// The probability of an error in a packet of this size: 1 - (1 - p)^n.
pub(crate) fn of_packet(probability: f64, per: Per, size: u32) -> f64 {
    let units = match per {
        Per::Packet => return probability,
        Per::Byte => f64::from(size),
        Per::Bit => 8.0 * f64::from(size),
    };
    -libm::expm1(units * libm::log1p(-probability))
}

/// The number of units before the next error. Each packet subtracts its size.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    left: u64,
    /// Units per packet, and units per byte.
    packet: u64,
    byte: u64,
}

impl Allowance {
    /// Covers no packet, so every packet requires a call.
    pub const NONE: Allowance = Allowance { left: 0, packet: 1, byte: 0 };

    /// Lets a packet of this size pass if the allowance covers it.
    /// Otherwise the allowance is used up and must be renewed.
    #[inline(always)]
    pub fn covers(&mut self, size: u32) -> bool {
        // Subtracts once, in memory. The remainder after the last covered packet has no meaning.
        let (left, is_short) = self.left.overflowing_sub(self.packet + self.byte * u64::from(size));
        self.left = left;
        !is_short
    }
}

/// Independent errors of packets, bytes or bits.
/// Only the geometric number of units before the next error is drawn. The packet that exceeds it has the error.
#[derive(Clone, Debug)]
pub(crate) struct ErrorRate {
    /// -ln(1 - p).
    hazard: f64,
    allowance: Allowance,
    random: Stream,
}

impl ErrorRate {
    pub fn new(probability: f64, per: Per, random: Stream) -> Self {
        let (packet, byte) = match per {
            Per::Packet => (1, 0),
            Per::Byte => (0, 1),
            Per::Bit => (0, 8),
        };
        let hazard = -libm::log1p(-probability);
        let mut errors = ErrorRate { hazard, allowance: Allowance { left: 0, packet, byte }, random };
        errors.draw();
        errors
    }

    /// Draws the number of units before the next error: at least n with probability (1 - p)^n.
    fn draw(&mut self) {
        let exponential = self.random.exponential(1.0);
        self.allowance.left = if self.hazard > 0.0 { (exponential / self.hazard) as u64 } else { u64::MAX };
    }

    /// Whether a packet of this size has an error.
    #[inline]
    pub fn hits(&mut self, size: u32) -> bool {
        let hits = !self.allowance.covers(size);
        if hits {
            self.draw();
        }
        hits
    }

    /// Hands out the units before the next error.
    /// The first packet that they do not cover has the error, and requires a call.
    pub fn give_allowance(&mut self) -> Allowance {
        let given = self.allowance;
        self.allowance.left = 0;
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(probability: f64, per: Per, size: u32) -> f64 {
        let mut errors = ErrorRate::new(probability, per, Stream::named(1, "errors"));
        (0..200_000).filter(|_| errors.hits(size)).count() as f64 / 200_000.0
    }

    #[test]
    fn a_large_packet_has_more_errors_where_they_are_those_of_bytes_or_bits() {
        // Four standard deviations of 200,000 independent draws are at most 0.0045.
        let near = |found: f64, exact: f64| assert!((found - exact).abs() < 0.0045, "{found}, expected {exact}");
        for size in [40, 1500] {
            near(share(0.02, Per::Packet, size), 0.02);
            near(share(1e-4, Per::Byte, size), 1.0 - (1.0f64 - 1e-4).powi(size as i32));
            near(share(1e-5, Per::Bit, size), 1.0 - (1.0f64 - 1e-5).powi(8 * size as i32));
        }
    }

    /// The percentage of gaps between two errors that are at least this long.
    #[test]
    fn gaps_between_errors_are_geometric() {
        let mut errors = ErrorRate::new(0.02, Per::Packet, Stream::named(2, "errors"));
        let (mut gaps, mut since) = (alloc::vec::Vec::new(), 0);
        while gaps.len() < 50_000 {
            since += 1;
            if errors.hits(1000) {
                gaps.push(since);
                since = 0;
            }
        }
        // Four standard deviations of 50,000 draws are at most 0.009.
        for least in [1, 2, 10, 35, 100] {
            let share = gaps.iter().filter(|&&gap| gap >= least).count() as f64 / gaps.len() as f64;
            let exact = 0.98f64.powi(least - 1);
            assert!((share - exact).abs() < 0.009, "{least}: {share}, expected {exact}");
        }
    }

    #[test]
    fn packets_of_two_sizes_have_errors_as_often_as_each_alone() {
        let mut errors = ErrorRate::new(1e-5, Per::Bit, Stream::named(3, "errors"));
        let mut hits = [0; 2];
        (0..400_000).for_each(|n| hits[n % 2] += u32::from(errors.hits([40, 1500][n % 2])));
        for (hits, size) in hits.into_iter().zip([40, 1500]) {
            let (share, exact) = (f64::from(hits) / 200_000.0, 1.0 - (1.0f64 - 1e-5).powi(8 * size));
            assert!((share - exact).abs() < 0.0045, "{size} B: {share}, expected {exact}");
        }
    }

    #[test]
    fn a_rate_of_one_hits_every_packet_and_a_rate_of_zero_none() {
        for per in [Per::Packet, Per::Byte, Per::Bit] {
            assert_eq!((share(1.0, per, 1), share(0.0, per, 65_535)), (1.0, 0.0), "{per:?}");
        }
        // The probability is below the rounding error of 1 - p.
        assert!((share(1e-18, Per::Bit, 1500) - 0.0).abs() < 1e-9);
    }
}
