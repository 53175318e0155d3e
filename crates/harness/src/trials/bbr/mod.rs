//! The test cases of BBR version 3 (draft-ietf-ccwg-bbr, appendix).
//!
//! Each runs over 10 Mbit/s and 40 ms. The pacing rate that a sender reports tells its phase. A sender that reports none is judged by its
//! use of the path alone.

mod judges;
mod path;
mod phases;

use super::view::View;
use super::{Broken, FLOW, Law, Step, Trial};
use crate::network::Dumbbell;
use crate::script::Fate;
use judges::Use;
use path::{AFTER_PROBE_RTT, ROUND_TRIP, bulk, path, queue, scheduled, text};
use phases::{Phase, Phases};
use std::time::Duration;

/// When a phase begins first, from a time on.
/// Senders without a pacing rate have no phases: then it is 3 s, or `from` if that is later.
fn begin(view: &View<'_>, phase: Phase, from: Duration) -> Result<Duration, Broken> {
    Phases::new(view).map_or(Ok(from.max(Duration::from_secs(3))), |phases| phases.first(phase, from).map(|span| span.from))
}

/// Adds an outage of a tenth of a round trip, one round trip after a phase begins.
fn lose_in_up(network: Dumbbell, view: &View<'_>, from: Duration) -> Result<(Dumbbell, Duration), Broken> {
    let at = begin(view, Phase::Up, from)? + ROUND_TRIP;
    Ok((network.impair(&format!("kind = \"outage\", at = {:?}, length = \"4 ms\", hold = false", text(at))), at))
}

/// The first Up and its end.
fn first_up(view: &View<'_>) -> Result<(Duration, Duration), Broken> {
    let Some(phases) = Phases::new(view) else { return Ok((Duration::from_secs(3), Duration::from_secs(6))) };
    phases.first(Phase::Up, Duration::ZERO).map(|up| (up.from, up.until))
}

const LOSE_IN_FIRST_UP: Step = |network, view| lose_in_up(network, view, Duration::ZERO);
const LOSE_IN_SECOND_UP: Step = |network, view| lose_in_up(network, view, first_up(view)?.1);
const HALVE_IN_DRAIN: Step = |network, view| {
    let at = begin(view, Phase::Drain, Duration::ZERO)?;
    Ok((network.change(&text(at), "rate = \"5 Mbit/s\""), at))
};
const SLOW_IN_DOWN: Step = |network, view| {
    let at = begin(view, Phase::Down, begin(view, Phase::Up, AFTER_PROBE_RTT)?)?;
    Ok((network.change(&text(at), "rate = \"8.5 Mbit/s\""), at))
};
/// One packet is half a round trip late.
const REORDER_IN_UP: Step = |network, view| {
    let at = begin(view, Phase::Up, Duration::ZERO)? + ROUND_TRIP / 2;
    let until = at + Duration::from_millis(1);
    Ok((
        network.impair(&format!("kind = \"reorder\", probability = 1, by = \"20 ms\", from = {:?}, until = {:?}", text(at), text(until))),
        at,
    ))
};
/// The path holds all packets for longer than a timeout.
const HOLD_IN_UP: Step = |network, view| {
    let at = begin(view, Phase::Up, Duration::ZERO)? + ROUND_TRIP;
    Ok((network.impair(&format!("kind = \"outage\", at = {:?}, length = \"1120 ms\", hold = true", text(at))), at))
};
/// The application slows down to 0.8 of the rate in Up, and then packets are lost.
const LIMIT_AND_LOSE_IN_UP: Step = |_, view| {
    let at = begin(view, Phase::Up, Duration::ZERO)?;
    let rates = format!("{{ at = \"0 s\" }}, {{ at = {:?}, rate = \"8 Mbit/s\" }}", text(at + ROUND_TRIP / 5));
    let network = scheduled(queue(3.0, "12 s"), &rates);
    let outage = text(at + ROUND_TRIP * 6 / 5);
    Ok((network.impair(&format!("kind = \"outage\", at = {outage:?}, length = \"4 ms\", hold = false")), at + ROUND_TRIP / 5))
};
const LIMIT_IN_LATE_UP: Step = |_, view| {
    let at = begin(view, Phase::Up, Duration::from_secs(4))? + ROUND_TRIP / 2;
    let rates = format!("{{ at = \"0 s\", rate = \"3 Mbit/s\" }}, {{ at = \"4 s\" }}, {{ at = {:?}, rate = \"3 Mbit/s\" }}", text(at));
    Ok((scheduled(queue(3.0, "16 s"), &rates), at))
};
/// Refill is the round trip before Up.
const PAUSE_IN_REFILL: Step = |_, view| {
    let at = begin(view, Phase::Up, Duration::ZERO)? - ROUND_TRIP;
    let rates = format!("{{ at = \"0 s\" }}, {{ at = {:?}, silent = true }}, {{ at = {:?} }}", text(at), text(at + ROUND_TRIP * 3 / 2));
    Ok((scheduled(queue(3.0, "12 s"), &rates), at))
};

