use super::*;
use crate::{CongestionController, Signal};
use sojourn_units::Duration;

fn cdg(params: Params) -> Cdg {
    params.build(Start::new(40.0, 20.0)).unwrap()
}

/// The windows after each of several rounds of 40 ACKs with these RTTs in ms.
fn rounds(cc: &mut Cdg, rtts: &[u64]) -> Vec<f64> {
    let mut byte = cc.law().round_end.unwrap_or(0).max(1);
    let mut windows = Vec::new();
    for (round, &rtt) in (0u64..).zip(rtts) {
        for _ in 0..40 {
            byte += 1;
            let now = Time::from_nanos((byte * 7 + round) * 1_000_003);
            let rtt = Some(Duration::from_millis(rtt));
            cc.on_ack(&Ack { now, rtt, snd_una: byte, snd_max: byte + 39, in_flight: 40.0, ..Ack::ONE });
        }
        windows.push(cc.cwnd());
    }
    windows
}

#[test]
fn a_steady_delay_leaves_reno() {
    let windows = rounds(&mut cdg(Params::default()), &[50; 9]);
    assert!(windows.windows(2).all(|pair| pair[1] > pair[0] && pair[1] < pair[0] + 1.01), "{windows:?}");
}

#[test]
fn a_rising_delay_reduces_it_and_no_more_often_than_helps() {
    let rising: Vec<u64> = (0..60).map(|round| 50 + 20 * round).collect();
    let windows = rounds(&mut cdg(Params::default()), &rising);
    let falls = |windows: &[f64]| windows.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert_eq!(falls(&windows), 5, "{windows:?}");
    assert!(falls(&rounds(&mut cdg(Params { use_ineff: 0, ..Params::default() }), &rising)) > 10);
    assert_eq!(falls(&rounds(&mut cdg(Params { backoff_factor: 0.0, ..Params::default() }), &rising)), 0);
}

#[test]
fn a_loss_after_reductions_for_gradients_leaves_the_shadow_window() {
    let loss = |cc: &mut Cdg| {
        let window = cc.cwnd();
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window, signal: Signal::Loss });
        cc.cwnd() / window
    };
    let after = |params: Params| {
        let mut cc = cdg(params);
        rounds(&mut cc, &[50, 70, 90, 110, 130, 150, 170, 190, 210, 230, 230, 230]);
        loss(&mut cc)
    };
    assert!(after(Params::default()) > 0.9);
    let mut told = cdg(Params::default());
    rounds(&mut told, &[50, 70, 90, 110, 130, 150, 170, 190, 210, 230, 230, 230]);
    told.on_ack(&Ack { advanced: 0.0, cwnd_limited: false, ..Ack::ONE });
    assert!(loss(&mut told) > 0.9, "an ACK of data above a hole leaves the shadow window");
    assert!(after(Params { use_shadow: false, ..Params::default() }) <= 0.5);
    let mut fresh = cdg(Params::default());
    assert_eq!(loss(&mut fresh), 0.5);
}

#[test]
fn a_loss_during_a_reduction_for_a_gradient_reduces_no_more() {
    let mut cc = cdg(Params { use_shadow: false, ..Params::default() });
    let mut round = 0;
    while cc.law().falling.is_none() {
        round += 1;
        rounds(&mut cc, &[50 + 20 * round]);
    }
    let to = cc.ssthresh();
    cc.on_ack(&Ack { in_recovery: true, advanced: 0.0, snd_una: cc.law().falling.unwrap().until - 1, ..Ack::ONE });
    cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: cc.cwnd(), signal: Signal::Loss });
    assert_eq!((cc.cwnd(), cc.ssthresh()), (to, to));
}

#[test]
fn the_first_round_begins_with_the_round_trip_of_the_handshake() {
    let gradient = |handshake: u64| {
        let mut cc = cdg(Params { backoff_factor: 0.0, ..Params::default() });
        for (byte, rtt) in (1..).zip([52, 52, 60, 52, 52]) {
            let [rtt, rtt_min] = [rtt, handshake].map(Duration::from_millis);
            cc.on_ack(&Ack { rtt: Some(rtt), rtt_min, snd_una: byte, snd_max: byte + 2, ..Ack::ONE });
        }
        cc.law().gradient
    };
    // The first is extrapolated to eight rounds: the increase of the minimum, or of the maximum if the minimum does not increase.
    assert_eq!((gradient(50), gradient(0)), (8 * 2_000, 8 * 8_000));
}

#[test]
fn parameters_have_ranges() {
    let refused = |params: Params| params.build(Start::new(1.0, 1.0)).is_err();
    assert!(refused(Params { window: 0, ..Params::default() }) && refused(Params { window: 257, ..Params::default() }));
    assert!(refused(Params { backoff_beta: 0.0, ..Params::default() }) && refused(Params { backoff_beta: 1.1, ..Params::default() }));
    assert!(refused(Params { backoff_factor: -1.0, ..Params::default() }));
}

#[test]
fn what_leaves_as_a_reduction_for_a_gradient_begins_is_part_of_it() {
    // From 20 to 14: 10 acknowledged segments allow 7 to be sent, and 2 have been sent.
    let falling = |acked| Falling { until: 0, from: 20.0, to: 14.0, acked, first: 2.0 }.window().cwnd;
    assert_eq!([0.0, 2.0, 4.0, 10.0, 20.0].map(falling), [20.0, 18.0, 17.0, 15.0, 14.0]);
}

#[test]
fn it_grows_by_an_acknowledgment_of_data_above_a_hole_where_the_endpoint_says_that_it_may() {
    for (cwnd_limited, grown) in [(false, 0.0), (true, 1.0 / 40.0)] {
        let mut cc = cdg(Params::default());
        cc.on_ack(&Ack { advanced: 0.0, cwnd_limited, ..Ack::ONE });
        assert!((cc.cwnd() - 40.0 - grown).abs() < 1e-9);
    }
}

#[test]
fn a_pause_makes_it_forget_all_but_the_window_from_before() {
    let mut cc = cdg(Params { backoff_factor: 0.0, ..Params::default() });
    rounds(&mut cc, &[50, 70, 90, 110]);
    let before = cc.cwnd();
    assert!(cc.law().gradient > 0 && !cc.law().filled && cc.law().next > 0);
    cc.on_event(&Event::IdleRestart(Window { cwnd: 10.0, ssthresh: 30.0 }));
    let law = cc.law();
    assert_eq!((law.gradient, law.next, law.rtt_prev.is_none(), law.shadow, cc.cwnd()), (0, 0, true, before, 10.0));
    assert!(law.gradients.iter().all(|gradient| (gradient.min, gradient.max) == (0, 0)));
}
