//! Tests of the calendar.

use super::fit::{FAR_SHARE, RENUMBER_FROM};
use super::*;
use proptest::prelude::*;
use sojourn_units::{Duration, Stream};

use crate::packet::tests::Numbered;

/// The next event, after a fit to `now` if one is due.
fn pop(calendar: &mut Calendar<Numbered>, now: u64) -> Option<Due> {
    pop_packet(calendar, now).map(|(due, _)| due)
}

/// The next event with its packet.
fn pop_packet(calendar: &mut Calendar<Numbered>, now: u64) -> Option<(Due, Numbered)> {
    if calendar.needs_fit() {
        calendar.fit(Time::from_nanos(now));
    }
    let mut packet = Numbered::default();
    calendar.pop(Time::NEVER, &mut packet).map(|due| (due, packet))
}

proptest! {
    #[test]
    fn events_come_in_the_specified_order_whatever_the_order_of_insertion(
        steps in prop::collection::vec((0u64..5_000_000_000, 0u32..500, 0u32..6, 1usize..4), 1..3_000),
    ) {
        let (mut calendar, mut reference) = (Calendar::new(), std::collections::BTreeSet::new());
        let mut now = 0u64;
        for (count, (ahead, entity, spread, pops)) in steps.into_iter().enumerate() {
            // Most events lie close by, some far, and many are simultaneous: shift by 0, 7, 14, 21, 28 or 35 bits.
            let time = Time::from_nanos(now + (ahead >> (7 * spread)));
            calendar.push(time, Rank::ARRIVAL, entity, 0, &mut Numbered(count as u32));
            reference.insert(Key::new(time, Rank::ARRIVAL, entity, count as u32 + 1));
            if count % 2 == 0 {
                for _ in 0..pops {
                    let Some((event, packet)) = pop_packet(&mut calendar, now) else { break };
                    let expected = reference.pop_first().unwrap();
                    prop_assert_eq!(event.time.as_nanos(), expected.time);
                    prop_assert_eq!(event.entity, expected.entity());
                    prop_assert_eq!(packet, Numbered(expected.order as u32 - 1));
                    now = event.time.as_nanos();
                }
            }
            prop_assert_eq!(calendar.len(), reference.len());
        }
        while let Some(event) = pop(&mut calendar, now) {
            let expected = reference.pop_first().unwrap();
            now = event.time.as_nanos();
            prop_assert_eq!((now, event.entity), (expected.time, expected.entity()));
        }
        prop_assert!(reference.is_empty());
    }
}

#[test]
fn the_calendar_refits_itself_to_the_traffic_without_losing_an_event() {
    let mut calendar = Calendar::new();
    for count in 0..50_000u32 {
        calendar.push(Time::from_nanos(u64::from(count) * 100), Rank::ARRIVAL, 0, 0, &mut Numbered(count));
    }
    let mut last = Time::ZERO;
    let mut popped = 0;
    while let Some(event) = pop(&mut calendar, last.as_nanos()) {
        assert!(event.time >= last);
        (last, popped) = (event.time, popped + 1);
    }
    assert_eq!(popped, 50_000);
}

/// First enough events for bins, then few again.
/// Most come soon, some late, and a few later than all bins.
#[test]
fn many_events_come_in_the_specified_order() {
    let (mut calendar, mut reference) = (Calendar::new(), std::collections::BTreeSet::new());
    let (mut random, mut now, mut had_bins) = (Stream::named(1, "events"), 0, false);
    for count in 1..=100_000u32 {
        // Three of four are added while there are few, and one of four while there are many.
        if random.below(4) < if count < 30_000 { 3 } else { 1 } {
            let ahead = random.below(1 << 14) << [0, 0, 0, 0, 4, 8, 20][random.below(7) as usize];
            let (time, entity) = (Time::from_nanos(now + ahead), random.below(100) as u32);
            calendar.push(time, Rank::ARRIVAL, entity, 0, &mut Numbered(count));
            reference.insert((Key::new(time, Rank::ARRIVAL, entity, calendar.count), count));
        } else if let Some((due, packet)) = pop_packet(&mut calendar, now) {
            let (key, count) = reference.pop_first().unwrap();
            assert_eq!((due.time.as_nanos(), due.entity, packet), (key.time, key.entity(), Numbered(count)));
            now = key.time;
        }
        had_bins |= calendar.bins.len() > 3_000 && calendar.far.len() > 1_000;
        if count % 10_000 == 0 {
            assert_eq!((calendar.len(), calendar.packets()), (reference.len(), reference.len()));
        }
    }
    assert!(had_bins && !calendar.bins.are_used());
    assert_eq!(calendar.len(), reference.len());
}

