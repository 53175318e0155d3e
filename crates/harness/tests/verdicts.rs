//! Every trial passes a sender that keeps the rules, and fails one with a planted fault.

mod model;

use model::{Fault, model};
use sojourn_harness::trials::{self, Law, Verdict};

/// The trials that fail, and that don't apply although they concern the controller.
fn not_passed(law: Law, fault: Option<Fault>) -> Vec<String> {
    let make = model(law, fault);
    let concerned = trials::all().filter(|trial| trial.concerns(law));
    let judged = concerned.map(|trial| (trial.name, trial.run(law, &make)));
    judged.filter(|(_, judged)| !matches!(judged.verdict, Verdict::Pass(1..))).map(|(name, judged)| format!("{name}: {judged}")).collect()
}

#[test]
fn a_sender_with_the_rules_of_reno_passes_all_trials_of_reno() {
    assert_eq!(not_passed(Law::Reno, None), Vec::<String>::new());
}

#[test]
fn a_sender_with_the_rules_of_cubic_passes_all_trials_of_cubic() {
    assert_eq!(not_passed(Law::Cubic, None), Vec::<String>::new());
}

#[test]
fn a_sender_with_the_rules_of_a_scalable_controller_passes_all_of_its_trials() {
    assert_eq!(not_passed(Law::Scalable, None), Vec::<String>::new());
}

#[test]
fn a_planted_fault_fails_the_trial_of_its_rule() {
    let faults: [(Law, Fault, &str); 32] = [
        (Law::Reno, Fault::StartsWithHundred, "initial_window"),
        (Law::Reno, Fault::GrowsTwofold, "slow_start_growth"),
        (Law::Reno, Fault::ExceedsTheWindow, "flight_within_window"),
        (Law::Reno, Fault::ReducesForEachLoss, "one_reduction_a_round_trip"),
        (Law::Reno, Fault::ReducesForEachMark, "marks_reduce_once_a_round_trip"),
        (Law::Reno, Fault::ReducesToSixTenths, "reno_halves"),
        (Law::Reno, Fault::AddsTwoPackets, "reno_growth"),
        (Law::Reno, Fault::IgnoresPersistentCongestion, "persistent_congestion_window"),
        (Law::Reno, Fault::ReducesThresholdTwice, "persistent_congestion_ssthresh"),
        (Law::Reno, Fault::GrowsUnused, "app_limited"),
        (Law::Reno, Fault::CountsLostAcks, "lost_acks"),
        (Law::Reno, Fault::LosesReordered, "reordering"),
        (Law::Reno, Fault::CollapsesWhenLate, "late_packet"),
        (Law::Reno, Fault::Bursts, "idle_restart"),
        (Law::Reno, Fault::ReducesLittleForMarks, "mark_reduces"),
        (Law::Reno, Fault::SlowsToHalf, "hystart_growth"),
        (Law::Reno, Fault::SlowsEarly, "hystart_threshold"),
        (Law::Cubic, Fault::StaysSlow, "hystart_resume"),
        (Law::Cubic, Fault::SlowsForEver, "hystart_end"),
        (Law::Reno, Fault::SlowsByFewSamples, "hystart_samples"),
        (Law::Cubic, Fault::ConvergesTheWindow, "cubic_decrease"),
        (Law::Cubic, Fault::JumpsToTheLastWindow, "cubic_concave"),
        (Law::Cubic, Fault::StaysAtTheLastWindow, "cubic_convex"),
        (Law::Cubic, Fault::ForgetsFastConvergence, "cubic_fast_convergence"),
        (Law::Cubic, Fault::LosesIncrements, "cubic_increments"),
        (Law::Cubic, Fault::TakesKFromTheLastWindow, "cubic_fast_convergence"),
        (Law::Cubic, Fault::ForgetsReno, "cubic_reno_friendly"),
        (Law::Scalable, Fault::SendsEct0, "l4s_identifier"),
        (Law::Scalable, Fault::HalvesForMarks, "l4s_signals"),
        (Law::Scalable, Fault::IgnoresLoss, "l4s_loss"),
        (Law::Scalable, Fault::TakesClassicMarksForOwn, "l4s_fallback"),
        (Law::Scalable, Fault::LosesReordered, "l4s_reordering"),
    ];
    for (law, fault, name) in faults {
        let judged = trials::one(name, law, &model(law, Some(fault))).unwrap();
        assert!(!judged.holds(), "{fault:?}: {name}: {judged}");
    }
}

#[test]
fn the_rules_of_hystart_do_not_apply_to_a_start_that_ignores_the_rtt() {
    for name in ["hystart_growth", "hystart_threshold", "hystart_resume", "hystart_end", "hystart_samples"] {
        let judged = trials::one(name, Law::Reno, &model(Law::Reno, Some(Fault::IgnoresTheRtt))).unwrap();
        assert!(matches!(judged.verdict, Verdict::NotApplicable(_)), "{name}: {judged}");
    }
}
