//! Measures at the edge of the warm-up keep their bounds.
//! Packets that arrived before the window are not counted in it.

use sojourn_lab::{Laws, run};
use sojourn_scenario::{Document, Record};

fn record(text: &str) -> Record {
    let scenario = Document::from_toml("edge.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, None, &Laws::default(), &|| false).unwrap_or_else(|error| panic!("{error}")).record
}

/// Datagrams at 4 times the rate of a link for 1 s, with this queue.
/// The window starts later, while the queue drains.
fn overloaded(link: &str) -> Record {
    record(&format!(
        r#"
duration = "8 s"
warmup = "2 s"
links = [{{ name = "link", from = "a", to = "b", rate = "100 kbit/s", {link} }}]
[[flows]]
name = "burst"
from = "a"
to = "b"
stop = "1 s"
traffic = {{ kind = "cbr", rate = "1 Mbit/s", size = "500 B" }}
[[flows]]
name = "later"
from = "a"
to = "b"
start = "2 s"
traffic = {{ kind = "cbr", rate = "2 kbit/s", size = "500 B" }}
"#
    ))
}

#[test]
fn packets_that_arrived_before_the_window_are_no_part_of_its_loss() {
    let record = overloaded(r#"queue = { aqm = "codel", limit = "1000 packets" }"#);
    let link = &record.links[0];
    assert!(link.dropped_total > link.arrived, "too few drops to show anything: {link:?}");
    assert!(link.loss_ratio.unwrap() <= 1.0, "{link:?}");
}

#[test]
fn a_link_that_loses_half_of_what_it_sends_has_a_loss_ratio_of_a_half() {
    let record = overloaded(r#"queue = { limit = "1000 packets" }, impairments = [{ kind = "loss", probability = 0.5 }]"#);
    let link = &record.links[0];
    assert!(link.dropped_total > link.arrived, "too few drops to show anything: {link:?}");
    // Six standard deviations of the share of about 150 packets: 6 * 0.5 / sqrt(150).
    assert!((link.loss_ratio.unwrap() - 0.5).abs() < 0.25, "{link:?}");
}

#[test]
fn packets_that_an_impairment_holds_until_the_window_are_lost_of_those_that_come_to_the_queue() {
    let jitter = r#"{ kind = "jitter", place = "before-queue", delay = { uniform = ["1500 ms", "2 s"] } }"#;
    let record = overloaded(&format!(r#"queue = {{ limit = "5 packets" }}, impairments = [{jitter}]"#));
    let link = &record.links[0];
    assert!(link.dropped_total > link.arrived, "too few drops to show anything: {link:?}");
    let came = link.departed + link.dropped_total;
    // At the edges some packets are in the queue.
    assert!((link.loss_ratio.unwrap() - link.dropped_total as f64 / came as f64).abs() < 5.0 / came as f64, "{link:?}");
}

#[test]
fn what_arrived_before_the_window_is_no_goodput_of_it() {
    // A segment is lost. Later segments wait for seconds and become readable after the start of the window.
    let mut most_held = 0.0f64;
    for seed in 1..20 {
        let record = record(&format!(
            r#"
seed = {seed}
duration = "4 s"
warmup = "3 s"
links = [{{ name = "link", from = "a", to = "b", rate = "1 Mbit/s", delay = "500 ms", duplex = true, queue = {{ limit = "20 packets" }} }}]
[[flows]]
name = "f"
from = "a"
to = "b"
start = {{ uniform = ["0 s", "1 s"] }}
"#
        ));
        let flow = &record.flows[0];
        assert!(flow.goodput_bps <= flow.throughput_bps, "{flow:?}");
        most_held = most_held.max(flow.goodput_bps);
    }
    assert!(most_held > 0.0);
}

#[test]
fn no_quantile_is_above_the_longest_wait() {
    // All packets but the first of each pair have the same wait, which is not the middle of a histogram step.
    let record = record(
        r#"
duration = "10 s"
links = [{ name = "link", from = "a", to = "b", rate = "333 kbit/s" }]
[[flows]]
name = "pairs"
count = 2
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "10 kbit/s", size = "700 B" }
"#,
    );
    let waits = record.links[0].wait_ms.unwrap();
    assert!(waits.max > 0.0 && waits.p90 == waits.max && waits.p99 == waits.max, "{waits:?}");
}

/// Packets of 1500 B at the rate of a 10 Mbit/s link.
/// One transmission ends every 1.2 ms, from 1.2 ms on. The packet arrives 10 ms later.
fn saturated(duration: &str, warmup: &str) -> Record {
    record(&format!(
        r#"
duration = "{duration}"
warmup = "{warmup}"
links = [{{ name = "link", from = "a", to = "b", rate = "10 Mbit/s", delay = "10 ms" }}]
[[flows]]
name = "f"
from = "a"
to = "b"
traffic = {{ kind = "cbr", rate = "10 Mbit/s", size = "1500 B" }}
"#
    ))
}

#[test]
fn what_happens_when_the_window_opens_counts_and_what_would_happen_when_it_closes_does_not() {
    // One packet arrives exactly at the start of the window, and one at its end.
    let record = saturated("1.0012 s", "1 s");
    assert_eq!((record.flows[0].throughput_bps, record.links[0].departed), (10e6, 1));
    // A flow with a packet at the edge of its window, and the adjacent windows that share the edge.
    let received = |from: &str, until: &str, span: f64| saturated(until, from).flows[0].throughput_bps * span / 12_000.0;
    assert_eq!(
        (received("100 ms", "112 ms", 12e-3), received("112 ms", "124 ms", 12e-3), received("100 ms", "124 ms", 24e-3)),
        (10.0, 10.0, 20.0)
    );
}

#[test]
fn a_window_of_less_than_a_packet_has_the_links_rate() {
    for (duration, warmup) in [("1.0007 s", "1 s"), ("1.0005 s", "1.0001 s"), ("1.000000001 s", "1 s"), ("1.0031 s", "1.0011 s")] {
        let bps = saturated(duration, warmup).links[0].throughput_bps;
        assert!((bps / 10e6 - 1.0).abs() < 1e-12, "{warmup} to {duration}: {bps}");
    }
}

#[test]
fn a_step_of_the_throughput_of_a_link_has_at_most_its_rate() {
    let text = r#"
duration = "1 s"
links = [{ name = "link", from = "a", to = "b", rate = "1 Mbit/s", queue = { aqm = "AQM", limit = "10 packets" }, changes = [{ at = "500 ms", rate = "700 kbit/s" }] }]
[[flows]]
name = "f"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "3 Mbit/s", size = "1500 B" }
[trace]
throughput = { links = ["link"], every = "10 ms" }
"#;
    for aqm in ["droptail", "red", "codel"] {
        let scenario = Document::from_toml("steps.toml", &text.replace("AQM", aqm)).unwrap().check().unwrap();
        let outcome = run(&scenario, None, &Laws::default(), &|| false).unwrap();
        let bps = &outcome.series["throughput/link"]["bps"];
        // A packet in transmission at a rate change keeps the old rate.
        let (before, after) = (&bps[..50], &bps[52..]);
        assert!(before.iter().all(|bps| *bps == 1e6) && after.iter().all(|bps| *bps == 7e5), "{aqm}: {bps:?}");
        let mean = bps.iter().sum::<f64>() / 100.0;
        assert!((mean - outcome.record.links[0].throughput_bps).abs() < 1e-6, "{aqm}: {mean}");
    }
}
