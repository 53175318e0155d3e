//! Decimal numbers in tables.

/// `text` times a power of ten, rounded to an integer.
/// `None` if it is not a number, negative, or too large.
pub(super) fn scaled(text: &[u8], power: u32) -> Option<u64> {
    let (mut value, mut digits, mut after, mut rest) = (0u64, 0, None, 0u8);
    for &byte in text {
        match byte {
            b'0'..=b'9' if after.is_some_and(|after| after >= power) => {
                // The first omitted digit determines rounding.
                if after == Some(power) {
                    rest = byte - b'0';
                }
                (digits, after) = (digits + 1, after.map(|after| after + 1));
            }
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                (digits, after) = (digits + 1, after.map(|after| after + 1));
            }
            b'.' if after.is_none() => after = Some(0),
            b'e' | b'E' | b'+' => return by_float(text, power),
            _ => return None,
        }
    }
    let missing = power - after.unwrap_or(0).min(power);
    let whole = value.checked_mul(10u64.checked_pow(missing)?)?;
    (digits > 0).then(|| whole + u64::from(rest >= 5))
}

/// The same for a number with an exponent.
fn by_float(text: &[u8], power: u32) -> Option<u64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let scaled = (value * 10f64.powi(power as i32)).round();
    (0.0..1.8e19).contains(&scaled).then_some(scaled as u64)
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn a_decimal_number_is_scaled_exactly() {
        for (text, power, value) in [
            ("12", 0, Some(12)),
            ("0.1", 9, Some(100_000_000)),
            (".5", 3, Some(500)),
            ("7.", 3, Some(7000)),
            ("1.23456789", 6, Some(1_234_568)),
            ("0.4999", 0, Some(0)),
            ("0.5", 0, Some(1)),
            ("1.2e-05", 9, Some(12_000)),
            ("1e3", 0, Some(1000)),
            ("1700000000.123456789", 9, Some(1_700_000_000_123_456_789)),
            ("0.5079681274900398", 9, Some(507_968_127)),
        ] {
            assert_eq!(scaled(text.as_bytes(), power), value, "{text}");
        }
        for text in ["", ".", "-1", "1,5", "1.2.3", "nan", "inf", "e5", "99999999999999999999", "0x10", "1e300", "1 2"] {
            assert_eq!(scaled(text.as_bytes(), 9), None, "{text}");
        }
    }
}
