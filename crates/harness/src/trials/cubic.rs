//! Rules of CUBIC (rfc9438).

use super::recovery::{beta, decrease};
use super::view::{Fall, View};
use super::{Judged, Law, Trial, Verdict, wide};
use crate::log::Log;
use crate::script::Fate;
use std::time::Duration;

/// The factor of CUBIC's window at a congestion event.
const BETA: f64 = beta(Law::Cubic);
/// The factor of `W_max` with fast convergence (rfc9438#4.7).
const FAST_CONVERGENCE: f64 = (1.0 + BETA) / 2.0;
/// C in packets/s³ (rfc9438#5).
const C: f64 = 0.4;
/// The growth of `W_est` in packets a round trip (rfc9438#4.3).
/// It holds until `W_est` reaches the window of the last event.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The part of the increments that rounding to whole bytes may cost.
const INCREMENTS: f64 = 0.02;
/// Windows change in whole packets, and one round trip late.
const PACKETS: f64 = 2.5;

const DECREASE: &str = "rfc9438#4.6, a congestion event reduces the window to 0.7 of it";

/// The trials.
pub(super) const TRIALS: &[Trial] = &[
    Trial {
        name: "cubic_decrease",
        rule: DECREASE,
        laws: &[Law::Cubic],
        network: || wide("200 ms", "6 s"),
        script: |harness| harness.on_data(super::FLOW, 150..=150, Fate::Drop).on_data_from(super::FLOW, SECOND, 1, Fate::Drop),
        steps: &[],
        judge: |view, _| judge_decrease(view),
    },
    Trial {
        name: "cubic_concave",
        rule: "rfc9438#4.4, up to K the window follows C(t - K)^3 + W_max",
        laws: &[Law::Cubic],
        network: || wide("200 ms", "14 s"),
        script: |harness| harness.on_data(super::FLOW, 150..=150, Fate::Drop),
        steps: &[],
        judge: |view, _| first_curve(view, |curve, t| t <= curve.k),
    },
    Trial {
        name: "cubic_convex",
        rule: "rfc9438#4.5, after K the window follows C(t - K)^3 + W_max",
        laws: &[Law::Cubic],
        network: || wide("200 ms", "14 s"),
        script: |harness| harness.on_data(super::FLOW, 150..=150, Fate::Drop),
        steps: &[],
        judge: |view, _| first_curve(view, |curve, t| t > curve.k),
    },
    Trial {
        name: "cubic_increments",
        rule: "rfc9438#4.4, each acknowledged packet adds (target - cwnd) / cwnd packets, and no part of that is lost",
        laws: &[Law::Cubic],
        network: || wide("200 ms", "14 s"),
        script: |harness| harness.on_data(super::FLOW, 150..=150, Fate::Drop),
        steps: &[],
        judge: |view, _| increments(view),
    },
    Trial {
        name: "cubic_fast_convergence",
        rule: "rfc9438#4.7, a congestion event below the last W_max sets W_max to 0.85 of the window",
        laws: &[Law::Cubic],
        network: || wide("200 ms", "12 s"),
        script: |harness| harness.on_data(super::FLOW, 150..=150, Fate::Drop).on_data_from(super::FLOW, SECOND, 1, Fate::Drop),
        steps: &[],
        judge: |view, _| fast_convergence(view),
    },
    Trial {
        name: "cubic_reno_friendly",
        rule: "rfc9438#4.3, the window grows at least as Reno's would with the same mean, 0.53 packets a round trip",
        laws: &[Law::Cubic],
        network: || wide("20 ms", "3 s"),
        script: |harness| harness.on_data(super::FLOW, 100..=100, Fate::Drop),
        steps: &[],
        judge: |view, _| reno_friendly(view),
    },
];

/// The time of the second loss.
const SECOND: Duration = Duration::from_millis(3500);

