//! The cases of the draft's appendix that need no network, with one sample per round trip.

use super::states::State;
use super::*;
use crate::sample::tests::SAMPLE;

const RTT: Duration = Duration::from_millis(100);

/// A connection with samples of rounds of 100 ms.
struct Rounds {
    cc: Bbr3,
    round: u64,
    delivered: f64,
}

impl Rounds {
    fn new() -> Self {
        let mut cc = Params::default().build(Start::new(10.0, 1e9)).unwrap();
        cc.on_event(&Event::FlightStart { now: Time::ZERO, srtt: RTT, app_limited: false });
        Rounds { cc, round: 0, delivered: 0.0 }
    }

    fn now(&self) -> Time {
        Time::ZERO + RTT * self.round
    }

    /// The sample of a round trip that delivers `rate` segments per second.
    fn sample(&mut self, rate: f64) -> RateSample {
        self.round += 1;
        let segments = rate * RTT.as_secs_f64();
        let prior_delivered = Some(self.delivered);
        self.delivered += segments;
        RateSample {
            now: self.now(),
            delivered_total: self.delivered,
            newly_acked: segments,
            prior_delivered,
            delivered: segments,
            delivery_rate: rate,
            tx_in_flight: segments,
            in_flight: segments,
            ..SAMPLE
        }
    }

    fn see(&mut self, rate: f64) -> State {
        let sample = self.sample(rate);
        let in_flight = if self.cc.0.state == State::ProbeRtt { 4.0 } else { sample.in_flight };
        self.cc.on_sample(&RateSample { in_flight, ..sample });
        self.cc.0.state
    }

    /// A connection in the first round trip with such a state, at 1,000 segments per second.
    /// The state must occur within 200 round trips.
    fn until(found: impl Fn(State) -> bool) -> Self {
        let mut rounds = Rounds::new();
        assert!((0..200).any(|_| found(rounds.see(1000.0))), "{:?}", rounds.cc.0.state);
        rounds
    }

    fn in_probe_bw() -> Self {
        Rounds::until(State::is_probe_bw)
    }

