//! A number of packets or of bytes.

use crate::parse_bytes;
use core::fmt;

/// A number of packets or bytes: `"100 packets"`, `"52.2 kB"`.
/// Queue limits and windows use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Whole packets.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
}

/// The expectation for an amount in messages.
#[cfg(feature = "serde")]
pub(crate) const AMOUNT: &str = "packets or bytes with their unit such as \"100 packets\" (at most 4294967295) or \"52.2 kB\"";

impl Amount {
    /// Parses `"100 packets"` or a size; `None` for anything else.
    pub fn parse(text: &str) -> Option<Amount> {
        let number = ["packets", "packet"].iter().find_map(|unit| text.trim().strip_suffix(unit));
        match number {
            Some(number) => number.trim().replace('_', "").parse().ok().map(Amount::Packets),
            None => parse_bytes(text).ok().map(|bytes| Amount::Bytes(bytes.0)),
        }
    }

    /// Whether the amount is zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Amount::Packets(0) | Amount::Bytes(0))
    }

    /// Whether these packets or bytes exceed the amount.
    #[inline]
    pub fn is_exceeded(self, packets: u32, bytes: u64) -> bool {
        match self {
            Amount::Packets(limit) => packets > limit,
            Amount::Bytes(limit) => bytes > limit,
        }
    }

    /// The amount in bytes, for packets of `packet` bytes.
    pub fn in_bytes(self, packet: u32) -> u64 {
        match self {
            Amount::Packets(packets) => u64::from(packets) * u64::from(packet),
            Amount::Bytes(bytes) => bytes,
        }
    }

    /// The amount in whole packets of `packet` bytes, rounded down.
    pub fn in_packets(self, packet: u32) -> u32 {
        match self {
            Amount::Packets(packets) => packets,
            Amount::Bytes(bytes) => u32::try_from(bytes / u64::from(packet.max(1))).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Packets(packets) => write!(f, "{packets} packets"),
            Amount::Bytes(bytes) => write!(f, "{bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_packets_or_bytes() {
        assert_eq!(Amount::parse("100 packets"), Some(Amount::Packets(100)));
        assert_eq!(Amount::parse("1 packet"), Some(Amount::Packets(1)));
        assert_eq!(Amount::parse("52.2 kB"), Some(Amount::Bytes(52_200)));
        for bad in ["", "100", "-1 packets", "1.5 packets", "packets", "4294967296 packets", "10 Mbit/s"] {
            assert_eq!(Amount::parse(bad), None, "{bad}");
        }
    }
}
