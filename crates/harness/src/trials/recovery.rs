//! Rules for every sender (rfc9002, rfc5681), and those of Reno.

use super::view::{Data, Fall, View};
use super::{FLOW, HOST, Law, Trial, Verdict, wide};
use crate::network::Dumbbell;
use crate::run::Harness;
use crate::script::Fate;
use std::time::Duration;

/// The rounding of a window to whole bytes or packets, as a part of it.
const ROUNDING: f64 = 0.02;
/// The time within which a sender reacts to a signal, beyond six round trips.
const REACTION: Duration = Duration::from_millis(500);
/// The outage of the trials of persistent congestion.
const OUTAGE: std::ops::Range<Duration> = Duration::from_millis(2000)..Duration::from_millis(3200);
/// The end of the pause of the idle application.
const RESUMED: Duration = Duration::from_millis(3500);

/// The controllers whose windows RFC 9002 rules.
const CLASSIC: &[Law] = &[Law::Reno, Law::Cubic];

const ONCE: &str = "rfc9002#7.3.2, the window is reduced once for all signals of a round trip";

/// The trials.
pub(super) const TRIALS: &[Trial] = &[
    Trial {
        name: "initial_window",
        rule: "rfc9002#7.2, the first window is at most 10 packets, and 14720 bytes or 2 packets",
        laws: &[],
        network: || wide("40 ms", "1 s"),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| initial_window(view),
    },
    Trial {
        name: "slow_start_growth",
        rule: "rfc9002#7.3.1, slow start adds the acknowledged bytes to the window",
        laws: &[],
        network: || wide("40 ms", "1 s"),
        script: first_loss,
        steps: &[],
        judge: |view, _| slow_start(view),
    },
    Trial {
        name: "flight_within_window",
        rule: "rfc9002#7, a packet is not sent if it would exceed the window",
        laws: &[],
        network: || wide("40 ms", "3 s"),
        script: first_loss,
        steps: &[],
        judge: |view, _| flight(view),
    },
    Trial {
        name: "one_reduction_a_round_trip",
        rule: ONCE,
        laws: CLASSIC,
        network: || wide("40 ms", "2 s"),
        script: |harness| (150..158).fold(harness, |harness, n| harness.on_data(FLOW, 2 * n..=2 * n, Fate::Drop)),
        steps: &[],
        judge: |view, _| once(view),
    },
    Trial {
        name: "reno_halves",
        rule: "rfc9002#7.3.2, rfc5681#3.2, a congestion event halves the window",
        laws: &[Law::Reno],
        network: || wide("40 ms", "3 s"),
        script: |harness| first_loss(harness).on_data_from(FLOW, Duration::from_secs(2), 1, Fate::Drop),
        steps: &[],
        judge: |view, _| decrease(view, 0.5, |_| ""),
    },
    Trial {
        name: "reno_growth",
        rule: "rfc9002#7.3.3, congestion avoidance adds one packet to the window in a round trip",
        laws: &[Law::Reno],
        network: || wide("40 ms", "4 s"),
        script: first_loss,
        steps: &[],
        judge: |view, _| reno_growth(view),
    },
    Trial {
        name: "persistent_congestion_window",
        rule: "rfc9002#7.6.2, persistent congestion reduces the window to 2 packets",
        laws: CLASSIC,
        network: || wide("40 ms", "6 s"),
        script: outage,
        steps: &[],
        judge: |view, _| persistent_window(view),
    },
    Trial {
        name: "persistent_congestion_ssthresh",
        rule: "rfc9002#7.6.2, rfc9438#4.8, persistent congestion reduces ssthresh once",
        laws: CLASSIC,
        network: || wide("40 ms", "6 s"),
        script: outage,
        steps: &[],
        judge: persistent_ssthresh,
    },
    Trial {
        name: "app_limited",
        rule: "rfc9002#7.8, the window does not grow while the sender does not use half of it",
        laws: CLASSIC,
        network: || scheduled("40 ms", "{ at = \"0 s\", rate = \"1 Mbit/s\" }", "1000 B").duration("5 s"),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| app_limited(view),
    },
    Trial {
        name: "lost_acks",
        rule: "rfc9002#7, a lost ACK is no congestion: the window is not reduced",
        laws: CLASSIC,
        network: || wide("40 ms", "1 s"),
        script: |harness| (10..200).fold(harness, |harness, n| harness.on_acks(FLOW, 2 * n..=2 * n, Fate::Drop)),
        steps: &[],
        judge: |view, _| undisturbed(view),
    },
    Trial {
        name: "reordering",
        rule: "rfc9002#6.1.1, a packet that two later ones overtake is not lost",
        laws: CLASSIC,
        network: || wide("40 ms", "1 s"),
        script: |harness| harness.on_data(FLOW, 150..=150, Fate::Behind(2)),
        steps: &[],
        judge: |view, _| undisturbed(view),
    },
    Trial {
        name: "late_packet",
        rule: "rfc9002#7.3.2, one late packet reduces the window at most once, and not to 2 packets",
        laws: CLASSIC,
        network: || wide("40 ms", "2 s"),
        script: |harness| harness.on_data(FLOW, 150..=150, Fate::Delay(Duration::from_millis(100))),
        steps: &[],
        judge: |view, _| late_packet(view),
    },
    Trial {
        name: "idle_restart",
        rule: "rfc9002#7.7, rfc5681#4.1, after a pause the sender paces, or sends at most the initial window",
        laws: CLASSIC,
        network: || {
            let rates =
                "{ at = \"0 s\", rate = \"5 Mbit/s\" }, { at = \"1500 ms\", silent = true }, { at = \"3500 ms\", rate = \"5 Mbit/s\" }";
            scheduled("40 ms", rates, "60 kB").duration("5 s")
        },
        script: |harness| harness,
        steps: &[],
        judge: |view, _| idle_restart(view),
    },
    Trial {
        name: "mark_reduces",
        rule: "rfc9002#7.1, a mark reduces the window as a loss does",
        laws: CLASSIC,
        network: || wide("40 ms", "3 s"),
        script: |harness| harness.on_data(FLOW, 150..=150, Fate::Mark),
        steps: &[],
        judge: |view, law| decrease(view, beta(law), |_| ""),
    },
    Trial {
        name: "marks_reduce_once_a_round_trip",
        rule: ONCE,
        laws: CLASSIC,
        network: || wide("40 ms", "2 s"),
        script: |harness| (150..158).fold(harness, |harness, n| harness.on_data(FLOW, 2 * n..=2 * n, Fate::Mark)),
        steps: &[],
        judge: |view, _| once(view),
    },
];

