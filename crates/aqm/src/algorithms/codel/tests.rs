use super::*;
use crate::algorithms::{test_link, test_packet};
use crate::parcel::Parcel;
use crate::{Amount, AnyAqm, DropReason, Qdisc, QueueController};
use alloc::collections::VecDeque;
use proptest::prelude::*;
use std::vec::Vec;

const MS: u64 = 1_000_000;

fn at(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6) as u64)
}

fn packet(now: Time) -> PacketView {
    PacketView { now, size: 1500, ..test_packet() }
}

/// The times of drops in ms if a packet leaves every ms from 0 on.
/// `wait_ms` returns the sojourn time at each of them.
fn drops(params: &Params, wait_ms: impl Fn(u64) -> u64, until: u64) -> Vec<u64> {
    let mut codel = params.build(&test_link()).unwrap();
    let mut times = Vec::new();
    for ms in 0..until {
        while codel.on_departure(&packet(Time::from_nanos(ms * MS)), Duration::from_millis(wait_ms(ms)), 15_000) == DepartureVerdict::Signal
        {
            codel.dropped();
            times.push(ms);
        }
    }
    times
}

/// The count continues if the last drop was due less than 16 intervals ago (rfc8289#5.5).
#[test]
fn a_state_that_ended_16_intervals_ago_begins_with_a_count_of_one() {
    let count_after = |ms: u64| {
        let mut codel = Params::default().build(&test_link()).unwrap();
        (codel.drop_next, codel.count, codel.last_count) = (at(100.0), 9, 4);
        codel.enter_dropping(Time::from_nanos((100 + ms) * MS));
        codel.count
    };
    assert_eq!([1599, 1600].map(count_after), [5, 1]);
}

#[test]
fn drops_come_at_gaps_of_the_interval_over_the_root_of_the_count() {
    // 100 ms above the target, then 100/sqrt(1), 100/sqrt(2), ... after the first drop: 200, 270.7, 328.4, 378.4, 423.2, 464.
    for rule in [Rule::Rfc8289, Rule::Nichols2012] {
        assert_eq!(drops(&Params { rule, ..Params::default() }, |_| 6, 480), [100, 200, 271, 329, 379, 424, 464]);
    }
}

#[test]
fn a_sojourn_below_the_target_ends_dropping_and_a_single_packet_is_never_dropped() {
    assert_eq!(drops(&Params::default(), |ms| if ms % 50 == 49 { 4 } else { 600 }, 1000), [0u64; 0]);
    // It starts again 100 ms later, from a count of 3 - 1: the next gap is 100/sqrt(2).
    assert_eq!(drops(&Params::default(), |ms| if ms == 300 { 4 } else { 6 }, 500), [100, 200, 271, 401, 472]);
    let mut codel = Params::default().build(&test_link()).unwrap();
    for ms in 0..1000 {
        assert_eq!(codel.on_departure(&packet(Time::from_nanos(ms * MS)), Duration::from_secs(1), 1500), DepartureVerdict::Pass);
    }
}

#[test]
fn small_packets_are_dropped_only_where_more_than_the_links_packet_stays_with_the_rule_of_linux() {
    let link = Link { mean_packet: 1500, ..test_link() };
    let drops_with = |rule: Rule, behind: u64| {
        let mut codel = Params { rule, ..Params::default() }.build(&link).unwrap();
        let small = |ms| PacketView { size: 200, ..packet(Time::from_nanos(ms * MS)) };
        (0..500u64).filter(|&ms| codel.on_departure(&small(ms), Duration::from_millis(50), behind) == DepartureVerdict::Signal).count()
    };
    assert_eq!((drops_with(Rule::Linux, 1500), drops_with(Rule::Rfc8289, 256)), (0, 0));
    assert!(drops_with(Rule::Linux, 1501) > 0 && drops_with(Rule::Rfc8289, 257) > 0);
}

