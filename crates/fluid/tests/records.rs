//! Each algorithm with a fluid form returns exactly the numbers stored in `records.txt`.
//! This holds on each machine and in each build. Update a line only together with an intended change; any other difference is a defect.
//!
//! `cargo test --package sojourn-fluid --test records -- --ignored` stores the numbers of this build.

use sojourn_aqm::algorithms::{REGISTRY, red};
use sojourn_aqm::{AqmConfig, Link};
use sojourn_fluid::{Change, Class, Control, Loop, Oscillation, Plant, Response, Run, Start, describe, operating_point, simulate};
use sojourn_units::{Duration, Rate};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records.txt");

/// Plants, named by their special property.
fn plants() -> [(&'static str, Plant); 5] {
    let plant = |classes: &[Class], capacity: f64, limit: f64, drops: bool| Plant {
        classes: classes.to_vec(),
        capacity,
        limit,
        packet: 1000.0,
        drops,
    };
    let cubic = Class { increase: 0.6, decrease: 0.3, ..Class::reno(20.0, 0.08) };
    [
        ("marks", plant(&[Class::reno(20.0, 0.1)], 1250.0, f64::INFINITY, false)),
        ("drops", plant(&[Class::reno(40.0, 0.06)], 2500.0, 400.0, true)),
        ("classes", plant(&[Class::reno(30.0, 0.04), cubic, Class::reno(10.0, 0.25)], 3750.0, 600.0, true)),
        ("limit", plant(&[Class::reno(200.0, 0.05)], 1250.0, 30.0, true)),
        ("idle", plant(&[Class::reno(1.0, 0.3)], 10_000.0, 500.0, false)),
    ]
}

/// The FNV-1a hash of a value's debug text, in which numbers are exact.
fn hash(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}

/// Everything computed for an algorithm, or the error.
/// The operating point, the trajectory, the open loop with its margins, and the responses to small and large oscillations.
fn outcome(config: &AqmConfig, plant: &Plant) -> String {
    let rate = Rate::from_bps((plant.capacity * 8.0 * plant.packet).round() as u64).unwrap();
    let link = Link { rate, delay: Duration::from_millis(20), mean_packet: plant.packet as u32, limit_packets: 500 };
    let control = match Control::of(config, &link, plant) {
        Ok(control) => control,
        Err(error) => return error.to_string(),
    };
    let start = Start { window: 1.0, queue: 0.0, probability: 0.01 };
    let changes = vec![Change { at: 4.0, class: 0, flows: 2.0 * plant.classes[0].flows }];
    let trace = simulate(plant, &control, &Run { duration: 8.0, step: 0.002, every: 5, start, changes });
    let point = operating_point(plant, &control);
    let opened = Loop::new(plant.clone(), &control).map(|opened| {
        let grid = opened.grid(60);
        let curve: Vec<_> = grid.0.iter().map(|&omega| opened.at(omega)).collect();
        (opened.margins(), curve)
    });
    let around = point.as_ref().ok().map(|point| {
        let small = Response::around(plant, &control, point).map(|response| [0.1, 1.0, 10.0].map(|omega| response.at(omega)));
        let large = [(0.3, 0.5), (0.9, 3.0)].map(|(part, omega)| {
            let oscillation = Oscillation { mean: point.queue, amplitude: part * point.queue, omega };
            describe(plant, &control, point, oscillation)
        });
        (small, large)
    });
    format!("{} {} {} {}", hash(&point), hash(&trace), hash(&opened), hash(&around))
}

/// Every algorithm of the registry, and variants of RED that only parameters select.
fn configs() -> impl Iterator<Item = (String, AqmConfig)> {
    let red = |name: &str, params: red::Params| (format!("red {name}"), AqmConfig::Red(params));
    let forms = [
        red("steep", red::Params { gentle: false, ..red::Params::default() }),
        red("bytes", red::Params { queue_in_bytes: true, ..red::Params::default() }),
        red("adaptive", red::Params { adaptive: true, ..red::Params::default() }),
        red("cautious", red::Params { cautious: 1, ..red::Params::default() }),
    ];
    REGISTRY.iter().map(|entry| (entry.name.to_string(), (entry.default)())).chain(forms)
}

/// Every case on a plant with its line. An algorithm without a fluid form has one case.
fn cases(plant: &str) -> impl Iterator<Item = (String, String)> {
    let (name, plant) = plants().into_iter().find(|(name, _)| *name == plant).unwrap();
    let lines = configs().map(move |(config, of)| (format!("{config} {name}"), outcome(&of, &plant)));
    lines.filter(move |(_, line)| !line.contains(" fluid form") || name == "marks")
}

/// Compares the cases on a plant with the stored numbers.
fn compare(plant: &str) {
    let stored = fs::read_to_string(STORED).unwrap();
    let stored: BTreeMap<&str, &str> = stored.lines().filter_map(|line| line.split_once(": ")).collect();
    let other = cases(plant).filter_map(|(name, got)| {
        let expected = stored.get(&name[..]).copied().unwrap_or("nothing");
        (expected != got).then(|| format!("{name}: expected {expected}, got {got}"))
    });
    let other: Vec<String> = other.collect();
    assert!(other.is_empty(), "{} cases differ (point, trajectory, loop, responses):\n{}", other.len(), other.join("\n"));
}

#[test]
fn flows_that_are_marked_give_their_stored_numbers() {
    compare("marks");
}

#[test]
fn flows_that_lose_packets_give_their_stored_numbers() {
    compare("drops");
}

#[test]
fn classes_of_flows_give_their_stored_numbers() {
    compare("classes");
}

#[test]
fn flows_that_fill_the_queue_give_their_stored_numbers() {
    compare("limit");
}

#[test]
fn a_flow_that_does_not_fill_the_link_gives_its_stored_numbers() {
    compare("idle");
}

#[test]
#[ignore = "stores the numbers of this build"]
fn store() {
    let cases = plants().into_iter().flat_map(|(plant, _)| cases(plant));
    let lines: Vec<String> = cases.map(|(name, outcome)| format!("{name}: {outcome}\n")).collect();
    fs::write(STORED, lines.concat()).unwrap();
}
