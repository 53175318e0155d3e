//! Shrinks a failing schedule of packets, by removing parts of it.

/// Returns a smallest part of `packets` that still `fails`.
/// `packets` are, for example, the numbers to drop. Without any one packet of the result it passes. The order is kept. `fails` must hold for all packets together, and be deterministic. Source: the algorithm `ddmin` of delta debugging.
///
/// ```
/// // A sender that fails if packets 3 and 7 are both lost.
/// let fails = |dropped: &[u64]| dropped.contains(&3) && dropped.contains(&7);
/// assert_eq!(sojourn_harness::shrink(&(1..=100).collect::<Vec<_>>(), fails), [3, 7]);
/// ```
pub fn shrink<T: Clone>(packets: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut left = packets.to_vec();
    let mut size = left.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        let mut removed = false;
        while start < left.len() {
            let end = (start + size).min(left.len());
            let rest = [&left[..start], &left[end..]].concat();
            if fails(&rest) {
                (left, removed) = (rest, true);
            } else {
                start = end;
            }
        }
        // Single packets are removed until each one is needed.
        size = if size == 1 && removed { 1 } else { size / 2 };
    }
    left
}
