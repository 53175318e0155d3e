use super::*;
use proptest::prelude::*;

#[test]
fn an_access_link_takes_half_of_a_cache_line() {
    assert_eq!(size_of::<AccessLink>(), 32);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    /// Packets of one size are only counted, with the same drops and departures as in a queue.
    #[test]
    fn packets_that_are_counted_fare_as_in_a_queue(
        bps in prop_oneof![Just(100_000_000_000), Just(8_000_000_000_007), (0..43_u32, any::<u32>()).prop_map(|(bits, low)| (1 << bits) + u64::from(low))],
        limit in prop_oneof![(1..9_u32).prop_map(Amount::Packets), (64..9_000_u64).prop_map(Amount::Bytes)],
        // A gap before each packet: a part, in 1/8, of the time that a large one takes, or until the link gets free, and some ns.
        packets in prop::collection::vec((prop::bool::weighted(0.9), prop_oneof![4 => Just(0), 4 => 0..12_u64, 1 => Just(99)], 0..3_u64), 1..60),
        transit_ns in 0..200_u64,
    ) {
        let rate = Rate::from_bps(bps).unwrap();
        let planned = Planned { from: 0, to: 1, rate: Some(rate), delay: Duration::from_nanos(7), limit };
        let mut links = AccessLinks::default();
        links.add(&planned);
        let (mut link, mut queue) = (links.links[0].clone(), AccessQueue::new(links.classes[0].clone(), links.kinds[0]));
        let mut now = Time::from_nanos(1);
        for (large, part, ns) in packets {
            let gap = Duration::from_nanos((Transmission::new(1500, rate).ns / 8).saturating_mul(part) + ns);
            now = if part == 99 { now.max(link.free_at) } else { now + gap };
            let (size, transit_time) = (if large { 1500 } else { 64 }, Duration::from_nanos(transit_ns));
            let transmission_time = Duration::from_nanos(queue.class.transmission(size).ns);
            let loses_tie = link.free_at > now && queue.depends_on_tie(now, size) && arrival_is_first(transit_time, transmission_time);
            let expected = if loses_tie { None } else { link.send_or_wait(&mut queue, now, size) };
            let arrives = links.pass(0, now, size).or_else(|| links.offer(0, now, size, &|_| transit_time));
            prop_assert_eq!(arrives, expected, "{} B at {:?}", size, now);
        }
        prop_assert_eq!(links.faster_than_rate(), None);
    }
}

#[test]
fn packets_of_less_than_a_nanosecond_take_their_time_to_the_last_bit() {
    for (bps, size) in [(2_000_000_000_000, 64), (10_000_000_000_000, 40), (512_000_000_000, 64), (3_000_000_000_000, 1_500)] {
        let mut links = AccessLinks::default();
        let rate = Rate::from_bps(bps).unwrap();
        let limit = Amount::Packets(1_000);
        let link = links.add(&Planned { from: 0, to: 1, rate: Some(rate), delay: Duration::ZERO, limit });
        let mut now = Time::ZERO;
        for sent in 1..=1_000 {
            // Two arrive when the link becomes free, and a third behind them.
            if sent % 3 > 0 {
                now = links.links[link].free_at;
            }
            let arrival = links.pass(link, now, size).or_else(|| links.offer(link, now, size, &|_| Duration::ZERO));
            let expected = sent * u64::from(size) * NANOBITS_PER_BYTE / bps;
            assert_eq!(arrival, Some(Time::from_nanos(expected)), "packet {sent} of {size} B at {bps} bit/s");
        }
    }
}

/// 1500 bytes take 120 ns at 100 Gbit/s, and 171 3/7 ns at 70 Gbit/s.
/// A transmission ends in the nanosecond of its last bit, and the next uses the rest of that nanosecond.
#[test]
fn packets_that_were_counted_start_one_after_the_other_in_a_queue() {
    for (gbps, starts) in [(100, [120, 240, 360, 480]), (70, [171, 342, 514, 685])] {
        let mut links = AccessLinks::default();
        let rate = Rate::from_bps(gbps * 1_000_000_000).unwrap();
        links.add(&Planned { from: 0, to: 1, rate: Some(rate), delay: Duration::ZERO, limit: Amount::Packets(9) });
        (0..5).for_each(|_| {
            assert!(links.pass(0, Time::ZERO, 1500).or_else(|| links.offer(0, Time::ZERO, 1500, &|_| Duration::ZERO)).is_some())
        });
        let mut queue = AccessQueue::new(links.classes[0].clone(), links.kinds[0]);
        links.links[0].fill_queue(&mut queue, Time::ZERO);
        let found: Vec<u64> = queue.waiting.iter().map(|waiting| waiting.start.as_nanos()).collect();
        assert_eq!(found, starts, "{gbps} Gbit/s");
    }
}

/// 8 Gbit/s carry a byte in a nanosecond.
#[test]
fn the_audit_names_the_link_that_sent_more_than_its_rate_allows() {
    let mut links = AccessLinks::default();
    for rate in [8_000_000_000, 8_000_000_000].map(Rate::from_bps) {
        links.add(&Planned { from: 0, to: 1, rate, delay: Duration::ZERO, limit: Amount::Packets(9) });
    }
    assert!(links.offer(1, Time::ZERO, 1500, &|_| Duration::ZERO).is_some());
    assert_eq!(links.faster_than_rate(), None);
    links.links[1].sent_bytes += 1;
    assert_eq!(links.faster_than_rate(), Some(1));
}
