//! Each controller of the registry in noq-proto, alone and beside noq-proto's own CUBIC.
//! Goodputs are in Mbit/s and queueing delays in ms: means of five seeds with intervals of 95 %.

use noq_proto::congestion::CubicConfig;
use sojourn_cc::drivable;
use sojourn_harness::{Dumbbell, FlowInfo, Harness, Run};
use sojourn_noq::{Choice, pair_with};
use std::sync::Arc;

const SEEDS: u64 = 5;
/// Student's t for 95 % and five values.
const STUDENT: f64 = 2.776;

fn runs(network: &Dumbbell, name: &'static str) -> Vec<Run> {
    let run = |seed| {
        let own = |flow: &FlowInfo| pair_with(flow, Arc::new(CubicConfig::default()));
        let ours = |flow: &FlowInfo| pair_with(flow, Arc::new(Choice::named(name, flow.seed).unwrap()));
        Harness::new(network.check().unwrap()).seed(seed).host("own", own).host("ours", ours).run().unwrap()
    };
    (1..=SEEDS).map(run).collect()
}

fn mean(runs: &[Run], value: impl Fn(&Run) -> f64) -> String {
    let values: Vec<f64> = runs.iter().map(value).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{mean:.2} ± {:.2}", STUDENT * (variance / count).sqrt())
}

fn main() {
    let path = Dumbbell::new("20 Mbit/s", "40 ms").limit("133 packets").duration("60 s");
    println!("controller: alone, queueing delay; beside CUBIC, CUBIC");
    for entry in drivable() {
        let alone = runs(&path.clone().flow("ours", "ours"), entry.name);
        let both = runs(&path.clone().flow("ours", "ours").flow("own", "own"), entry.name);
        let goodput = |runs: &[Run], flow: usize| mean(runs, |run| run.record.flows[flow].goodput_bps / 1e6);
        let delay = mean(&alone, |run| run.record.links[0].wait_ms.as_ref().map_or(0.0, |wait| wait.mean));
        println!("{}: {}, {delay}; {}, {}", entry.name, goodput(&alone, 0), goodput(&both, 0), goodput(&both, 1));
    }
}
