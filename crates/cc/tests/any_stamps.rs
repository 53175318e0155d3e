//! Properties of every registered controller, whatever delays, timestamps and losses it sees.

use proptest::prelude::*;
use sojourn_cc::{Ack, AnyController, CongestionController, CongestionEvent, REGISTRY, Signal, Source, Start};
use sojourn_units::{Duration, Time};

const START: Start = Start::new(2.0, 1e9);

fn registered() -> impl Iterator<Item = (&'static str, AnyController)> {
    REGISTRY.iter().map(|entry| (entry.name, (entry.default)().build(START).unwrap()))
}

/// The `number`th segment, acknowledged at `at` ms within a full window.
/// It was sent 100 ms before.
fn ack(at: u64, number: u64) -> Ack {
    let rtt = Duration::from_millis(100);
    Ack {
        now: Time::ZERO + Duration::from_millis(at),
        rtt: Some(rtt),
        srtt: rtt,
        rtt_min: rtt,
        one_way_delay: Some(50_000_000),
        in_flight: 2.0,
        snd_una: number + 1,
        snd_max: number + 3,
        ..Ack::ONE
    }
}

/// The controllers that measure one-way delays by default, and what each measures.
/// The measurement is after these ACKs.
fn sources(acks: impl Iterator<Item = Ack> + Clone) -> Vec<(&'static str, Source)> {
    let one_way = registered().filter(|(_, cc)| cc.needs().delays == Some(Source::OneWay));
    one_way
        .map(|(name, mut cc)| {
            acks.clone().for_each(|ack| cc.on_ack(&ack));
            assert!(cc.cwnd().is_finite() && cc.cwnd() >= 1.0, "{name}: {}", cc.cwnd());
            (name, cc.needs().delays.unwrap())
        })
        .collect()
}

fn all_are(sources: &[(&'static str, Source)], expected: Source) {
    assert!(sources.len() >= 5, "LEDBAT, fLEDBAT, TCP-LP, FLOWER and FLOWER+ read one way: {sources:?}");
    assert!(sources.iter().all(|&(_, source)| source == expected), "{sources:?}");
}

#[test]
fn stamps_of_one_tick_are_read_one_way() {
    all_are(&sources((0..600).map(|i| ack(100 * i + 100, i))), Source::OneWay);
}

#[test]
fn without_stamps_the_round_trip_is_read() {
    all_are(&sources((0..10).map(|i| Ack { one_way_delay: None, ..ack(100 * i + 100, i) })), Source::RoundTrip);
}

#[test]
fn where_the_peers_clock_goes_back_the_round_trip_is_read() {
    let back = |i: u64| Ack { one_way_delay: Some(if i < 5 { 50_000_000 } else { -5_000_000_000 }), ..ack(100 * i + 10_000, i) };
    all_are(&sources((0..10).map(back)), Source::RoundTrip);
}

#[test]
fn where_the_peer_counts_in_another_tick_the_round_trip_is_read() {
    for pace in [-900, -500, 500, 9_000] {
        // The peer's clock gains `pace` ms a second, and with it the difference of the stamps.
        let other = |i: u64| Ack { one_way_delay: Some(50_000_000 + pace * 100_000 * i as i64), ..ack(100 * i + 100, i) };
        all_are(&sources((0..200).map(other)), Source::RoundTrip);
    }
}

/// One call of a controller.
/// Its kind, the stamps' difference, the RTT in ns, the time since the last call, segments, and whether the window was used.
type Step = (u8, Option<i64>, Option<u64>, u64, u64, bool);

fn step() -> impl Strategy<Value = Step> {
    let delays = prop_oneof![Just(None), Just(Some(0)), (0..10_000_000_000i64).prop_map(Some), any::<i64>().prop_map(Some)];
    // Round trips of nothing and of hours.
    let rtts = prop_oneof![Just(None), Just(Some(0)), (0..10_000_000_000u64).prop_map(Some), (0..20_000_000_000_000u64).prop_map(Some)];
    (0u8..24, delays, rtts, 0u64..200_000_000_000, 0u64..10, any::<bool>())
}

proptest! {
    #[test]
    fn any_delays_marks_losses_and_timeouts_leave_a_finite_window_of_a_segment_or_more(
        calls in prop::collection::vec(step(), 1..300)
    ) {
        for (name, mut cc) in registered() {
            let (mut now, mut number) = (0, 0);
            for &(kind, one_way_delay, rtt, gap, segments, cwnd_limited) in &calls {
                now += gap;
                number += segments;
                let (at, window) = (Time::from_nanos(now), cc.cwnd());
                let srtt = Duration::from_nanos(rtt.unwrap_or(0));
                match kind {
                    0 => cc.on_congestion(&CongestionEvent { now: at, window, signal: Signal::Loss }),
                    1 => cc.on_congestion(&CongestionEvent { now: at, window, signal: Signal::Mark }),
                    2 => cc.on_rto(at, window),
                    _ => cc.on_ack(&Ack {
                        now: at,
                        acked: segments as f64,
                        advanced: segments as f64,
                        rtt: rtt.map(Duration::from_nanos),
                        srtt,
                        rtt_min: srtt,
                        one_way_delay,
                        in_flight: window,
                        cwnd_limited,
                        in_recovery: kind == 3,
                        ..ack(0, number)
                    }),
                }
                prop_assert!(cc.cwnd().is_finite() && cc.cwnd() >= 1.0, "{}: {}", name, cc.cwnd());
                prop_assert!(cc.ssthresh() >= 1.0 && !cc.ssthresh().is_nan(), "{}: {}", name, cc.ssthresh());
            }
        }
    }
}
