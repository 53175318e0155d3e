//! The conditions of the cases.

use super::path::{AFTER_PROBE_RTT, BDP, PATH_RATE, ROUND_TRIP, expect};
use super::phases::{Phase, Phases, Span};
use crate::trials::view::View;
use crate::trials::{Broken, Verdict};
use std::time::Duration;

/// The window of ProbeRTT in bandwidth-delay products, with room for rounding.
/// The gain is 0.5 (draft-ietf-ccwg-bbr#5.3.4).
const PROBE_RTT_WINDOW: f64 = 0.6;
/// The time for which ProbeRTT lasts at least.
const PROBE_RTT_LENGTH: Duration = Duration::from_millis(200);
/// The smallest maximum size of a packet (rfc9000#14).
const SMALLEST: u64 = 1200;
/// Packets by which a sender misses a target: a burst, and the ACKs that are delayed.
const BURST: f64 = 6.0;

/// The use of the path that a case demands: the least part of the rate from a time on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub from: Duration,
    pub least: f64,
}

/// What a case demands beyond the use of the path.
pub(super) type Demand = fn(&View<'_>, &Phases) -> Result<(), Broken>;

/// The verdict on a run: the use of the path, and the demands of a case.
/// A sender that reports no pacing rate is not held to the demands.
pub(super) fn judge(view: &View<'_>, used: Use, demands: &[Demand]) -> Verdict {
    let phases = Phases::new(view);
    let judged = |phases: &Phases| demands.iter().try_for_each(|demand| demand(view, phases));
    match phases.as_ref().map_or(Ok(()), judged).and_then(|()| path_is_used(view, used)) {
        Ok(()) if phases.is_none() => Verdict::Pass(1),
        Ok(()) => Verdict::Pass(1 + demands.len()),
        Err(Broken { at, why }) => Verdict::Fail { at, why },
    }
}

fn path_is_used(view: &View<'_>, Use { from, least }: Use) -> Result<(), Broken> {
    let part = rate(view, from, view.end) / PATH_RATE;
    expect(part >= least, view.end, || format!("expected {least} of the path's rate from {:.1} s on, got {part:.3}", from.as_secs_f64()))
}

/// The rate in bit/s at which data reached the receiver, with its headers.
fn rate(view: &View<'_>, from: Duration, until: Duration) -> f64 {
    8.0 * view.arrived_between(from, until) as f64 / until.saturating_sub(from).as_secs_f64().max(1e-9)
}

/// The packets in flight, in bytes, and the bandwidth-delay product with room for a burst.
fn is_drained(view: &View<'_>, at: Duration, phase: Phase) -> Result<(), Broken> {
    let (flying, most) = (view.in_flight(at) as f64, BDP + BURST * view.mss as f64);
    expect(flying <= most, at, || format!("expected at most {most:.0} bytes in flight at the end of {phase}, got {flying:.0}"))
}

fn startup(phases: &Phases) -> Result<Span, Broken> {
    phases.first(Phase::Startup, Duration::ZERO)
}

fn gain_is(span: Span, expected: f64) -> Result<(), Broken> {
    expect((span.gain - expected).abs() < 0.05, span.from, || {
        format!("expected a pacing gain of {expected} in {}, got {:.3}", span.phase, span.gain)
    })
}

/// Startup ends three rounds after the bandwidth stops growing.
/// The sender learns of it when the packets of the first full round trip are acknowledged, and rounds may be partial.
pub(super) fn startup_ends_at_plateau(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let end = startup(phases)?.until;
    let mut full = ROUND_TRIP;
    while rate(view, full, full + ROUND_TRIP) < 0.9 * PATH_RATE && full < end {
        full += ROUND_TRIP / 8;
    }
    full += 2 * ROUND_TRIP;
    let rounds = view.rounds(full, end);
    expect((2..=4).contains(&rounds), end, || {
        format!("expected the end of Startup 2 to 4 rounds after the path was full at {:.3} s, got {rounds} rounds", full.as_secs_f64())
    })
}

pub(super) fn startup_precedes_drain(_: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    phases.next(startup(phases)?, Phase::Drain).map(drop)
}

/// A phase ends within three round trips of the first loss; the queue makes them longer.
fn ends_on_loss(view: &View<'_>, span: Span) -> Result<(), Broken> {
    let Some(loss) = view.signals().filter_map(|data| data.dropped).find(|at| *at >= span.from) else {
        return Err(Broken { at: span.from, why: "expected a lost packet, got none".into() });
    };
    let trips = span.until.saturating_sub(loss).as_secs_f64() / view.rtt_at(loss).as_secs_f64();
    expect(span.until >= loss && trips <= 3.5, span.until, || {
        format!("expected the end of {} within 3 round trips of the loss at {:.3} s, got {trips:.1}", span.phase, loss.as_secs_f64())
    })
}

pub(super) fn startup_ends_on_loss(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    ends_on_loss(view, startup(phases)?)
}

pub(super) fn drain_paces_at_half(_: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    gain_is(phases.first(Phase::Drain, Duration::ZERO)?, 0.5)
}

pub(super) fn drain_empties_the_queue(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    is_drained(view, phases.first(Phase::Drain, Duration::ZERO)?.until, Phase::Drain)
}

pub(super) fn drain_ends_after_three_rounds(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let drain = phases.first(Phase::Drain, Duration::ZERO)?;
    let rounds = view.rounds(drain.from, drain.until);
    expect(rounds <= 4, drain.until, || format!("expected at most 4 rounds in Drain, got {rounds}"))
}

/// The times at which the window is that of ProbeRTT for its whole length.
fn probe_rtts(view: &View<'_>, from: Duration) -> Option<(Duration, Duration)> {
    let low = |change: &&(Duration, u64)| change.1 as f64 <= PROBE_RTT_WINDOW * BDP && change.0 >= from;
    let mut rest = view.windows;
    while let Some(begin) = rest.iter().position(|change| low(&change)) {
        let length = rest[begin..].iter().position(|change| !low(&change));
        let until = length.map_or(view.end, |length| rest[begin + length].0);
        if until - rest[begin].0 >= PROBE_RTT_LENGTH * 9 / 10 {
            return Some((rest[begin].0, until));
        }
        rest = length.map_or(&[][..], |length| &rest[begin + length..]);
    }
    None
}

fn probe_rtt(view: &View<'_>, from: Duration) -> Result<(Duration, Duration), Broken> {
    probe_rtts(view, from)
        .ok_or_else(|| Broken { at: from, why: "expected a window of half a bandwidth-delay product for 200 ms, got none".into() })
}

pub(super) fn probe_rtt_comes_after_five_seconds(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    let (at, until) = probe_rtt(view, Duration::from_secs(1))?;
    let (begin, length) = (at.as_secs_f64(), (until - at).as_secs_f64());
    expect((5.0..6.5).contains(&begin), at, || format!("expected ProbeRTT 5 to 6.5 s after the start, got {begin:.2}"))?;
    expect(length <= 0.4, until, || format!("expected at most 0.4 s in ProbeRTT, got {length:.3}"))
}

pub(super) fn pause_replaces_probe_rtt(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    match probe_rtts(view, Duration::from_secs(14)) {
        Some((at, _)) if at < Duration::from_secs(16) => {
            Err(Broken { at, why: "expected no ProbeRTT directly after an idle period, got one".into() })
        }
        _ => Ok(()),
    }
}

/// The share of a time in which the window is at least `least` bytes.
fn window_above(view: &View<'_>, (from, until): (Duration, Duration), least: f64) -> f64 {
    let steps = 1000u32;
    let above = (0..steps).filter(|step| view.window_at(from + (until - from) * *step / steps) as f64 >= least).count();
    above as f64 / f64::from(steps)
}

pub(super) fn startup_window_has_room_for_bursts(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let end = startup(phases)?.until;
    let most = view.windows.iter().filter(|change| change.0 < end).map(|change| change.1).max().unwrap_or(0) as f64 / BDP;
    expect(most > 2.0, end, || format!("expected a window above 2 bandwidth-delay products in Startup, got {most:.2}"))
}

pub(super) fn window_has_room_for_bursts(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    let share = window_above(view, (Duration::from_secs(3), view.end), 1.3 * BDP);
    expect(share >= 0.8, view.end, || format!("expected a window above 1.3 bandwidth-delay products for 0.8 of the time, got {share:.2}"))
}

pub(super) fn startup_resumes_after_probe_rtt(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let Some((_, until)) = probe_rtts(view, Duration::from_secs(1)) else { return Ok(()) };
    let next = phases.at(until + 2 * ROUND_TRIP);
    expect(next.phase == Phase::Startup, until, || {
        format!("expected Startup after ProbeRTT, got {} with a pacing gain of {:.2}", next.phase, next.gain)
    })
}

fn first_up(phases: &Phases, from: Duration) -> Result<Span, Broken> {
    phases.first(Phase::Up, from)
}

pub(super) fn up_paces_faster(_: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    gain_is(first_up(phases, Duration::ZERO)?, 1.25)
}

/// Down is over at once if the queue is empty.
pub(super) fn up_precedes_down(_: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let up = first_up(phases, Duration::ZERO)?;
    phases.next(up, Phase::Down).or_else(|broken| phases.next(up, Phase::Cruise).map_err(|_| broken)).map(drop)
}

pub(super) fn up_ends_without_loss(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let up = first_up(phases, Duration::ZERO)?;
    let lost = view.signals().filter_map(|data| data.dropped).find(|at| (up.from..up.until).contains(at));
    expect(lost.is_none(), lost.unwrap_or(up.until), || "expected no loss in Up, got one".into())
}

pub(super) fn up_ends_on_loss(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    ends_on_loss(view, first_up(phases, Duration::ZERO)?)
}

pub(super) fn second_up_ends_on_loss(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let second = first_up(phases, first_up(phases, Duration::ZERO)?.until)?;
    ends_on_loss(view, second)?;
    phases.next(second, Phase::Down).map(drop)
}

pub(super) fn startup_lasts_while_limited(_: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let end = startup(phases)?.until;
    expect(end >= Duration::from_secs(4), end, || "expected Startup until the application stops to limit it at 4 s, got an end".into())
}

/// Up takes four rounds if nothing limits it. ProbeRTT may end it after 5 s.
pub(super) fn up_lasts_while_limited(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let up = first_up(phases, Duration::from_secs(4))?;
    let rounds = view.rounds(up.from, up.until);
    expect(rounds > 20 || up.until >= view.end, up.until, || {
        format!("expected Up to go on, because the application limits it, got an end after {rounds} rounds")
    })
}

pub(super) fn down_paces_slower(_: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    gain_is(phases.first(Phase::Down, Duration::ZERO)?, 0.9)
}

pub(super) fn down_empties_the_queue(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let down = phases.first(Phase::Down, first_up(phases, Duration::ZERO)?.from)?;
    phases.next(down, Phase::Cruise)?;
    is_drained(view, down.until, Phase::Down)
}

/// Refill takes a round after Down, and then comes Up.
/// ProbeRTT would begin a new cycle, so that the first one must be over.
pub(super) fn down_ends_by_time(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let down = phases.first(Phase::Down, first_up(phases, AFTER_PROBE_RTT)?.from)?;
    let up = first_up(phases, down.until)?;
    let (waited, length) = ((up.from - down.until).as_secs_f64(), (down.until - down.from).as_secs_f64());
    let [before, after] = [down.from, down.until].map(|at| view.bandwidth_at(at) as f64 / 1e6);
    expect(length > 1.0, down.until, || {
        format!(
            "expected Down until the next probe for bandwidth, got {length:.3} s, in which the estimate fell from {before:.2} to {after:.2} Mbit/s"
        )
    })?;
    expect(waited <= 0.5, up.from, || format!("expected Up one round after Down, got {waited:.3} s later"))
}

/// The idle time ends before Up, and the estimate of the bandwidth stays.
pub(super) fn refill_keeps_the_bandwidth(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let up = first_up(phases, Duration::ZERO)?;
    let least = view.pacing_rates.iter().filter(|change| (up.from - 2 * ROUND_TRIP..up.from + 2 * ROUND_TRIP).contains(&change.0));
    let least = least.map(|change| change.1).min().unwrap_or(0) as f64 / PATH_RATE;
    expect(least >= 0.9, up.from, || format!("expected to pace at 0.9 of the rate or more around Up, got {least:.2}"))
}

pub(super) fn window_is_four_packets(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    let late = view.windows.iter().filter(|change| change.0 > Duration::from_secs(5));
    let (at, least) = late.map(|&(at, window)| (at, window)).min_by_key(|change| change.1).unwrap_or((view.end, view.window_at(view.end)));
    expect(least >= 4 * SMALLEST, at, || format!("expected a window of at least {} bytes, got {least}", 4 * SMALLEST))
}

/// Growth by a quarter a round takes 10.3 rounds to ten times the rate.
/// Up raises its bound in 12.3 more.
pub(super) fn bandwidth_is_found_in_rounds(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    let change = Duration::from_secs(5);
    let grown = |pair: &&(Duration, u64)| pair.0 > change && pair.1 as f64 >= 0.9 * PATH_RATE;
    let Some(&(found, _)) = view.pacing_rates.iter().find(grown) else {
        return Err(Broken { at: view.end, why: "expected to pace at 0.9 of the new rate, got less until the end".into() });
    };
    let first = view.pacing_rates.iter().find(|pair| pair.0 > change && pair.1 as f64 >= 0.11 * PATH_RATE);
    let rounds = first.map_or(0, |first| view.rounds(first.0, found));
    expect(rounds <= 23, found, || format!("expected at most 23 rounds from the first probe to the new rate, got {rounds}"))
}

pub(super) fn bandwidth_falls(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    let change = Duration::from_secs(5);
    let soon = view.pacing_rates.iter().filter(|pair| pair.0 > change && pair.0 < change + Duration::from_millis(3600));
    let least = soon.map(|pair| pair.1).min().unwrap_or(u64::MAX) as f64 / PATH_RATE;
    expect(least <= 0.5, change, || format!("expected to pace at half of the old rate or less within 3.6 s, got {least:.2}"))?;
    let last = view.pacing_rate_at(view.end) as f64 / PATH_RATE;
    expect((0.04..0.14).contains(&last), view.end, || format!("expected to pace near a tenth of the old rate at the end, got {last:.3}"))
}

pub(super) fn policer_drops_little(view: &View<'_>, _: &Phases) -> Result<(), Broken> {
    let half = view.end / 2;
    let late = view.data.iter().filter(|data| data.sent >= half);
    let (all, lost) = late.fold((0, 0), |(all, lost), data| (all + 1, lost + usize::from(data.dropped.is_some())));
    let part = lost as f64 / all.max(1) as f64;
    expect(part <= 0.02, view.end, || format!("expected at most 2 % of lost packets in the second half, got {:.1} %", 100.0 * part))
}

/// A loss that did not happen leaves no limit: probing goes on, or follows again.
pub(super) fn probing_goes_on(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let first = first_up(phases, Duration::ZERO)?;
    let length = view.rounds(first.from, first.until);
    expect(length >= 3 || first_up(phases, first.until).is_ok(), first.until, || {
        "expected another Up after a recovery without cause, got none".into()
    })
}

pub(super) fn bandwidth_is_not_exceeded(view: &View<'_>, phases: &Phases) -> Result<(), Broken> {
    let from = startup(phases)?.until;
    let most = view.pacing_rates.iter().filter(|change| change.0 > from).max_by_key(|change| change.1);
    let (at, most) = most.map_or((from, 0.0), |&(at, pace)| (at, pace as f64 / PATH_RATE));
    expect(most <= 1.1 * 1.25, at, || format!("expected to pace at most at 1.25 times the rate, got {most:.2}"))
}
