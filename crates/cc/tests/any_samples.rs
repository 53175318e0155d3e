//! Properties of every registered controller, and of Reno and CUBIC with every start-up.
//! They hold whatever deliveries, losses and marks the endpoint reports.

use proptest::prelude::*;
use sojourn_cc::{
    Ack, AnyController, CcConfig, CongestionController, CongestionEvent, Event, LossState, LostSegment, REGISTRY, RateSample, START_UPS,
    Signal, Start, StartUpConfig, Window,
};
use sojourn_units::{Duration, Time};

const START: Start = Start::new(10.0, 1e9);

/// A call of its endpoint, and the time since the last one in ns.
#[derive(Clone, Copy, Debug)]
struct Call {
    kind: u8,
    gap: u64,
    segments: u64,
    /// Segments per second.
    rate: f64,
    rtt: Option<u64>,
    state: LossState,
    flags: [bool; 3],
}

fn call() -> impl Strategy<Value = Call> {
    let rates = prop_oneof![Just(0.0), 0.0..1e3, 0.0..1e9, Just(f64::MIN_POSITIVE), Just(1e300)];
    let rtts = prop_oneof![Just(None), Just(Some(0)), (0..1_000_000_000u64).prop_map(Some), (0..20_000_000_000_000u64).prop_map(Some)];
    let gaps = prop_oneof![Just(0), 0..1_000_000u64, 0..20_000_000_000u64];
    let states = prop_oneof![Just(LossState::Open), Just(LossState::Recovery), Just(LossState::Timeout)];
    (0u8..30, gaps, 0u64..100, rates, rtts, states, any::<[bool; 3]>()).prop_map(|(kind, gap, segments, rate, rtt, state, flags)| Call {
        kind,
        gap,
        segments,
        rate,
        rtt,
        state,
        flags,
    })
}

/// What the endpoint counts.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    now: u64,
    delivered: u64,
    lost: u64,
}

fn sample(call: &Call, counts: &Counts, window: f64) -> RateSample {
    let [app_limited, cwnd_limited, delivers] = call.flags;
    let (delivered, lost) = (counts.delivered as f64, counts.lost as f64);
    RateSample {
        now: Time::from_nanos(counts.now),
        delivered_total: delivered,
        lost_total: lost,
        newly_acked: call.segments as f64,
        newly_lost: f64::from(call.kind),
        prior_delivered: delivers.then_some(delivered - call.segments as f64),
        delivered: call.segments as f64,
        lost: f64::from(call.kind).min(lost),
        tx_in_flight: window,
        delivery_rate: call.rate,
        is_app_limited: app_limited,
        rtt: call.rtt.map(Duration::from_nanos),
        srtt: Duration::from_nanos(call.rtt.unwrap_or(0)),
        prior_in_flight: window,
        in_flight: (window - call.segments as f64).max(0.0),
        may_be_delayed: call.segments == 1,
        pacing_delay: Duration::ZERO,
        is_cwnd_limited: cwnd_limited,
        state: call.state,
        selective_acks: !delivers,
        marked: if app_limited { call.segments as f64 } else { 0.0 },
    }
}

fn ack(call: &Call, counts: &Counts, window: f64) -> Ack {
    let rtt = call.rtt.map(Duration::from_nanos);
    Ack {
        now: Time::from_nanos(counts.now),
        acked: call.segments as f64,
        advanced: call.segments as f64,
        rtt,
        srtt: rtt.unwrap_or(Duration::ZERO),
        rtt_min: rtt.unwrap_or(Duration::ZERO),
        one_way_delay: None,
        in_flight: window,
        cwnd_limited: call.flags[1],
        in_recovery: call.state == LossState::Recovery,
        after_timeout: call.state == LossState::Timeout,
        open: call.state == LossState::Open,
        abc_limit: 0.0,
        snd_una: counts.delivered,
        snd_max: counts.delivered + 10,
        marked: if call.flags[0] { call.segments as f64 } else { 0.0 },
    }
}

/// One of the other events.
fn other_event(call: &Call, now: Time, window: f64) -> Event {
    match call.segments % 7 {
        0 => Event::SpuriousRecovery,
        1 => Event::IdleEnd { now, idle: Duration::from_nanos(call.gap), srtt: Duration::from_nanos(call.rtt.unwrap_or(0)) },
        2 => Event::IdleRestart(Window { cwnd: 2.0, ssthresh: window.max(2.0) }),
        3 => Event::RepeatedRto { now },
        4 => Event::LossInReduction { in_use: window },
        5 => Event::ReductionEnd,
        _ => Event::Undo(Window { cwnd: window, ssthresh: window.max(2.0) }),
    }
}

