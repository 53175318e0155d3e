//! noq-proto's controllers, and those of the registry in noq-proto.

#[path = "../../checks.rs"]
mod checks;

use checks::{failing, shares, slow};
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use sojourn_harness::trials::Law;
use sojourn_harness::{FlowInfo, Pair};
use sojourn_noq::{Choice, pair_with};
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

/// Samples of ProbeRTT count as full ones. The filter of the bandwidth advances in each round of Down and Cruise.
/// Its losses at a policer are those of other implementations of version 3.
#[test]
fn its_bbr_breaks_three_rules() {
    let broken = ["bbr_startup_probe_rtt", "bbr_down_time", "bbr_policer"];
    assert_eq!(failing(Law::Bbr, own(Arc::new(Bbr3Config::default()))), broken);
}

#[test]
fn the_registrys_reno_and_cubic_keep_their_rules() {
    assert_eq!(failing(Law::Reno, ours("reno")), Vec::<&str>::new());
    assert_eq!(failing(Law::Cubic, ours("cubic")), Vec::<&str>::new());
}

/// The cases of the draft judge its machine as the simulator's TCP does in `sojourn study bbr`.
#[test]
fn the_registrys_bbr3_breaks_one_rule() {
    assert_eq!(failing(Law::Bbr, ours("bbr3")), ["bbr_policer"]);
}

#[test]
fn every_controller_of_the_registry_completes_a_transfer() {
    assert_eq!(slow(|name, flow| ours(name)(flow)), Vec::<&str>::new());
}

#[test]
fn a_background_controller_yields_to_the_stacks_own_cubic() {
    let [cubic, background] = shares(own(Arc::new(CubicConfig::default())), ours("ledbat++"));
    assert!(background < cubic / 5.0, "{cubic} {background}");
}
