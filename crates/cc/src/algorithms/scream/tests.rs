//! Each step of the draft with numbers computed by hand, and the resulting windows.

use super::*;

const RTT: Duration = Duration::from_millis(50);

const START: Start = Start::new(20.0, f64::INFINITY);

/// A controller whose delay is the latest sample, not the minimum of four.
fn scream_from(start: Start) -> Scream {
    let delay = EstimatorParams { filter: 1, ..EstimatorParams::default() };
    Params { delay, ..Params::default() }.build(start).unwrap()
}

fn scream() -> Scream {
    scream_from(START)
}

/// An ACK at a time in milliseconds, with a full window in flight.
fn ack(ms: u64, srtt: Duration) -> Ack {
    Ack { now: Time::ZERO + Duration::from_millis(ms), srtt, in_flight: 400.0, one_way_delay: Some(0), snd_max: 400, ..Ack::ONE }
}

fn lost(cc: &mut Scream, ms: u64) {
    let now = Time::ZERO + Duration::from_millis(ms);
    cc.on_congestion(&CongestionEvent { now, window: cc.cwnd(), signal: Signal::Loss });
}

/// The growth of a window of 40 by an ACK.
fn grown(cc: &mut Scream, ack: &Ack) -> f64 {
    cc.set_cwnd(40.0);
    cc.on_ack(ack);
    cc.cwnd() - 40.0
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// A path on which every ACK acknowledges a segment.
/// The marked fraction and the queuing delay can be changed.
struct Path {
    cc: Scream,
    sent: u64,
    now: Time,
    credit: f64,
}

impl Path {
    fn new() -> Path {
        Path { cc: scream(), sent: 0, now: Time::ZERO, credit: 0.0 }
    }

    /// The window after `count` round trips.
    fn rounds(&mut self, count: u32, part: f64, delay_ms: i64) -> f64 {
        for _ in 0..count {
            let window = self.cc.cwnd();
            for _ in 0..window as u64 {
                self.now += RTT.mul_f64(1.0 / libm::floor(window));
                self.sent += 1;
                self.credit += part;
                let marked = libm::floor(self.credit);
                self.credit -= marked;
                let one_way_delay = Some(delay_ms * 1_000_000);
                let (snd_una, snd_max) = (self.sent, self.sent + window as u64);
                let ack = Ack { now: self.now, marked, srtt: RTT, one_way_delay, in_flight: window, snd_una, snd_max, ..Ack::ONE };
                self.cc.on_ack(&ack);
            }
        }
        self.cc.cwnd()
    }
}

#[test]
fn before_congestion_a_round_trip_adds_a_segment_and_two_percent() {
    let mut path = Path::new();
    let grown = path.rounds(1, 0.0, 0) - 20.0;
    assert!((grown - 1.4).abs() < 0.1, "{grown}");
}

#[test]
fn with_round_trips_below_25_ms_it_grows_in_proportion_to_them() {
    let with = |ms| grown(&mut scream(), &ack(ms, Duration::from_millis(ms)));
    assert!(close(with(5) / with(25), 0.2));
    assert!(close(with(25), with(100)));
}

#[test]
fn the_marked_part_rises_by_an_eighth_and_falls_by_an_128th_each_10_ms() {
    let mut cc = scream();
    let mut next = |ms, acked, marked| {
        cc.on_ack(&Ack { acked, marked, ..ack(ms, RTT) });
        cc.alpha
    };
    assert!(close(next(10, 4.0, 2.0), 0.5 / 8.0));
    assert!(close(next(19, 4.0, 4.0), 0.5 / 8.0), "it waits for 10 ms");
    // It falls to 0, even if a few segments are still marked.
    let risen = 0.5 / 8.0 + (0.5 - 0.5 / 8.0) / 8.0;
    assert!(close(next(20, 4.0, 0.0), risen));
    assert!(close(next(30, 100.0, 1.0), risen * 127.0 / 128.0));
}

#[test]
fn marks_hold_the_window_where_those_of_a_round_trip_take_the_segment_that_it_adds() {
    for part in [0.05, 0.1] {
        let mut path = Path::new();
        path.rounds(100, 0.0, 0);
        let window = path.rounds(600, part, 0);
        // A round trip of 50 ms has at least two reductions, each of a quarter of alpha.
        let taken = part * window * path.cc.alpha / 4.0 * window;
        assert!((0.7..1.4).contains(&taken), "{part}: {taken} segments a round trip, window {window}");
        // This fraction of the intervals of 10 ms has a mark. A mark weighs 16 times as much as none, so alpha exceeds the marked fraction.
        let often = part * window / 5.0;
        let alpha = part / (often + (1.0 - often) / 16.0);
        assert!((path.cc.alpha / alpha - 1.0).abs() < 0.2, "{part}: {} for {alpha}", path.cc.alpha);
    }
}

/// The part of a window of 40 that a mark leaves.
/// It depends on the queuing delay, the smoothed RTT, and the inflection point.
fn left(delay_ms: i64, srtt_ms: u64, inflection: f64) -> f64 {
    let mut cc = scream();
    let srtt = Duration::from_millis(srtt_ms);
    let least = Ack { acked: 0.0, ..ack(1, srtt) };
    cc.on_ack(&least); // an empty queue
    cc.set_cwnd(40.0);
    (cc.inflection, cc.alpha, cc.last_reduction) = (inflection, 1.0, Some(Time::ZERO));
    let one_way_delay = Some(delay_ms * 1_000_000);
    // All segments are marked, so nothing is added.
    cc.on_ack(&Ack { marked: 1.0, one_way_delay, ..ack(100, srtt) });
    cc.cwnd() / 40.0
}

#[test]
fn a_mark_takes_half_of_the_marked_part_once_in_25_ms_and_less_of_it_the_more_of_them_a_round_trip_has() {
    assert!(close(left(0, 5, 0.0), 0.5) && close(left(0, 25, 0.0), 0.5));
    assert!(close(left(0, 50, 0.0), 0.75) && close(left(0, 100, 0.0), 0.875));
}

#[test]
fn near_the_inflection_point_a_mark_takes_a_quarter_of_that_while_the_delay_is_below_a_quarter_of_the_target() {
    assert!(close(left(14, 25, 40.0), 1.0 - 0.5 / 4.0));
    assert!(close(left(16, 25, 40.0), 0.5));
    // A tenth below the point, 8 times that is squared: 0.64.
    assert!(close(left(14, 25, 40.0 / 0.9), 1.0 - 0.5 * 0.64));
    // An eighth away and further, the full reduction applies.
    assert!(close(left(14, 25, 40.0 / 1.125), 0.5));
}

#[test]
fn a_second_mark_within_25_ms_waits_for_their_end() {
    let mut cc = scream();
    let mut next = |ms| {
        cc.on_ack(&Ack { marked: 1.0, ..ack(ms, RTT) });
        cc.cwnd()
    };
    let first = next(100);
    assert!(first < 20.0);
    assert!(close(next(124), first));
    assert!(next(125) < first);
}

#[test]
fn after_a_hundred_round_trips_without_a_reduction_a_mark_cuts_the_window_to_what_was_in_flight() {
    let after = |ms| {
        let mut cc = scream();
        lost(&mut cc, 0);
        cc.set_cwnd(40.0);
        for seq in [1, 2] {
            cc.on_ack(&Ack { acked: 0.0, in_flight: 10.0, snd_una: 100 * seq, snd_max: 100 * seq, ..ack(ms - 1, RTT) });
        }
        cc.on_ack(&Ack { marked: 1.0, in_flight: 10.0, ..ack(ms, RTT) });
        (cc.cwnd(), cc.alpha)
    };
    let (before, alpha) = after(5000);
    assert!(before > 30.0);
    // The marked fraction is unchanged.
    assert_eq!(after(5001), (10.0 * (1.0 - 0.25 * alpha), alpha));
}

#[test]
fn the_mean_delay_rises_by_a_quarter_and_falls_at_once_each_25_ms() {
    let mut cc = scream();
    cc.on_ack(&ack(0, RTT));
    let mut next = |ms, delay_ms: i64| {
        cc.on_ack(&Ack { one_way_delay: Some(delay_ms * 1_000_000), ..ack(ms, RTT) });
        cc.mean_delay * 1e3
    };
    assert!(close(next(24, 8), 0.0));
    assert!(close(next(25, 8), 2.0) && close(next(50, 8), 3.5));
    assert!(close(next(75, 1), 1.0));
}

#[test]
fn a_mean_delay_of_the_target_halves_the_window_in_25_ms_and_one_of_half_of_it_does_nothing() {
    let kept = |mean_ms: f64, srtt_ms: u64, marked: f64| {
        let mut cc = scream();
        let srtt = Duration::from_millis(srtt_ms);
        cc.on_ack(&Ack { acked: 0.0, ..ack(1, srtt) });
        cc.set_cwnd(40.0);
        (cc.mean_delay, cc.delay_since) = (mean_ms * 1e-3, Time::ZERO + Duration::from_millis(100));
        cc.on_ack(&Ack { acked: marked, marked, ..ack(101, srtt) });
        cc.cwnd() / 40.0
    };
    assert!(close(kept(60.0, 25, 0.0), 0.5) && close(kept(90.0, 25, 0.0), 0.5));
    assert!(close(kept(45.0, 25, 0.0), 0.75) && close(kept(30.0, 25, 0.0), 1.0));
    assert!(close(kept(60.0, 50, 0.0), 0.75));
    // A mark comes first: an eighth of its fraction is known.
    assert!(close(kept(60.0, 25, 1.0), 1.0 - 0.5 / 8.0));
}

#[test]
fn a_queue_of_its_target_shrinks_the_window_and_one_below_half_of_it_does_not() {
    let mut path = Path::new();
    path.rounds(100, 0.0, 0);
    let before = path.cc.cwnd();
    assert!(path.rounds(5, 0.0, 29) > before);
    let fallen = path.rounds(12, 0.0, 60);
    assert!(fallen < 0.2 * before, "{fallen} of {before}");
}

#[test]
fn a_loss_leaves_seven_tenths_and_an_echo_without_counts_eight() {
    let reduced = |signal, classic: bool| {
        let mut cc = scream_from(if classic { START.echoing() } else { START });
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 20.0, signal });
        cc.cwnd()
    };
    assert_eq!([reduced(Signal::Loss, false), reduced(Signal::Mark, true), reduced(Signal::Mark, false)], [14.0, 16.0, 20.0]);
}

