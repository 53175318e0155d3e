//! Small worlds made of the fuzzer's bytes satisfy every promise.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_hunt::{Way, hunt, world_of};

/// The number of events per run.
const EVENTS: u64 = 300;

// The first byte selects the mode in which the world is run again. All modes would take several times as long.
fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let way = Way::ALL[usize::from(*first) % Way::ALL.len()];
    let world = world_of(bytes);
    if let Err(fault) = hunt(&world, EVENTS, &[way]) {
        panic!("{}: {}\n{}", fault.promise, fault.seen, world.text());
    }
});