    fn lost(&self, lost: f64, tx_in_flight: f64) -> LostSegment {
        LostSegment {
            now: self.now(),
            size: 1.0,
            tx_in_flight,
            lost,
            is_app_limited: false,
            delivered_total: self.delivered,
            contiguous: false,
            selective_acks: true,
        }
    }
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more_bandwidth() {
    let mut rounds = Rounds::new();
    let states: std::vec::Vec<State> = [100.0, 200.0, 400.0, 450.0, 460.0, 470.0].map(|rate| rounds.see(rate)).into();
    assert_eq!(states[..5], [State::Startup; 5]);
    // With one more segment per second in flight, Drain would not end at once.
    assert!(rounds.cc.0.full_bw_reached && states[5] != State::Startup);
    assert_eq!(rounds.cc.0.max_bw(), 470.0);
}

#[test]
fn samples_limited_by_the_application_do_not_end_startup() {
    let mut rounds = Rounds::new();
    for _ in 0..20 {
        let sample = rounds.sample(100.0);
        rounds.cc.on_sample(&RateSample { is_app_limited: true, ..sample });
    }
    assert_eq!(rounds.cc.0.state, State::Startup);
}

#[test]
fn six_ranges_lost_in_a_round_of_recovery_end_startup() {
    let mut rounds = Rounds::new();
    rounds.see(100.0);
    (1..=6).for_each(|lost| {
        let lost = rounds.lost(f64::from(lost), 20.0);
        rounds.cc.on_lost(&lost);
    });
    let states = [0, 1].map(|_| {
        let sample = rounds.sample(200.0);
        rounds.cc.on_sample(&RateSample { state: LossState::Recovery, lost: 6.0, is_app_limited: true, ..sample });
        rounds.cc.0.state
    });
    assert!(states.iter().any(|&state| state != State::Startup), "{states:?}");
    // A round trip of 100 ms at 200 segments a second.
    assert_eq!(rounds.cc.0.inflight_longterm, 20.0);
    rounds.cc.on_event(&Event::SpuriousRecovery);
    assert_eq!(rounds.cc.0.state, State::Startup, "a spurious recovery takes it back");
}

#[test]
fn drain_ends_when_the_queue_is_empty_or_after_three_rounds() {
    let drained = |in_flight: f64| {
        let mut rounds = Rounds::new();
        for round in 0.. {
            let sample = rounds.sample(1000.0);
            rounds.cc.on_sample(&RateSample { in_flight, ..sample });
            if rounds.cc.0.state.is_probe_bw() {
                return round;
            }
        }
        0
    };
    // The first round sets the baseline; three more fill the pipe.
    assert_eq!(drained(100.0), 3);
    assert_eq!(drained(200.0), 7);
}

#[test]
fn the_cycle_goes_down_cruises_refills_for_a_round_and_goes_up() {
    let mut rounds = Rounds::in_probe_bw();
    let mut order = std::vec![State::ProbeBwDown];
    for _ in 0..200 {
        let state = rounds.cc.0.state;
        if *order.last().unwrap() != state && state != State::ProbeRtt {
            order.push(state);
        }
        rounds.see(1000.0);
    }
    order.truncate(5);
    let cycle = [State::ProbeBwDown, State::ProbeBwCruise, State::ProbeBwRefill, State::ProbeBwUp, State::ProbeBwDown];
    assert_eq!(order, cycle);
    rounds.cc.0.start_probe_bw_down(rounds.now());
    assert_eq!((rounds.cc.0.pacing_gain(), rounds.cc.0.cwnd_gain()), (0.9, 2.0));
}

#[test]
fn losses_while_going_up_set_inflight_longterm_and_end_it() {
    let mut rounds = Rounds::until(|state| state == State::ProbeBwUp);
    assert_eq!((rounds.cc.0.pacing_gain(), rounds.cc.0.cwnd_gain()), (1.25, 2.25));
    let lost = rounds.lost(4.0, 120.0);
    rounds.cc.on_lost(&lost);
    // 119 were in flight and 3 were lost before: 2 % was reached (0.02 * 119 - 3)/0.98 segments earlier.
    let expected = 119.0 + (0.02 * 119.0 - 3.0) / 0.98;
    assert_eq!(rounds.cc.0.state, State::ProbeBwDown);
    assert!((rounds.cc.0.inflight_longterm - expected).abs() < 1e-9);
    assert!(rounds.cc.0.prev_probe_too_high);
}

#[test]
fn a_window_with_losses_while_cruising_keeps_seven_tenths_of_the_short_term_model() {
    let mut rounds = Rounds::until(|state| state == State::ProbeBwCruise);
    // The first of these rounds also delivers at the old rate.
    for _ in 0..2 {
        let lost = rounds.lost(4.0, 100.0);
        rounds.cc.on_lost(&lost);
        rounds.see(300.0);
    }
    assert_eq!(rounds.cc.0.bw_shortterm, 700.0);
    assert_eq!(rounds.cc.0.bw, 700.0);
}

#[test]
fn each_round_of_going_up_doubles_the_growth_of_inflight_longterm() {
    let mut rounds = Rounds::until(|state| state == State::ProbeBwUp);
    rounds.cc.0.cwnd = 100.0;
    let slopes = [0; 4].map(|_| {
        rounds.cc.0.raise_inflight_longterm_slope();
        rounds.cc.0.probe_up_acked_per_inc
    });
    // The first slope is set on entering the state.
    assert_eq!(slopes, [50.0, 25.0, 12.5, 6.25]);
}

/// draft-ietf-ccwg-bbr#5.3.3.9.
#[test]
fn while_going_up_inflight_longterm_grows_by_a_segment_for_each_share_that_is_acknowledged() {
    let mut rounds = Rounds::until(|state| state == State::ProbeBwUp);
    rounds.cc.0.inflight_longterm = 100.0;
    (rounds.cc.0.cwnd, rounds.cc.0.probe_up_acked_per_inc, rounds.cc.0.bw_probe_up_acked) = (100.0, 40.0, 0.0);
    let raised = |rounds: &mut Rounds, newly_acked: f64, is_cwnd_limited: bool| {
        let sample = RateSample { newly_acked, is_cwnd_limited, prior_delivered: None, ..rounds.sample(1000.0) };
        rounds.cc.on_sample(&sample);
        (rounds.cc.0.inflight_longterm, rounds.cc.0.bw_probe_up_acked)
    };
    assert_eq!(raised(&mut rounds, 39.0, true), (100.0, 39.0));
    assert_eq!(raised(&mut rounds, 50.0, false), (100.0, 39.0), "the window does not limit it");
    assert_eq!(raised(&mut rounds, 50.0, true), (102.0, 9.0));
    rounds.cc.0.cwnd = 90.0;
    assert_eq!(raised(&mut rounds, 1.0, true).1, 9.0, "less than inflight_longterm is in use");
}

#[test]
fn a_sample_that_the_application_limited_counts_if_it_is_no_less_than_the_bandwidth() {
    let mut rounds = Rounds::in_probe_bw();
    let known = rounds.cc.0.max_bw();
    let found = [0.9, 1.2].map(|part| {
        let sample = rounds.sample(part * known);
        rounds.cc.on_sample(&RateSample { is_app_limited: true, ..sample });
        rounds.cc.0.max_bw() / known
    });
    assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] - 1.2).abs() < 1e-9, "{found:?}");
}