#[test]
fn where_many_events_wait_it_is_mostly_known_which_comes_next() {
    let (mut random, mut calendar) = (Stream::named(1, "events"), Calendar::new());
    calendar.push(Time::ZERO, Rank::ARRIVAL, 0, 0, &mut Numbered(0));
    for entity in 1..20_000 {
        calendar.push(Time::from_nanos(random.below(100_000_000)), Rank::ARRIVAL, entity, 2 * entity, &mut Numbered(0));
    }
    let (mut now, mut known, mut right) = (0, 0, 0);
    for _ in 0..100_000 {
        let upcoming = calendar.upcoming();
        let due = pop(&mut calendar, now).unwrap();
        known += u32::from(upcoming.is_some());
        right += u32::from(upcoming == Some((due.entity, due.hop)));
        now = due.time.as_nanos();
        calendar.push(due.time + Duration::from_millis(100), Rank::ARRIVAL, due.entity, due.hop, &mut Numbered(0));
    }
    assert!(known > 80_000 && right > 80_000, "of 100,000 events {known} were foreseen, {right} rightly");
}

/// With many events, the memory of bins is reused.
#[test]
fn bins_need_no_more_memory_the_longer_they_are_used() {
    let (mut calendar, mut random, mut now) = (Calendar::<Numbered>::new(), Stream::named(1, "events"), 0);
    let flows = 20_000;
    for flow in 0..flows {
        calendar.push_number(Time::from_nanos(random.below(1 << 20)), Rank::timer(0), flow, 0);
    }
    let mut after_a_fifth = 0;
    for popped in 0..50 * flows {
        let due = pop(&mut calendar, now).unwrap();
        now = due.time.as_nanos();
        calendar.push_number(Time::from_nanos(now + (1 << 20) + random.below(1 << 18)), Rank::timer(0), due.entity, 0);
        if popped == 10 * flows {
            after_a_fifth = calendar.memory();
        }
    }
    assert!(calendar.bins.len() > flows as usize / 2);
    assert_eq!(calendar.memory(), after_a_fifth);
    assert!(after_a_fifth < 6 * flows as usize * size_of::<Node<Numbered>>(), "{after_a_fifth} B");
}

/// Bins wait for an event after a long pause, and events added before it come first.
#[test]
fn events_may_be_added_before_those_of_a_bin_that_is_open() {
    let mut calendar = Calendar::<Numbered>::new();
    let late = 1 << 40;
    for number in 0..3 * FIT_EVERY {
        let time = if number < FIT_EVERY { u64::from(number) } else { late + u64::from(number) * 1000 };
        calendar.push_number(Time::from_nanos(time), Rank::timer(0), number, 0);
    }
    for number in 0..FIT_EVERY {
        assert_eq!(pop(&mut calendar, 0).unwrap().entity, number);
    }
    let now = u64::from(FIT_EVERY);
    calendar.fit(Time::from_nanos(now));
    assert!(calendar.bins.are_used());
    assert_eq!(calendar.peek(), Some(Time::from_nanos(late + now * 1000)));
    let early = [late, now, late / 2];
    for time in early {
        calendar.push_number(Time::from_nanos(time), Rank::timer(1), 0, 0);
    }
    calendar.fit(Time::from_nanos(now));
    let mut times: Vec<u64> = early.into_iter().chain((FIT_EVERY..3 * FIT_EVERY).map(|number| late + u64::from(number) * 1000)).collect();
    times.sort_unstable();
    for time in times {
        assert_eq!(pop(&mut calendar, time).unwrap().time.as_nanos(), time);
    }
    assert!(pop(&mut calendar, late).is_none());
}

/// Flows of short and of long round-trip times share a network.
/// The calendar's year reaches the long ones too.
#[test]
fn few_events_wait_in_the_heap_where_some_ways_are_much_longer_than_others() {
    let mut calendar = Calendar::<Numbered>::new();
    for flow in 0..1000 {
        calendar.push_number(Time::from_nanos(u64::from(flow) * 1000), Rank::timer(0), flow, 0);
    }
    let (mut now, mut most) = (0, 0);
    for popped in 0..40 * FIT_EVERY {
        if calendar.needs_fit() && popped > 20 * FIT_EVERY {
            most = most.max(calendar.pace.far);
        }
        let due = pop(&mut calendar, now).unwrap();
        now = due.time.as_nanos();
        let way = if popped % 20 == 0 { 32_000_000 } else { 1_000_000 };
        calendar.push_number(Time::from_nanos(now + way), Rank::timer(0), due.entity, 0);
    }
    assert!(most <= FIT_EVERY / FAR_SHARE, "{most} of {FIT_EVERY} events came from the heap");
}

