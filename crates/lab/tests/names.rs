//! Random numbers and hashes of a flow depend only on its name and the seed.
//! Other parts of the world do not change them.

use sojourn_lab::{Laws, Outcome, Simulation};
use sojourn_scenario::{Document, Record};
use sojourn_units::Time;

/// The record of this scenario.
fn record(text: &str, seed: u64) -> Record {
    let scenario = Document::from_toml("x.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, seed, &Laws::default()).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(Time::NEVER);
    let Outcome { record, .. } = simulation.finish().unwrap_or_else(|error| panic!("{error}"));
    record
}

/// The results of the links and of the flows of these groups. NaN equals NaN.
fn of_groups(record: &Record, groups: &[&str]) -> String {
    let links = record.links.iter().filter(|link| !link.name.starts_with("unused"));
    let flows = record.flows.iter().filter(|flow| groups.contains(&&flow.group[..]));
    format!("{:#?}\n{:#?}", links.collect::<Vec<_>>(), flows.collect::<Vec<_>>())
}

const SESSIONS: &str = r#"
[[flows]]
name = "web"
count = 2
from = "a"
to = "b"
traffic = { kind = "web", page_gap = "300 ms", objects = 4, object_mean = 12.0, object_shape = 1.5, request = "200 B" }
[[flows]]
name = "transfers"
from = "b"
to = "a"
traffic = { kind = "transfers", every = "40 ms", size_mean = "20 kB" }
[[flows]]
name = "bulk"
count = 3
from = "a"
to = "b"
tcp = { control = { cc = "bbr" } }
"#;

/// A group that never sends.
const SILENT: &str = "[[flows]]\nname = \"silent\"\ncount = 2\nfrom = \"a\"\nto = \"b\"\nstart = \"100 s\"\n";
/// A link without traffic.
const UNUSED: &str = "[[links]]\nname = \"unused\"\nfrom = \"a\"\nto = \"c\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";

#[test]
fn a_silent_flow_and_an_unused_link_change_nothing_for_others() {
    let queues = [
        "aqm = \"fq-codel\"",
        "aqm = \"fq-pie\"",
        "aqm = \"cake\"",
        "aqm = \"fuzzy-rtt\", hints = \"router\"",
        "scheduler = \"drr\", classes = [{ flow_queues = 16, aqm = \"codel\" }]",
    ];
    for profile in ["linux", "ns2", "rfc"] {
        for queue in queues {
            let world = |links: &str, before: &str, after: &str| {
                let text = format!(
                    "duration = \"6 s\"\n[tcp]\nprofile = \"{profile}\"\n{links}[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\n\
                     rate = \"4 Mbit/s\"\ndelay = \"10 ms\"\nduplex = true\nqueue = {{ {queue} }}\n{before}{SESSIONS}{after}"
                );
                of_groups(&record(&text, 5), &["web", "transfers", "bulk"])
            };
            let alone = world("", "", "");
            assert!(alone == world("", SILENT, ""), "{profile}, {queue}: a silent group before");
            assert!(alone == world("", "", SILENT), "{profile}, {queue}: a silent group behind");
            assert!(alone == world(UNUSED, "", ""), "{profile}, {queue}: an unused link");
        }
    }
}

/// The number of different fingerprints over ten seeds.
fn different_runs(cc: &str) -> usize {
    let text = format!(
        "duration = \"30 s\"\n[tcp]\nprofile = \"linux\"\ncontrol = {{ cc = \"{cc}\" }}\n[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nduplex = true\nqueue = {{ limit = \"60 packets\" }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\naccess = {{ delay = \"1 ms\" }}\n"
    );
    let runs = (1..=10).map(|seed| record(&text, seed).fingerprint);
    runs.collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn what_a_controller_draws_depends_on_the_seed() {
    // BBR draws one of seven phases of its cycle; BBRv3 and CDG draw numbers that are all different.
    assert!(different_runs("bbr") >= 4);
    assert_eq!([different_runs("bbr3"), different_runs("cdg")], [10, 10]);
    assert_eq!(different_runs("reno"), 1, "it draws nothing");
}

#[test]
fn flows_of_one_run_draw_different_numbers() {
    let bbr = "[[flows]]\nname = \"f\"\ncount = 8\nfrom = \"a\"\nto = \"b\"\ntcp = { control = { cc = \"bbr\" } }\n";
    // Each flow has its own path and the same start, so they differ only by their draws.
    let text = format!(
        "duration = \"8 s\"\n[tcp]\nprofile = \"linux\"\n[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\ndelay = \"20 ms\"\nduplex = true\n\
         {bbr}access = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
    );
    let record = record(&text, 1);
    let sent: std::collections::BTreeSet<u64> = record.flows.iter().map(|flow| flow.sent).collect();
    assert!(sent.len() >= 3, "{sent:?}");
}