/// Judges the reductions of a flow's window: each is to 0.7 of it (rfc9438#4.6).
/// A reduction to at most two packets is persistent congestion, which another rule governs (rfc9002#7.6).
///
/// # Panics
/// The log has no foreign flow of this name.
#[track_caller]
pub fn cubic_decrease(log: &Log, flow: &str) -> Judged {
    let known: Vec<&str> = log.windows.keys().map(String::as_str).collect();
    assert!(log.windows.contains_key(flow), "expected a flow with windows, one of {}, got {flow:?}", known.join(", "));
    Judged { rule: DECREASE, verdict: judge_decrease(&View::new(log, flow)) }
}

fn judge_decrease(view: &View<'_>) -> Verdict {
    let fast = BETA * FAST_CONVERGENCE;
    let cause = "; that is fast convergence, which reduces W_max and not the window (rfc9438#4.7)";
    decrease(view, BETA, |factor| if (factor - fast).abs() <= 0.02 { cause } else { "" })
}

/// The window after a congestion event, in packets and seconds.
struct Curve {
    from: Fall,
    w_max: f64,
    k: f64,
    rtt: f64,
    /// The window after the event.
    least: f64,
}

impl Curve {
    fn new(view: &View<'_>, from: Fall, w_max: f64) -> Self {
        let least = view.packets(from.after);
        Curve { from, w_max, k: ((w_max - least).max(0.0) / C).cbrt(), rtt: view.rtt().as_secs_f64(), least }
    }

    fn cubic(&self, t: f64) -> f64 {
        C * (t - self.k).powi(3) + self.w_max
    }

    /// The window of the Reno-friendly region.
    /// Above the last window it grows by a packet a round trip.
    fn friendly(&self, t: f64) -> f64 {
        let rounds = t.max(0.0) / self.rtt;
        let until = (self.w_max - self.least) / ALPHA;
        self.least + ALPHA * rounds.min(until) + (rounds - until).max(0.0)
    }

    /// The increments of all ACKs in a time, in packets, if the curve begins at `begin`.
    fn increments(&self, view: &View<'_>, begin: Duration, during: std::ops::Range<Duration>) -> f64 {
        let acked = view.data.iter().filter_map(|data| data.acked).filter(|at| during.contains(at));
        acked
            .map(|at| {
                let window = view.packets(view.window_at(at - Duration::from_nanos(1)));
                let target = self.cubic((at - begin).as_secs_f64() + self.rtt).clamp(window, 1.5 * window);
                (target - window) / window
            })
            .sum()
    }

    /// Compares the windows until `until` with the curve, at the times that `concerns` selects.
    fn judge(&self, view: &View<'_>, until: Duration, concerns: impl Fn(f64) -> bool) -> Verdict {
        let mut held = 0;
        let step = view.rtt().max(Duration::from_millis(1));
        let mut at = self.from.at + 2 * step;
        while at < until {
            let t = (at - self.from.at).as_secs_f64();
            if concerns(t) {
                let window = view.packets(view.window_at(at));
                let low = self.cubic(t - 2.0 * self.rtt).max(self.least) - PACKETS;
                let high = self.cubic(t + self.rtt).max(self.friendly(t + self.rtt)) + PACKETS;
                if !(low..=high).contains(&window) {
                    let why = format!(
                        "expected {low:.1} to {high:.1} packets {t:.3} s after the event at {:.6} s, with K = {:.3} s and W_max = {:.1}, got {window:.1}",
                        self.from.at.as_secs_f64(),
                        self.k,
                        self.w_max
                    );
                    return Verdict::Fail { at, why };
                }
                held += 1;
            }
            at += step;
        }
        match held {
            0 => Verdict::NotApplicable("no window in this region".into()),
            _ => Verdict::Pass(held),
        }
    }
}

