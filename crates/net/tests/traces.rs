//! Links with traces: exact delivery times.

use crate::host::{Datagram, HostLog};
use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_link::trace::{Builder, LinkTrace, Row, Service};
use sojourn_net::{Delivery, LinkConfig, LinkStats, NetworkBuilder, Window};
use sojourn_spec::link::{Link as PlannedLink, Trace};
use sojourn_units::{Amount, Duration, Rate, Stream, Time};
use std::sync::Arc;

/// The delivery time of each packet, in ns; `None` if it was not delivered.
fn times(log: &HostLog, packets: usize) -> Vec<Option<u64>> {
    let mut times = vec![None; packets];
    for (at, packet) in &log.delivered {
        times[packet.number as usize] = Some(at.as_nanos());
    }
    times
}

fn datagram(size: u32, number: usize) -> Datagram {
    Datagram { size, number: number as u64, ..Datagram::default() }
}

fn trace(service: Service, rows: &[(u64, u64, u64)]) -> LinkTrace {
    let mut builder = Builder::new(service);
    for &(span_ns, service, delay_ns) in rows {
        builder.push(Row { span: Duration::from_nanos(span_ns), service, delay: Duration::from_nanos(delay_ns), loss: 0 });
    }
    builder.finish().unwrap()
}

/// Sends packets, given by time and size, over one link with a trace and this queue.
/// Returns the delivery times, and the measurements from a second on.
fn run(aqm: &str, trace: LinkTrace, packets: &[(u64, u32)], end: Duration) -> (Vec<Option<u64>>, LinkStats, f64) {
    let rate = trace.mean_rate();
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == aqm).unwrap().default)();
    let aqm = config.build(&Link { rate, delay: Duration::ZERO, mean_packet: 1000, limit_packets: 10_000 }).unwrap();
    let trace = Some(Trace { sha256: "".into(), rows: Arc::new(trace) });
    let planned = PlannedLink { name: "traced".into(), rate: Some(rate), trace, ..PlannedLink::default() };
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO + Duration::from_secs(1), until: Time::ZERO + end });
    let link =
        builder.add_link(LinkConfig::new(planned, QueueController::new(aqm, Amount::Packets(1_000_000), false, Stream::named(1, "q"))));
    let route = builder.add_route(&[link], Delivery::Deferred, true).unwrap();
    let mut network = builder.build();
    let mut log = HostLog::default();
    for (number, &(at, size)) in packets.iter().enumerate() {
        network.advance(Time::from_nanos(at), &mut log);
        network.send(Time::from_nanos(at), route, datagram(size, number), &mut log);
    }
    network.advance(Time::ZERO + end, &mut log);
    network.finish(Time::ZERO + end).unwrap();
    let link = &network.links()[0];
    (times(&log, packets.len()), link.stats().clone(), link.traced_capacity().unwrap())
}

/// Mahimahi's link (netravali-2015, `LinkQueue::rationalize`): opportunities at these ms.
/// Each sends 1500 bytes of the waiting packets; a packet that arrives at its time misses it.
fn mahimahi(opportunities: &[u64], packets: &[(u64, u32)], end: u64) -> Vec<Option<u64>> {
    let period = opportunities.last().unwrap();
    let mut left: Vec<u32> = packets.iter().map(|packet| packet.1).collect();
    let (mut delivered, mut head) = (vec![None; packets.len()], 0);
    for turn in 0.. {
        for at in opportunities.iter().map(|ms| (turn * period + ms) * 1_000_000) {
            if at >= end {
                return delivered;
            }
            let mut bytes = 1500;
            while bytes > 0 && head < packets.len() && packets[head].0 < at {
                let used = bytes.min(left[head]);
                (bytes, left[head]) = (bytes - used, left[head] - used);
                if left[head] == 0 {
                    delivered[head] = Some(at);
                    head += 1;
                }
            }
        }
    }
    delivered
}

/// Packets of all sizes at random times, or at whole milliseconds.
fn traffic(seed: u64, seconds: u64, mean_gap_ns: u64) -> Vec<(u64, u32)> {
    let mut random = Stream::named(seed, "traffic");
    let (mut at, mut packets) = (0, Vec::new());
    while at < seconds * 1_000_000_000 {
        at += random.below(2 * mean_gap_ns);
        if random.below(3) == 0 {
            at = at.div_ceil(1_000_000) * 1_000_000;
        }
        packets.push((at, if random.below(2) == 0 { 1500 } else { 40 + random.below(3000) as u32 }));
    }
    packets
}

