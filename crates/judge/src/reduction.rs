//! Reductions of the window, and why a sender's may differ.

use crate::Cause;
use sojourn_cc::Window;
use sojourn_units::Time;

/// A reduction whose result the sender has not reported yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub at: Time,
    pub event: &'static str,
    /// The window before it in segments.
    pub before: f64,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Loss,
    Persistent,
    Timeout,
}

/// The cause of a reduction other than ours.
pub(crate) fn cause_of_reduction(pending: &Pending, theirs: &Window, ours: &Window, compares_window: bool, converges: bool) -> Cause {
    let Pending { before, kind, .. } = *pending;
    let kept = |factor: f64| factor * before;
    let is = |value: f64, expected: f64| (value - expected).abs() <= 0.5 + 0.01 * before;
    let factor = if kind == Kind::Loss && compares_window { ours.cwnd } else { ours.ssthresh } / before;
    let reduced = if compares_window && kind == Kind::Loss { theirs.cwnd } else { theirs.ssthresh };
    if kind == Kind::Persistent && (theirs.cwnd - ours.cwnd).abs() > 1.0 {
        return Cause::AboveMinimum;
    }
    let converged = (1.0 + factor) / 2.0;
    // A window below W_max may have both faults.
    if kind != Kind::Loss && [1.0, converged].into_iter().any(|also| is(reduced, kept(factor * factor * also))) {
        return Cause::SsthreshTwice;
    }
    if converges && is(reduced, kept(factor * converged)) {
        return Cause::FastConvergence;
    }
    if reduced >= before - 1.0 { Cause::NoReduction } else { Cause::OtherFactor }
}