fn first_curve(view: &View<'_>, concerns: impl Fn(&Curve, f64) -> bool) -> Verdict {
    let falls = view.falls();
    let Some(&first) = falls.first() else { return Verdict::NotApplicable("the window was never reduced".into()) };
    let curve = Curve::new(view, first, view.packets(first.before));
    let until = falls.get(1).map_or(view.end, |fall| fall.at);
    curve.judge(view, until, |t| concerns(&curve, t))
}

/// The growth after K against the sum of all increments.
/// They are computed from the sender's own windows.
/// The curve begins with the event, or with the end of its recovery (rfc9438#4.2).
fn increments(view: &View<'_>) -> Verdict {
    let falls = view.falls();
    let Some(&first) = falls.first() else { return Verdict::NotApplicable("the window was never reduced".into()) };
    let curve = Curve::new(view, first, view.packets(first.before));
    let recovered = view.data.iter().filter(|data| data.sent > first.at).find_map(|data| data.acked).unwrap_or(first.at);
    let from = recovered + Duration::from_secs_f64(curve.k);
    let until = falls.get(1).map_or(view.end, |fall| fall.at);
    let begins = [first.at, recovered, recovered + view.rtt() / 4];
    let [due, most, least] = begins.map(|begin| curve.increments(view, begin, from..until));
    let grown = view.packets(view.window_at(until)) - view.packets(view.window_at(from));
    let holds = [(due, due), (least, most)]
        .into_iter()
        .any(|(least, most)| ((1.0 - INCREMENTS) * least - 1.0..=(1.0 + INCREMENTS) * most + 1.0).contains(&grown));
    match holds {
        true => Verdict::Pass(1),
        false => {
            let from = from.as_secs_f64();
            let why = format!(
                "expected growth by {due:.1} packets since {from:.3} s, or {most:.1} if the curve begins after recovery, got {grown:.1}"
            );
            Verdict::Fail { at: until, why }
        }
    }
}

fn fast_convergence(view: &View<'_>) -> Verdict {
    let falls = view.falls();
    let [first, second, ..] = falls[..] else { return Verdict::NotApplicable("the window was not reduced twice".into()) };
    if second.before >= first.before {
        return Verdict::NotApplicable("the window was not below W_max at its second reduction".into());
    }
    let curve = Curve::new(view, second, FAST_CONVERGENCE * view.packets(second.before));
    let until = falls.get(2).map_or(view.end, |fall| fall.at);
    let verdict = curve.judge(view, until, |t| t <= curve.k + 1.0);
    // RFC 8312 computes K from W_max alone, as if the window after the event were 0.7 of it.
    let old = Curve { k: ((1.0 - BETA) * curve.w_max / C).cbrt(), ..curve };
    match (verdict, old.judge(view, until, |t| t <= old.k + 1.0)) {
        (Verdict::Fail { at, why }, Verdict::Pass(_)) => {
            let why = format!("{why}; that is K = {:.3} s, from W_max and not from the window after the event (rfc9438#4.2)", old.k);
            Verdict::Fail { at, why }
        }
        (verdict, _) => verdict,
    }
}

fn reno_friendly(view: &View<'_>) -> Verdict {
    let falls = view.falls();
    let Some(&first) = falls.first() else { return Verdict::NotApplicable("the window was never reduced".into()) };
    let curve = Curve::new(view, first, view.packets(first.before));
    let (step, mut at, mut held) = (view.rtt().max(Duration::from_millis(1)), first.at, 0);
    let until = falls.get(1).map_or(view.end, |fall| fall.at);
    while at < until {
        // A queue of the path is empty here; 5 % are for the transmission times in a round trip.
        let t = 0.95 * (at - first.at).as_secs_f64() - 2.0 * curve.rtt;
        let (low, window) = (curve.friendly(t).min(curve.w_max) - PACKETS, view.packets(view.window_at(at)));
        if window < low {
            return Verdict::Fail { at, why: format!("expected at least {low:.1} packets, got {window:.1}") };
        }
        (at, held) = (at + step, held + 1);
    }
    Verdict::Pass(held)
}