#[test]
fn dropping_that_starts_again_soon_continues_at_the_count_of_the_rule() {
    // Six drops, a pause, dropping again: rfc8289#5.5 continues at 6 - 1, the code of 2012 at one less than 6.
    let wait = |ms| if (430..440).contains(&ms) { 1 } else { 6 };
    let resumed = |rule| drops(&Params { rule, ..Params::default() }, wait, 700).split_off(6);
    let gap = |count: f64| 100.0 / count.sqrt();
    for (rule, count) in [(Rule::Rfc8289, 5.0), (Rule::Nichols2012, 5.0)] {
        let mut due = 540.0 + gap(count);
        let mut expected = std::vec![540];
        for more in 1..4 {
            expected.push(due.ceil() as u64);
            due += gap(count + f64::from(more));
        }
        assert_eq!(resumed(rule)[..4], expected, "{rule:?}");
    }
    // After 16 intervals both start from a count of 1.
    let wait = |ms| if (430..2200).contains(&ms) { 1 } else { 6 };
    for rule in [Rule::Rfc8289, Rule::Nichols2012] {
        assert_eq!(drops(&Params { rule, ..Params::default() }, wait, 2480).split_off(6), [2300, 2400, 2471]);
    }
}

#[test]
fn drops_of_a_full_queue_count_as_signals_with_the_rule_of_linux() {
    for (rule, count) in [(Rule::Linux, 5), (Rule::Rfc8289, 1)] {
        let mut codel = Params { rule, ..Params::default() }.build(&test_link()).unwrap();
        let depart = |codel: &mut Codel, ms: u64, wait| {
            if codel.on_departure(&packet(Time::from_nanos(ms * MS)), Duration::from_millis(wait), 15_000) == DepartureVerdict::Signal {
                codel.dropped();
            }
        };
        // Before the first signal they count for nothing: there is no last one.
        (0..4).for_each(|_| codel.overflowed());
        (0..150).for_each(|ms| depart(&mut codel, ms, 20));
        assert_eq!(codel.count, 1);
        (0..5).for_each(|_| codel.overflowed());
        (150..160).for_each(|ms| depart(&mut codel, ms, 1));
        (160..262).for_each(|ms| depart(&mut codel, ms, 20));
        assert_eq!(codel.count, count, "{rule:?}");
    }
}

#[test]
fn the_root_of_a_count_that_jumped_is_what_the_steps_of_linux_make_of_it() {
    // Computed with Linux's expression in C: three steps from 1, at the count and the two after it.
    for (count, roots) in [(2, [32_769, 36_864, 31_968]), (6, [32_775, 20_472, 22_717]), (97, [143, 214, 320])] {
        let mut codel = Params { rule: Rule::Linux, ..Params::default() }.build(&test_link()).unwrap();
        let found: Vec<u64> = (count..count + 3)
            .map(|count| {
                codel.count = count;
                codel.newton_step();
                codel.rec_inv_sqrt
            })
            .collect();
        assert_eq!(found, roots, "{count}");
    }
}

#[test]
fn after_a_mark_the_packet_is_sent_and_the_next_mark_comes_later() {
    let mut codel = Params::default().build(&test_link()).unwrap();
    let mut marks = Vec::new();
    for ms in 0..480 {
        if codel.on_departure(&packet(Time::from_nanos(ms * MS)), Duration::from_millis(6), 15_000) == DepartureVerdict::Signal {
            marks.push(ms);
        }
    }
    assert_eq!(marks, [100, 200, 271, 329, 379, 424, 464]);
}

#[test]
fn parameters_out_of_range_are_named() {
    let zero = Duration::ZERO;
    for (params, field) in [
        (Params { target: zero, ..Params::default() }, "target"),
        (Params { interval: zero, ..Params::default() }, "interval"),
        (Params { max_packet: Bytes(u64::MAX), ..Params::default() }, "max_packet"),
    ] {
        assert_eq!(params.build(&test_link()).unwrap_err().field, field);
    }
}

/// The pseudocode of rfc8289#5, word for word, with its own queue of (arrival, id).
struct Pseudocode {
    queue: VecDeque<(f64, u32)>,
    first_above_time: f64,
    drop_next: f64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    dropped: Vec<u32>,
}

