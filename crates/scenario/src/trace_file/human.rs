//! Parses durations and rates that are sums of amounts: "1s 500ms", "2Gbps 340Mbps".
//! The notation is that of the crates humantime 2.4 and human-bandwidth 0.1.

/// The names of units, and the size of each.
type Units = &'static [(&'static [&'static str], u64)];

/// The units of a duration, in nanoseconds.
const DURATIONS: Units = &[
    (&["nanos", "nsec", "ns"], 1),
    (&["usec", "us", "µs"], 1_000),
    (&["millis", "msec", "ms"], 1_000_000),
    (&["seconds", "second", "secs", "sec", "s"], 1_000_000_000),
    (&["minutes", "minute", "min", "mins", "m"], 60_000_000_000),
    (&["hours", "hour", "hr", "hrs", "h"], 3_600_000_000_000),
    (&["days", "day", "d"], 86_400_000_000_000),
    (&["weeks", "week", "wk", "wks", "w"], 604_800_000_000_000),
];

/// The units of a rate, in bit/s.
const RATES: Units = &[
    (&["bps", "bit/s", "b/s"], 1),
    (&["kbps", "Kbps", "kbit/s", "Kbit/s", "kb/s", "Kb/s"], 1_000),
    (&["Mbps", "mbps", "Mbit/s", "mbit/s", "Mb/s", "mb/s"], 1_000_000),
    (&["Gbps", "gbps", "Gbit/s", "gbit/s", "Gb/s", "gb/s"], 1_000_000_000),
    (&["Tbps", "tbps", "Tbit/s", "tbit/s", "Tb/s", "tb/s"], 1_000_000_000_000),
];

/// Parses a duration to nanoseconds.
///
/// # Errors
/// One line with the expectation and the value.
pub(super) fn duration(text: &str) -> Result<u64, String> {
    let zero = (text == "0").then_some(0);
    zero.or_else(|| sum(text, DURATIONS)).ok_or_else(|| format!("expected a duration such as \"20ms\" or \"1s 500ms\", got {text:?}"))
}

/// Parses a rate to bit/s.
///
/// # Errors
/// One line with the expectation and the value.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    sum(text, RATES).ok_or_else(|| format!("expected a rate such as \"12Mbps\" or \"1Gbps 250Mbps\", got {text:?}"))
}

/// Sums the amounts of a text; `None` for an empty text, an unknown unit, or an overflow.
fn sum(text: &str, units: Units) -> Option<u64> {
    let mut rest = text.trim();
    let mut total = (!rest.is_empty()).then_some(0_u64);
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(is_of_a_unit)?);
        let (unit, after) = after.split_at(after.find(|c| !is_of_a_unit(c)).unwrap_or(after.len()));
        let (_, size) = units.iter().find(|(names, _)| names.contains(&unit))?;
        total = total?.checked_add(amount(number, *size)?);
        rest = after.trim_start();
    }
    total
}

fn is_of_a_unit(c: char) -> bool {
    c.is_ascii_alphabetic() || c == 'µ' || c == '/'
}

/// A decimal number times `size`, rounded down.
fn amount(number: &str, size: u64) -> Option<u64> {
    let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let digits = [whole, fraction].concat();
    let is_number = whole.starts_with(|c: char| c.is_ascii_digit()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.parse::<u128>().ok().filter(|_| is_number)?.checked_mul(size.into())?;
    u64::try_from(scaled / scale).ok()
}

#[cfg(test)]
mod tests {
    use super::{duration, rate};

    /// Tests the examples of humantime's documentation, and its output for 1.5 s, 60 s and 2 h.
    #[test]
    fn durations_are_those_of_humantime() {
        let (second, minute) = (1_000_000_000, 60_000_000_000);
        for (text, nanoseconds) in [
            ("1s 500ms", 1_500_000_000),
            ("1m", minute),
            ("2h", 120 * minute),
            ("2h 37min", 157 * minute),
            ("2h 3us", 120 * minute + 3_000),
            ("32ms", 32_000_000),
            ("2min 2us", 2 * minute + 2_000),
            ("2min2us", 2 * minute + 2_000),
            ("1.5 sec", 3 * second / 2),
            ("1week 1day", 8 * 1_440 * minute),
            ("0s", 0),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(nanoseconds), "{text}");
        }
    }

    /// Tests the examples of human-bandwidth's documentation.
    #[test]
    fn rates_are_those_of_human_bandwidth() {
        for (text, bps) in [
            ("2Gbps 340Mbps", 2_340_000_000),
            ("2.34Gbps", 2_340_000_000),
            ("9Tbps 420Gbps", 9_420_000_000_000),
            ("150.024kbps", 150_024),
            ("150kbps 24bps", 150_024),
            ("32Mb/s", 32_000_000),
            ("0bps", 0),
        ] {
            assert_eq!(rate(text), Ok(bps), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", " ", "5", "s", "1x", "1s x", "-1s", "1..2s", "1 s 2", "1e3s", "99999999999999999999s", "1e"] {
            assert_eq!(duration(text), Err(format!("expected a duration such as \"20ms\" or \"1s 500ms\", got {text:?}")));
        }
        for text in ["", "12", "12MB", "12Mbps,", "99999999999999999999Tbps"] {
            assert_eq!(rate(text), Err(format!("expected a rate such as \"12Mbps\" or \"1Gbps 250Mbps\", got {text:?}")));
        }
    }
}
