//! The extent of reordering, by the metrics of RFC 4737.
//! Packets take two paths in turn, or meet the impairment `reorder`.

use crate::host::{Datagram, HostLog};
use sojourn_aqm::QueueController;
use sojourn_link::kinds::reorder;
use sojourn_link::{ImpairmentConfig, Impairments};
use sojourn_net::{Delivery, LinkConfig, NetworkBuilder, RouteId, Turn, Window};
use sojourn_spec::link::Link;
use sojourn_units::{Duration, Time};

/// The extents of reordered packets (rfc4737#4.2.1).
/// The extent of a packet behind one with a higher number is the distance to the first such packet.
fn extents(log: &HostLog) -> Vec<usize> {
    let numbers: Vec<u64> = log.delivered.iter().map(|(_, packet)| packet.number).collect();
    let reordered = |&(at, number): &(usize, &u64)| numbers[..at].iter().any(|earlier| earlier > number);
    let extent = |(at, number): (usize, &u64)| at - numbers[..at].iter().position(|earlier| earlier > number).unwrap();
    numbers.iter().enumerate().filter(reordered).map(extent).collect()
}

const SENT: u32 = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A link that is a pure delay.
fn link(delay_ms: u64, impairments: &[ImpairmentConfig]) -> LinkConfig {
    let name = format!("{delay_ms} ms");
    let impairments = Impairments::new(impairments, 1, &name);
    let planned = Link { name, delay: ms(delay_ms), ..Link::default() };
    LinkConfig { impairments, ..LinkConfig::new(planned, QueueController::passing()) }
}

/// The extents of packets that are sent on the route each millisecond.
fn extents_on(make: impl Fn(&mut NetworkBuilder) -> RouteId) -> Vec<usize> {
    let until = Time::ZERO + Duration::from_secs(2);
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until });
    let route = make(&mut builder);
    let (mut network, mut log) = (builder.build(), HostLog::default());
    for number in 0..SENT {
        let now = Time::ZERO + ms(u64::from(number));
        network.advance(now, &mut log);
        assert!(network.send(now, route, Datagram { number: number.into(), size: 100, ..Datagram::default() }, &mut log).is_none());
    }
    network.advance(until, &mut log);
    assert_eq!(log.delivered.len() as u32, SENT);
    extents(&log)
}

#[test]
fn on_two_paths_in_turn_each_packet_of_the_longer_one_is_reordered_by_the_difference_of_their_delays() {
    for longer in [2, 8, 20] {
        let extents = extents_on(|builder| {
            let paths = [5 + longer, 5].map(|delay| vec![builder.add_link(link(delay, &[]))]);
            builder.add_choice(&paths, Turn::Packets, false, 0).unwrap()
        });
        // The packet after one on the longer path comes `longer - 1` ms before it, and one comes each millisecond, but at the start and the
        // end,
        // where those of one path are alone.
        let all = extents.iter().filter(|&&extent| extent as u64 == longer - 1).count() as u32;
        assert_eq!(extents.len() as u32, SENT / 2, "{longer} ms");
        assert!(all >= SENT / 2 - 2 * longer as u32 && extents.iter().all(|&extent| extent < longer as usize), "{longer} ms: {extents:?}");
    }
}

#[test]
fn a_packet_that_an_impairment_delays_is_reordered_by_as_many_packets_as_come_in_that_time() {
    let by_gap = reorder::Params { by: Duration::from_nanos(4_500_000), probability: 1.0, gap: 10 };
    let extents = extents_on(|builder| {
        let links = [builder.add_link(link(5, &[by_gap.clone().into()]))];
        builder.add_route(&links, Delivery::Deferred, false).unwrap()
    });
    // One in ten, each overtaken by the four packets of 4.5 ms.
    assert!(extents.len().abs_diff(SENT as usize / 10) <= 1 && extents.iter().all(|&extent| extent == 4), "{extents:?}");
}
