//! The source of the stack's random numbers: the seed of a flow, where the stack asks the operating system.

#[cfg(not(getrandom_backend = "custom"))]
compile_error!("expected the settings of .cargo/config.toml: build in the folder of the workspace, without RUSTFLAGS");

use dimpl::crypto::{CryptoProvider, rust_crypto};
use sojourn_harness::FlowInfo;
use sojourn_units::Stream;
use std::cell::RefCell;
use std::sync::Once;

static INSTALLED: Once = Once::new();

thread_local! {
    static STREAM: RefCell<Stream> = RefCell::new(Stream::named(0, "str0m"));
}

/// Lets all random numbers that this thread draws follow from the seed of a flow.
pub fn reseed(flow: &FlowInfo) {
    // Otherwise DTLS takes AWS-LC, whose signatures have a random size.
    INSTALLED.call_once(|| CryptoProvider::install_default(rust_crypto::default_provider()));
    // The first use in a thread draws a seed too.
    let mut random = rand::rng();
    STREAM.set(Stream::named(flow.seed, "str0m"));
    random.reseed().expect("this source never fails");
    fastrand::seed(flow.seed);
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
    STREAM.with_borrow_mut(|stream| bytes.fill_with(|| stream.below(256) as u8));
    Ok(())
}
