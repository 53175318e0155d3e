//! Whole runs over links with impairments: promises of every registered kind.

use sojourn_lab::{Laws, Outcome, Simulation};
use sojourn_scenario::{Document, Record};
use sojourn_units::Time;

/// A run of 20 s over a duplex link with these impairments in both directions.
/// It has TCP transfers, a session and pings.
fn record(impairments: &str, all_events: bool) -> Record {
    // With the option of accurate ECN, no ACK carries a new number only, so none is thinned.
    let ecn = if impairments.contains("tcp-option") { "\"accurate\"" } else { "false" };
    let text = format!(
        r#"
duration = "20 s"
[tcp]
profile = "linux"
ecn = {ecn}
[[links]]
name = "link"
from = "a"
to = "b"
rate = "25 Mbit/s"
delay = "10 ms"
duplex = true
queue = {{ aqm = "red", limit = "100 packets" }}
impairments = [{impairments}]
back = {{ impairments = [{impairments}] }}
[[flows]]
name = "bulk"
count = 2
from = "a"
to = "b"
access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
egress = {{ rate = "100 Mbit/s", delay = "1 ms" }}
[[flows]]
name = "web"
from = "b"
to = "a"
traffic = {{ kind = "web", page_gap = "100 ms", objects = 3, object_mean = 8.0, object_shape = 1.5, request = "200 B" }}
[[flows]]
name = "ping"
from = "a"
to = "b"
traffic = {{ kind = "ping", every = "10 ms" }}
"#
    );
    let scenario = Document::from_toml("x.toml", &text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    let make = if all_events { Simulation::with_all_events } else { Simulation::new };
    let mut simulation = make(&scenario, 1, &Laws::default()).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(Time::NEVER);
    let Outcome { record, .. } = simulation.finish().unwrap_or_else(|error| panic!("{error}"));
    record
}

const PLACES: [&str; 2] = ["before-queue", "after-queue"];

#[test]
fn every_impairment_is_audited_and_counted_and_hosts_that_run_ahead_change_nothing() {
    for entry in sojourn_link::REGISTRY {
        let toml::Value::Table(example) = toml::Value::try_from((entry.example)()).unwrap() else { panic!("{}", entry.name) };
        for place in PLACES {
            let mut table = example.clone();
            table.insert("place".into(), place.into());
            let table = toml::Value::Table(table).to_string();
            let found = record(&table, false);
            let what = format!("{table}\n{found:?}");
            assert!(found.audit.balances(), "{what}");
            let impaired = &found.links[0].impairments[0];
            assert_eq!((impaired.kind.as_str(), found.links[1].impairments.len()), (entry.name, 1));
            let stripped = impaired.stripped.unwrap_or(0);
            assert!(impaired.dropped + impaired.corrupted + impaired.duplicated + impaired.delayed + stripped > 0, "{what}");
            assert_eq!(found.links[0].dropped.impaired, Some(impaired.dropped), "{what}");
            let copies: u64 = found.links.iter().flat_map(|link| &link.impairments).map(|each| each.duplicated).sum();
            assert_eq!(found.audit.duplicated, copies, "{what}");
            assert_eq!(found, record(&table, true), "{table}");
        }
    }
}

#[test]
fn copies_and_overtaking_break_no_connection() {
    let storm = r#"{ kind = "duplication", probability = 0.3 }, { kind = "reorder", probability = 0.3, by = "30 ms" },
                   { kind = "duplication", probability = 0.3, place = "before-queue" },
                   { kind = "corruption", probability = 0.02 }, { kind = "loss", probability = 0.02 }"#
        .replace('\n', " ");
    let found = record(&storm, false);
    assert!(found.audit.balances() && found.audit.duplicated > 1000, "{:?}", found.audit);
    assert!(found.flows.iter().all(|flow| flow.goodput_bps > 0.0) && found.groups[1].completion_s.is_some(), "{found:?}");
    assert_eq!(found, record(&storm, true));
}

#[test]
fn packets_with_bit_errors_count_as_lost_by_their_flow_and_not_by_the_link() {
    let found = record(r#"{ kind = "corruption", probability = 0.05 }"#, false);
    let corrupted: u64 = found.links.iter().map(|link| link.impairments[0].corrupted).sum();
    let at_links: u64 = found.links.iter().map(|link| link.dropped_total).sum();
    let of_flows: u64 = found.flows.iter().map(|flow| flow.dropped).sum();
    // A few packets may still be in flight.
    assert!(of_flows <= at_links + corrupted && of_flows + 20 >= at_links + corrupted, "{of_flows}, {at_links} + {corrupted}");
    assert!(corrupted > 100 && found.links.iter().all(|link| link.dropped.impaired == Some(0)));
}

/// Every datagram is duplicated before a link with classes.
/// The hops of the second group are not the first.
#[test]
fn a_copy_enters_the_class_of_its_group() {
    let text = r#"
duration = "2 s"
[[links]]
name = "before"
from = "a"
to = "m"
rate = "10 Mbit/s"
impairments = [{ kind = "duplication", probability = 1.0 }]
[[links]]
name = "classes"
from = "m"
to = "b"
rate = "10 Mbit/s"
queue = { scheduler = "drr", classes = [{ name = "first", match = { group = "one" } }, { name = "second", match = { group = "two" } }, { name = "rest" }] }
[[flows]]
name = "one"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "80 kbit/s", size = "1000 B" }
[[flows]]
name = "two"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "160 kbit/s", size = "1000 B" }
"#;
    let scenario = Document::from_toml("x.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, 1, &Laws::default()).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(Time::NEVER);
    let Outcome { record, .. } = simulation.finish().unwrap_or_else(|error| panic!("{error}"));
    let arrived: Vec<u64> = record.links[1].classes.iter().map(|class| class.arrived).collect();
    let sent: Vec<u64> = record.flows.iter().map(|flow| flow.sent).collect();
    assert_eq!(arrived, [2 * sent[0], 2 * sent[1], 0], "{sent:?} sent");
}
