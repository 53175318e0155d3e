//! The trials that noq-proto's controllers fail.

use noq_proto::TransportConfig;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use sojourn_harness::trials::{self, Law};
use sojourn_noq::pair;
use std::sync::Arc;

fn failing(law: Law, controller: Arc<dyn ControllerFactory + Send + Sync>) -> Vec<&'static str> {
    let judged = trials::run(law, &|flow| {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(Arc::clone(&controller));
        pair(flow, transport)
    });
    judged.into_iter().filter(|(_, judged)| !judged.holds()).map(|(name, _)| name).collect()
}

#[test]
fn reno_keeps_all_rules() {
    assert_eq!(failing(Law::Reno, Arc::new(NewRenoConfig::default())), Vec::<&str>::new());
}

/// It loses increments, computes K from W_max alone, and reduces ssthresh twice.
#[test]
fn cubic_breaks_three_rules() {
    let broken = ["persistent_congestion_ssthresh", "cubic_increments", "cubic_fast_convergence"];
    assert_eq!(failing(Law::Cubic, Arc::new(CubicConfig::default())), broken);
}

/// Samples of ProbeRTT count as full ones. The filter of the bandwidth advances in each round of Down and Cruise.
/// Its losses at a policer are those of other implementations of version 3.
#[test]
fn bbr_breaks_three_rules() {
    let broken = ["bbr_startup_probe_rtt", "bbr_down_time", "bbr_policer"];
    assert_eq!(failing(Law::Bbr, Arc::new(Bbr3Config::default())), broken);
}
