//! Links up to the documented 10 Tbit/s carry their rate and no more.

use sojourn_lab::{Laws, run};
use sojourn_scenario::{Document, Record};

fn record(text: &str) -> Record {
    let document = Document::from_toml("fast.toml", text).unwrap();
    let scenario = document.check().unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, None, &Laws::default(), &|| false).unwrap_or_else(|error| panic!("{error}")).record
}

/// CBR flows over one link for 20 us.
/// If `access` has a rate, each flow has its own access links.
fn cbr(flows: u32, rate: &str, size: u32, link: &str, access: &str) -> Record {
    record(&format!(
        r#"
duration = "20 us"
links = [{{ name = "link", from = "a", to = "b", rate = "{link}", queue = {{ limit = "1000 packets" }} }}]
[[flows]]
name = "cbr"
count = {flows}
from = "a"
to = "b"
access = {{ {access} }}
traffic = {{ kind = "cbr", rate = "{rate}", size = "{size} B" }}
"#
    ))
}

/// Checks that a link carries its rate, less at most the time to the first arrival.
fn carries(record: &Record, bps: f64, size: f64) {
    let link = &record.links[0];
    let least = bps - 2.0 * (8.0 * size + bps * 1e-9) / 20e-6;
    assert!((least..=bps).contains(&link.throughput_bps), "{} bit/s on a link of {bps} bit/s", link.throughput_bps);
    assert!(link.utilization.unwrap() <= 1.0);
}

#[test]
fn a_link_carries_its_rate_and_no_more_however_short_a_packet_is() {
    carries(&cbr(1, "400 Gbit/s", 64, "400 Gbit/s", ""), 400e9, 64.0);
    carries(&cbr(20, "4000 Gbit/s", 600, "5000 Gbit/s", ""), 5e12, 600.0);
    carries(&cbr(1, "100 Gbit/s", 40, "100 Gbit/s", ""), 100e9, 40.0);
    // Several packets fit into a nanosecond, and an access link passes less than is offered.
    carries(&cbr(1, "10000 Gbit/s", 40, "10000 Gbit/s", ""), 10e12, 40.0);
    carries(&cbr(1, "10000 Gbit/s", 64, "10000 Gbit/s", r#"rate = "700 Gbit/s""#), 700e9, 64.0);
}

/// The utilization in 1 ms of a link that may change its rate.
fn utilization(rate: &str, size: u32, link: &str, changes: &str) -> f64 {
    let record = record(&format!(
        r#"
duration = "1 ms"
links = [{{ name = "link", from = "a", to = "b", rate = "{link}", changes = [{changes}] }}]
[[flows]]
name = "cbr"
from = "a"
to = "b"
traffic = {{ kind = "cbr", rate = "{rate}", size = "{size} B" }}
"#
    ));
    record.links[0].utilization.unwrap()
}

#[test]
fn a_link_sends_for_the_bits_that_it_sent_over_its_rate() {
    for (rate, size, link, expected) in [
        ("360 Gbit/s", 64, "400 Gbit/s", 0.9),
        ("5000 Gbit/s", 1000, "10000 Gbit/s", 0.5),
        ("7 Gbit/s", 41, "70 Gbit/s", 0.1),
        ("900 Mbit/s", 50, "1 Gbit/s", 0.9),
    ] {
        let found = utilization(rate, size, link, "");
        assert!((found - expected).abs() < 1e-3, "{found} of {expected}: {size} B on {link}");
    }
    // Half of the time at a quarter of the rate, a quarter at half, a quarter at three quarters.
    let changes = r#"{ at = "500 us", rate = "200 Gbit/s" }, { at = "750 us", rate = "133333333333 bit/s" }"#;
    let found = utilization("100 Gbit/s", 64, "400 Gbit/s", changes);
    assert!((found - (0.25 / 2.0 + 0.5 / 4.0 + 0.75 / 4.0)).abs() < 1e-4, "{found}");
}

#[test]
fn a_source_keeps_its_mean_rate_where_gaps_are_a_few_nanoseconds() {
    for traffic in [
        r#"kind = "cbr", rate = "300 Gbit/s", size = "64 B", jitter = 0.5"#,
        r#"kind = "poisson", rate = "300 Gbit/s", size = "64 B""#,
        r#"kind = "onoff", rate = "300 Gbit/s", size = "64 B", on = "1 s", off = "0 s""#,
    ] {
        let record = record(&format!(
            r#"
duration = "200 us"
links = [{{ name = "link", from = "a", to = "b", delay = "0 s" }}]
[[flows]]
name = "flow"
from = "a"
to = "b"
traffic = {{ {traffic} }}
"#
        ));
        let bps = record.links[0].throughput_bps;
        assert!((bps / 300e9 - 1.0).abs() < 0.02, "{traffic}: {bps} bit/s");
    }
}

/// Tests a SYN of 40 bytes above 320 Gbit/s, which needs less than a nanosecond.
/// It leaves at time 0.
#[test]
fn a_packet_that_takes_no_time_leaves_every_kind_of_queue() {
    for queue in ["codel", "fq-codel", "choke", "red", "droptail"] {
        let record = record(&format!(
            r#"
duration = "20 us"
links = [{{ name = "link", from = "a", to = "b", rate = "10000 Gbit/s", delay = "1 us", duplex = true, queue = {{ aqm = "{queue}", limit = "1000 packets" }} }}]
[[flows]]
name = "bulk"
count = 4
from = "a"
to = "b"
traffic = {{ kind = "bulk" }}
"#
        ));
        assert!(record.total.goodput_bps > 0.0, "{queue}: {record:?}");
    }
}
