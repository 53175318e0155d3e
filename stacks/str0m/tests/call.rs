//! Calls of str0m over a bottleneck.

use sojourn_harness::{Dumbbell, Harness, PacketKind, Run};
use sojourn_str0m::{Video, pair};

const VIDEO: Video = Video { start: 300_000, most: 6_000_000 };

fn call(network: Dumbbell, seed: u64) -> Run {
    let harness = Harness::new(network.check().unwrap()).host("str0m", |flow| pair(flow, VIDEO));
    harness.seed(seed).run().unwrap()
}

fn bottleneck() -> Dumbbell {
    Dumbbell::new("2 Mbit/s", "50 ms").limit("30 packets").duration("60 s").flow("call", "str0m")
}

#[test]
fn a_call_finds_the_rate_of_the_link() {
    let run = call(bottleneck(), 1);
    let goodput = run.record.flows[0].goodput_bps;
    println!("{goodput} {:?}", run.log.bandwidths["call/0"].last());
    println!("{}", run.record.links[0].wait_ms.as_ref().unwrap().mean);
    assert!(goodput > 1e6 && goodput < 2e6, "{goodput}");
}

#[test]
fn two_calls_with_one_seed_have_the_same_packets_at_the_same_times() {
    let [first, second, other] = [1, 1, 2].map(|seed| call(bottleneck(), seed));
    assert_eq!(first.log, second.log);
    assert_eq!(first.record.fingerprint, second.record.fingerprint);
    assert_ne!(first.record.fingerprint, other.record.fingerprint);
    println!("fingerprint {}", first.record.fingerprint);
    let _ = PacketKind::Sent;
}
