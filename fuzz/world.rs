//! Small worlds made of the fuzzer's bytes keep every promise.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_hunt::{hunt, world_of};

/// Events of each way in which a world is run.
const EVENTS: u64 = 300;

fuzz_target!(|bytes: &[u8]| {
    let world = world_of(bytes);
    if let Err(fault) = hunt(&world, EVENTS) {
        panic!("{}: {}\n{}", fault.promise, fault.seen, world.text());
    }
});
