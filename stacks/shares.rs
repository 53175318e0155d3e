//! Prints each controller of the registry in a QUIC stack, alone and beside the stack's own CUBIC.
//! Goodputs are in Mbit/s and queueing delays in ms: means of five seeds with intervals of 95 %.

use sojourn_cc::drivable;
use sojourn_harness::{Dumbbell, FlowInfo, Harness, Pair, Run};

const SEEDS: u64 = 5;
/// Student's t for 95 % and five values.
const STUDENT: f64 = 2.776;

/// Both ends of a connection with the controller of this name; `None` is the stack's default.
type Make = fn(&FlowInfo, Option<&str>) -> Pair;

fn runs(network: &Dumbbell, name: &str, make: Make) -> Vec<Run> {
    let run = |seed| {
        let harness = Harness::new(network.check().unwrap()).seed(seed);
        harness.host("own", |flow| make(flow, None)).host("ours", |flow| make(flow, Some(name))).run().unwrap()
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

/// `make` has CUBIC as its default, and the registry's names after `sojourn:`.
pub fn print(make: Make) {
    let path = Dumbbell::new("20 Mbit/s", "40 ms").limit("133 packets").duration("60 s");
    println!("controller: alone, queueing delay; beside CUBIC, CUBIC");
    for entry in drivable() {
        let ours = format!("sojourn:{}", entry.name);
        let alone = runs(&path.clone().flow("ours", "ours"), &ours, make);
        let both = runs(&path.clone().flow("ours", "ours").flow("own", "own"), &ours, make);
        let goodput = |runs: &[Run], flow: usize| mean(runs, |run| run.record.flows[flow].goodput_bps / 1e6);
        let delay = mean(&alone, |run| run.record.links[0].wait_ms.as_ref().map_or(0.0, |wait| wait.mean));
        println!("{}: {}, {delay}; {}, {}", entry.name, goodput(&alone, 0), goodput(&both, 0), goodput(&both, 1));
    }
}
