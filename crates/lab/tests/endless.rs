//! Runs that would not end.
//! A run can be stopped at any time. A run whose time does not advance, or that needs too much memory, ends by itself.

use sojourn_lab::{Bounds, Error, Laws, Simulation, run};
use sojourn_scenario::{Checked, Document};
use sojourn_units::Duration;
use std::cell::Cell;

/// An endless transfer over one link and back.
fn bulk(duration: &str, link: &str) -> Checked {
    transfer(duration, link, "").unwrap_or_else(|error| panic!("{error}"))
}

/// A transfer of this size, or an endless one, over one link and back.
fn transfer(duration: &str, link: &str, size: &str) -> Result<Checked, sojourn_scenario::Error> {
    checked(duration, link, &format!("traffic = {{ kind = \"bulk\"{size} }}"))
}

/// A group with these additional fields over one link and back.
fn checked(duration: &str, link: &str, group: &str) -> Result<Checked, sojourn_scenario::Error> {
    let text = format!(
        r#"
duration = "{duration}"
links = [{{ name = "wire", from = "a", to = "b", duplex = true, {link} }}]
[[flows]]
name = "bulk"
from = "a"
to = "b"
{group}
"#
    );
    Document::from_toml("endless.toml", &text).unwrap().check()
}

#[test]
fn data_without_end_over_links_that_take_no_time_is_refused_before_the_run() {
    let refused = transfer("10 s", "", "").unwrap_err().to_string();
    assert!(refused.starts_with("endless.toml:4:1: flows.bulk: expected a rate or a delay on the path and back"), "{refused}");
    for link in [r#"delay = "1 ns""#, r#"rate = "1 Gbit/s""#, r#"impairments = [{ kind = "loss", probability = 0.1 }]"#] {
        assert!(transfer("10 s", link, "").is_ok(), "{link}");
    }
}

/// Tests links that take no time, or not always. Endless data would stop the clock there.
#[test]
fn a_link_that_takes_time_now_and_then_is_none() {
    for link in [
        r#"impairments = [{ kind = "loss", probability = 1e-6 }]"#,
        r#"impairments = [{ kind = "loss", probability = 1e-6, per = "byte" }]"#,
        r#"impairments = [{ kind = "loss-list", packets = [3] }]"#,
        r#"impairments = [{ kind = "jitter", delay = { uniform = ["0 s", "0 s"] } }]"#,
        r#"impairments = [{ kind = "reorder", by = "1 ms", probability = 0.5 }]"#,
        r#"impairments = [{ kind = "duplication", probability = 0.5 }]"#,
        r#"impairments = [{ kind = "outage", at = "1 s", length = "1 s" }]"#,
        r#"impairments = [{ kind = "gilbert-elliott", good = "1 s", bad = "1 s" }]"#,
        r#"impairments = [{ kind = "shaper", rate = "1 Mbit/s", burst = "1000 GB" }]"#,
        r#"impairments = [{ kind = "bursts", every = "1 ms" }]"#, // all packets leave at one multiple
    ] {
        let refused = transfer("10 s", link, "").unwrap_err().to_string();
        assert!(refused.contains("data without end takes no time on it"), "{link}: {refused}");
    }
}

#[test]
fn endless_data_that_is_accepted_without_rate_and_delay_runs() {
    for link in [
        r#"impairments = [{ kind = "loss", probability = 0.01 }]"#,
        r#"impairments = [{ kind = "corruption", probability = 1e-4, per = "bit" }]"#,
        r#"impairments = [{ kind = "jitter", delay = { uniform = ["0 s", "1 ms"] } }]"#,
        r#"impairments = [{ kind = "reorder", by = "1 ms", probability = 1 }]"#,
        r#"impairments = [{ kind = "gilbert-elliott", good = "100 packets", bad = "2 packets" }]"#,
        r#"impairments = [{ kind = "shaper", rate = "1 Mbit/s", burst = "2000 B" }]"#,
        r#"impairments = [{ kind = "policer", rate = "1 Mbit/s", burst = "2000 B" }]"#,
    ] {
        assert!(run(&bulk("10 ms", link), None, &Laws::default(), &|| false).is_ok(), "{link}");
    }
}