fn first_loss(harness: Harness<'_>) -> Harness<'_> {
    harness.on_data(FLOW, 150..=150, Fate::Drop)
}

fn outage(harness: Harness<'_>) -> Harness<'_> {
    first_loss(harness).on_data_during(FLOW, OUTAGE, Fate::Drop)
}

/// The wide path with an application whose rate changes.
pub(super) fn scheduled(rtt: &str, rates: &str, size: &str) -> Dumbbell {
    let traffic = format!("host = {HOST:?}\ntraffic = {{ kind = \"schedule\", size = {size:?}, rates = [{rates}] }}");
    Dumbbell::new("200 Mbit/s", rtt).limit("20000 packets").with_flow("trial", &traffic)
}

/// The factor of a controller's window at a congestion event (rfc5681#3.2, rfc9438#4.6).
pub(super) const fn beta(law: Law) -> f64 {
    match law {
        Law::Reno => 0.5,
        Law::Cubic | Law::Bbr | Law::Scalable => 0.7,
    }
}

fn no_window() -> Verdict {
    Verdict::NotApplicable("the sender reports no window".into())
}

fn initial_window(view: &View<'_>) -> Verdict {
    let Some(&(at, window)) = view.windows.first() else { return no_window() };
    let most = (10 * view.mss).min(14_720.max(2 * view.mss));
    match window <= most {
        true => Verdict::Pass(1),
        false => Verdict::Fail { at, why: format!("expected at most {most} bytes, got {window}") },
    }
}

fn slow_start(view: &View<'_>) -> Verdict {
    let Some(&(_, first)) = view.windows.first() else { return no_window() };
    let mut acked: Vec<(Duration, u64)> = view.data.iter().filter_map(|data| Some((data.acked?, data.size))).collect();
    acked.sort_unstable();
    let until = view.signals().map(|data| data.sent).next().unwrap_or(view.end);
    let (mut next, mut bytes, mut held) = (0, 0, 0);
    for &(at, window) in view.windows.iter().filter(|change| change.0 <= until) {
        while next < acked.len() && acked[next].0 <= at {
            (next, bytes) = (next + 1, bytes + acked[next].1);
        }
        let most = first + bytes + view.mss;
        if window > most {
            return Verdict::Fail { at, why: format!("expected at most {most} bytes: {first} and {bytes} acknowledged, got {window}") };
        }
        held += 1;
    }
    let (last, least) = (view.window_at(until), first + bytes / 2);
    match last + 3 * view.mss >= least {
        true => Verdict::Pass(held),
        false => Verdict::Fail { at: until, why: format!("expected at least {least} bytes before the first loss, got {last}") },
    }
}

/// The data in flight is at least what was sent and cannot yet be acknowledged.
/// A sender may exceed the window by a packet, by one more at the begin of recovery, and by probes after a timeout.
/// Packets below a tenth of the largest count for nothing: they are ACKs (rfc9002#B.2).
fn flight(view: &View<'_>) -> Verdict {
    if view.windows.is_empty() {
        return no_window();
    }
    let counted = || view.data.iter().filter(|data| 10 * data.size > view.mss);
    let left = counted().filter_map(|data| Some((data.acked.or(data.dropped)?, 0, data.size)));
    let mut events: Vec<(Duration, u8, u64)> = left.chain(counted().map(|data| (data.sent, 1, data.size))).collect();
    events.sort_unstable();
    let (mut bytes, mut last_ack, mut held) = (0, Duration::ZERO, 0);
    let falls = view.falls();
    for (at, sent, size) in events {
        if sent == 0 {
            (bytes, last_ack) = (bytes - size.min(bytes), at);
            continue;
        }
        let (window, probes) = (view.window_at(at), at > last_ack + view.rtt() * 3 / 2);
        bytes += size;
        if bytes > window + 3 * view.mss && !probes && falls.iter().all(|fall| fall.at != at) {
            return Verdict::Fail { at, why: format!("expected at most {window} bytes in flight, got {bytes}") };
        }
        held += 1;
    }
    Verdict::Pass(held)
}

/// Each fall after the first follows from a signal that was sent after the one before.
fn once(view: &View<'_>) -> Verdict {
    if view.signals().next().is_none() {
        return Verdict::NotApplicable("no packet was dropped or marked: the sender is not ECN-capable".into());
    }
    let falls = view.falls();
    for pair in falls.windows(2) {
        let (before, fall) = (pair[0], pair[1]);
        if !view.signals().any(|data| (before.at..fall.at).contains(&data.sent)) {
            let why = format!(
                "expected no reduction, because nothing sent since that at {:.6} s was lost, got {} to {} bytes",
                before.at.as_secs_f64(),
                fall.before,
                fall.after
            );
            return Verdict::Fail { at: fall.at, why };
        }
    }
    reduced(view, falls.len())
}

/// The verdict on signals: the first one is followed by a fall.
fn reduced(view: &View<'_>, held: usize) -> Verdict {
    let Some(first) = view.signals().next() else { return Verdict::NotApplicable("no packet was dropped or marked".into()) };
    let until = first.sent + 6 * view.rtt() + REACTION;
    let fell = |fall: &Fall| (first.sent..=until).contains(&fall.at);
    match (view.windows.is_empty(), view.falls().iter().any(fell) || until > view.end) {
        (true, _) => no_window(),
        (_, true) => Verdict::Pass(held),
        (_, false) => Verdict::Fail {
            at: until,
            why: format!("expected a reduction for the packet that was sent at {:.6} s, got none", first.sent.as_secs_f64()),
        },
    }
}

/// Each congestion event reduces the window to `beta` of it; `cause` explains another factor.
/// A reduction to at most two packets is persistent congestion.
pub(super) fn decrease(view: &View<'_>, beta: f64, cause: impl Fn(f64) -> &'static str) -> Verdict {
    let mut held = 0;
    for fall in view.falls().iter().filter(|fall| fall.congestion && fall.after > (2 * view.mss).max(3_000)) {
        let factor = fall.after as f64 / fall.before as f64;
        if (factor - beta).abs() > ROUNDING {
            let why = format!("expected a factor of {beta:.3}, got {factor:.3} ({} to {} bytes){}", fall.before, fall.after, cause(factor));
            return Verdict::Fail { at: fall.at, why };
        }
        held += 1;
    }
    match (held, view.signals().next()) {
        (0, None) => Verdict::NotApplicable("the window was never reduced for congestion".into()),
        (0, Some(_)) => reduced(view, 0),
        _ => Verdict::Pass(held),
    }
}

fn reno_growth(view: &View<'_>) -> Verdict {
    let falls = view.falls();
    let Some(first) = falls.first() else { return Verdict::NotApplicable("the window was never reduced".into()) };
    let (rtt, until) = (view.rtt(), falls.get(1).map_or(view.end, |fall| fall.at));
    let (mut at, mut held) = (first.at + rtt, 0);
    while at < until {
        let rounds = (at - first.at).as_secs_f64() / rtt.as_secs_f64();
        let grown = view.packets(view.window_at(at)) - view.packets(first.after);
        // The queue and the transmission time of a window make a round trip up to a tenth longer than the shortest.
        let (low, high) = (0.9 * (rounds - 2.0) - 1.0, rounds + 1.0);
        if !(low..=high).contains(&grown) {
            return Verdict::Fail { at, why: format!("expected {low:.1} to {high:.1} packets in {rounds:.0} round trips, got {grown:.1}") };
        }
        (at, held) = (at + rtt, held + 1);
    }
    Verdict::Pass(held)
}

/// The smallest window after the outage, and its time.
fn collapse(view: &View<'_>) -> Option<(Duration, u64)> {
    let after = view.windows.iter().filter(|change| change.0 > OUTAGE.start);
    after.min_by_key(|change| change.1).map(|&(at, window)| (at, window))
}

fn persistent_window(view: &View<'_>) -> Verdict {
    if view.windows.is_empty() {
        return no_window();
    }
    let (at, window) = collapse(view).unwrap_or((view.end, view.window_at(view.end)));
    match window <= 2 * view.mss {
        true => Verdict::Pass(1),
        false => Verdict::Fail { at, why: format!("expected at most {} bytes after an outage of 1.2 s, got {window}", 2 * view.mss) },
    }
}

/// The threshold is the window at which it stops to double in a round trip.
fn persistent_ssthresh(view: &View<'_>, law: Law) -> Verdict {
    let Some((mut at, least)) = collapse(view) else { return no_window() };
    if least > 2 * view.mss {
        return Verdict::NotApplicable("the window was not reduced to 2 packets".into());
    }
    let (before, rtt) = (view.window_at(OUTAGE.start), view.rtt() * 21 / 20);
    at += 3 * rtt;
    while view.window_at(at + rtt) as f64 > 1.3 * view.window_at(at) as f64 && at < view.end {
        at += rtt;
    }
    let (threshold, once) = (view.window_at(at + rtt), beta(law) * before as f64);
    match threshold as f64 >= once * beta(law).sqrt() {
        true => Verdict::Pass(1),
        false => Verdict::Fail {
            at: at + rtt,
            why: format!(
                "expected slow start up to {once:.0} bytes, {} of {before}, got {threshold} ({:.2})",
                beta(law),
                threshold as f64 / before as f64
            ),
        },
    }
}

fn app_limited(view: &View<'_>) -> Verdict {
    let (span, mut held) = (view.rtt() * 2, 0);
    for pair in view.windows.windows(2) {
        let ((_, before), (at, after)) = (pair[0], pair[1]);
        let used = view.sent_between(at.saturating_sub(span), at);
        if after > before && used < before / 2 && at > Duration::from_millis(500) {
            let why = format!("expected {before} bytes, because {used} were sent in the last two round trips, got {after}");
            return Verdict::Fail { at, why };
        }
        held += 1;
    }
    if view.windows.is_empty() { no_window() } else { Verdict::Pass(held) }
}

/// Nothing that concerns data happens, so the window never falls.
pub(super) fn undisturbed(view: &View<'_>) -> Verdict {
    if view.windows.is_empty() {
        return no_window();
    }
    match (view.signals().next(), view.falls().first()) {
        (Some(_), _) => Verdict::NotApplicable("the path dropped or marked a packet".into()),
        (None, None) => Verdict::Pass(1),
        (None, Some(fall)) => {
            let why = format!("expected no reduction without a loss or a mark, got {} to {} bytes", fall.before, fall.after);
            Verdict::Fail { at: fall.at, why }
        }
    }
}

fn late_packet(view: &View<'_>) -> Verdict {
    let falls = view.falls();
    let wrong = falls.iter().enumerate().find(|(number, fall)| *number > 0 || fall.after <= 2 * view.mss);
    match wrong {
        None if view.windows.is_empty() => no_window(),
        None => Verdict::Pass(1),
        Some((number, fall)) => {
            let why = format!(
                "expected one reduction to more than 2 packets, got number {}, {} to {} bytes",
                number + 1,
                fall.before,
                fall.after
            );
            Verdict::Fail { at: fall.at, why }
        }
    }
}

fn idle_restart(view: &View<'_>) -> Verdict {
    let resumed = view.data.iter().find(|data: &&Data| data.sent >= RESUMED);
    let Some(Data { sent: at, .. }) = resumed else { return Verdict::NotApplicable("nothing was sent after the pause".into()) };
    let burst = view.sent_between(*at, *at + Duration::from_millis(1));
    // A pacer may start with the initial window (rfc9002#7.7), and sends on during the millisecond.
    let most = 2 * 14_720.max(2 * view.mss);
    match burst <= most {
        true => Verdict::Pass(1),
        false => Verdict::Fail { at: *at, why: format!("expected at most {most} bytes in the first millisecond, got {burst}") },
    }
}