/// A case: its name, rule and path, and what it demands.
macro_rules! case {
    ($name:literal, $rule:literal, $network:expr, script: $script:expr, steps: $steps:expr, used: $least:literal from $from:literal, [$($demand:ident),*]) => {
        Trial {
            name: concat!("bbr_", $name),
            rule: concat!("draft-ietf-ccwg-bbr, appendix: ", $rule),
            laws: &[Law::Bbr],
            network: $network,
            script: $script,
            steps: $steps,
            judge: |view, _| judges::judge(view, Use { from: Duration::from_millis($from), least: $least }, &[$(judges::$demand),*]),
        }
    };
    ($name:literal, $rule:literal, $network:expr, steps: $steps:expr, used: $least:literal from $from:literal, [$($demand:ident),*]) => {
        case!($name, $rule, $network, script: |harness| harness, steps: $steps, used: $least from $from, [$($demand),*])
    };
    ($name:literal, $rule:literal, $network:expr, used: $least:literal from $from:literal, [$($demand:ident),*]) => {
        case!($name, $rule, $network, script: |harness| harness, steps: &[], used: $least from $from, [$($demand),*])
    };
}

/// The cases, in the order of the draft.
/// The use of the path is a part of its rate, from a time in milliseconds on.
#[rustfmt::skip]
pub(super) const TRIALS: &[Trial] = &[
    case!("startup_plateau", "Startup ends three rounds after the bandwidth stops growing, and Drain follows",
        || path(2.0, "12 s"), used: 0.85 from 3000, [startup_ends_at_plateau, startup_precedes_drain]),
    case!("startup_loss", "Startup ends on losses while the application limits the flow",
        || scheduled(queue(2.0, "12 s"), "{ at = \"0 s\", rate = \"8 Mbit/s\" }"),
        script: |harness| (0..10).fold(harness, |harness, n| harness.on_data_from(FLOW, Duration::from_micros(300_000 + 2_400 * n), 1, Fate::Drop)),
        steps: &[], used: 0.75 from 3000, [startup_ends_on_loss, startup_precedes_drain]),
    case!("drain_in_flight", "Drain paces at half of the bandwidth and ends when the queue is empty",
        || path(2.0, "12 s"), used: 0.85 from 3000, [drain_paces_at_half, drain_empties_the_queue]),
    case!("drain_time", "Drain ends after three rounds, even if the queue is not empty",
        || path(2.0, "12 s"), steps: &[HALVE_IN_DRAIN], used: 0.42 from 4000, [drain_ends_after_three_rounds]),
    case!("probe_rtt", "ProbeRTT begins 5 s after the shortest round trip and lasts 200 ms and a round trip",
        || path(2.0, "20 s"), used: 0.85 from 3000, [probe_rtt_comes_after_five_seconds]),
    case!("skip_probe_rtt", "an idle period replaces ProbeRTT",
        || scheduled(queue(2.0, "20 s"), "{ at = \"0 s\" }, { at = \"3 s\", silent = true }, { at = \"15 s\" }"),
        used: 0.8 from 15500, [pause_replaces_probe_rtt]),
    case!("startup_aggregation", "the window of Startup has room for aggregated ACKs",
        || path(2.0, "12 s").impair_acks("kind = \"bursts\", every = \"20 ms\""), used: 0.85 from 3000, [startup_window_has_room_for_bursts]),
    case!("cruise_aggregation", "the window of ProbeBW has room for aggregated ACKs",
        || path(2.0, "20 s").impair_acks("kind = \"bursts\", every = \"20 ms\""), used: 0.85 from 6000, [window_has_room_for_bursts]),
    case!("startup_probe_rtt", "ProbeRTT during Startup leads back to Startup",
        || scheduled(queue(2.0, "20 s"), "{ at = \"0 s\", rate = \"3 Mbit/s\" }").change("1 s", "delay = \"25 ms\""),
        used: 0.29 from 2000, [startup_resumes_after_probe_rtt]),
    case!("up_plateau", "Up paces at 1.25 times the bandwidth, ends without loss when it stops growing, and Down follows",
        || path(3.0, "12 s"), used: 0.85 from 3000, [up_paces_faster, up_ends_without_loss, up_precedes_down]),
    case!("up_loss", "Up ends on losses while the application limits the flow",
        || path(3.0, "12 s"), steps: &[LIMIT_AND_LOSE_IN_UP], used: 0.72 from 3000, [up_ends_on_loss, up_precedes_down]),
    case!("limited", "Startup and Up go on while the application limits the flow",
        || scheduled(queue(3.0, "16 s"), "{ at = \"0 s\", rate = \"3 Mbit/s\" }, { at = \"4 s\" }"),
        steps: &[LIMIT_IN_LATE_UP], used: 0.29 from 1000, [startup_lasts_while_limited, up_lasts_while_limited]),
    case!("down_in_flight", "Down paces at 0.9 of the bandwidth, empties the queue, and Cruise follows",
        || path(3.0, "12 s"), used: 0.85 from 3000, [down_paces_slower, down_empties_the_queue]),
    case!("down_time", "Down ends when it is time to probe, even if the queue is not empty",
        || path(4.0, "16 s"), steps: &[SLOW_IN_DOWN], used: 0.72 from 5000, [down_ends_by_time]),
    case!("up_second_loss", "a later Up ends on losses as the first did",
        || path(3.0, "14 s"), steps: &[LOSE_IN_FIRST_UP, LOSE_IN_SECOND_UP], used: 0.82 from 3000, [up_ends_on_loss, second_up_ends_on_loss]),
    case!("refill_limited", "an idle application during Refill does not lower the bandwidth",
        || path(3.0, "12 s"), steps: &[PAUSE_IN_REFILL], used: 0.82 from 3000, [refill_keeps_the_bandwidth]),
    case!("sub_packet", "the window is at least 4 packets on a path that holds less than one",
        || bulk(Dumbbell::new("64 kbit/s", "10 ms").limit("20 packets").duration("60 s")), used: 0.0057 from 10000, [window_is_four_packets]),
    case!("ten_times_more", "a bandwidth ten times as large is found in 23 rounds",
        || bulk(Dumbbell::new("1 Mbit/s", "40 ms").limit("67 packets").duration("30 s").change("5 s", "rate = \"10 Mbit/s\"")),
        used: 0.85 from 20000, [bandwidth_is_found_in_rounds]),
    case!("ten_times_less", "a bandwidth of a tenth halves the pacing rate soon, and is found",
        || path(0.5, "30 s").change("5 s", "rate = \"1 Mbit/s\""), used: 0.085 from 20000, [bandwidth_falls]),
    case!("policer", "a policer at half of the rate drops little in the long run, at most BBR's loss threshold of 2 %, as the draft gives no bound",
        || path(2.0, "30 s").impair("kind = \"policer\", rate = \"5 Mbit/s\", burst = \"50 kB\", place = \"before-queue\""),
        used: 0.4 from 10000, [policer_drops_little]),
    case!("spurious_recovery", "a recovery without a loss does not end probing for good",
        || path(3.0, "12 s"), steps: &[REORDER_IN_UP], used: 0.85 from 3000, [probing_goes_on, bandwidth_is_not_exceeded]),
    case!("spurious_timeout", "a timeout without a loss does not end probing for good",
        || path(3.0, "16 s"), steps: &[HOLD_IN_UP], used: 0.67 from 3000, [probing_goes_on, bandwidth_is_not_exceeded]),
];
