//! Each controller of the registry in noq-proto, alone and beside noq-proto's own CUBIC: goodput in Mbit/s and queueing delay in ms.

use noq_proto::TransportConfig;
use sojourn_cc::REGISTRY;
use sojourn_harness::{Dumbbell, FlowInfo, Harness, Run};
use sojourn_noq::{Choice, pair};
use std::sync::Arc;

fn run(network: &Dumbbell, name: &'static str) -> Run {
    let own = |flow: &FlowInfo| pair(flow, TransportConfig::default());
    let ours = |flow: &FlowInfo| {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(Arc::new(Choice::named(name, flow.seed).unwrap()));
        pair(flow, transport)
    };
    Harness::new(network.check().unwrap()).host("own", own).host("ours", ours).run().unwrap()
}

fn main() {
    let path = Dumbbell::new("20 Mbit/s", "40 ms").limit("133 packets").duration("60 s");
    println!("controller: alone, queueing delay; beside CUBIC, CUBIC");
    for entry in REGISTRY.iter().filter(|entry| entry.name != "external" && entry.name != "linux") {
        let alone = run(&path.clone().flow("ours", "ours"), entry.name);
        let both = run(&path.clone().flow("ours", "ours").flow("own", "own"), entry.name);
        let goodput = |run: &Run, flow: usize| run.record.flows[flow].goodput_bps / 1e6;
        let delay = alone.record.links[0].wait_ms.as_ref().map_or(0.0, |wait| wait.mean);
        println!("{}: {:.2}, {delay:.1}; {:.2}, {:.2}", entry.name, goodput(&alone, 0), goodput(&both, 0), goodput(&both, 1));
    }
}
