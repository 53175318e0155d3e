//! quinn-proto's controllers, and those of the registry in quinn-proto.

#[path = "../../checks.rs"]
mod checks;

use checks::{failing, shares, slow};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use sojourn_harness::trials::Law;
use sojourn_harness::{FlowInfo, Pair};
use sojourn_quinn::{Choice, pair_with};
use std::sync::Arc;

fn own(controller: Arc<dyn ControllerFactory + Send + Sync>) -> impl Fn(&FlowInfo) -> Pair {
    move |flow| pair_with(flow, Arc::clone(&controller))
}

fn ours(name: &str) -> impl Fn(&FlowInfo) -> Pair {
    move |flow| pair_with(flow, Arc::new(Choice::named(name, flow.seed).unwrap()))
}

#[test]
fn its_reno_keeps_all_rules() {
    assert_eq!(failing(Law::Reno, own(Arc::new(NewRenoConfig::default()))), Vec::<&str>::new());
}

/// It loses increments, computes K from W_max alone, and reduces ssthresh twice.
#[test]
fn its_cubic_breaks_three_rules() {
    let broken = ["persistent_congestion_ssthresh", "cubic_increments", "cubic_fast_convergence"];
    assert_eq!(failing(Law::Cubic, own(Arc::new(CubicConfig::default()))), broken);
}

#[test]
fn the_registrys_reno_and_cubic_keep_their_rules() {
    assert_eq!(failing(Law::Reno, ours("reno")), Vec::<&str>::new());
    assert_eq!(failing(Law::Cubic, ours("cubic")), Vec::<&str>::new());
}

/// quinn-proto counts a sender that its pacer holds back as limited by the application. LEDBAT then never grows from two packets.
#[test]
fn every_controller_of_the_registry_but_two_completes_a_transfer() {
    assert_eq!(slow(|name, flow| ours(name)(flow)), ["ledbat", "tcp-lp"]);
}

#[test]
fn a_background_controller_yields_to_the_stacks_own_cubic() {
    let [cubic, background] = shares(own(Arc::new(CubicConfig::default())), ours("ledbat++"));
    assert!(background < cubic / 5.0, "{cubic} {background}");
}