const TARGET: f64 = 5e6;
const INTERVAL: f64 = 100e6;
const SIZE: usize = 1500;

impl Pseudocode {
    fn control_law(t: f64, count: u32) -> f64 {
        t + (INTERVAL / f64::from(count).sqrt()).floor()
    }

    fn dodequeue(&mut self, now: f64) -> (Option<(f64, u32)>, bool) {
        let Some(p) = self.queue.pop_front() else {
            self.first_above_time = 0.0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        let sojourn_time = now - p.0;
        if sojourn_time < TARGET || self.queue.len() * SIZE <= SIZE {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }

    fn dequeue(&mut self, now: f64) -> Option<u32> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.1 {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.push(r.0.unwrap().1);
                self.count += 1;
                r = self.dodequeue(now);
                if r.1 {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.1 {
            self.dropped.push(r.0.unwrap().1);
            r = self.dodequeue(now);
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16.0 * INTERVAL {
                self.count = delta as u32;
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.0.map(|p| p.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_pseudocode_of_the_rfc_drops_the_same_packets(
        // Phases of (packets, gap between arrivals in us); one packet leaves every ms.
        phases in prop::collection::vec((10usize..800, 300u64..3000), 2..8),
    ) {
        let params = Params { max_packet: Bytes(SIZE as u64), ..Params::default() };
        let mut ours = Qdisc::new(QueueController::new(AnyAqm::Codel(params.build(&test_link()).unwrap()), Amount::Packets(u32::MAX), false, Stream::named(1, "x")));
        let mut theirs = Pseudocode {
            queue: VecDeque::new(), first_above_time: 0.0, drop_next: 0.0, count: 0, lastcount: 0, dropping: false, dropped: Vec::new(),
        };
        let (mut sent, mut dropped) = (Vec::new(), Vec::new());
        let (mut id, mut arrival, mut leave) = (0, 1_000_000u64, 1_500_000u64);
        for (packets, gap) in phases {
            for _ in 0..packets {
                while leave < arrival {
                    let (taken, lost) = ours.take(Time::from_nanos(leave));
                    prop_assert!(lost.iter().all(|(_, reason)| *reason == DropReason::Early));
                    dropped.extend(lost.iter().map(|(parcel, _)| parcel.id));
                    prop_assert_eq!(taken.map(|parcel| parcel.id), theirs.dequeue(leave as f64));
                    sent.extend(taken);
                    leave += MS;
                }
                ours.offer(Time::from_nanos(arrival), Parcel { id, size: SIZE as u32, ..Parcel::default() }, None);
                theirs.queue.push_back((arrival as f64, id));
                (id, arrival) = (id + 1, arrival + gap * 1000);
            }
        }
        prop_assert_eq!(&dropped, &theirs.dropped);
        prop_assert!(!sent.is_empty());
    }
}

#[test]
fn the_first_drop_waits_an_interval_from_when_the_wait_first_exceeds_the_target() {
    let mut codel = Params::default().build(&test_link()).unwrap();
    let mut verdict = |ms: f64| codel.on_departure(&packet(at(ms)), Duration::from_millis(5), 15_000);
    assert_eq!(
        [verdict(40.0), verdict(139.999), verdict(140.0)],
        [DepartureVerdict::Pass, DepartureVerdict::Pass, DepartureVerdict::Signal]
    );
}

#[test]
fn linuxs_root_is_rough_at_first_and_after_a_jump_of_the_count() {
    let linux = Params { rule: Rule::Linux, ..Params::default() };
    // No packet has waited for 5 ms before 5 ms. The gaps are steps of Newton's method from 1: 1, 0.5, 0.5625, 0.4878, 0.4415 and 0.4068 of
    // 100 ms, where the roots are 1, 0.707, 0.577, 0.5, 0.447 and 0.408.
    assert_eq!(drops(&linux, |_| 6, 450), [105, 205, 255, 312, 361, 405, 445]);
    // Six drops and a pause: the count is 6 - 1, and the root a step from that of 6: 0.4068 (3 - 5 * 0.4068^2)/2 = 0.4419, then 0.4040,
    // 0.3752.
    let resumed = drops(&linux, |ms| if (410..420).contains(&ms) { 1 } else { 6 }, 660).split_off(6);
    assert_eq!(resumed, [521, 566, 606, 644]);
}

/// A departure: gap since the previous one and wait in µs, size, and bytes behind it.
/// The last field is the part of these bytes that is known in advance.
#[derive(Clone, Copy, Debug)]
struct Departure {
    gap: u64,
    wait: u64,
    size: u32,
    behind: u64,
    known_behind: u64,
}

/// The verdicts on departures, the final state, and the number of early decisions.
/// With `asked`, [`Codel::passes_ahead`] is called before each departure.
fn decided(params: &Params, departures: &[Departure], asked: bool) -> (Vec<DepartureVerdict>, Codel, usize) {
    let mut codel = params.build(&test_link()).unwrap();
    let (mut now, mut known) = (Time::ZERO, 0);
    let mut decide = |&Departure { gap, wait, size, behind, known_behind }: &Departure| {
        now += Duration::from_micros(gap);
        let departure = PacketView { size, ecn: crate::Ecn::Ect0, ..packet(now) };
        let sojourn = Duration::from_micros(wait).min(now.since(Time::ZERO));
        if asked && codel.passes_ahead(&departure, sojourn, behind.min(known_behind)) {
            known += 1;
            return DepartureVerdict::Pass;
        }
        let backlog = Backlog { packets: 1, bytes: behind, idle_since: None };
        let verdict = codel.on_dequeue(&departure, sojourn, &backlog, &mut Stream::named(0, ""));
        if verdict == DepartureVerdict::Signal && size.is_multiple_of(2) {
            codel.on_drop(Dropped::Unmarkable);
        }
        verdict
    };
    let verdicts = departures.iter().map(&mut decide).collect();
    (verdicts, codel, known)
}

fn departure() -> impl Strategy<Value = Departure> {
    let wait = prop_oneof![0u64..12_000, 4_990u64..5_010];
    (0u64..4_000, wait, 40u32..1_500, 0u64..6_000, 0u64..6_000).prop_map(|(gap, wait, size, behind, known_behind)| Departure {
        gap,
        wait,
        size,
        behind,
        known_behind,
    })
}

proptest! {
    #[test]
    fn what_it_knows_ahead_is_what_it_decides(
        departures in prop::collection::vec(departure(), 1..400),
        rule in prop_oneof![Just(Rule::Rfc8289), Just(Rule::Nichols2012), Just(Rule::Linux)],
        (interval, max_packet, ce_threshold) in (prop_oneof![Just(2u64), Just(100)], prop_oneof![Just(0u64), Just(1_500)], 0u64..10),
    ) {
        let (interval, ce_threshold) = (Duration::from_millis(interval), Duration::from_millis(ce_threshold));
        let params = Params { rule, interval, max_packet: Bytes(max_packet), ce_threshold, ..Params::default() };
        let ((asked, state, _), (decided, state_then, _)) = (decided(&params, &departures, true), decided(&params, &departures, false));
        prop_assert_eq!(asked, decided);
        prop_assert_eq!(std::format!("{state:?}"), std::format!("{state_then:?}"));
    }
}

#[test]
fn it_knows_ahead_of_short_waits_and_of_others_with_enough_behind_them_until_a_signal_may_be_due() {
    // A packet leaves every ms.
    let known = |wait: u64, known_behind: u64| {
        let departures = [Departure { gap: 1_000, wait, size: 1_000, behind: 15_000, known_behind }; 200];
        let (verdicts, _, known) = decided(&Params::default(), &departures, true);
        (known, verdicts.iter().filter(|&&verdict| verdict == DepartureVerdict::Signal).count())
    };
    assert_eq!(known(4_000, 0), (200, 0));
    // All but the drop after an interval and the packet behind it.
    assert_eq!(known(6_000, 15_000), (198, 1));
    // The first four: they have not waited for so long yet.
    assert_eq!(known(6_000, 1_000), (4, 1));
}
