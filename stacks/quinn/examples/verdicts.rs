//! Prints the verdict of each trial on quinn-proto's controllers.

use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use sojourn_harness::trials::{self, Law};
use sojourn_quinn::pair_with;
use std::sync::Arc;

fn main() {
    let controllers: [(Law, Arc<dyn ControllerFactory + Send + Sync>); 2] =
        [(Law::Reno, Arc::new(NewRenoConfig::default())), (Law::Cubic, Arc::new(CubicConfig::default()))];
    for (law, controller) in controllers {
        println!("{law:?}");
        let judged = trials::run(law, &|flow| pair_with(flow, Arc::clone(&controller)));
        for (name, judged) in judged {
            println!("{name}: {judged}");
        }
    }
}
