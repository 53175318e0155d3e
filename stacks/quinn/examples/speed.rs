//! Ten connections over 10 Mbit/s for a minute: the simulated time per second of processor time.

use quinn_proto::TransportConfig;
use sojourn_harness::{Dumbbell, Harness};
use sojourn_quinn::pair;
use std::time::Instant;

const SECONDS: f64 = 60.0;

fn main() {
    let flows = (0..10)
        .fold(Dumbbell::new("10 Mbit/s", "40 ms").queue("codel").duration("60 s"), |network, n| network.flow(&format!("quic{n}"), "quinn"));
    let harness = Harness::new(flows.check().unwrap()).host("quinn", |flow| pair(flow, TransportConfig::default()));
    let begin = Instant::now();
    let run = harness.run().unwrap();
    let factor = SECONDS / begin.elapsed().as_secs_f64();
    let goodput: f64 = run.record.flows.iter().map(|flow| flow.goodput_bps).sum();
    println!("{factor:.0} times real time, {:.2} Mbit/s, fingerprint {}", goodput / 1e6, run.record.fingerprint);
}
