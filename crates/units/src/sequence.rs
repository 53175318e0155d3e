//! TCP sequence numbers, which wrap.

/// Whether a sequence number comes before another, modulo 2^32.
/// The distance is less than half of the number space (rfc9293#3.4, Linux `before`).
///
///
/// ```
/// use sojourn_units::comes_before;
/// assert!(comes_before(1, 2) && comes_before(u32::MAX, 0));
/// assert!(!comes_before(2, 1) && !comes_before(2, 2));
/// ```
pub fn comes_before(first: u32, second: u32) -> bool {
    (first.wrapping_sub(second) as i32) < 0
}
