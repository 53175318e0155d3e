//! The source of the stack's random numbers: the seed of a flow, where the stack asks the operating system.

use sojourn_harness::FlowInfo;
use std::cell::Cell;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Lets all random numbers that this thread draws follow from the seed of a flow.
pub fn reseed(flow: &FlowInfo) {
    // The first use in a thread draws a seed too.
    let mut random = rand::rng();
    STATE.set(flow.seed);
    random.reseed().expect("this source never fails");
}

/// The next word (SplitMix64).
fn word() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// What getrandom calls with the setting of `.cargo/config.toml`.
///
/// # Safety
/// `destination` must be valid for writes of `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(destination: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: the caller upholds it. Zeros are valid bytes, so that the slice is initialized.
    let bytes = unsafe {
        destination.write_bytes(0, length);
        std::slice::from_raw_parts_mut(destination, length)
    };
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&word().to_le_bytes()[..chunk.len()]);
    }
    Ok(())
}
