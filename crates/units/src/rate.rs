//! Sizes and rates, and exact transmission times.

use crate::{Duration, Time};
use core::fmt;

/// Billionths of a bit in a byte.
/// A rate in bit/s is the number of billionths of a bit sent per nanosecond.
pub const NANOBITS_PER_BYTE: u64 = 8_000_000_000;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// A rate in bits per second, greater than zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// From bits per second; `None` for zero and for 2^63 and more.
    pub const fn from_bps(bps: u64) -> Option<Rate> {
        if bps == 0 || bps > u64::MAX / 2 { None } else { Some(Rate(bps)) }
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The number of packets of `size` bytes per second.
    pub fn packets_per_sec(self, size: f64) -> f64 {
        self.0 as f64 / (8.0 * size)
    }

    /// The bytes sent in this time, rounded down; saturates.
    pub fn bytes_in(self, time: Duration) -> u64 {
        u64::try_from(u128::from(time.as_nanos()) * u128::from(self.0) / u128::from(NANOBITS_PER_BYTE)).unwrap_or(u64::MAX)
    }

    /// The time to send `bytes`, rounded down to a nanosecond; saturates.
    /// Use a [`Serializer`] for a train of packets.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        if let Some(nanobits) = bytes.checked_mul(NANOBITS_PER_BYTE) {
            return Duration::from_nanos(nanobits / self.0);
        }
        u64::try_from(u128::from(bytes) * u128::from(NANOBITS_PER_BYTE) / u128::from(self.0)).map_or(Duration::MAX, Duration::from_nanos)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 as f64 {
            r if r >= 1e9 => write!(f, "{} Gbit/s", r / 1e9),
            r if r >= 1e6 => write!(f, "{} Mbit/s", r / 1e6),
            r if r >= 1e3 => write!(f, "{} kbit/s", r / 1e3),
            r => write!(f, "{r} bit/s"),
        }
    }
}

/// The transmission time of one packet, exact to a fraction of a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// The size of the packet in bytes.
    pub size: u32,
    /// The nanosecond in which the transmission ends.
    pub end: Time,
    rate: u64,
    /// The billionths of a bit that are sent after `end`, in less than a nanosecond.
    carry: u64,
}

impl Transmission {
    /// The billionths of a bit that are sent before `at`.
    pub fn sent_by(&self, at: Time) -> u128 {
        let all = u128::from(self.size) * u128::from(NANOBITS_PER_BYTE);
        if at > self.end {
            return all;
        }
        let unsent = u128::from(self.end.since(at).as_nanos()) * u128::from(self.rate) + u128::from(self.carry);
        all.saturating_sub(unsent)
    }
}

/// Computes transmission times of packets on one link, without accumulating rounding errors.
/// It carries the remainder of a division to the next packet of the same busy period. A train of packets thus needs exactly the time of its
/// bits, and a link never carries more than its rate.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: u64,
    carry: u64,
    size: u64,
    quotient: u64,
    remainder: u64,
}

impl Serializer {
    /// A serializer for a link of this rate.
    pub fn new(rate: Rate) -> Self {
        Serializer { rate: rate.0, carry: 0, size: 0, quotient: 0, remainder: 0 }
    }

    /// The rate of the link.
    pub fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    #[inline]
    fn divide(&mut self, size: u32) {
        if u64::from(size) != self.size {
            self.divide_anew(u64::from(size));
        }
    }

    #[cold]
    #[inline(never)]
    fn divide_anew(&mut self, size: u64) {
        let bits = size * NANOBITS_PER_BYTE;
        (self.size, self.quotient, self.remainder) = (size, bits / self.rate, bits % self.rate);
    }