#[test]
fn probe_rtt_comes_after_five_seconds_and_holds_half_the_product_for_200_ms() {
    let mut rounds = Rounds::in_probe_bw();
    let mut seen = None;
    for _ in 0..100 {
        let sample = rounds.sample(1000.0);
        let in_flight = if rounds.cc.0.state == State::ProbeRtt { 40.0 } else { 100.0 };
        rounds.cc.on_sample(&RateSample { in_flight, rtt: Some(RTT * 2), ..sample });
        if rounds.cc.0.state == State::ProbeRtt {
            seen = seen.or(Some(rounds.round));
            assert!(rounds.cc.cwnd() <= 50.0 && rounds.cc.needs().limits_samples);
        } else if seen.is_some() {
            break;
        }
    }
    // 5 s are 50 rounds.
    assert!(seen.is_some_and(|round| (50..=53).contains(&round)), "{seen:?}");
    assert_eq!(rounds.cc.0.state, State::ProbeBwCruise);
}

#[test]
fn a_restart_from_idle_skips_probe_rtt() {
    let mut rounds = Rounds::in_probe_bw();
    rounds.round += 60;
    rounds.cc.on_event(&Event::FlightStart { now: rounds.now(), srtt: RTT, app_limited: true });
    assert_ne!(rounds.see(1000.0), State::ProbeRtt);
}

#[test]
fn tiny_paths_keep_a_window_of_four_segments() {
    let mut rounds = Rounds::new();
    (0..100).for_each(|_| _ = rounds.see(5.0));
    assert!(rounds.cc.cwnd() >= 4.0 && rounds.cc.cwnd() <= 8.0, "{}", rounds.cc.cwnd());
}

#[test]
fn a_spurious_recovery_gives_back_what_its_losses_changed() {
    let mut rounds = Rounds::until(|state| state == State::ProbeBwUp);
    let lost = rounds.lost(4.0, 120.0);
    rounds.cc.on_lost(&lost);
    let entered = CongestionEvent { now: rounds.now(), window: 120.0, signal: Signal::Loss };
    rounds.cc.on_congestion(&entered);
    assert!(rounds.cc.0.inflight_longterm.is_finite() && rounds.cc.0.state == State::ProbeBwDown);
    rounds.cc.on_event(&Event::SpuriousRecovery);
    assert!(rounds.cc.0.inflight_longterm.is_infinite());
    assert_eq!(rounds.cc.0.state, State::ProbeBwRefill, "to probe again");
}

#[test]
fn a_loss_that_the_probe_of_a_tail_repaired_lowers_the_short_term_model() {
    let mut rounds = Rounds::until(|state| state == State::ProbeBwCruise);
    assert_eq!(rounds.cc.0.inflight_shortterm, f64::INFINITY);
    rounds.cc.on_congestion(&CongestionEvent { now: rounds.now(), window: rounds.cc.cwnd(), signal: Signal::Loss });
    (0..2).for_each(|_| _ = rounds.see(1000.0));
    assert!(rounds.cc.0.inflight_shortterm < f64::INFINITY, "draft-ietf-ccwg-bbr#5.5.10.3");
}

#[test]
fn a_timeout_leaves_what_is_in_flight_and_one_segment_whether_it_is_the_first_or_not() {
    let mut rounds = Rounds::in_probe_bw();
    let before = rounds.cc.cwnd();
    rounds.cc.on_rto(rounds.now(), before);
    rounds.cc.on_event(&Event::RtoRestart { in_flight: 6.0 });
    assert_eq!(rounds.cc.cwnd(), 7.0);
    rounds.cc.on_event(&Event::RepeatedRto { now: rounds.now() });
    rounds.cc.on_event(&Event::RtoRestart { in_flight: 0.0 });
    assert_eq!((rounds.cc.cwnd(), rounds.cc.0.prior_cwnd), (1.0, before), "draft-ietf-ccwg-bbr#5.6.4.4");
}

#[test]
fn probe_rtt_remembers_the_larger_of_the_window_and_of_the_one_before() {
    let mut rounds = Rounds::in_probe_bw();
    (rounds.cc.0.prior_cwnd, rounds.cc.0.probe_rtt_expired) = (500.0, true);
    let sample = RateSample { delivered: 0.0, ..rounds.sample(1000.0) };
    rounds.cc.0.check_probe_rtt(&sample);
    assert_eq!((rounds.cc.0.state, rounds.cc.0.prior_cwnd), (State::ProbeRtt, 500.0), "draft-ietf-ccwg-bbr#5.3.4.3");
}

/// Tests draft-ietf-ccwg-bbr#5.6.2 with a margin of one percent.
/// `rate = pacing_gain * bw * (100 - BBRPacingMarginPercent) / 100`.
#[test]
fn the_pace_is_the_gain_times_the_bandwidth_less_one_percent() {
    let mut rounds = Rounds::in_probe_bw();
    for _ in 0..100 {
        rounds.see(1000.0);
        let bbr = &rounds.cc.0;
        let expected = bbr.pacing_gain() * bbr.bw * 0.99;
        assert!((bbr.pacing_rate / expected - 1.0).abs() < 1e-12, "{} of {expected}", bbr.pacing_rate);
    }
}
