//! Controllers of the registry in noq-proto.

use noq_proto::TransportConfig;
use sojourn_cc::REGISTRY;
use sojourn_harness::trials::{self, Law};
use sojourn_harness::{Dumbbell, FlowInfo, Harness, Pair, scenario};
use sojourn_noq::{Choice, pair};
use std::sync::Arc;

fn ours(name: &'static str) -> impl Fn(&FlowInfo) -> Pair {
    move |flow| {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(Arc::new(Choice::named(name, flow.seed).unwrap()));
        pair(flow, transport)
    }
}

fn failing(name: &'static str, law: Law) -> Vec<&'static str> {
    let judged = trials::run(law, &ours(name));
    judged
        .iter()
        .filter(|(_, judged)| !judged.holds())
        .inspect(|(name, judged)| println!("{name}: {judged}"))
        .map(|(name, _)| *name)
        .collect()
}

#[test]
fn every_controller_of_the_registry_completes_a_transfer() {
    for entry in REGISTRY.iter().filter(|entry| entry.name != "external") {
        let text = Dumbbell::new("10 Mbit/s", "40 ms").limit("60 packets").flow("f", "ours").to_toml();
        let network = scenario(&text.replace("host =", "traffic = { kind = \"bulk\", size = \"3 MB\" }\nhost =")).unwrap();
        let run = Harness::new(network).host("ours", ours(entry.name)).run().unwrap();
        assert!(run.record.flows[0].completed == 1, "{}: {:?}", entry.name, run.record.flows[0]);
    }
}

#[test]
fn the_registrys_cubic_keeps_the_rules_of_cubic() {
    assert_eq!(failing("cubic", Law::Cubic), Vec::<&str>::new());
}

#[test]
fn the_registrys_reno_keeps_the_rules_of_reno() {
    assert_eq!(failing("reno", Law::Reno), Vec::<&str>::new());
}

/// The cases of the draft judge its machine as the simulator's TCP does in `sojourn study bbr`.
#[test]
fn the_registrys_bbr3_breaks_one_rule() {
    assert_eq!(failing("bbr3", Law::Bbr), ["bbr_policer"]);
}

#[test]
fn a_background_controller_yields_to_the_stacks_own_cubic() {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").limit("100 packets").duration("60 s").flow("own", "own").flow("background", "ours");
    let own = |flow: &FlowInfo| pair(flow, TransportConfig::default());
    let run = Harness::new(network.check().unwrap()).host("own", own).host("ours", ours("ledbat++")).run().unwrap();
    let [own, background] = [0, 1].map(|n| run.record.flows[n].goodput_bps);
    assert!(background < own / 5.0, "{own} {background}");
}
