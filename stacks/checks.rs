//! Checks of the controllers of a QUIC stack, and of the registry's in it.

use sojourn_cc::drivable;
use sojourn_harness::trials::{self, Law};
use sojourn_harness::{Dumbbell, FlowInfo, Harness, Pair, scenario};

/// The trials of a law that these endpoints fail.
pub fn failing(law: Law, make: impl Fn(&FlowInfo) -> Pair) -> Vec<&'static str> {
    let judged = trials::run(law, &make);
    let failing = judged.iter().filter(|(_, judged)| !judged.holds());
    failing.inspect(|(name, judged)| println!("{name}: {judged}")).map(|(name, _)| *name).collect()
}

/// The controllers of the registry that don't complete 3 MB in 10 s over 10 Mbit/s.
pub fn slow(make: impl Fn(&str, &FlowInfo) -> Pair) -> Vec<&'static str> {
    let completes = |name: &str| {
        let text = Dumbbell::new("10 Mbit/s", "40 ms").limit("60 packets").flow("f", "ours").to_toml();
        let network = scenario(&text.replace("host =", "traffic = { kind = \"bulk\", size = \"3 MB\" }\nhost =")).unwrap();
        let run = Harness::new(network).host("ours", |flow| make(name, flow)).run().unwrap();
        run.record.flows[0].completed == 1
    };
    drivable().map(|entry| entry.name).filter(|name| !completes(name)).collect()
}

/// The goodputs of two flows that share 10 Mbit/s for a minute.
pub fn shares(first: impl Fn(&FlowInfo) -> Pair, second: impl Fn(&FlowInfo) -> Pair) -> [f64; 2] {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").limit("100 packets").duration("60 s").flow("first", "first").flow("second", "second");
    let run = Harness::new(network.check().unwrap()).host("first", first).host("second", second).run().unwrap();
    [0, 1].map(|flow| run.record.flows[flow].goodput_bps)
}