    /// The time to send a packet of `size` bytes after the previous one of this busy period.
    #[inline]
    pub fn send(&mut self, size: u32) -> Duration {
        self.divide(size);
        // Both are below the rate, and no link is as fast as 2^63 bit/s.
        let sum = self.carry + self.remainder;
        let over = sum >= self.rate;
        self.carry = if over { sum - self.rate } else { sum };
        debug_assert!(self.carry < self.rate, "{self:?}: a nanosecond or more is carried over");
        Duration::from_nanos(self.quotient + u64::from(over))
    }

    /// The time to send a packet of `size` bytes that finds the link idle.
    /// A link that became free earlier in the same nanosecond is not idle: its remainder still counts.
    #[inline]
    pub fn send_first(&mut self, size: u32) -> Duration {
        self.divide(size);
        self.carry = self.remainder;
        Duration::from_nanos(self.quotient)
    }

    /// The transmission of the last packet, which has `size` bytes and ended at `end`.
    pub fn last_transmission(&self, size: u32, end: Time) -> Transmission {
        Transmission { size, end, rate: self.rate, carry: self.carry }
    }

    /// Whether a train of `bytes` bytes can have been sent within `spent`; for audits.
    /// The train needs the time of its bits, and must have begun without a remainder. If `spent` is the maximum duration, any number is
    /// allowed.
    pub fn allows(&self, bytes: u64, spent: Duration) -> bool {
        spent == Duration::MAX
            || u128::from(bytes) * u128::from(NANOBITS_PER_BYTE)
                <= u128::from(spent.as_nanos()) * u128::from(self.rate) + u128::from(self.carry)
    }

    /// Changes the rate. The fraction of a nanosecond left by the last packet is rounded up.
    pub fn change_rate(&mut self, rate: Rate) {
        let carry = (u128::from(self.carry) * u128::from(rate.0)).div_ceil(u128::from(self.rate));
        *self = Serializer { carry: carry as u64, ..Serializer::new(rate) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_billion_packets_leave_no_rounding_behind() {
        // 7 Mbit/s does not divide 1500 bytes evenly: 12000e9/7e6 ns = 1714285 5/7. Rounded down, a billion packets would
        // end 0.7 s early; rounded to the nearest, 0.3 s late.
        let mut link = Serializer::new(Rate::from_bps(7_000_000).unwrap());
        let exact = |packets: u64| (u128::from(packets) * 12_000 * 1_000_000_000 / 7_000_000) as u64;
        let (mut total, mut sent) = (0u64, 0u64);
        for packets in [1, 2, 6, 7, 1_000, 999_999, 50_000_000] {
            while sent < packets {
                total += link.send(1500).as_nanos();
                sent += 1;
            }
            assert_eq!(total, exact(packets), "after {packets} packets");
        }
        // The state is the remainder, which cycles through seven values. After seven packets it is zero again, and they have taken exactly
        // 12 ms.
        while link.carry != 0 {
            total += link.send(1500).as_nanos();
            sent += 1;
        }
        let round: u64 = (0..7).map(|_| link.send(1500).as_nanos()).sum();
        assert_eq!((round, link.carry), (12_000_000, 0));
        let rounds = (1_000_000_000 - sent) / 7;
        (total, sent) = (total + rounds * round, sent + 7 * rounds);
        while sent < 1_000_000_000 {
            total += link.send(1500).as_nanos();
            sent += 1;
        }
        assert_eq!(total, exact(1_000_000_000));
    }

    proptest! {
        #[test]
        fn a_train_of_packets_takes_the_exact_time_of_its_bits(
            bps in 1_000u64..100_000_000_000,
            sizes in prop::collection::vec(1u32..65_536, 1..200),
        ) {
            let mut link = Serializer::new(Rate::from_bps(bps).unwrap());
            let spent: u64 = sizes.iter().map(|&s| link.send(s).as_nanos()).sum();
            let bits: u128 = sizes.iter().map(|&s| u128::from(s) * 8).sum();
            prop_assert_eq!(u128::from(spent), bits * 1_000_000_000 / u128::from(bps));
        }
    }
}
