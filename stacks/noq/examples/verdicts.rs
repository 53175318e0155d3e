//! Prints the verdict of each trial on noq-proto's controllers.

use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use sojourn_harness::trials::{self, Law};
use sojourn_noq::pair_with;
use std::sync::Arc;

fn main() {
    let controllers: [(Law, Arc<dyn ControllerFactory + Send + Sync>); 3] = [
        (Law::Reno, Arc::new(NewRenoConfig::default())),
        (Law::Cubic, Arc::new(CubicConfig::default())),
        (Law::Bbr, Arc::new(Bbr3Config::default())),
    ];
    for (law, controller) in controllers {
        println!("{law:?}");
        let judged = trials::run(law, &|flow| pair_with(flow, Arc::clone(&controller)));
        for (name, judged) in judged {
            println!("{name}: {judged}");
        }
    }
}
