//! Bounds for every documented rate, size and time: exact transmission times, no overflow.

use proptest::prelude::*;
use sojourn_units::{Duration, Rate, Serializer, Time, range};

/// Rates at the edges of their range, rates next to powers of two, and primes.
const RATES: [u64; 16] = [
    1,
    2,
    3,
    7,
    8,
    1_000,
    999_983,
    1 << 32,
    (1 << 32) - 1,
    320_000_000_000,
    400_000_000_000,
    999_999_999_989,
    8_000_000_000,
    8_000_000_001,
    range::HIGHEST_RATE_BPS - 1,
    range::HIGHEST_RATE_BPS,
];
const SIZES: [u32; 10] = [1, 2, 39, 40, 64, 600, 1_500, 9_000, 65_534, 65_535];

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).unwrap()
}

/// Tests every pair of edge values: the time of a packet, and of the next one of any size.
#[test]
fn two_packets_take_the_exact_time_of_their_bits_at_every_edge() {
    for bps in RATES {
        for first in SIZES {
            for second in SIZES {
                let mut link = Serializer::new(rate(bps));
                let one = link.send_first(first);
                let two = link.send(second);
                let exact = |bytes: u32| u128::from(bytes) * 8_000_000_000 / u128::from(bps);
                assert_eq!(u128::from(one.as_nanos()), exact(first), "{first} B at {bps} bit/s");
                assert_eq!(u128::from((one + two).as_nanos()), exact(first + second), "{first} and {second} B at {bps} bit/s");
                let bytes = u64::from(first + second);
                assert!(link.allows(bytes, one + two) && !link.allows(bytes + 1, one + two), "{first} and {second} B at {bps} bit/s");
            }
        }
    }
}

/// Tests every pair of edge rates.
/// After a change, a packet ends at most two nanoseconds after its bits are sent, and never before.
#[test]
fn a_change_of_the_rate_loses_no_time() {
    for (before, after) in RATES.iter().flat_map(|&before| RATES.map(|after| (before, after))) {
        for size in SIZES {
            let mut link = Serializer::new(rate(before));
            let one = link.send_first(size);
            link.change_rate(rate(after));
            let spent = u128::from((one + link.send(size)).as_nanos());
            let both = u128::from(before) * u128::from(after);
            let exact = u128::from(size) * 8_000_000_000 * (u128::from(before) + u128::from(after));
            assert!((spent + 1) * both > exact && spent * both <= exact + both, "{size} B at {before}, then {after} bit/s: {spent} ns");
        }
    }
}

#[test]
fn times_beyond_the_last_one_saturate() {
    let end = Time::ZERO + range::LONGEST_TIME;
    assert!(end < Time::NEVER && end + range::LONGEST_TIME < Time::NEVER);
    assert_eq!(end + Duration::MAX, Time::NEVER);
    assert_eq!(range::LONGEST_TIME * u64::MAX, Duration::MAX);
    // The largest queue at the lowest rate, and the highest rate for the longest time.
    let largest = u64::from(u32::MAX) * range::LARGEST_PACKET;
    assert_eq!(rate(1).time_for(largest), Duration::MAX);
    assert_eq!(rate(range::HIGHEST_RATE_BPS).bytes_in(range::LONGEST_TIME), 1_250_000_000_000_000_000);
    assert_eq!(rate(range::HIGHEST_RATE_BPS).bytes_in(Duration::MAX), u64::MAX);
}

proptest! {
    /// Tests a train whose packets find the link idle, busy, or free since the same nanosecond.
    /// In exact time, in units of 1/rate ns, none starts before the previous one has ended.
    #[test]
    fn no_packet_starts_before_the_one_ahead_of_it_has_ended(
        bps in prop_oneof![prop::sample::select(RATES.to_vec()), 1..=range::HIGHEST_RATE_BPS],
        packets in prop::collection::vec((prop_oneof![prop::sample::select(SIZES.to_vec()), 1u32..=65_535], 0u64..3), 1..100),
    ) {
        let mut link = Serializer::new(rate(bps));
        let (mut free_at, mut exact, mut now) = (0u64, 0u128, 0u64);
        for (size, gap) in packets {
            now += gap;
            let start = now.max(free_at);
            let spent = if start == free_at { link.send(size) } else { link.send_first(size) };
            free_at = start + spent.as_nanos();
            exact = exact.max(u128::from(start) * u128::from(bps)) + u128::from(size) * 8_000_000_000;
            prop_assert_eq!(u128::from(free_at), exact / u128::from(bps));
        }
    }
}

#[test]
fn a_duration_of_the_standard_library_has_as_many_nanoseconds_up_to_the_longest() {
    let converted = |seconds, nanos| Duration::from(std::time::Duration::new(seconds, nanos)).as_nanos();
    assert_eq!(converted(3, 7), 3_000_000_007);
    assert_eq!(converted(u64::MAX, 0), u64::MAX);
}
