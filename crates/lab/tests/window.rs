//! The window of a run is half open.
//! Events at the end of the warm-up are in it, events at the end of the run are not.

use sojourn_lab::{Laws, Outcome, run};
use sojourn_scenario::{Document, Record};

fn outcome(text: &str) -> Outcome {
    let scenario = Document::from_toml("window.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, None, &Laws::default(), &|| false).unwrap_or_else(|error| panic!("{error}"))
}

fn record(text: &str) -> Record {
    outcome(text).record
}

/// Datagrams of 1000 B at a link that sends one in 1 ms.
/// Each flow sends one every 2 ms from time 0, until `duration` in ns.
fn datagrams(warmup: u64, duration: u64, flows: u32, link: &str) -> Record {
    record(&format!(
        r#"
duration = "{duration} ns"
warmup = "{warmup} ns"
links = [{{ name = "link", from = "a", to = "b", rate = "8 Mbit/s", {link} }}]
[[flows]]
name = "udp"
count = {flows}
from = "a"
to = "b"
traffic = {{ kind = "cbr", rate = "4 Mbit/s", size = "1000 B" }}
"#
    ))
}

const MS: u64 = 1_000_000;

#[test]
fn a_departure_at_the_warm_ups_end_counts_and_one_at_the_runs_end_does_not() {
    for link in ["", r#"queue = { aqm = "codel" }"#, r#"queue = { aqm = "fq-codel" }"#] {
        // Transmissions end at 1, 3, 5, 7, 9 ms.
        let departed = |warmup, duration| datagrams(warmup, duration, 1, link).links[0].departed;
        assert_eq!(departed(3 * MS, 9 * MS), 3, "{link}");
        assert_eq!(departed(3 * MS + 1, 9 * MS), 2, "{link}");
        assert_eq!(departed(3 * MS, 9 * MS + 1), 4, "{link}");
    }
}

#[test]
fn a_departure_of_a_class_counts_by_the_same_edges() {
    let classes = r#"queue = { scheduler = "strict", classes = [{ name = "one" }] }"#;
    let of = |warmup, duration| {
        let record = datagrams(warmup, duration, 1, classes);
        (record.links[0].classes[0].departed, record.links[0].classes[0].arrived)
    };
    assert_eq!((of(3 * MS, 9 * MS), of(3 * MS + 1, 9 * MS), of(3 * MS, 9 * MS + 1)), ((3, 3), (2, 3), (4, 3)));
    assert_eq!((of(4 * MS, 9 * MS), of(4 * MS + 1, 9 * MS)), ((2, 3), (2, 2)));
}

#[test]
fn a_datagram_sent_and_an_arrival_at_the_warm_ups_end_count() {
    for impairment in ["", r#", impairments = [{ kind = "bursts", every = "1 ns", place = "before-queue" }]"#] {
        // Sent at 0, 2, 4, 6, 8 ms.
        let of = |warmup| {
            let record = datagrams(warmup, 9 * MS, 1, &format!("delay = \"0 s\"{impairment}"));
            let met = record.links[0].impairments.first().map_or(record.links[0].arrived, |first| first.met);
            (record.flows[0].sent, record.links[0].arrived, met)
        };
        assert_eq!((of(4 * MS), of(4 * MS + 1)), ((3, 3, 3), (2, 2, 2)), "{impairment}");
    }
}

#[test]
fn a_drop_at_the_warm_ups_end_counts_for_the_link_its_class_and_the_flow() {
    for queue in [
        r#"queue = { limit = "1 packet" }"#,
        r#"queue = { aqm = "codel", limit = "1 packet" }"#,
        r#"queue = { scheduler = "strict", classes = [{ name = "one", limit = "1 packet" }] }"#,
    ] {
        // Three packets arrive at 0, 2 and 4 ms each: one is sent, one waits, one is dropped. From 2 ms on the link is busy, and two are
        // dropped.
        let of = |warmup, duration| {
            let record = datagrams(warmup, duration, 3, queue);
            let flows: u64 = record.flows.iter().map(|flow| flow.dropped).sum();
            let link = &record.links[0];
            (flows, link.dropped.tail, link.classes.first().map_or(link.dropped.tail, |class| class.dropped.tail))
        };
        let all = of(0, 5 * MS).0;
        assert_eq!(of(4 * MS, 5 * MS), of(3 * MS, 5 * MS), "{queue}");
        assert!(of(4 * MS, 5 * MS).0 > 0 && of(4 * MS, 5 * MS).0 < all, "{queue}");
        assert_eq!(of(4 * MS + 1, 5 * MS), (0, 0, 0), "{queue}");
    }
}

/// Tests two simultaneous packets at an idle link: the first waits 0, the second 1 ms.
#[test]
fn a_packet_that_finds_the_link_idle_is_a_sample_of_a_wait_of_zero() {
    for queue in ["", r#"queue = { aqm = "codel" }"#, r#"queue = { aqm = "fq-codel" }"#] {
        let mean = |flows| datagrams(0, 10 * MS, flows, queue).links[0].wait_ms.map(|wait| (wait.mean, wait.max));
        assert_eq!((mean(1), mean(2)), (Some((0.0, 0.0)), Some((0.5, 1.0))), "{queue}");
    }
}

/// Tests three packets every 2 ms at a link that sends two in that time.
/// A packet that arrived before the end of the warm-up and waits beyond it is not a sample.
#[test]
fn the_wait_of_a_packet_that_came_before_the_window_is_no_sample_of_it() {
    for queue in ["", r#"queue = { aqm = "codel", target = "1 s" }"#, r#"queue = { scheduler = "strict", classes = [{ name = "one" }] }"#] {
        // The window starts at 3.5 ms. Two packets of 0 and 2 ms are left, which are sent from 4 ms on.
        let record = datagrams(7 * MS / 2, 20 * MS, 3, queue);
        let link = &record.links[0];
        // The packets of 4 ms wait for 2, 3 and 4 ms, those of 6 ms for 3, 4 and 5 ms and so on. The first three are the shortest.
        let samples: Vec<f64> = (0..8)
            .flat_map(|burst| (0..3).map(move |i| (2 + burst + i, 4 + 2 * burst)))
            .filter(|(wait, came)| wait + came < 20)
            .map(|(wait, _)| f64::from(wait))
            .collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let waits = [Some(link), None].into_iter().flatten().map(|link| link.wait_ms).chain(link.classes.iter().map(|class| class.wait_ms));
        for wait in waits {
            let wait = wait.unwrap();
            assert!((wait.mean - mean).abs() < 1e-9, "{queue}: {wait:?}, expected a mean of {mean}");
        }
    }
}

#[test]
fn the_probability_that_a_packet_meets_at_the_warm_ups_end_counts() {
    for aqm in ["red", "blue", "pie"] {
        let mean = |warmup| datagrams(warmup, 9 * MS, 1, &format!("queue = {{ aqm = \"{aqm}\" }}")).links[0].probability_mean;
        assert_eq!((mean(8 * MS), mean(8 * MS + 1)), (Some(0.0), None), "{aqm}");
    }
}

/// Tests a queue that is full at the start of the window and never grows again.
/// Its maximum is that of the start.
#[test]
fn what_waits_when_the_window_opens_counts_for_the_maximum() {
    let record = record(
        r#"
duration = "30 ms"
warmup = "10 ms"
links = [{ name = "link", from = "a", to = "b", rate = "8 Mbit/s" }]
[[flows]]
name = "udp"
count = 20
from = "a"
to = "b"
stop = "1 ms"
traffic = { kind = "cbr", rate = "4 Mbit/s", size = "1000 B" }
"#,
    );
    // The transmission of the eleventh of 20 packets starts at 10 ms.
    let link = &record.links[0];
    assert!((9.0..=10.0).contains(&link.queue.max), "{link:?}");
    assert_eq!(link.queue_bytes.max, 1000.0 * link.queue.max);
}

/// A transfer and the datagrams of a ping, with the times of their events.
fn transfers(warmup: u64) -> Outcome {
    outcome(&format!(
        r#"
duration = "10 s"
warmup = "{warmup} ns"
links = [{{ name = "link", from = "a", to = "b", rate = "8 Mbit/s", delay = "10 ms", duplex = true }}]
[[flows]]
name = "tcp"
from = "a"
to = "b"
traffic = {{ kind = "transfers", every = "1 s", size_mean = "20 kB" }}
stop = "3500 ms"
[[flows]]
name = "ping"
from = "a"
to = "b"
stop = "5 s"
traffic = {{ kind = "ping", every = "700 ms" }}
[trace]
rtt = {{ flows = ["*"] }}
completions = {{ flows = ["*"] }}
"#
    ))
}

/// The last time of a series in ns.
fn last(outcome: &Outcome, series: &str) -> u64 {
    (outcome.series[series]["t"].last().unwrap() * 1e9).round() as u64
}

#[test]
fn a_round_trip_sample_at_the_warm_ups_end_counts() {
    let whole = transfers(0);
    for (flow, group) in [("tcp/0", 0), ("ping/0", 1)] {
        let at = last(&whole, &format!("rtt/{flow}"));
        // The quantiles come from a separate histogram.
        let of = |warmup| transfers(warmup).record.groups[group].rtt_ms.is_some_and(|rtt| rtt.p50 > 0.0 && rtt.mean > 0.0);
        assert!(of(at) && !of(at + 1), "{flow}");
    }
}

#[test]
fn a_completion_at_the_warm_ups_end_counts() {
    let whole = transfers(0);
    let at = last(&whole, "completions/tcp");
    let of = |warmup| {
        let record = transfers(warmup).record;
        (record.groups[0].completion_s.map(|done| done.count), record.flows[0].completed)
    };
    assert!(of(0).1 >= 3);
    assert_eq!((of(at), of(at + 1)), ((Some(1), 1), (None, 0)));
}

/// Tests transmissions that end at 1, 3 and 5 ms.
/// The one that ends at the time of the change has the new delay.
#[test]
fn a_packet_that_leaves_at_the_time_of_a_change_takes_the_new_delay() {
    let outcome = outcome(
        r#"
duration = "20 ms"
links = [{ name = "link", from = "a", to = "b", rate = "8 Mbit/s", delay = "1 ms", changes = [{ at = "3 ms", delay = "5 ms" }] }]
[[flows]]
name = "udp"
from = "a"
to = "b"
stop = "5 ms"
traffic = { kind = "cbr", rate = "4 Mbit/s", size = "1000 B" }
[trace]
throughput = { flows = ["*"], every = "1 ms" }
"#,
    );
    let bps = &outcome.series["throughput/udp/0"]["bps"];
    let arrivals: Vec<usize> = (0..bps.len()).filter(|&ms| bps[ms] > 0.0).collect();
    assert_eq!(arrivals, [2, 8, 10]);
}

/// Tests that the counts of the warm-up and of the window add up to those of both together.
/// Counts are packets, marks, drops by cause, and ACKs that a filter drops.
#[test]
fn the_counts_of_two_windows_that_follow_each_other_add_up() {
    let counts = |warmup: u64, duration: u64| -> Vec<u64> {
        let record = record(&format!(
            r#"
duration = "{duration} ms"
warmup = "{warmup} ms"
[[links]]
name = "link"
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "10 ms"
duplex = true
queue = {{ scheduler = "drr", classes = [{{ name = "tcp", match = {{ group = "tcp" }}, aqm = "codel", limit = "30 packets", ecn = true }}, {{ limit = "9 packets" }}] }}
back = {{ rate = "30 kbit/s", queue = {{ ack_filter = "aggressive", limit = "20 packets" }} }}
[[flows]]
name = "tcp"
count = 2
from = "a"
to = "b"
tcp = {{ ecn = true }}
[[flows]]
name = "udp"
from = "a"
to = "b"
traffic = {{ kind = "onoff", rate = "4 Mbit/s", on = "100 ms", off = "100 ms" }}
"#
        ));
        let links = record.links.iter().flat_map(|link| {
            let classes = link.classes.iter().flat_map(|class| [class.arrived, class.departed, class.marked, class.dropped_total]);
            let acks = link.dropped.ack_filter.unwrap_or(0);
            [link.arrived, link.departed, link.marked, link.dropped.early, link.dropped.tail, acks].into_iter().chain(classes)
        });
        let flows = record.flows.iter().flat_map(|flow| [flow.sent, flow.retransmitted, flow.dropped, flow.marked]);
        links.chain(flows).collect()
    };
    let (first, second, both) = (counts(0, 4_321), counts(4_321, 9_000), counts(0, 9_000));
    let sums: Vec<u64> = first.iter().zip(&second).map(|(first, second)| first + second).collect();
    assert_eq!(sums, both);
    assert!(first.iter().filter(|&&count| count > 0).count() > 15, "{first:?}");
}
