//! Measures at the edge of the warm-up keep their bounds: what arrived before the window is not counted within it.

use sojourn_lab::{Laws, run};
use sojourn_scenario::{Document, Record};

fn record(text: &str) -> Record {
    let scenario = Document::from_toml("edge.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, None, &Laws::default(), &|| false).unwrap_or_else(|error| panic!("{error}")).record
}

/// Datagrams at 4 times the rate of a link for 1 s, with this queue; the window begins later, while the queue is served.
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
fn what_arrived_before_the_window_is_no_goodput_of_it() {
    // A segment is lost; what came after it waits for seconds and can be read when the window has begun.
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
    // Every packet but the first of each pair waits for the same time, which is not the middle of a step of the histogram.
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
