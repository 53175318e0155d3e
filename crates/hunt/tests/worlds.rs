//! A few hundred random worlds satisfy every promise; `make hunt` tries more.

use sojourn_hunt::{Fate, LAWS, Way, World, hunt, shrink, world};

/// The number of worlds in this test, and the number of events in each mode.
const WORLDS: u64 = 300;
const EVENTS: u64 = 2_000;

#[test]
#[ignore = "15 s: `make slow-test`"]
fn random_worlds_hold_every_promise() {
    let (mut ran, mut packets) = (0, 0);
    for seed in 0..WORLDS {
        let world = world(seed);
        match hunt(&world, EVENTS, &Way::ALL) {
            Ok(Fate::Ran { packets: sent, .. }) => {
                ran += 1;
                packets += sent;
            }
            Ok(_) => {}
            Err(fault) => {
                let (smallest, seen) = shrink(&world, &fault, EVENTS);
                panic!("seed {seed}: {}: {}\n{}", seen.promise, seen.seen, smallest.text());
            }
        }
    }
    assert!(ran > WORLDS * 9 / 10, "only {ran} of {WORLDS} worlds were run");
    assert!(packets > WORLDS * EVENTS / 10, "only {packets} packets in {ran} worlds");
}

/// Tests keys that the schema alone does not draw, or draws with invalid values.
/// Each is in several worlds.
#[test]
fn worlds_have_routes_by_name_filters_groups_of_round_trips_and_reverse_links_of_their_own() {
    let texts: Vec<String> = (0..4 * WORLDS).map(|seed| world(seed).text()).collect();
    for key in ["via = ", "via_back = ", "name = \"k", "filters]]", "rtts = ", "[links.back.trace]", "medium = \"air\""] {
        let count = texts.iter().filter(|text| text.contains(key)).count();
        assert!(count >= 3, "{key} is in {count} of {} worlds", texts.len());
    }
}

/// Tests that a law applies to many worlds, and that its changes are valid.
#[test]
fn each_metamorphic_law_applies_to_many_worlds_and_changes_them() {
    let worlds: Vec<World> = (0..WORLDS / 3).map(world).collect();
    for law in LAWS {
        let pairs = worlds.iter().filter_map(|world| law.worlds(world));
        let changed = pairs.filter(|(before, after)| before.text() != after.text()).count();
        assert!(changed >= worlds.len() / 3, "{}: applies to {changed} of {} worlds", law.promise, worlds.len());
    }
}

#[test]
fn worlds_that_once_broke_a_promise_hold_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/found");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let world = World::from_table(std::fs::read_to_string(&file).unwrap().parse().unwrap()).unwrap();
        let fate = hunt(&world, EVENTS, &Way::ALL);
        assert!(matches!(fate, Ok(Fate::Ran { .. })), "{}: {fate:?}", file.display());
    }
}
