//! Rules of `HyStart++` (rfc9406#4.2): slow start ends early if the round-trip time grows.
//!
//! A sender whose growth ignores the round-trip time has no such start, so the rules do not apply to it.

use super::recovery::scheduled;
use super::view::View;
use super::{Law, Trial, Verdict, wide};
use std::time::Duration;

/// The growth in conservative slow start as a part of the acknowledged bytes.
const CONSERVATIVE: f64 = 0.25;
/// Its tolerance.
const TOLERANCE: f64 = 0.1;
/// A part of at least this is slow start.
const SLOW_START: f64 = 0.75;
/// A part of at most this is congestion avoidance.
const AVOIDANCE: f64 = 0.1;

/// The controllers that may start so.
const LAWS: &[Law] = &[Law::Reno, Law::Cubic];

/// A change of the path's delay, by 20 ms: the threshold for 100 ms is an eighth of them.
const RISE: &str = r#"delay = "70 ms""#;

/// The trials. The path has a round-trip time of 100 ms, so a round begins each 100 ms.
pub(super) const TRIALS: &[Trial] = &[
    Trial {
        name: "hystart_growth",
        rule: "rfc9406#4.2, after a rise of the RTT the window grows by a quarter of the acknowledged bytes",
        laws: LAWS,
        network: || wide("100 ms", "1 s").change("250 ms", RISE),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| conservative(view),
    },
    Trial {
        name: "hystart_threshold",
        rule: "rfc9406#4.2, a rise below an eighth of the RTT does not slow the start",
        laws: LAWS,
        network: || wide("100 ms", "1 s").change("150 ms", r#"delay = "56 ms""#).change("450 ms", r#"delay = "76 ms""#),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| threshold(view),
    },
    Trial {
        name: "hystart_resume",
        rule: "rfc9406#4.2, slow start resumes if the RTT falls below that at which it slowed",
        laws: LAWS,
        network: || wide("100 ms", "1 s").change("250 ms", RISE).change("480 ms", r#"delay = "50 ms""#),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| resume(view),
    },
    Trial {
        name: "hystart_end",
        rule: "rfc9406#4.3, conservative slow start ends after 5 rounds",
        laws: LAWS,
        network: || wide("100 ms", "2 s").change("250 ms", RISE),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| end(view),
    },
    Trial {
        name: "hystart_samples",
        rule: "rfc9406#4.2, a round with fewer than 8 samples does not slow the start",
        laws: LAWS,
        network: || {
            let rates = "{ at = \"0 s\", rate = \"300 kbit/s\" }, { at = \"900 ms\", rate = \"100 Mbit/s\" }";
            scheduled("100 ms", rates, "1000 B").duration("2 s").change("250 ms", RISE).change("1250 ms", r#"delay = "90 ms""#)
        },
        script: |harness| harness,
        steps: &[],
        judge: |view, _| samples(view),
    },
];

/// The growth as a part of the acknowledged bytes, from one time to another in ms.
/// `None` if nothing is acknowledged.
fn growth(view: &View<'_>, from: u64, until: u64) -> Option<f64> {
    let [from, until] = [from, until].map(Duration::from_millis);
    let acked = view.data.iter().filter(|data| data.acked.is_some_and(|at| at > from && at <= until));
    let acked: u64 = acked.map(|data| data.size).sum();
    let grown = view.window_at(until) as f64 - view.window_at(from) as f64;
    (acked > 0 && view.window_at(from) > 0).then(|| grown / acked as f64)
}

/// The growth in the 100 ms after the first samples of a larger RTT.
/// A sender that does not slow has no such start.
fn slowed(view: &View<'_>, from: u64) -> Result<f64, Verdict> {
    match growth(view, from, from + 100) {
        Some(part) if part < SLOW_START => Ok(part),
        Some(_) => Err(Verdict::NotApplicable("slow start does not depend on the RTT".into())),
        None => Err(Verdict::NotApplicable("the sender tells no window".into())),
    }
}

fn broken(at: u64, why: String) -> Verdict {
    Verdict::Fail { at: Duration::from_millis(at), why }
}

/// Slow start may also end at once.
fn conservative(view: &View<'_>) -> Verdict {
    match slowed(view, 460) {
        Err(verdict) => verdict,
        Ok(part) if part <= AVOIDANCE || (part - CONSERVATIVE).abs() <= TOLERANCE => Verdict::Pass(1),
        Ok(part) => broken(460, format!("expected a growth of {CONSERVATIVE} of the acknowledged bytes, got {part:.2}")),
    }
}

fn threshold(view: &View<'_>) -> Verdict {
    if let Err(verdict) = slowed(view, 700) {
        return verdict;
    }
    match growth(view, 330, 430) {
        Some(part) if part < SLOW_START => broken(330, format!("expected slow start after a rise of 6 ms, got a growth of {part:.2}")),
        _ => Verdict::Pass(1),
    }
}

fn resume(view: &View<'_>) -> Verdict {
    match slowed(view, 460) {
        Err(verdict) => return verdict,
        Ok(part) if part <= AVOIDANCE => return Verdict::NotApplicable("slow start ends at once".into()),
        Ok(_) => {}
    }
    match growth(view, 740, 840) {
        Some(part) if part < SLOW_START => broken(740, format!("expected slow start, got a growth of {part:.2}")),
        _ => Verdict::Pass(1),
    }
}

fn end(view: &View<'_>) -> Verdict {
    if let Err(verdict) = slowed(view, 460) {
        return verdict;
    }
    match growth(view, 1400, 1700) {
        Some(part) if part > AVOIDANCE => broken(1400, format!("expected congestion avoidance, got a growth of {part:.2}")),
        _ => Verdict::Pass(1),
    }
}

/// While the RTT rises first, the application sends four packets a round.
/// Before it rises again, it sends as many as the window allows.
fn samples(view: &View<'_>) -> Verdict {
    if let Err(verdict) = slowed(view, 1480) {
        return verdict;
    }
    match growth(view, 1100, 1220) {
        Some(part) if part < SLOW_START => {
            broken(1100, format!("expected slow start after rounds with four samples, got a growth of {part:.2}"))
        }
        _ => Verdict::Pass(1),
    }
}
