//! Parts of a world that are simulated apart, then joined, do what the world does.

use crate::elision::{RandomFlow, measured, random_flow, world};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sojourn_sim::{Division, Mail, World};
use sojourn_units::{Duration, Time};
use std::cell::Cell;

const END: Time = Time::from_nanos(8_000_000_000);

/// Runs the parts in turn, one lookahead after the other, and joins them.
fn joined(division: Division<sojourn_sim::NoopObserver>) -> World {
    let Division { mut worlds, lookahead } = division;
    let mut next = Some(Time::ZERO);
    while let Some(first) = next.filter(|&next| next < END) {
        worlds.iter_mut().for_each(|world| world.run(first + (lookahead - Duration::from_nanos(1))));
        let mut mail = Mail::default();
        for from in 0..worlds.len() {
            for to in (0..worlds.len()).filter(|&to| to != from) {
                worlds[from].send_mail(to, &mut mail);
                worlds[to].receive_mail(&mut mail);
            }
        }
        next = worlds.iter_mut().filter_map(World::next_event).min();
    }
    World::join(worlds, |_, _| ()).unwrap()
}

#[test]
fn parts_that_are_simulated_apart_do_what_the_whole_does() {
    let divided = Cell::new(0);
    let worlds = (prop::collection::vec(random_flow(), 2..10), prop::collection::vec(0u8..6, 1..4), 0u64..1_000, 2u8..5, any::<bool>());
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let hold = |(flows, half, seed, count, immediate): (Vec<RandomFlow>, Vec<u8>, u64, u8, bool)| {
        // Sessions open connections in turn, so a world with some has no parts.
        let mut flows: Vec<RandomFlow> = flows.into_iter().map(|flow| RandomFlow { kind: flow.kind % 7, ..flow }).collect();
        // ACKs of equally distant receivers keep their order, so they have no events on the reverse path of a dumbbell. Parts divide it.
        let half = if immediate { &half[..1] } else { &half[..] };
        if immediate {
            flows.iter_mut().for_each(|flow| (flow.backward, flow.egress, flow.delay) = (false, 1, 4_000));
        }
        let aqms: Vec<u8> = half.iter().chain(half.iter().rev()).copied().collect();
        let mut config = world(&flows, &aqms, seed, false);
        if immediate {
            config.stacks.iter_mut().for_each(crate::elision::answer_at_once);
        }
        let whole = World::new(config).unwrap();
        if let Some(division) = whole.divide(count) {
            divided.set(divided.get() + 1);
            prop_assert_eq!(measured(joined(division)).unwrap(), measured(whole).unwrap());
        }
        Ok(())
    };
    runner.run(&worlds, hold).unwrap_or_else(|error| panic!("{error}"));
    assert!(divided.get() >= 20, "only {} worlds have parts", divided.get());
}
