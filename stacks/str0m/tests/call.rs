//! Calls of str0m over a bottleneck.

use sojourn_harness::{Dumbbell, Fate, Harness, PacketKind, Run};
use sojourn_str0m::{Video, pair};
use std::time::Duration;

const VIDEO: Video = Video { start: 300_000, most: 6_000_000 };

fn bottleneck() -> Dumbbell {
    Dumbbell::new("2 Mbit/s", "50 ms").limit("30 packets").duration("60 s").flow("call", "str0m")
}

fn call(network: &Dumbbell, seed: u64) -> Run {
    let harness = Harness::new(network.check().unwrap()).host("str0m", |flow| pair(flow, VIDEO));
    // One lost packet is repaired and does not end the call.
    harness.on_data("call/0", 500..=500, Fate::Drop).seed(seed).run().unwrap()
}

#[test]
fn a_call_finds_the_rate_of_a_link_and_of_the_link_after_a_change() {
    let run = call(&bottleneck().change("30 s", r#"rate = "1 Mbit/s""#), 1);
    assert!(run.record.audit.balances());
    let received = |from: u64, until: u64| {
        let of = |at: Duration| (from..until).contains(&at.as_secs());
        let arrived = run.log.packets.iter().filter(|packet| packet.kind == PacketKind::Arrived && !packet.back && of(packet.at));
        arrived.map(|packet| f64::from(packet.size) * 8.0).sum::<f64>() / (until - from) as f64
    };
    // Its estimate leaves a part of the link free, and follows the link's rate.
    assert!((1.3e6..=2e6).contains(&received(15, 30)), "{}", received(15, 30));
    assert!((0.6e6..=1e6).contains(&received(45, 60)), "{}", received(45, 60));
}

#[test]
fn two_calls_with_one_seed_have_the_same_packets_at_the_same_times() {
    let [first, second, other] = [1, 1, 2].map(|seed| call(&bottleneck(), seed));
    let differs = first.log.packets.iter().zip(&second.log.packets).find(|(one, two)| one != two);
    assert_eq!(differs, None);
    assert!(first.log == second.log);
    assert_eq!(first.record.fingerprint, second.record.fingerprint);
    assert_ne!(first.record.fingerprint, other.record.fingerprint);
}
