use super::*;
use sojourn_units::Stream;

/// A random trace with rows of rate zero and simultaneous opportunities.
fn drawn(service: Service, rows: usize, seed: u64) -> LinkTrace {
    let mut random = Stream::named(seed, "trace");
    let mut builder = Builder::new(service);
    for _ in 0..rows {
        let span = Duration::from_nanos(match (service, random.below(4)) {
            (Service::Opportunities, 0) => 0,
            (_, 1) => 1 + random.below(5),
            _ => 1_000_000 * (1 + random.below(20)),
        });
        let amount = match (service, random.below(4)) {
            (Service::Rates, 0) => 0,
            (Service::Rates, _) => 1_000 * random.below(30_000),
            (Service::Opportunities, _) => 1500 * (1 + random.below(3)),
        };
        builder.push(Row { span, service: amount, delay: Duration::from_nanos(random.below(1000)), loss: random.below(1000) as u32 });
    }
    builder.push(Row { span: Duration::from_millis(1), service: 12_000, ..Row::default() });
    builder.finish().unwrap()
}

/// The capacity by `at`, summed row by row.
fn added_up(trace: &LinkTrace, at: u64) -> u128 {
    let period = trace.period().as_nanos();
    let (turns, mut rest) = (at / period, at % period);
    let mut sum = u128::from(turns) * trace.rows().map(|row| row.capacity(trace.service())).sum::<u128>();
    for row in trace.rows() {
        let span = row.span.as_nanos();
        if span > rest {
            return sum + if trace.service() == Service::Rates { u128::from(row.service) * u128::from(rest) } else { 0 };
        }
        sum += row.capacity(trace.service());
        rest -= span;
    }
    sum
}

#[test]
fn a_cursor_finds_what_adding_up_finds() {
    for (service, rows, seed) in
        [(Service::Rates, 3, 1), (Service::Rates, 3000, 2), (Service::Opportunities, 4, 3), (Service::Opportunities, 2500, 4)]
    {
        let trace = drawn(service, rows, seed);
        let mut random = Stream::named(seed, "times");
        let (mut at, mut moving) = (0, Cursor::default());
        for _ in 0..300 {
            let most = if random.below(10) == 0 { 3 * trace.period().as_nanos() } else { 30_000_000 };
            at += random.below(most);
            let sum = added_up(&trace, at);
            assert_eq!(moving.capacity_by(&trace, Time::from_nanos(at)), sum, "{service:?}, {rows} rows, {at} ns");
            assert_eq!(Cursor::default().capacity_by(&trace, Time::from_nanos(at)), sum);
        }
    }
}

#[test]
fn the_time_of_a_capacity_is_the_first_at_which_it_can_have_been_sent() {
    for (service, rows, seed) in [(Service::Rates, 2000, 5), (Service::Opportunities, 2000, 6), (Service::Rates, 1, 7)] {
        let trace = drawn(service, rows, seed);
        let mut random = Stream::named(seed, "capacities");
        let (mut capacity, mut moving) = (0, Cursor::default());
        for _ in 0..300 {
            let further = if random.below(10) == 0 { 3 * trace.capacity as u64 } else { 40 * 8_000_000_000 };
            capacity += u128::from(1 + random.below(further));
            let time = moving.time_of(&trace, capacity);
            assert_eq!(Cursor::default().time_of(&trace, capacity), time);
            // By the next nanosecond all bits are sent, before it not all.
            let after = Cursor::default().capacity_by(&trace, time + Duration::from_nanos(u64::from(service == Service::Rates)));
            assert!(after >= capacity, "{service:?}: {after} by {time:?}, {capacity} asked for");
            assert!(trace.capacity_before(time) < capacity || capacity == trace.capacity_before(time), "{service:?}: {time:?}");
        }
    }
}

#[test]
fn a_trace_that_never_sends_or_lasts_no_time_is_none() {
    let of = |span, service| {
        let mut builder = Builder::new(Service::Rates);
        builder.push(Row { span, service, ..Row::default() });
        builder.finish()
    };
    assert!(of(Duration::from_secs(1), 0).is_none() && of(Duration::ZERO, 7).is_none());
    assert!(Builder::new(Service::Rates).finish().is_none());
    assert_eq!(of(Duration::from_secs(1), 7).unwrap().mean_rate().as_bps(), 7);
}