fn give(cc: &mut AnyController, call: &Call, counts: &mut Counts) {
    counts.now += call.gap;
    let (now, window) = (Time::from_nanos(counts.now), cc.cwnd());
    match call.kind {
        0 => cc.on_congestion(&CongestionEvent { now, window, signal: Signal::Loss }),
        1 => cc.on_congestion(&CongestionEvent { now, window, signal: Signal::Mark }),
        2 => cc.on_rto(now, window),
        3 => cc.on_event(&Event::FlightStart { now, srtt: Duration::from_nanos(call.rtt.unwrap_or(0)), app_limited: call.flags[0] }),
        4 => cc.on_event(&other_event(call, now, window)),
        5..8 => {
            counts.lost += 1;
            cc.on_lost(&LostSegment {
                now,
                size: 1.0,
                tx_in_flight: window,
                lost: call.segments as f64,
                is_app_limited: call.flags[0],
                delivered_total: counts.delivered as f64,
                contiguous: call.flags[1],
                selective_acks: call.flags[2],
            });
        }
        _ => {
            counts.delivered += call.segments;
            cc.on_sample(&sample(call, counts, window));
            cc.on_ack(&ack(call, counts, window));
        }
    }
}

fn is_sound(cc: &AnyController) -> Result<(), String> {
    let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
    if !(cwnd.is_finite() && cwnd >= 1.0) {
        return Err(format!("cwnd {cwnd}"));
    }
    if ssthresh.is_nan() || ssthresh < 1.0 {
        return Err(format!("ssthresh {ssthresh}"));
    }
    match cc.pacing().or_else(|| cc.start_up_pacing()) {
        Some(pace) if !(pace.rate > 0.0 && pace.rate.is_finite() && pace.quantum() >= 1.0 && pace.quantum().is_finite()) => {
            Err(format!("{pace:?}"))
        }
        _ => Ok(()),
    }
}

/// The controllers with the start-ups of their own, and those whose start-up is chosen.
fn all() -> Vec<(String, CcConfig, Option<StartUpConfig>)> {
    let own = REGISTRY.iter().map(|entry| (entry.name.to_string(), (entry.default)(), None));
    let started =
        |cc: CcConfig| START_UPS.iter().map(move |entry| (format!("{} {}", cc.name(), entry.name), cc.clone(), Some(saved(entry.name))));
    own.chain(started(CcConfig::Reno(Default::default()))).chain(started(CcConfig::Cubic(Default::default()))).collect()
}

/// A start-up, with saved parameters if it uses any.
fn saved(name: &str) -> StartUpConfig {
    let entry = START_UPS.iter().find(|entry| entry.name == name).expect("it is registered");
    match (entry.default)() {
        StartUpConfig::CarefulResume(mut params) => {
            (params.saved_cwnd, params.saved_rtt) = (Some(100.0), Some(Duration::from_millis(100)));
            StartUpConfig::CarefulResume(params)
        }
        config => config,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn any_samples_leave_a_finite_window_and_pace_and_a_copy_goes_on_alike(
        calls in prop::collection::vec(call(), 1..200), linux in any::<bool>(), classic in any::<bool>()
    ) {
        for (name, config, start_up) in all() {
            let start = Start { start_up, ..if linux { START.in_linux() } else { START } };
            let mut cc = config.build(if classic { start.echoing() } else { start }).unwrap();
            let mut counts = Counts::default();
            let (first, second) = calls.split_at(calls.len() / 2);
            for call in first {
                give(&mut cc, call, &mut counts);
                prop_assert_eq!(is_sound(&cc), Ok(()), "{}", name);
            }
            let (mut copy, mut counts_of_copy) = (cc.clone(), counts);
            for call in second {
                give(&mut cc, call, &mut counts);
                give(&mut copy, call, &mut counts_of_copy);
                prop_assert_eq!(is_sound(&cc), Ok(()), "{}", name);
                prop_assert_eq!((cc.cwnd(), cc.ssthresh(), cc.pacing()), (copy.cwnd(), copy.ssthresh(), copy.pacing()), "{}", name);
            }
        }
    }
}
