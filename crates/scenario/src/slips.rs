//! Quantities in other notations, such as bytes per second, percent, or a decimal comma.

use sojourn_units::{Limit, Rate, parse_duration, parse_rate};

/// The value that a rejected text means, as scenarios write it.
/// `expected` is the noun phrase of the error, such as "a rate with its unit".
pub(crate) fn meant(expected: &str, got: &str) -> Option<String> {
    let point = with_point(got.trim());
    if expected.starts_with("a number") {
        return number(&point);
    }
    let valid = if expected.starts_with("a rate") {
        parse_rate(&point).is_ok()
    } else if expected.starts_with("a time") {
        parse_duration(&point).is_ok()
    } else {
        Limit::parse(&point).is_some()
    };
    if valid && point != got.trim() { Some(format!("\"{point}\"")) } else { bits_per_second(expected, &point) }
}

/// The text with a decimal point instead of a comma.
/// A comma before three digits stays, because it may separate thousands.
fn with_point(text: &str) -> String {
    match text.split_once(',') {
        Some((_, after)) if after.chars().take_while(char::is_ascii_digit).count() == 3 => text.to_string(),
        _ => text.replacen(',', ".", 1),
    }
}

/// A number that is written as text, maybe in percent.
fn number(text: &str) -> Option<String> {
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim(), 100.0));
    let value: f64 = digits.parse().ok()?;
    value.is_finite().then(|| (value / scale).to_string())
}

/// The rate in bit/s of a rate in bytes per second, such as "10 MB/s".
fn bits_per_second(expected: &str, text: &str) -> Option<String> {
    let rest = text.strip_suffix("B/s").or_else(|| text.strip_suffix("Bps")).filter(|_| expected.starts_with("a rate"))?;
    let bytes = parse_rate(&format!("{rest}bit/s")).ok()?.as_bps();
    Some(format!("\"{}\"", Rate::from_bps(bytes.checked_mul(8)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_notations_are_read_as_they_are_meant() {
        for (expected, got, wanted) in [
            ("a rate", "1,5 Mbit/s", "\"1.5 Mbit/s\""),
            ("a rate", "10 MB/s", "\"80 Mbit/s\""),
            ("a rate", "1,5 kBps", "\"12 kbit/s\""),
            ("a time", "1,5 ms", "\"1.5 ms\""),
            ("packets or bytes", "52,2 kB", "\"52.2 kB\""),
            ("a number, 0 to 1", "7 %", "0.07"),
            ("a number", "0,5", "0.5"),
        ] {
            assert_eq!(meant(expected, got).as_deref(), Some(wanted), "{got}");
        }
    }

    #[test]
    fn nothing_is_guessed_where_a_text_has_two_meanings_or_none() {
        for (expected, got) in [
            ("a rate", "1,500 kbit/s"), // thousands, or decimals
            ("a rate", "10 mbps"),      // bytes in tc, bits elsewhere
            ("a rate", "5 %"),
            ("a time", "10 MB/s"),
            ("a number", "many"),
            ("text in quotes", "x"),
        ] {
            assert_eq!(meant(expected, got), None, "{got}");
        }
    }
}