#[test]
fn losses_leave_three_segments_and_the_pace_is_one_and_a_half_windows_a_round_trip() {
    let mut cc = scream();
    cc.on_ack(&ack(50, RTT));
    for _ in 0..20 {
        lost(&mut cc, 50);
    }
    assert_eq!((cc.cwnd(), cc.pacing()), (3.0, Some(Pacing::of_quantum(1.5 * 3.0 / 0.05, 1.0))));
}

#[test]
fn without_counts_only_the_echo_is_a_mark() {
    let mut cc = scream_from(START.echoing());
    cc.on_ack(&Ack { marked: 1.0, ..ack(50, RTT) });
    assert_eq!((cc.cwnd(), cc.last_signal), (20.0, None));
}

#[test]
fn the_inflection_point_moves_only_after_the_window_grew() {
    let mut cc = scream();
    lost(&mut cc, 100);
    lost(&mut cc, 5000);
    assert_eq!((cc.inflection, cc.cwnd() < 10.0), (20.0, true));
    cc.on_ack(&ack(5001, RTT));
    let window = cc.cwnd();
    lost(&mut cc, 5002);
    assert_eq!(cc.inflection, window);
}

#[test]
fn at_the_inflection_point_a_round_trip_adds_a_quarter_of_a_segment_and_a_tenth_of_the_part() {
    let at = |inflection| {
        let mut cc = scream();
        cc.inflection = inflection;
        grown(&mut cc, &ack(50, RTT)) * 40.0
    };
    assert!(close(at(40.0), 0.25 * (1.0 + 0.02 * 40.0 * 0.1)));
    assert!(close(at(40.0 / 1.1), 0.64 * (1.0 + 0.02 * 40.0 * 0.64)));
    assert!(close(at(40.0 / 1.125), 1.8) && close(at(40.0 / 2.0), 1.8));
}

