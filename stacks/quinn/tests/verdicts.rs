//! quinn's CUBIC and NewReno in all trials.

use quinn_proto::TransportConfig;
use quinn_proto::congestion::NewRenoConfig;
use sojourn_harness::FlowInfo;
use sojourn_harness::Pair;
use sojourn_harness::trials::{self, Law};
use sojourn_quinn::pair;
use std::sync::Arc;

fn cubic(flow: &FlowInfo) -> Pair {
    pair(flow, TransportConfig::default())
}

fn reno(flow: &FlowInfo) -> Pair {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
    pair(flow, transport)
}

#[test]
fn print_all() {
    for (law, make) in [(Law::Cubic, &cubic as &dyn Fn(&FlowInfo) -> Pair), (Law::Reno, &reno)] {
        for (name, judged) in trials::run(law, make) {
            println!("{law:?} {name}: {judged}");
        }
    }
}
