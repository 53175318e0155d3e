//! Trials on windows that are written down.

use sojourn_harness::{Log, trials};
use std::time::Duration;

/// A log with these windows, each 1 ms after the last.
/// Every decrease is for a congestion event.
fn windows(of: &[u64]) -> Log {
    let at = |number: usize| Duration::from_millis(number as u64);
    let falls = (1..of.len()).filter(|&number| of[number] < of[number - 1]);
    let events = falls.zip(1..).map(|(number, events)| (at(number), events)).collect();
    let windows = of.iter().enumerate().map(|(number, &window)| (at(number), window)).collect();
    Log { windows: [("a".to_owned(), windows)].into(), congestion_events: [("a".to_owned(), events)].into(), ..Log::default() }
}

#[test]
fn a_reduction_to_seven_tenths_keeps_the_rule_of_cubic() {
    let judged = trials::cubic_decrease(&windows(&[14_720, 100_000, 70_000, 80_000, 56_000]), "a");
    assert_eq!(judged.to_string(), "rfc9438#4.6, a congestion event reduces the window to 0.7 of it: held 2 times");
}

#[test]
fn fast_convergence_of_the_window_is_named() {
    // Section 4.7 sets W_max to 0.85 of the window: 0.85 times 0.7 is 0.595.
    let judged = trials::cubic_decrease(&windows(&[100_000, 70_000, 69_000, 41_055]), "a");
    assert!(!judged.holds());
    let expected = "rfc9438#4.6, a congestion event reduces the window to 0.7 of it: broken at 0.003000 s: expected a factor of 0.700, \
                    got 0.595 (69000 to 41055 bytes); that is fast convergence, which reduces W_max and not the window (rfc9438#4.7)";
    assert!(judged.to_string().contains("broken at 0.002000 s"), "{judged}");
    let judged = trials::cubic_decrease(&windows(&[100_000, 70_000, 69_000 + 1_000, 41_650]), "a");
    assert_eq!(judged.to_string(), expected.replace("69000 to 41055", "70000 to 41650"));
}

#[test]
fn a_run_without_a_reduction_decides_nothing() {
    let judged = trials::cubic_decrease(&windows(&[10_000, 20_000]), "a");
    assert_eq!(judged.verdict, trials::Verdict::NotApplicable("the window was never reduced for congestion".into()));
}

#[test]
fn a_window_that_is_reset_after_a_pause_is_no_congestion_event() {
    let mut log = windows(&[14_720, 100_000, 70_000, 80_000, 14_720]);
    log.congestion_events.get_mut("a").unwrap().truncate(1);
    let judged = trials::cubic_decrease(&log, "a");
    assert_eq!(judged.verdict, trials::Verdict::Pass(1));
}

#[test]
#[should_panic(expected = "expected a flow with windows, one of a, got \"b\"")]
fn an_unknown_flow_has_no_verdict() {
    trials::cubic_decrease(&windows(&[10_000, 20_000]), "b");
}

#[test]
fn a_rule_that_does_not_apply_holds_and_does_not_pass() {
    let judged = trials::cubic_decrease(&windows(&[10_000, 20_000]), "a");
    assert!(judged.holds() && !judged.passes());
}