#[test]
fn growth_by_a_part_comes_back_over_a_hundred_round_trips_after_a_loss_or_a_mark_and_not_after_a_delay() {
    // Far from the inflection point: a segment, and the recovered fraction of 0.02 times 40.
    let after = |begin: fn(&mut Scream), ms, srtt_ms| {
        let mut cc = scream();
        begin(&mut cc);
        cc.inflection = 0.0;
        (grown(&mut cc, &ack(ms, Duration::from_millis(srtt_ms))) * 40.0 - 1.0) / 0.8
    };
    let loss = |cc: &mut Scream| lost(cc, 0);
    assert!(close(after(loss, 0, 50), 0.0) && close(after(loss, 2500, 50), 0.5) && close(after(loss, 6000, 50), 1.0));
    assert!(close(after(loss, 1250, 25), 0.5));
    let mark = |cc: &mut Scream| cc.on_ack(&Ack { marked: 1.0, ..ack(0, RTT) });
    assert!(close(after(mark, 2500, 50), 0.5));
    let delay = |cc: &mut Scream| cc.begin_reduction(Time::ZERO);
    assert!(close(after(delay, 2500, 50), 1.0));
}

#[test]
fn a_round_trip_below_25_ms_counts_as_25_ms_after_congestion() {
    let mut cc = scream();
    lost(&mut cc, 0);
    cc.inflection = 0.0;
    // A fifth of the segment, as with round trips of 5 ms, and half of the fraction.
    assert!(close(grown(&mut cc, &ack(1250, Duration::from_millis(5))) * 40.0, 0.2 * (1.0 + 0.5 * 0.8)));
}

#[test]
fn a_window_that_is_not_used_does_not_grow_beyond_one_and_a_half_times_the_data_in_flight() {
    let after = |in_flight| {
        let mut cc = scream();
        cc.on_ack(&Ack { in_flight, snd_una: 1, ..ack(50, RTT) });
        cc.cwnd() > 20.0
    };
    // 1 segment more than 1.5 times 12 is 19; 1.5 times 13 and 1 is 20.5.
    assert_eq!([after(12.0), after(13.0)], [false, true]);
}