/// Each event adds a simultaneous one after all others, as when flows start together.
#[test]
fn simultaneous_events_that_make_others_come_in_order() {
    let mut calendar = Calendar::new();
    let flows = 100_000;
    for flow in 0..flows {
        calendar.push_number(Time::from_nanos(5), Rank::timer(0), flow, 0);
    }
    let mut ranks = Vec::new();
    while let Some(event) = pop(&mut calendar, 5) {
        if event.rank != Rank::ARRIVAL {
            calendar.push(event.time, Rank::ARRIVAL, event.entity.reverse_bits() >> 15, 0, &mut Numbered(event.entity));
        }
        ranks.push((event.rank, event.entity));
        assert!(calendar.current.len() <= SORTED, "one more event would be moved past {} others", calendar.current.len());
    }
    assert_eq!(ranks.len(), 2 * flows as usize);
    assert!(ranks.is_sorted());
}

#[test]
fn it_pauses_so_that_a_host_can_look_around() {
    let mut calendar = Calendar::<Numbered>::new();
    for number in 0..=FIT_EVERY {
        calendar.push_number(Time::from_nanos(7), Rank::timer(0), number, 0);
    }
    for _ in 0..FIT_EVERY {
        assert!(!calendar.needs_fit() && calendar.pop(Time::NEVER, &mut Numbered::default()).is_some());
    }
    assert!(calendar.needs_fit() && calendar.pop(Time::NEVER, &mut Numbered::default()).is_none());
    calendar.fit(Time::from_nanos(7));
    assert_eq!(calendar.next_due().unwrap().entity, FIT_EVERY);
    assert_eq!(calendar.pop(Time::NEVER, &mut Numbered::default()).unwrap().entity, FIT_EVERY);
}

#[test]
fn nothing_is_due_after_the_end() {
    let mut calendar = Calendar::<Numbered>::new();
    calendar.push_number(Time::from_nanos(10), Rank::timer(2), 0, 0);
    assert_eq!(calendar.peek(), Some(Time::from_nanos(10)));
    assert!(calendar.pop(Time::from_nanos(9), &mut Numbered::default()).is_none());
    assert!(calendar.pop(Time::from_nanos(10), &mut Numbered::default()).is_some());
}

/// More events than 32 bits count.
/// The order in which simultaneous events were added survives.
#[test]
fn simultaneous_events_keep_their_order_when_the_count_begins_anew() {
    let mut calendar = Calendar::new();
    calendar.count = RENUMBER_FROM - 50;
    for number in 0..FIT_EVERY + 100 {
        let time = Time::from_nanos(u64::from(number / 1000) << 22);
        calendar.push(time, Rank::ARRIVAL, 0, 0, &mut Numbered(number));
    }
    let mut now = 0;
    for number in 0..FIT_EVERY + 100 {
        if number == FIT_EVERY {
            calendar.push(Time::from_nanos(u64::from(number / 1000) << 22), Rank::ARRIVAL, 0, 0, &mut Numbered(FIT_EVERY + 100));
        }
        let (event, packet) = pop_packet(&mut calendar, now).unwrap();
        now = event.time.as_nanos();
        assert_eq!(packet, Numbered(number));
    }
    assert!(calendar.count < RENUMBER_FROM, "{}", calendar.count);
    let (_, last) = pop_packet(&mut calendar, now).unwrap();
    assert_eq!(last, Numbered(FIT_EVERY + 100));
}

/// The edges: two nanoseconds, a bucket's width, the longest run, and nearly the last time.
const EDGES: [u64; 5] = [0, 1, 1 << 17, 1_000_000_000_000_000, u64::MAX - 3];

proptest! {
    #[test]
    fn events_at_the_edges_of_time_come_in_order(
        times in prop::collection::vec((prop::sample::select(EDGES.to_vec()), 0u64..3), 1..300),
        times_each in prop::sample::select(vec![1usize, 40]),
    ) {
        // Few events, or enough for bins.
        let mut calendar = Calendar::new();
        let mut expected: Vec<(u64, u32)> = Vec::new();
        for (number, (time, more)) in (0u32..).zip(times.iter().cycle().take(times.len() * times_each)) {
            calendar.push(Time::from_nanos(time + more), Rank::DELIVERY, 0, 0, &mut Numbered(number));
            expected.push((time + more, number));
        }
        expected.sort_unstable();
        for (time, number) in expected {
            let (event, packet) = pop_packet(&mut calendar, 0).unwrap();
            prop_assert_eq!((event.time.as_nanos(), packet), (time, Numbered(number)));
        }
        prop_assert!(calendar.pop(Time::NEVER, &mut Numbered::default()).is_none());
    }
}
