//! noq's CUBIC by the rules of RFC 9438.

use noq_proto::TransportConfig;
use sojourn_harness::{Dumbbell, Harness, Run, trials};
use sojourn_noq::pair;

fn run() -> Run {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").limit("100 packets").flow("quic", "noq");
    Harness::new(network.check().unwrap()).host("noq", |flow| pair(flow, TransportConfig::default())).run().unwrap()
}

#[test]
fn cubic_reduces_its_window_to_seven_tenths() {
    let judged = trials::cubic_decrease(&run().log, "quic/0");
    assert!(judged.holds(), "{judged}");
}

#[test]
fn two_runs_send_the_same_packets_at_the_same_times() {
    let (first, second) = (run(), run());
    assert_eq!(first.log, second.log);
    assert_eq!(first.record.fingerprint, second.record.fingerprint);
}