#[test]
fn more_data_at_one_time_than_a_run_can_send_is_refused_before_it() {
    let web = |more: &str| format!("kind = \"web\", page_gap = \"1 s\", object_shape = 1.5, {more}");
    for (traffic, count) in [
        ("kind = \"bulk\", size = \"1000000 GB\"".to_string(), 1),
        ("kind = \"bulk\", size = \"1 GB\"".to_string(), 6),
        ("kind = \"transfers\", every = \"1 s\", size_mean = \"10 GB\"".to_string(), 1),
        (web("object_mean = 1e9"), 1),
        (web("object_mean = 10, objects = 1000000"), 1),
        (web("object_mean = 10, request = \"1 GB\", objects = 10"), 1),
    ] {
        let group = format!("count = {count}\ntraffic = {{ {traffic} }}");
        let refused = checked("10 s", "", &group).unwrap_err().to_string();
        assert!(refused.contains("because more than 4000000 segments take no time on it, got none for about"), "{refused}");
        assert!(checked("10 s", r#"delay = "1 ns""#, &group).is_ok(), "{group}");
    }
}

#[test]
fn a_run_asks_whether_to_stop_by_its_events_and_not_by_its_time() {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() == 3
    };
    let scenario = bulk("1000000 s", r#"rate = "10 Gbit/s", delay = "1 ms""#);
    assert_eq!(run(&scenario, None, &Laws::default(), &stop).unwrap_err(), Error::Stopped);
    assert_eq!(asked.get(), 3);
}

#[test]
fn a_run_whose_time_does_not_advance_can_be_stopped() {
    let asked = Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) == 5;
    let much = transfer("10 s", "", ", size = \"1 GB\"").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run(&much, None, &Laws::default(), &stop).unwrap_err(), Error::Stopped);
}

#[test]
fn more_connections_at_one_time_than_there_is_memory_for_are_refused_before_the_run() {
    let group = |count: u32, more: &str| {
        let page = "kind = \"web\", page_gap = \"1 s\", object_mean = 1, object_shape = 1.5, objects = 1000000";
        format!("count = {count}\ntraffic = {{ {page}{more} }}")
    };
    let refused = checked("10 s", r#"delay = "1 ms""#, &group(6, "")).unwrap_err().to_string();
    let expected = "flows.bulk.traffic: expected at most 5000000 connections of all groups that open at one time, got 6000000";
    assert!(refused.ends_with(expected), "{refused}");
    assert!(checked("10 s", r#"delay = "1 ms""#, &group(5, "")).is_ok());
    assert!(checked("10 s", r#"delay = "1 ms""#, &group(6, ", object_gap = \"1 ms\"")).is_ok());
}

/// Tests a run that a check can't reject: random sizes may be larger than expected.
#[test]
#[ignore = "17 s: `make slow-test`"]
fn a_run_whose_time_does_not_advance_ends_and_says_where() {
    let mut huge = transfer("10 s", r#"delay = "1 ns""#, r#", size = "1000000 GB""#).unwrap_or_else(|error| panic!("{error}"));
    huge.links.iter_mut().for_each(|link| link.delay = Duration::ZERO);
    let ended = run(&huge, None, &Laws::default(), &|| false).unwrap_err().to_string();
    assert!(ended.starts_with("links.wire: expected a rate or a delay on the path of bulk/0 and back, got 100"), "{ended}");
}

#[test]
fn a_run_that_needs_more_memory_than_allowed_names_what_holds_it() {
    let link = r#"rate = "1 Mbit/s", queue = { limit = "1000000 packets" }"#;
    let scenario = checked("10 s", link, r#"traffic = { kind = "cbr", rate = "100 Mbit/s" }"#).unwrap_or_else(|error| panic!("{error}"));
    let run = |memory| Simulation::new(&scenario, 1, &Laws::default()).unwrap().run_within(&Bounds { events: 10_000_000, memory });
    assert_eq!(run(8_000_000_000), Ok(()));
    let error = run(100_000).unwrap_err().to_string();
    assert!(error.starts_with("links.wire.queue: expected packets, flows and traces of at most 0.0001 GB in memory, got "), "{error}");
}

/// A sample of a window takes 24 bytes, and one of a throughput 8.
/// A list has room for a power of two. The memory is compared after 100,000 events, when between 32,768 and 65,536 ms have passed.
#[test]
fn the_memory_of_traces_counts_twice_what_their_lists_hold() {
    let least = |trace: &str| {
        let link = r#"rate = "8 Mbit/s", delay = "1 ms", queue = { limit = "10 packets" }"#;
        let scenario =
            checked("65 s", link, &format!("traffic = {{ kind = \"bulk\" }}\n{trace}")).unwrap_or_else(|error| panic!("{error}"));
        let fits = |memory| {
            let ended = Simulation::new(&scenario, 1, &Laws::default()).unwrap().run_within(&Bounds { events: 10_000_000, memory });
            ended.map_err(|error| assert!(error.to_string().contains("in memory"), "{error}")).is_ok()
        };
        let (mut low, mut high) = (0, 1 << 26);
        while low + 1000 < high {
            let middle = (low + high) / 2;
            *if fits(middle) { &mut high } else { &mut low } = middle;
        }
        high
    };
    let plain = least("");
    let taken = |trace: &str| least(&format!("[trace]\n{trace}")) - plain;
    let near = |taken: u64, lists: u64| assert!(taken.abs_diff(2 * lists) < 4000, "{taken} B for lists of {lists} B");
    near(taken(r#"cwnd = { flows = ["bulk/*"], every = "1 ms" }"#), 24 * 65_536);
    near(taken(r#"throughput = { flows = ["bulk/*"], every = "1 ms" }"#), 8 * 65_536);
}
