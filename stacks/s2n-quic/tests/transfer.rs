//! s2n-quic over a bottleneck of 10 Mbit/s, beside the simulator's CUBIC.

use sojourn_harness::{Dumbbell, Harness, PacketKind, Run, scenario};
use sojourn_s2n_quic::{Cubic, pair};
use std::collections::BTreeSet;

/// A transfer of 5 MB through DualPI2, which marks instead of dropping.
fn transfer() -> Run {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").queue("dualpi2").ecn().duration("20 s").tcp("ours", "cubic").to_toml();
    let flow = "name = \"quic\"\nfrom = \"a\"\nto = \"b\"\nhost = \"s2n\"\ntraffic = { kind = \"bulk\", size = \"5 MB\" }";
    let checked = scenario(&format!("{network}\n[[flows]]\n{flow}\n")).unwrap();
    Harness::new(checked).host("s2n", |flow| pair(flow, Cubic::default)).run().unwrap()
}

#[test]
fn a_transfer_completes_beside_our_tcp() {
    let run = transfer();
    let [ours, quic] = ["ours/0", "quic/0"].map(|name| run.record.flows.iter().find(|flow| flow.name == name).unwrap());
    assert_eq!(quic.completed, 1);
    let sum = ours.goodput_bps + quic.goodput_bps;
    assert!(sum > 9e6, "expected a full link of 10 Mbit/s, got {sum}");
}

#[test]
fn the_marks_of_the_queue_arrive_and_are_congestion_events() {
    let run = transfer();
    let quic = run.record.flows.iter().find(|flow| flow.name == "quic/0").unwrap();
    let marked = |kind| {
        let packets = run.log.packets.iter().filter(move |packet| !packet.back && packet.is_marked() && packet.kind == kind);
        packets.map(|packet| packet.number).collect::<BTreeSet<_>>()
    };
    // s2n-quic sends some packets with CE itself, to test the path. The record counts those too.
    let (sent, arrived) = (marked(PacketKind::Sent), marked(PacketKind::Arrived));
    assert!(arrived.difference(&sent).count() > 0);
    assert_eq!((arrived.len() as u64, quic.dropped), (quic.marked, 0));
    // Before the first declared loss, marks are the only signals.
    let events = &run.log.congestion_events["quic/0"];
    let loss = run.log.losses["quic/0"].iter().find(|(_, lost)| *lost > 0).map_or(run.log.packets.last().unwrap().at, |(at, _)| *at);
    assert!(events.iter().any(|(at, count)| *at < loss && *count > 0), "{events:?}");
}

#[test]
fn two_runs_send_the_same_packets_at_the_same_times() {
    let (first, second) = (transfer(), transfer());
    assert_eq!(first.log, second.log);
    assert_eq!(first.record.fingerprint, second.record.fingerprint);
}