#[test]
fn rows_come_back_and_take_few_bytes() {
    let (rows, step) = (100_000, Duration::from_millis(1));
    let rate = |number: u64| 1_000 * (number * number % 65_000);
    let mut builder = Builder::new(Service::Rates);
    (0..rows).for_each(|number| builder.push(Row { span: step, service: rate(number), ..Row::default() }));
    let trace = builder.finish().unwrap();
    assert!(trace.rows().map(|row| row.service).eq((0..rows).map(rate)) && trace.rows().all(|row| row.span == step));
    assert_eq!((trace.len(), trace.period()), (100_000, Duration::from_secs(100)));
    assert!(trace.memory() < 2 * 100_000 + 100 * 200, "{} bytes", trace.memory());
}

#[test]
fn the_content_is_another_if_anything_in_it_is() {
    let content = |trace: &LinkTrace| {
        let mut all = Vec::new();
        trace.content(|piece| all.extend_from_slice(piece));
        all
    };
    let one = |service, row: Row| {
        let mut builder = Builder::new(service);
        builder.push(row);
        content(&builder.finish().unwrap())
    };
    let row = Row { span: Duration::from_secs(1), service: 8, delay: Duration::ZERO, loss: 0 };
    let same = one(Service::Rates, row);
    assert_eq!(same, one(Service::Rates, row));
    for other in [
        one(Service::Opportunities, row),
        one(Service::Rates, Row { span: Duration::from_secs(2), ..row }),
        one(Service::Rates, Row { service: 9, ..row }),
        one(Service::Rates, Row { delay: Duration::from_nanos(1), ..row }),
        one(Service::Rates, Row { loss: 1, ..row }),
    ] {
        assert_ne!(other, same);
    }
}

#[test]
fn packets_are_lost_with_the_probability_of_the_time() {
    use crate::{Effect, Impairment, Transit};
    let mut builder = Builder::new(Service::Rates);
    let row = |loss| Row { span: Duration::from_secs(1), service: 8, delay: Duration::ZERO, loss };
    [0, 250_000_000, 1_000_000_000].into_iter().for_each(|loss| builder.push(row(loss)));
    let trace = alloc::sync::Arc::new(builder.finish().unwrap());
    let mut made = TraceLoss::new(trace, Stream::named(1, "loss"));
    // Also in the second repetition.
    for first in [0, 3] {
        let lost = [0, 1, 2].map(|second| {
            let packet = |n: u64| Transit {
                now: Time::from_nanos((first + second) * 1_000_000_000 + n),
                size: 1000,
                has_data: true,
                has_option: false,
            };
            (0..10_000).filter(|&n| made.on_packet(&packet(n)) == Effect::Drop).count()
        });
        assert_eq!((lost[0], lost[2]), (0, 10_000));
        assert!((2_300..=2_700).contains(&lost[1]), "{} of 10000 lost, expected about 2500", lost[1]);
    }
}

#[test]
fn a_trace_tells_of_the_delays_and_losses_of_its_rows() {
    let of = |rows: &[(u64, u32)]| {
        let mut builder = Builder::new(Service::Rates);
        for &(delay, loss) in rows {
            let (span, delay) = (Duration::from_millis(1), Duration::from_millis(delay));
            builder.push(Row { span, service: 1_000_000, delay, loss });
        }
        builder.finish().unwrap()
    };
    let (plain, some) = (of(&[(0, 0), (0, 0)]), of(&[(3, 0), (7, 5), (4, 0)]));
    assert!(!plain.has_delay() && !plain.has_loss() && some.has_delay() && some.has_loss());
    assert_eq!((plain.least_delay(), some.least_delay()), (Duration::ZERO, Duration::from_millis(3)));
    assert_eq!((plain.len(), some.len(), plain.is_empty(), some.is_empty()), (2, 3, false, false));
}

/// Tests that 1500 B need 1 ms at 12 Mbit/s, and 2 ms at half of that.
#[test]
fn a_transmission_starts_by_the_time_of_its_bits_before_its_end() {
    let mut builder = Builder::new(Service::Rates);
    for rate in [12_000_000, 6_000_000] {
        builder.push(Row { span: Duration::from_millis(10), service: rate, ..Row::default() });
    }
    let trace = builder.finish().unwrap();
    let at = |ms: f64| Time::from_secs_f64(ms / 1000.0);
    for (end, start) in [(5.0, 4.0), (10.0, 9.0), (11.0, 9.5), (14.0, 12.0), (21.0, 20.0), (1.0, 0.0), (0.4, 0.0)] {
        assert_eq!(trace.start_of(1500, at(end)), at(start), "{end}");
    }
}

