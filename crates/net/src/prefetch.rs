//! Prefetches data into the processor's cache while something else is computed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the element at this index; an index out of range has no effect.
/// It changes only the speed.
///
/// ```
/// # use sojourn_net::prefetch;
/// let values = vec![[0_u64; 100]; 1000];
/// prefetch(&values, 500);
/// prefetch(&values, 1000);
/// ```
#[inline(always)]
pub fn prefetch<T>(values: &[T], at: usize) {
    let first = values.as_ptr().wrapping_add(at).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE) {
        branches::prefetch_read_data::<_, 0>(first.wrapping_add(offset));
    }
}
