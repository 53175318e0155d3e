//! Links that use a path of the library.

use sojourn_scenario::{Document, Plan};
use sojourn_units::{Duration, Rate};

/// A scenario with one link that has these lines.
fn scenario(link: &str) -> Document {
    let flows = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                 traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    let text = format!("duration = \"20 s\"\n[[links]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\n{link}\n{flows}");
    Document::from_toml("x.toml", &text).unwrap()
}

fn plan(link: &str, seed: u64) -> Plan {
    scenario(link).check().unwrap().plan(seed)
}

fn error(link: &str) -> String {
    scenario(link).check().unwrap_err().to_string()
}

#[test]
fn a_link_has_the_rate_the_delay_and_the_impairments_of_its_path_after_its_own() {
    let link = "path = \"policed-2015\"\ndelay = \"5 ms\"\nimpairments = [{ kind = \"loss\", probability = 0.1 }]";
    let planned = &plan(link, 1).links[0];
    assert_eq!(planned.rate, Rate::from_bps(50_000_000));
    assert_eq!(planned.delay, Duration::from_millis(15));
    let kinds: Vec<&str> = planned.impairments.iter().map(|impairment| impairment.kind.name()).collect();
    assert_eq!(kinds, ["loss", "policer"]);
    assert!(planned.trace.is_none(), "a constant rate needs no trace");
}

#[test]
fn each_seed_and_each_link_has_a_trace_of_its_own() {
    let link = "path = \"lte-verizon-2012\"\nduplex = true";
    let traces = |seed| plan(link, seed).links.into_iter().map(|link| link.trace.unwrap()).collect::<Vec<_>>();
    assert_eq!(traces(1), traces(1));
    assert_ne!(traces(1)[0], traces(2)[0]);
    assert_ne!(traces(1)[0], traces(1)[1]);
    assert!(traces(1)[0].rows.period() >= Duration::from_secs(20));
}

#[test]
fn a_queue_is_designed_for_the_mean_rate_of_the_source_whatever_the_seed() {
    let limits = |seed| plan("path = \"lte-verizon-2012\"\nqueue = { limit = \"100 ms\" }", seed).links[0].queue.clone().unwrap();
    // 5.028 Mbit/s for 100 ms are 42 packets of 1500 B.
    assert_eq!(limits(1).options.limit.to_string(), "42 packets");
    assert_eq!(limits(1), limits(2));
}

#[test]
fn a_reverse_link_with_a_rate_of_its_own_has_the_delay_of_the_path_alone() {
    let link = "path = \"policed-2015\"\ndelay = \"5 ms\"\nduplex = true\nback = { rate = \"1 Mbit/s\" }";
    let back = &plan(link, 1).links[1];
    assert_eq!((back.rate, back.delay), (Rate::from_bps(1_000_000), Duration::from_millis(15)));
    assert!(back.impairments.is_empty());
    let back = &plan("path = \"geo-2020\"\nduplex = true\nback = { path = \"geo-2020-up\" }", 1).links[1];
    assert_eq!((back.rate, back.delay), (Rate::from_bps(10_000_000), Duration::from_millis(325)));
}

#[test]
fn a_path_with_another_capacity_or_an_unknown_name_is_an_error() {
    let two = "links.up.path: expected a path, a rate or a trace, got two";
    assert!(error("path = \"geo-2020\"\nrate = \"1 Mbit/s\"").contains(two));
    assert!(error("path = \"geo-2020\"\ntrace = { file = \"x.csv\" }").contains(two));
    let changes = "path = \"geo-2020\"\nchanges = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]";
    assert!(error(changes).contains("links.up.changes: expected a rate with them, got changes of a link with a path"));
    let unknown = error("path = \"starlink\"");
    assert!(unknown.starts_with("x.toml:6:8: links.up.path: expected") && unknown.contains("starlink-2025"), "{unknown}");
}
