//! Every algorithm, impairment, traffic kind and option yields its record in `records.txt`.
//! This holds on each machine and in each build. Update a line only together with an intended change; any other difference is a defect.
//!
//! `cargo test --package sojourn-hunt --test records -- --ignored` stores the records of this build.

use sojourn_hunt::{Case, Group, hash, laws, text};
use sojourn_lab::{Error, run};
use std::collections::BTreeMap;
use std::fs;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records.txt");

/// The fingerprint of the packets and the hash of the record, or the reason for its absence.
fn outcome(case: &Case) -> String {
    match run(&case.world.checked, Some(1), &laws(), &|| false) {
        Ok(outcome) => format!("{} {:016x}", outcome.record.fingerprint, hash(&text(&outcome.record))),
        Err(error @ (Error::Audit(_) | Error::Build(_))) => panic!("{}: {error}", case.name),
        Err(error) => format!("ended: {error}"),
    }
}

/// Compares the cases of a group with the stored records.
fn compare(group: Group) {
    let stored = fs::read_to_string(STORED).unwrap();
    let stored: BTreeMap<&str, &str> = stored.lines().filter_map(|line| line.split_once(": ")).collect();
    let cases = group.cases();
    let other = cases.iter().filter_map(|case| {
        let (expected, got) = (stored.get(&case.name[..]).copied().unwrap_or("nothing"), outcome(case));
        (expected != got).then(|| format!("{}: expected {expected}, got {got}", case.name))
    });
    let other: Vec<String> = other.collect();
    assert!(other.is_empty(), "{} of {} cases differ:\n{}", other.len(), cases.len(), other[..other.len().min(20)].join("\n"));
}

#[test]
fn queues_give_their_stored_records() {
    compare(Group::Queues);
}

#[test]
fn links_give_their_stored_records() {
    compare(Group::Links);
}

#[test]
fn controllers_give_their_stored_records() {
    compare(Group::Controllers);
}

#[test]
fn transports_give_their_stored_records() {
    compare(Group::Transports);
}

#[test]
fn impairments_give_their_stored_records() {
    compare(Group::Impairments);
}

#[test]
fn traffic_gives_its_stored_records() {
    compare(Group::Traffic);
}

#[test]
#[ignore = "stores the records of this build"]
fn store() {
    let cases = Group::ALL.into_iter().flat_map(Group::cases);
    let lines: Vec<String> = cases.map(|case| format!("{}: {}\n", case.name, outcome(&case))).collect();
    fs::write(STORED, lines.concat()).unwrap();
}
