//! Paced segments are sent within one call if nothing else reaches the sender before.
//! They leave at the same times.

use crate::elision::{link, measured, stack};
use crate::watch::Watch;
use proptest::prelude::*;
use sojourn_cc::CcConfig;
use sojourn_sim::tcp::TcpOptions;
use sojourn_sim::{Observer, World, WorldConfig};
use sojourn_spec::flow::Flow;
use sojourn_traffic::{Traffic, kinds::*};
use sojourn_units::{Bytes, Duration, Rate, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// Watches senders, so that each segment has its own event.
struct Watcher;

impl Observer for Watcher {
    fn watches_senders(&self) -> bool {
        true
    }
}

/// Paced stacks: as in Linux, by quanta, and with a strategy that stores no segments.
fn paced(choice: u8) -> TcpOptions {
    let plain = stack(2 + choice / 3);
    let control = [CcConfig::Bbr3(Default::default()), CcConfig::Prague(Default::default()), CcConfig::Cubic(Default::default())];
    TcpOptions { pacing: true, control: control[usize::from(choice % 3)].clone(), ..plain }
}

fn traffic(kind: u8) -> Traffic {
    let ms = Duration::from_millis;
    match kind {
        0 => Traffic::default(),
        1 => transfers::Params { every: ms(200), size_mean: Some(Bytes(40_000)), size_shape: Some(1.5), sizes: None }.into(),
        _ => {
            let rate = Rate::from_bps(3_000_000).unwrap();
            onoff::Params { rate, size: Bytes(500), on: ms(300), off: ms(300), shape: None, transport: Default::default() }.into()
        }
    }
}

fn world(flows: &[(u8, u8, u64)], aqm: u8, mbit: u64, seed: u64) -> WorldConfig<'static> {
    let links =
        ["there", "back"].map(|name| link(name.into(), Some(mbit * 1_000_000), 10_000, if name == "there" { aqm } else { 0 }, seed));
    let flow = |(number, &(choice, kind, start)): (usize, &(u8, u8, u64))| Flow {
        name: format!("flow{number}"),
        group: 0,
        forward: vec![0],
        back: vec![1],
        paths: None,
        stack: Some(u32::from(choice)),
        traffic: traffic(kind),
        host: None,
        start: Time::ZERO + Duration::from_micros(start),
        stop: Time::ZERO + Duration::from_secs(5),
    };
    WorldConfig {
        seed,
        end: Time::ZERO + Duration::from_secs(6),
        warmup: Time::ZERO + Duration::from_secs(1),
        stacks: (0..9).map(paced).collect(),
        links: links.into(),
        flows: flows.iter().enumerate().map(flow).collect(),
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_world_whose_senders_are_watched_does_the_same(
        flows in prop::collection::vec((0u8..9, 0u8..3, 0u64..2_000_000), 1..5),
        aqm in 0u8..6,
        mbit in 1u64..20,
        seed in 0u64..1_000,
    ) {
        let config = || world(&flows, aqm, mbit, seed);
        let watched = World::watched(config(), Watch::of(&Rc::new(RefCell::new(Watcher)))).unwrap();
        prop_assert_eq!(measured(watched).unwrap(), measured(World::new(config()).unwrap()).unwrap());
    }
}
