//! Rules of CUBIC (rfc9438).

use super::{Judged, Verdict};
use crate::log::Log;

/// The factor of CUBIC's window at a congestion event (rfc9438#4.6).
const BETA: f64 = 0.7;

/// The factor if fast convergence is applied to the window instead of `W_max` (rfc9438#4.7).
const FAST_CONVERGENCE: f64 = BETA * (1.0 + BETA) / 2.0;

/// The rounding of a window to whole bytes or packets, as a part of it.
const ROUNDING: f64 = 0.02;

/// Judges the reductions of a flow's window: each is to 0.7 of it (rfc9438#4.6).
/// A reduction to at most two packets of 1500 B is persistent congestion, which another rule governs (rfc9002#7.6).
pub fn cubic_decrease(log: &Log, flow: &str) -> Judged {
    let rule = "rfc9438#4.6, a congestion event reduces the window to 0.7 of it";
    let windows = log.windows.get(flow).map_or(&[][..], Vec::as_slice);
    let mut held = 0;
    for pair in windows.windows(2) {
        let ((_, before), (at, after)) = (pair[0], pair[1]);
        if after >= before || after <= 3_000 {
            continue;
        }
        let factor = after as f64 / before as f64;
        if (factor - BETA).abs() > ROUNDING {
            let cause = match (factor - FAST_CONVERGENCE).abs() <= ROUNDING {
                true => "; that is fast convergence, which reduces W_max and not the window (rfc9438#4.7)",
                false => "",
            };
            let why = format!("expected a factor of 0.700, got {factor:.3} ({before} to {after} bytes){cause}");
            return Judged { rule, verdict: Verdict::Fail { at, why } };
        }
        held += 1;
    }
    let verdict = match held {
        0 => Verdict::NotApplicable(format!("the window of {flow} was never reduced")),
        _ => Verdict::Pass(held),
    };
    Judged { rule, verdict }
}
