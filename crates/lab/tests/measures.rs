//! Measures of flows, groups and links against their definitions.

use sojourn_lab::{CapturePoints, Job, Laws, Outcome, run, run_captured};
use sojourn_scenario::Document;
use std::sync::Arc;

fn outcome(text: &str) -> Outcome {
    let scenario = Document::from_toml("measures.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, None, &Laws::default(), &|| false).unwrap_or_else(|error| panic!("{error}"))
}

/// A run of 20 s over a link with a delay of 10 ms.
fn over(link: &str, rest: &str) -> Outcome {
    outcome(&format!(
        r#"
duration = "20 s"
links = [{{ name = "link", from = "a", to = "b", delay = "10 ms", duplex = true, {link} }}]
{rest}"#
    ))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

/// Tests equal samples. The histogram of round-trip times has steps of 1/32 of an octave.
#[test]
fn quantiles_of_a_constant_round_trip_time_are_it() {
    let ping = "[[flows]]\nname = \"ping\"\nfrom = \"a\"\nto = \"b\"\ntraffic = { kind = \"ping\", every = \"100 ms\" }\n";
    for delay in ["10 ms", "10317 us", "12999 us"] {
        let record = outcome(&format!(
            "duration = \"20 s\"\nlinks = [{{ name = \"link\", from = \"a\", to = \"b\", delay = \"{delay}\", duplex = true }}]\n{ping}"
        ))
        .record;
        let (flow, group) = (record.flows[0].rtt_ms.unwrap(), record.groups[0].rtt_ms.unwrap());
        assert_eq!(flow.min, flow.max);
        assert_eq!([group.min, group.p50, group.p90, group.p95, group.p99], [flow.max; 5], "{delay}");
        assert_eq!(group.jitter, 0.0);
        assert_eq!(record.groups[0].responsiveness_rpm, Some(60e3 / flow.max), "round trips a minute of {delay}");
    }
}

const TRANSFERS: &str = r#"
[[flows]]
name = "tcp"
from = "a"
to = "b"
traffic = { kind = "transfers", every = "400 ms", size_mean = "30 kB" }
[trace]
rtt = { flows = ["*"] }
completions = { flows = ["*"] }
"#;

/// Tests that a quantile of completion times is the nearest rank.
/// It is the smallest time that the share of all times does not exceed.
#[test]
fn quantiles_of_completion_times_are_nearest_ranks() {
    let outcome = over("rate = \"2 Mbit/s\"", TRANSFERS);
    let done = outcome.record.groups[0].completion_s.unwrap();
    let mut times = outcome.series["completions/tcp"]["seconds"].clone();
    times.sort_by(f64::total_cmp);
    assert!(times.len() > 20 && done.count as usize == times.len());
    for (share, got) in [(0.5, done.p50), (0.9, done.p90), (0.99, done.p99)] {
        let within = |most: f64| times.iter().filter(|&&time| time <= most).count() as f64;
        let least = times.iter().copied().find(|&time| within(time) >= share * times.len() as f64).unwrap();
        assert!(near(got, least), "{share}: {got}, expected {least}");
    }
}

/// Tests that every sample has the same weight, whatever its connection.
#[test]
fn the_mean_round_trip_time_of_a_session_is_that_of_its_samples() {
    let outcome = over("rate = \"2 Mbit/s\"", TRANSFERS);
    let samples = &outcome.series["rtt/tcp/0"]["seconds"];
    let mean = 1e3 * samples.iter().sum::<f64>() / samples.len() as f64;
    let found = outcome.record.flows[0].rtt_ms.unwrap();
    assert!(found.sd > 1.0 && near(found.mean, mean), "{found:?}, expected a mean of {mean}");
}

/// Tests jain-1984: (sum x)^2 / (n sum x^2) with x = (x, 0) is a half.
#[test]
fn a_flow_that_gets_nothing_counts_for_jains_index() {
    let flows = "[[flows]]\nname = \"udp\"\ncount = 2\nfrom = \"a\"\nto = \"b\"\nstart = [\"0 s\", \"100 s\"]\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    let record = over("rate = \"2 Mbit/s\"", flows).record;
    assert_eq!((record.groups[0].jain, record.total.jain), (Some(0.5), Some(0.5)));
}

const DATAGRAMS: &str = "[[flows]]\nname = \"udp\"\ncount = 3\nfrom = \"a\"\nto = \"b\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";

#[test]
fn what_comes_to_a_link_is_counted_before_its_queue_wherever_impairments_are() {
    for place in ["before-queue", "after-queue"] {
        let impairments = format!("impairments = [{{ kind = \"loss\", probability = 0.3, place = \"{place}\" }}]");
        let record = over(&format!("rate = \"2 Mbit/s\", queue = {{ limit = \"2 packets\" }}, {impairments}"), DATAGRAMS).record;
        let (link, sent) = (&record.links[0], record.flows.iter().map(|flow| flow.sent).sum::<u64>());
        assert!(link.dropped.tail > 100 && link.dropped.impaired > Some(100), "{link:?}");
        assert_eq!(link.arrived, sent, "{place}");
    }
}

/// Tests that the pass ratio of queue and impairment is the product of both.
#[test]
fn the_loss_ratio_of_a_queue_and_an_impairment_is_that_of_both_in_turn() {
    let impairments = "impairments = [{ kind = \"loss\", probability = 0.3, place = \"after-queue\" }]";
    let record = over(&format!("rate = \"2 Mbit/s\", queue = {{ limit = \"2 packets\" }}, {impairments}"), DATAGRAMS).record;
    let link = &record.links[0];
    let (queue, behind) = (link.dropped.tail as f64 / link.arrived as f64, &link.impairments[0]);
    let passes = (1.0 - queue) * (1.0 - behind.dropped as f64 / behind.met as f64);
    assert!(near(link.loss_ratio.unwrap(), 1.0 - passes) && queue > 0.2, "{link:?}");
}

#[test]
fn retransmissions_are_traced_with_their_payload() {
    let flows =
        "[[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ntcp = { mss = \"1000 B\" }\n[trace]\nretransmissions = { flows = [\"*\"] }";
    let outcome = over("rate = \"2 Mbit/s\", queue = { limit = \"20 packets\" }", flows);
    let bytes = &outcome.series["retransmissions/tcp/0"]["bytes"];
    assert_eq!(bytes.len() as u64, outcome.record.flows[0].retransmitted);
    assert!(!bytes.is_empty() && bytes.iter().all(|&bytes| bytes == 1000.0), "{bytes:?}");
}

#[test]
fn data_segments_and_acks_are_traced_at_the_sender() {
    let flows =
        "[[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ntcp = { mss = \"1000 B\" }\ntraffic = { kind = \"bulk\", size = \"50 kB\" }";
    let link = "rate = \"2 Mbit/s\", queue = { limit = \"20 packets\" }";
    let outcome = over(link, &format!("{flows}\n[trace]\nsegments = {{ flows = [\"*\"] }}"));
    let (segments, acks) = (&outcome.series["segments/tcp/0"], &outcome.series["acks/tcp/0"]);
    let flow = &outcome.record.flows[0];
    assert_eq!(segments["bytes"].len() as u64, flow.sent);
    assert!(flow.retransmitted == 0 && segments["offset"].windows(2).all(|pair| pair[1] - pair[0] == 1000.0));
    assert_eq!(acks["offset"].iter().copied().fold(0.0, f64::max), segments["bytes"].iter().sum::<f64>());
    assert!(acks["t"][0] > segments["t"][0] && acks["t"].is_sorted());
    assert_eq!(outcome.record, over(link, flows).record, "a trace changes nothing");
}

/// Tests segments and ACKs with a one-way delay of 10 ms and no transmission time.
/// Windows change at multiples of 20 ms.
#[test]
fn a_sample_of_a_window_at_the_time_of_a_change_has_the_new_value() {
    let text = r#"
duration = "110 ms"
links = [{ name = "link", from = "a", to = "b", delay = "10 ms", duplex = true }]
[[flows]]
name = "tcp"
from = "a"
to = "b"
[trace]
cwnd = { flows = ["*"], every = "10 ms" }
"#;
    let packets = outcome(text).series["cwnd/tcp/0"]["packets"].clone();
    for step in (1..packets.len()).filter(|&step| packets[step] != packets[step - 1]) {
        assert!(step % 2 == 0, "the window changes between {} and {} ms: {packets:?}", 10 * (step - 1), 10 * step);
    }
    // Slow start doubles the window each round trip after the handshake.
    assert!(packets.last().unwrap() / packets[0] >= 8.0, "{packets:?}");
}

#[test]
fn all_that_arrives_of_datagrams_is_their_goodput() {
    let record = over("rate = \"2 Mbit/s\"", DATAGRAMS).record;
    assert!(record.flows.iter().all(|flow| flow.goodput_bps == flow.throughput_bps && flow.goodput_bps > 1e5), "{:?}", record.flows);
}

/// Tests packets that need 2 ms with their overhead.
/// At 1 ms one is half sent and two wait.
#[test]
fn the_delay_of_a_queue_has_the_overhead_of_its_packets() {
    for queue in ["", "queue = { aqm = \"codel\" }, "] {
        let text = format!(
            r#"
duration = "5 ms"
links = [{{ name = "link", from = "a", to = "b", rate = "5 Mbit/s", {queue} overhead = {{ per_packet = "250 B" }} }}]
[[flows]]
name = "udp"
count = 3
from = "a"
to = "b"
traffic = {{ kind = "cbr", rate = "1 Mbit/s", size = "1000 B" }}
[trace]
queue = {{ links = ["link"], every = "1 ms" }}
"#
        );
        let series = &outcome(&text).series["queue/link"];
        assert_eq!((series["packets"][1], series["delay_s"][1]), (2.0, 0.005), "{queue}");
    }
}

/// A transfer that ends in the first half second keeps its window and delivers nothing more.
#[test]
fn traces_of_a_flow_reach_to_the_end_of_the_run() {
    let flows = r#"
[[flows]]
name = "tcp"
from = "a"
to = "b"
traffic = { kind = "bulk", size = "20 kB" }
[trace]
cwnd = { flows = ["*"], every = "100 ms" }
throughput = { flows = ["*"], every = "100 ms" }
"#;
    let series = over("rate = \"2 Mbit/s\"", flows).series;
    let (window, bps) = (&series["cwnd/tcp/0"], &series["throughput/tcp/0"]["bps"]);
    assert_eq!((window["t"].len(), window["t"].last().copied(), bps.len()), (201, Some(20.0), 200));
    assert!(window["packets"][10..].iter().all(|&packets| packets == window["packets"][10]), "{window:?}");
    assert!(bps[0] > 0.0 && bps[10..].iter().all(|&bps| bps == 0.0), "{bps:?}");
}

#[test]
fn every_mark_of_a_traced_link_is_a_signal() {
    let flows = "[[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ntcp = { ecn = true }\n[trace]\nsignals = { links = [\"link\"] }";
    let outcome = over("rate = \"2 Mbit/s\", queue = { aqm = \"codel\", ecn = true }", flows);
    let marks = outcome.series["signals/link"]["cause"].iter().filter(|&&cause| cause == 4.0).count() as u64;
    assert!(marks > 0 && marks == outcome.record.links[0].marked, "{marks} of {}", outcome.record.links[0].marked);
}

/// A datagram leaves every 100 ms, the first at once.
#[test]
fn a_capture_at_a_host_has_what_the_host_sends_or_gets() {
    let text = r#"
duration = "2 s"
links = [{ name = "link", from = "a", to = "b", rate = "2 Mbit/s", delay = "10 ms", duplex = true }]
[[flows]]
name = "udp"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "80 kbit/s", size = "1000 B" }
"#;
    let scenario = Arc::new(Document::from_toml("measures.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}")));
    let packets = |host: &str| {
        let (mut file, points) = (Vec::new(), CapturePoints { links: vec![], hosts: vec![host.into()] });
        run_captured(&Job { scenario: Arc::clone(&scenario), seed: None, laws: Laws::default() }, &points, &mut file, &|| false).unwrap();
        // An enhanced packet block (draft-ietf-opsawg-pcapng section 4.3) of 1000 B has this original length.
        file.windows(4).filter(|part| *part == 1000u32.to_le_bytes()).count()
    };
    assert_eq!([packets("udp/0:sender"), packets("udp/0:receiver")], [20, 20]);
}
