//! Bounds for every documented rate, size and time.
//! A link never carries more than its rate, and nothing overflows.

use crate::host::{Datagram, HostLog};
use proptest::prelude::*;
use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_net::{Delivery, LinkConfig, NetworkBuilder, Window};
use sojourn_spec::link::{Link as PlannedLink, Measure, RateChange};
use sojourn_units::{Amount, Duration, Rate, Stream, Time, range};

/// A link without delay, of one of several kinds.
/// `kind`: 0 an access link, 1 a drop-tail queue, then disciplines that decide at arrival and at departure.
fn link(kind: usize, rate: u64, change: Option<(u64, u64)>) -> LinkConfig {
    let rate = Rate::from_bps(rate).unwrap();
    let name = ["droptail", "droptail", "blue", "codel", "fq-codel", "choke"][kind];
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == name).unwrap().default)();
    let aqm = config.build(&Link { rate, delay: Duration::ZERO, mean_packet: 1000, limit_packets: 1000 }).unwrap();
    let rate_changes = change.map(|(at, bps)| RateChange { at: Time::from_nanos(at), rate: Rate::from_bps(bps).unwrap() });
    let planned = PlannedLink {
        name: name.into(),
        rate: Some(rate),
        measure: if kind == 0 { Measure::Counts } else { Measure::All },
        rate_changes: rate_changes.into_iter().collect(),
        ..PlannedLink::default()
    };
    LinkConfig::new(planned, QueueController::new(aqm, Amount::Packets(1000), true, Stream::named(1, name)))
}

/// Any documented rate, the edges among them.
fn rate() -> impl Strategy<Value = u64> {
    let edges = [1, 2, 7, 999_999_937, 320_000_000_000, 400_000_000_000, range::HIGHEST_RATE_BPS - 1, range::HIGHEST_RATE_BPS];
    prop_oneof![
        prop::sample::select(edges.to_vec()),
        (0u32..44, 1u64..1000).prop_map(|(bits, low)| ((1 << bits) + low).min(range::HIGHEST_RATE_BPS))
    ]
}

fn datagram(size: u32, number: usize) -> Datagram {
    Datagram { size, number: number as u64, can_mark: true, ..Datagram::default() }
}

fn size() -> impl Strategy<Value = u32> {
    prop_oneof![prop::sample::select(vec![1u32, 40, 41, 64, 600, 1500, 65_535]), 1u32..=65_535]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// For every two transmissions, the bits between them fit the time between their ends.
    /// The ends are whole nanoseconds. So no window of time holds more than its rate and one packet.
    #[test]
    fn no_window_of_time_carries_more_than_the_rate(
        kind in 0usize..6,
        rates in (rate(), rate()),
        // A gap before each packet: a part, in 1/16, of the time that it takes, and some ns.
        packets in prop::collection::vec((size(), 0u64..24, 0u64..3), 2..60),
        change_at in prop::option::of(0usize..60),
    ) {
        let time_for = |size: u32| (u128::from(size) * 8_000_000_000 / u128::from(rates.0)) as u64;
        let mut now = 0;
        let arrivals: Vec<u64> = packets.iter().map(|&(size, part, ns)| { now += (time_for(size) / 16).saturating_mul(part) + ns; now }).collect();
        let change = change_at.filter(|&at| kind > 0 && at < packets.len()).map(|at| (arrivals[at], rates.1));
        let end = Time::from_nanos(now) + Duration::from_secs(1_000_000_000);
        let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until: end });
        builder.add_link(link(kind, rates.0, change));
        let route = builder.add_route(&[0], Delivery::Deferred, false).unwrap();
        let (mut network, mut log) = (builder.build(), HostLog::default());
        for (number, (&(size, ..), &at)) in packets.iter().zip(&arrivals).enumerate() {
            network.advance(Time::from_nanos(at), &mut log);
            network.send(Time::from_nanos(at), route, datagram(size, number), &mut log);
        }
        network.advance(end, &mut log);
        prop_assert!(network.finish(end).is_ok());
        prop_assert!(!log.delivered.is_empty());
        prop_assert!(log.delivered.is_sorted_by_key(|&(end, _)| end));
        // The rate of a packet is that at the start of its transmission.
        let mut free_at = 0;
        let mut sent = Vec::new();
        for (end, packet) in &log.delivered {
            let end = end.as_nanos();
            let start = arrivals[packet.number as usize].max(free_at);
            let first = change.is_none_or(|(at, _)| start < at);
            sent.push((end, u128::from(packet.size) * 8_000_000_000 * u128::from(if first { rates.1 } else { rates.0 })));
            free_at = end;
        }
        let both = u128::from(rates.0) * u128::from(rates.1);
        for (index, &(from, _)) in sent.iter().enumerate() {
            let mut work = 0;
            for &(until, more) in &sent[index + 1..] {
                work += more;
                prop_assert!(work / both <= u128::from(until - from), "{work}/{both} ns in {} ns", until - from);
            }
        }
    }
    /// Of a transmission across the edge of a window or a step, the bits within it count.
    /// So neither has more than the rate allows, and the steps of the run sum up to the window.
    #[test]
    fn no_window_and_no_step_shows_more_than_the_rate(
        // Not an access link, which measures nothing.
        kind in 1usize..6,
        rate in rate(),
        packets in prop::collection::vec((size(), 0u64..24, 0u64..3), 2..60),
        (from, until, steps) in (0u64..100, 1u64..100, 1u64..20),
    ) {
        let time_for = |size: u32| (u128::from(size) * 8_000_000_000 / u128::from(rate)) as u64;
        let mut now = 0;
        let arrivals: Vec<u64> = packets.iter().map(|&(size, part, ns)| { now += (time_for(size) / 16).saturating_mul(part) + ns; now }).collect();
        let end = (now / 64).saturating_mul(until).max(1);
        let run = |from: u64| {
            let window = Window { from: Time::from_nanos(from), until: Time::from_nanos(end) };
            let mut builder = NetworkBuilder::new(window);
            builder.add_link(link(kind, rate, None));
            let route = builder.add_route(&[0], Delivery::Deferred, false).unwrap();
            let (mut network, mut log) = (builder.build(), HostLog::default());
            network.links_mut()[0].trace_throughput(Duration::from_nanos(end.div_ceil(steps)));
            for (number, (&(size, ..), &at)) in packets.iter().zip(&arrivals).enumerate().filter(|(_, (_, at))| **at < end) {
                network.advance(Time::from_nanos(at), &mut log);
                network.send(Time::from_nanos(at), route, datagram(size, number), &mut log);
            }
            network.advance(window.until, &mut log);
            network.finish(window.until).map(|_| network.links()[0].clone())
        };
        let (whole, part) = (run(0), run(end / 101 * from));
        prop_assert!(whole.is_ok() && part.is_ok(), "{whole:?} {part:?}");
        let Ok(whole) = whole else { unreachable!() };
        let traced = whole.traced_throughput().unwrap();
        let most = rate as f64 * (1.0 + 1e-12);
        prop_assert!(traced.bps.iter().all(|&bps| bps <= most), "{:?}", traced.bps);
        let all: f64 = traced.bps.iter().map(|bps| bps * end.div_ceil(steps) as f64 * 1e-9).sum();
        let sent = whole.stats().sent_bits();
        // The last step may end after the run.
        prop_assert!(all <= sent * (1.0 + 1e-12), "{all} of {sent}");
        if end.is_multiple_of(end.div_ceil(steps)) {
            prop_assert!((all - sent).abs() <= sent * 1e-12, "{all} of {sent}");
        }
    }
}