#[test]
fn packets_leave_at_the_opportunities_at_which_mahimahi_sends_them() {
    let opportunities = [0, 3, 3, 4, 10, 10, 10, 11, 40, 41, 60];
    let rows = [(0, 1), (3, 2), (1, 1), (6, 3), (1, 1), (29, 1), (1, 1), (19, 1)];
    let rows = rows.map(|(ms, count)| (ms * 1_000_000, 1500 * count, 0));
    // Loads far below the capacity, near it, and far above it.
    for (seed, gap) in [(1, 40_000_000), (2, 8_000_000), (3, 2_000_000)] {
        let packets = traffic(seed, 5, gap);
        let expected = mahimahi(&opportunities, &packets, 6_000_000_000);
        let (delivered, ..) = run("droptail", trace(Service::Opportunities, &rows), &packets, Duration::from_secs(6));
        assert_eq!(delivered, expected, "gap {gap}");
    }
}

#[test]
fn a_link_with_packets_waiting_delivers_what_its_trace_has_in_any_window() {
    let rates = [(7_000_000, 1_000_000, 0), (13_000_003, 0, 0), (1, 10_000_000, 0), (20_000_000, 7_654_321, 0)];
    for aqm in ["droptail", "codel", "fq-codel"] {
        let packets = vec![(0, 1000); 8000];
        let traced = trace(Service::Rates, &rates);
        let (delivered, stats, capacity) = run(aqm, traced.clone(), &packets, Duration::from_secs(6));
        assert!((stats.sent_bits() - capacity).abs() < 1.0, "{aqm}: {} of {capacity} bits", stats.sent_bits());
        if aqm != "droptail" {
            continue;
        }
        let times: Vec<u64> = delivered.iter().flatten().copied().collect();
        assert!(times.len() > 3000 && times.is_sorted());
        for (number, &at) in times.iter().enumerate() {
            // At that time exactly these packets have been sent: not all of them a ns before, all of them a ns after.
            let bits = (number as u128 + 1) * 8_000 * 1_000_000_000;
            let (before, after) = (traced.capacity_before(Time::from_nanos(at)), traced.capacity_before(Time::from_nanos(at + 1)));
            assert!(before <= bits && bits <= after, "packet {number} at {at} ns");
        }
    }
}

#[test]
fn packets_take_the_delay_in_force_and_stay_in_order() {
    // 8 Mbit/s: a packet of 1000 bytes takes 1 ms. The delay is 9 ms in the first 5 ms and 1 ms in the next 5.
    let traced = trace(Service::Rates, &[(5_000_000, 8_000_000, 9_000_000), (5_000_000, 8_000_000, 1_000_000)]);
    let (delivered, ..) = run("droptail", traced, &[(0, 1000); 12], Duration::from_secs(2));
    let ms: Vec<f64> = delivered.iter().map(|at| at.unwrap() as f64 / 1e6).collect();
    let expected = [10.0, 11.0, 12.0, 13.0, 13.000001, 13.000002, 13.000003, 13.000004, 13.000005, 19.0, 20.0, 21.0];
    assert_eq!(ms, expected);
}

#[test]
fn what_a_link_sends_in_each_step_is_at_most_what_its_trace_has_there() {
    let rate = Rate::from_bps(1_000_000).unwrap();
    let traced = trace(Service::Opportunities, &[(3_000_000, 3000, 0), (4_000_000, 1500, 0)]);
    let planned = PlannedLink {
        name: "x".into(),
        rate: Some(rate),
        trace: Some(Trace { sha256: "".into(), rows: Arc::new(traced.clone()) }),
        ..PlannedLink::default()
    };
    let end = Time::ZERO + Duration::from_millis(70);
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until: end });
    let link = builder.add_link(LinkConfig::planned(planned, Vec::new(), 1));
    let route = builder.add_route(&[link], Delivery::Deferred, true).unwrap();
    let mut network = builder.build();
    network.links_mut()[0].trace_throughput(Duration::from_millis(7));
    let mut log = HostLog::default();
    for number in 0..100 {
        network.send(Time::ZERO, route, datagram(1000, number), &mut log);
    }
    network.advance(end, &mut log);
    network.finish(end).unwrap();
    // A step ends just before the opportunity at its end: the first has two opportunities, each later one three.
    let steps = &network.links()[0].traced_throughput().unwrap().bps;
    let bits: Vec<f64> = steps.iter().map(|bps| (bps * 0.007).round()).collect();
    assert_eq!(bits, [24_000.0, 36_000.0, 36_000.0, 36_000.0, 36_000.0, 36_000.0, 36_000.0, 36_000.0, 36_000.0, 36_000.0]);
}
