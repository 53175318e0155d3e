//! How far packets are reordered, by the metrics of RFC 4737: over two paths in turn, and by the impairment `reorder`.

use sojourn_aqm::QueueController;
use sojourn_link::kinds::reorder;
use sojourn_link::{ImpairmentConfig, Impairments};
use sojourn_net::{Delivery, LinkConfig, LinkObserver, Network, NetworkBuilder, RouteId, Sink, Turn, Window};
use sojourn_spec::link::Link;
use sojourn_units::{Duration, Time};

#[derive(Default, Debug)]
struct Numbered(u32);

impl sojourn_aqm::Packet for Numbered {
    fn size(&self) -> u32 {
        100
    }
    fn flow(&self) -> u32 {
        0
    }
    fn can_mark(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
}

impl sojourn_net::Packet for Numbered {}

/// The numbers of packets in the order of their arrival.
#[derive(Default)]
struct Arrived(Vec<u32>);

impl LinkObserver<Numbered> for Arrived {}

impl Sink<Numbered> for Arrived {
    fn on_deliver(&mut self, _: Time, packet: Numbered) {
        self.0.push(packet.0);
    }
}

impl Arrived {
    /// The extents of reordered packets (rfc4737#4.2.1): of each that comes after one with a higher number, how many places before it
    /// the first such packet came.
    fn extents(&self) -> Vec<usize> {
        let reordered = |&(at, number): &(usize, &u32)| self.0[..at].iter().any(|earlier| earlier > number);
        let extent = |(at, number): (usize, &u32)| at - self.0[..at].iter().position(|earlier| earlier > number).unwrap();
        self.0.iter().enumerate().filter(reordered).map(extent).collect()
    }
}

const SENT: u32 = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A link that only delays.
fn link(delay_ms: u64, impairments: &[ImpairmentConfig]) -> LinkConfig {
    let name = format!("{delay_ms} ms");
    let impairments = Impairments::new(impairments, 1, &name);
    let planned = Link { name, delay: ms(delay_ms), ..Link::default() };
    LinkConfig { impairments, ..LinkConfig::new(planned, QueueController::passing()) }
}

/// What arrives of packets that are sent on the route each millisecond.
fn arrived(make: impl Fn(&mut NetworkBuilder) -> RouteId) -> Arrived {
    let until = Time::ZERO + Duration::from_secs(2);
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until });
    let route = make(&mut builder);
    let (mut network, mut arrived): (Network<Numbered>, _) = (builder.build(), Arrived::default());
    for number in 0..SENT {
        let now = Time::ZERO + ms(u64::from(number));
        network.advance(now, &mut arrived);
        assert!(network.send(now, route, Numbered(number), &mut arrived).is_none());
    }
    network.advance(until, &mut arrived);
    assert_eq!(arrived.0.len() as u32, SENT);
    arrived
}

#[test]
fn on_two_paths_in_turn_each_packet_of_the_longer_one_is_reordered_by_the_difference_of_their_delays() {
    for longer in [2, 8, 20] {
        let extents = arrived(|builder| {
            let paths = [5 + longer, 5].map(|delay| vec![builder.add_link(link(delay, &[]))]);
            builder.add_choice(&paths, Turn::Packets, false, 0).unwrap()
        })
        .extents();
        // The packet after one on the longer path comes `longer - 1` ms before it, and one comes each millisecond, but at the start and the end,
        // where those of one path are alone.
        let all = extents.iter().filter(|&&extent| extent as u64 == longer - 1).count() as u32;
        assert_eq!(extents.len() as u32, SENT / 2, "{longer} ms");
        assert!(all >= SENT / 2 - 2 * longer as u32 && extents.iter().all(|&extent| extent < longer as usize), "{longer} ms: {extents:?}");
    }
}

#[test]
fn a_packet_that_an_impairment_delays_is_reordered_by_as_many_packets_as_come_in_that_time() {
    let by_gap = reorder::Params { by: Duration::from_nanos(4_500_000), probability: 1.0, gap: 10 };
    let extents = arrived(|builder| {
        let links = [builder.add_link(link(5, &[by_gap.clone().into()]))];
        builder.add_route(&links, Delivery::Deferred, false).unwrap()
    })
    .extents();
    // One in ten, each overtaken by the four packets of 4.5 ms.
    assert!(extents.len().abs_diff(SENT as usize / 10) <= 1 && extents.iter().all(|&extent| extent == 4), "{extents:?}");
}
