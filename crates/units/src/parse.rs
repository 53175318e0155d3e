//! Reads quantities from text: `"10 Mbit/s"`, `"50 ms"`, `"100 kB"`.

use crate::{Bytes, Duration, Rate};
use alloc::string::{String, ToString};
use core::fmt;

/// Text that is not the expected quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    pub(crate) got: String,
    pub(crate) expected: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got \"{}\"", self.expected, self.got)
    }
}

impl core::error::Error for ParseError {}

pub(crate) const DURATION: &str = "a time with its unit such as \"50 ms\" (ns, us, ms, s, min, h), 0 to 1000000 s";
pub(crate) const RATE: &str =
    "a rate with its unit such as \"10 Mbit/s\" (bit/s, bps, b/s or bit, with k, M, G or T before it), above zero, at most 10 Tbit/s";
pub(crate) const BYTES: &str = "a size with its unit such as \"1500 B\" (B, kB, MB, GB, KiB, MiB), not negative, below 1.8e19 B";

/// The names of units and their factors.
pub(crate) type Units = &'static [(&'static [&'static str], f64)];

/// The units of a time, in nanoseconds.
pub(crate) const TIMES: Units =
    &[(&["ns"], 1.0), (&["us", "µs"], 1e3), (&["ms"], 1e6), (&["s", "sec"], 1e9), (&["min"], 60e9), (&["h"], 3600e9)];
/// The units of a rate, in bit/s. `mbit` and `gbit` are those of `tc`.
/// `mbps` of `tc` (bytes per second) is not supported.
pub(crate) const RATES: Units = &[
    (&["bit/s", "bps", "b/s", "bit"], 1.0),
    (&["kbit/s", "kbps", "kb/s", "kbit", "Kbit"], 1e3),
    (&["Mbit/s", "Mbps", "Mb/s", "Mbit", "mbit"], 1e6),
    (&["Gbit/s", "Gbps", "Gb/s", "Gbit", "gbit"], 1e9),
    (&["Tbit/s", "Tbps", "Tb/s", "Tbit", "tbit"], 1e12),
];
/// The units of a size, in bytes.
pub(crate) const SIZES: Units =
    &[(&["B", "byte", "bytes"], 1.0), (&["kB"], 1e3), (&["MB"], 1e6), (&["GB"], 1e9), (&["KiB"], 1024.0), (&["MiB"], 1024.0 * 1024.0)];

/// Splits `text` into its number and its unit and scales by the unit's factor.
fn quantity(text: &str, units: Units, expected: &'static str) -> Result<f64, ParseError> {
    let error = || ParseError { got: text.to_string(), expected };
    let trimmed = text.trim();
    let end = trimmed
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || ".+-_".contains(c) || is_exponent(trimmed, i)))
        .map_or(trimmed.len(), |(i, _)| i);
    let (number, unit) = trimmed.split_at(end);
    let value: f64 = number.replace('_', "").parse().map_err(|_| error())?;
    let unit = unit.trim();
    let factor = units.iter().find(|(names, _)| names.contains(&unit)).map(|(_, factor)| *factor).ok_or_else(error)?;
    let scaled = value * factor;
    if scaled.is_finite() && (0.0..1.8e19).contains(&scaled) { Ok(scaled) } else { Err(error()) }
}

/// Whether the character at byte `i` is the `e` of a number like `1e6`.
fn is_exponent(text: &str, i: usize) -> bool {
    let bytes = text.as_bytes();
    let digit = |c: Option<&u8>| c.is_some_and(|b| b.is_ascii_digit() || *b == b'-' || *b == b'+');
    matches!(bytes[i], b'e' | b'E') && i > 0 && digit(bytes.get(i - 1)) && digit(bytes.get(i + 1))
}

/// Parses a time such as `"50 ms"`, zero or more, to the nearest nanosecond.
/// Units: ns, us, ms, s, min and h.
pub fn parse_duration(text: &str) -> Result<Duration, ParseError> {
    quantity(text, TIMES, DURATION).map(|ns| Duration::from_nanos(libm::round(ns) as u64))
}

/// Parses a rate such as `"10 Mbit/s"`, above zero.
/// Units: bit/s, kbit/s, Mbit/s, Gbit/s and Tbit/s; also `Mbps`, `Mb/s`, and `mbit` as in `tc`.
pub fn parse_rate(text: &str) -> Result<Rate, ParseError> {
    let bps = quantity(text, RATES, RATE)?;
    Rate::from_bps(libm::round(bps) as u64).ok_or_else(|| ParseError { got: text.to_string(), expected: RATE })
}

/// Parses a size such as `"1500 B"`, zero or more.
/// Units: B (or `bytes`), kB, MB and GB of powers of 1000, KiB and MiB of powers of 1024.
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseError> {
    quantity(text, SIZES, BYTES).map(|bytes| Bytes(libm::round(bytes) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_people_write_them() {
        assert_eq!(parse_duration("50 ms").unwrap(), Duration::from_millis(50));
        assert_eq!(parse_duration("1.5e-3s").unwrap(), Duration::from_micros(1500));
        assert_eq!(parse_rate("10 Mbit/s").unwrap().as_bps(), 10_000_000);
        assert_eq!(parse_rate("5 Tbit/s").unwrap().as_bps(), 5_000_000_000_000);
        assert_eq!(parse_rate("5.22Mbps").unwrap().as_bps(), 5_220_000);
        for (text, bps) in [("50mbit", 50_000_000), ("50 Mbit", 50_000_000), ("1gbit", 1_000_000_000), ("640kbit", 640_000), ("9 bit", 9)] {
            assert_eq!(parse_rate(text).unwrap().as_bps(), bps, "{text}");
        }
        assert_eq!(parse_bytes("1_500 B").unwrap(), Bytes(1500));
        assert_eq!(parse_bytes("2 KiB").unwrap(), Bytes(2048));
    }

    #[test]
    fn a_message_has_every_unit_of_a_rate_and_the_first_name_of_others() {
        for (names, _) in RATES {
            let prefix = names[0].strip_suffix("bit/s").unwrap();
            assert!(
                prefix.is_empty() || RATE.contains(&alloc::format!("{prefix},")) || RATE.contains(&alloc::format!("{prefix} ")),
                "{prefix}"
            );
            for unit in names.iter() {
                let base = unit.trim_start_matches(|c: char| prefix.eq_ignore_ascii_case(&c.to_string()));
                assert!(RATE.contains(&alloc::format!("{base},")) || RATE.contains(&alloc::format!("{base} ")), "{unit}");
            }
        }
        for (units, said) in [(TIMES, DURATION), (SIZES, BYTES)] {
            assert!(units.iter().all(|(names, _)| said.contains(names[0])), "{said}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_is_expected() {
        for bad in ["", "ms", "-1 ms", "nan s", "inf s", "1 parsec", "1 1 ms", "1e400 s"] {
            assert!(parse_duration(bad).unwrap_err().to_string().contains("50 ms"), "{bad}");
        }
        for bad in ["0 Mbit/s", "10", "10 MB/s", "-3 kbit/s", "10 mbps", "10 bits"] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
        assert!(parse_bytes("10 packets").is_err());
    }
}