/// Tests opportunities of 1500 B after 1 to 5 ms each, over more rows than two blocks hold.
#[test]
fn what_is_sent_at_the_end_of_a_row_is_sent_no_later_at_the_edge_of_a_block_or_a_turn() {
    let (rows, block) = (2 * BLOCK as u64 + 452, BLOCK as u64);
    let mut builder = Builder::new(Service::Opportunities);
    let span = |row: u64| 1 + row * row % 5;
    (0..rows).for_each(|row| builder.push(Row { span: Duration::from_millis(span(row)), service: 1500, ..Row::default() }));
    let trace = builder.finish().unwrap();
    let capacity = |packets: u64| u128::from(packets) * 1500 * 8_000_000_000;
    let times: Vec<u64> = (0..4 * rows)
        .scan(0, |sum, row| {
            *sum += span(row % rows);
            Some(*sum)
        })
        .collect();
    let ms = |packets: u64| Time::ZERO + Duration::from_millis(times[packets as usize - 1]);
    for edge in [1, block, 2 * block, rows, rows + 1, rows + block, 2 * rows] {
        for packets in edge.saturating_sub(1).max(1)..=edge + 1 {
            assert_eq!(Cursor::default().time_of(&trace, capacity(packets)), ms(packets), "a new cursor, {packets} packets");
            let mut moved = Cursor::default();
            moved.time_of(&trace, capacity(packets.div_ceil(2)));
            assert_eq!(moved.time_of(&trace, capacity(packets)), ms(packets), "a cursor that has moved, {packets} packets");
        }
    }
    let mut moving = Cursor::default();
    assert!((1..=3 * rows).all(|packets| moving.time_of(&trace, capacity(packets)) == ms(packets)), "one cursor, packet by packet");
}

#[test]
fn a_cursor_goes_through_all_rows_of_all_turns_and_never_back() {
    let rows = 2 * BLOCK as u64 + 3;
    let row = |number: u64| Row {
        span: Duration::from_micros(5 + number % 3),
        service: 7 + number % rows,
        delay: Duration::from_nanos(1_000 + number % rows % 11),
        loss: 100 + (number % rows % 7) as u32,
    };
    let mut builder = Builder::new(Service::Rates);
    (0..rows).for_each(|number| builder.push(row(number)));
    let trace = builder.finish().unwrap();
    assert!(trace.rows().eq((0..rows).map(row)));
    let (mut moving, mut begin) = (Cursor::default(), Time::ZERO);
    for number in 0..3 * rows {
        let expected = row(number % rows);
        assert_eq!(moving.row_at(&trace, begin), expected, "row {number}");
        assert_eq!(moving.row_at(&trace, Time::ZERO), expected, "row {number} after an earlier time");
        begin += expected.span;
    }
}

/// Tests the memory: equal rows have columns without bits, so only blocks remain.
/// Two values need one bit per row, whatever their difference.
#[test]
fn the_memory_of_a_trace_is_that_of_its_blocks_and_of_the_bits_in_them() {
    let of = |services: &[u64]| {
        let mut builder = Builder::new(Service::Rates);
        let row = |service| Row { span: Duration::from_millis(1), service, ..Row::default() };
        (0..3 * BLOCK).for_each(|number| builder.push(row(services[number % services.len()])));
        builder.finish().unwrap().memory()
    };
    assert_eq!(of(&[9]), 3 * size_of::<Block>());
    let bits = of(&[9, 1009]) - 3 * size_of::<Block>();
    assert!((3 * BLOCK / 8..=3 * (BLOCK / 8 + 16)).contains(&bits), "a bit for each of {} rows, got {bits} bytes", 3 * BLOCK);
}

#[test]
fn opportunities_without_time_are_no_trace() {
    let mut builder = Builder::new(Service::Opportunities);
    builder.push(Row { service: 1500, ..Row::default() });
    assert!(builder.finish().is_none());
}
