//! The phases of BBR, derived from its pacing rate and its estimate of the bandwidth.

use super::path::{PATH_RATE, ROUND_TRIP};
use crate::trials::Broken;
use crate::trials::view::View;
use std::fmt;
use std::time::Duration;

/// The pace of gain 1, as a part of the estimated bandwidth (draft-ietf-ccwg-bbr#5.6.2).
const MARGIN: f64 = 0.99;
/// Startup cannot end before the third round trip: one is for the handshake.
const EARLIEST_END: u32 = 3;

/// A phase. Refill has the pacing gain of Cruise, so the two are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Up,
}

impl Phase {
    /// The phase with this gain after Drain.
    /// The gains are 0.9, 1 and 1.25; the bounds are between them. A limit of the short-term model makes Cruise look like Down.
    fn with_gain(gain: f64) -> Phase {
        match gain {
            ..0.95 => Phase::Down,
            0.95..1.12 => Phase::Cruise,
            _ => Phase::Up,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The time that a phase lasts, and its first gain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub phase: Phase,
    pub from: Duration,
    pub until: Duration,
    pub gain: f64,
}

/// The phases of a run in their order.
pub(super) struct Phases {
    spans: Vec<Span>,
}

impl Phases {
    /// The phases of a flow; `None` if the sender reports no pacing rate.
    pub fn new(view: &View<'_>) -> Option<Phases> {
        if view.pacing_rates.is_empty() {
            return None;
        }
        // Senders that tell no bandwidth are held to the rate of the path.
        let rate = PATH_RATE * view.mss as f64 / (view.mss + view.headers) as f64;
        let gain = |at, pace| pace as f64 / MARGIN / Some(view.bandwidth_at(at)).filter(|told| *told > 0).map_or(rate, |told| told as f64);
        let end = startup_end(view.pacing_rates).unwrap_or(view.end);
        let mut spans = vec![Span { phase: Phase::Startup, from: Duration::ZERO, until: end, gain: f64::NAN }];
        for &(at, pace) in view.pacing_rates.iter().filter(|change| change.0 >= end) {
            let gain = gain(at, pace);
            let last = spans.last_mut().expect("Startup is the first phase");
            let drains = last.phase == Phase::Startup || last.phase == Phase::Drain && gain < 0.7;
            let phase = if drains { Phase::Drain } else { Phase::with_gain(gain) };
            last.until = at;
            if last.phase != phase {
                spans.push(Span { phase, from: at, until: view.end, gain });
            }
        }
        spans.last_mut().expect("Startup is the first phase").until = view.end;
        Some(Phases { spans })
    }

    /// The span at a time.
    pub fn at(&self, at: Duration) -> Span {
        *self.spans.iter().rfind(|span| span.from <= at).expect("Startup begins at 0")
    }

    /// The first span of a phase that begins at `from` or later.
    pub fn first(&self, phase: Phase, from: Duration) -> Result<Span, Broken> {
        let found = self.spans.iter().find(|span| span.phase == phase && span.from >= from);
        found.copied().ok_or_else(|| {
            let seen: Vec<String> =
                self.spans.iter().take(12).map(|span| format!("{} at {:.3} s", span.phase, span.from.as_secs_f64())).collect();
            Broken { at: from, why: format!("expected {phase} after {:.3} s, got {}", from.as_secs_f64(), seen.join(", ")) }
        })
    }

    /// Requires that a span is followed by a phase.
    pub fn next(&self, span: Span, phase: Phase) -> Result<Span, Broken> {
        let next = self.spans.iter().find(|next| next.from >= span.until && next.from > span.from);
        match next {
            Some(next) if next.phase == phase => Ok(*next),
            Some(next) => Err(Broken { at: next.from, why: format!("expected {phase} after {}, got {}", span.phase, next.phase) }),
            None => Err(Broken { at: span.from, why: format!("expected {phase} after {}, got {} until the end", span.phase, span.phase) }),
        }
    }
}

/// Drain paces at less than half of the rate before it.
fn startup_end(rates: &[(Duration, u64)]) -> Option<Duration> {
    let falls = rates.windows(2).filter(|pair| pair[1].0 > ROUND_TRIP * EARLIEST_END);
    falls.filter(|pair| 2 * pair[1].1 < pair[0].1).map(|pair| pair[1].0).next()
}
