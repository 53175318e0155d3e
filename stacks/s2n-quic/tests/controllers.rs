//! s2n-quic's CUBIC, and the controllers of the registry in s2n-quic.

#[path = "../../checks.rs"]
mod checks;

use checks::{failing, shares, slow};
use sojourn_harness::trials::Law;
use sojourn_harness::{Dumbbell, FlowInfo, Harness, Pair};
use sojourn_s2n_quic::{Choice, Cubic, pair};
use std::collections::BTreeSet;

fn ours(name: &str) -> impl Fn(&FlowInfo) -> Pair {
    move |flow| {
        let choice = Choice::named(name, flow.seed).unwrap();
        pair(flow, || choice.clone())
    }
}

/// A larger packet scales the window. Each probe after a timeout skips a packet number, and persistent congestion is only sought among
/// contiguous ones. An ACK adds one increment however many packets it acknowledges.
#[test]
fn its_cubic_breaks_six_rules() {
    let growth = ["slow_start_growth", "cubic_concave", "cubic_convex", "cubic_increments", "cubic_fast_convergence"];
    let broken: BTreeSet<_> = growth.into_iter().chain(["persistent_congestion_window"]).collect();
    assert_eq!(BTreeSet::from_iter(failing(Law::Cubic, |flow| pair(flow, Cubic::default))), broken);
}

/// The stack does not tell them of persistent congestion.
#[test]
fn the_registrys_reno_and_cubic_break_one_rule() {
    for (law, name) in [(Law::Reno, "reno"), (Law::Cubic, "cubic")] {
        assert_eq!(failing(law, ours(name)), ["persistent_congestion_window"]);
    }
}

/// An ACK acknowledges about ten packets, up to 25 ms late, so the losses of the first case fall into two round trips.
#[test]
fn the_registrys_bbr3_breaks_four_rules() {
    assert_eq!(failing(Law::Bbr, ours("bbr3")), ["bbr_startup_loss", "bbr_drain_time", "bbr_down_time", "bbr_policer"]);
}

/// Both take the late ACKs for a queue.
#[test]
fn every_controller_of_the_registry_but_two_completes_a_transfer() {
    assert_eq!(slow(|name, flow| ours(name)(flow)), ["cdg", "tcp-lp"]);
}

#[test]
fn a_background_controller_yields_to_the_stacks_own_cubic() {
    let [cubic, background] = shares(|flow| pair(flow, Cubic::default), ours("ledbat++"));
    assert!(background < cubic / 5.0, "{cubic} {background}");
}

/// DCTCP reduces its window by the share of marked packets, which it knows from their count.
#[test]
fn marks_are_counted() {
    let network = Dumbbell::new("20 Mbit/s", "20 ms").queue("step").ecn().duration("20 s").flow("quic", "ours");
    let run = Harness::new(network.check().unwrap()).host("ours", ours("dctcp")).run().unwrap();
    let late = run.log.windows["quic/0"].iter().filter(|(at, _)| at.as_secs() >= 10).map(|(_, window)| *window);
    let (least, most) = (late.clone().min().unwrap(), late.max().unwrap());
    assert!(3 * least > 2 * most, "expected a window that never falls to two thirds, got {least} to {most}");
    assert!(run.record.flows[0].goodput_bps > 18e6, "{}", run.record.flows[0].goodput_bps);
}
