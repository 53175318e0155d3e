//! A host that is only told what happens: every packet comes back, delivered or dropped, and deliveries are in the order of time.

use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_net::{Audit, Delivery, DropCause, LinkConfig, LinkObserver, Network, NetworkBuilder, RouteId, Sink, UnknownLink, Window};
use sojourn_spec::link::{Link as PlannedLink, Measure};
use sojourn_units::{Amount, Duration, Rate, Stream, Time};

/// A packet as a host of bytes would have it.
#[derive(Default, Debug)]
struct Frame {
    bytes: Vec<u8>,
    flow: u32,
    number: u32,
    marked: bool,
}

impl sojourn_aqm::Packet for Frame {
    fn size(&self) -> u32 {
        self.bytes.len() as u32
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn can_mark(&self) -> bool {
        self.flow == 0
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

impl sojourn_net::Packet for Frame {}

#[derive(Default)]
struct Told {
    delivered: Vec<(Time, Frame)>,
    dropped: Vec<(Time, u32, Frame)>,
    marks: u64,
}

impl LinkObserver<Frame> for Told {
    fn on_drop(&mut self, now: Time, link: u32, _: DropCause, packet: Frame) {
        self.dropped.push((now, link, packet));
    }
    fn on_mark(&mut self, _: Time, link: u32, flow: u32) {
        assert_eq!((link, flow), (SHARED, 0), "only flow 0 can be marked");
        self.marks += 1;
    }
}

impl Sink<Frame> for Told {
    fn on_deliver(&mut self, now: Time, packet: Frame) {
        self.delivered.push((now, packet));
    }
}

/// The number of the shared link: it is added after the access links.
const SHARED: u32 = 2;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn link(name: &str, aqm: &str, rate: u64, limit: u32) -> LinkConfig {
    let rate = Rate::from_bps(rate).unwrap();
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == aqm).unwrap().default)();
    let aqm = config.build(&Link { rate, delay: ms(5), mean_packet: 1000, limit_packets: limit }).unwrap();
    LinkConfig::new(
        PlannedLink {
            name: name.into(),
            rate: Some(rate),
            delay: ms(5),
            measure: if name == "shared" { Measure::All } else { Measure::Counts },
            ..PlannedLink::default()
        },
        QueueController::new(aqm, Amount::Packets(limit), true, Stream::named(1, name)),
    )
}

/// Two flows with access links of their own to a shared link.
fn network(aqm: &str, until: Time) -> (Network<Frame>, [RouteId; 2]) {
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until });
    for (name, limit) in [("access/0", 100), ("access/1", 3)] {
        builder.add_link(link(name, "droptail", 10_000_000, limit));
    }
    assert_eq!(builder.add_link(link("shared", aqm, 2_000_000, 50)), SHARED);
    assert_eq!(builder.add_route(&[0, 7], Delivery::Deferred, false), Err(UnknownLink(7)));
    let routes = [0, 1].map(|access| builder.add_route(&[access, SHARED], Delivery::Deferred, false).unwrap());
    (builder.build(), routes)
}

/// Sends bursts of ten packets of each flow every 20 ms for 5 s: twice what the shared link carries.
fn run(aqm: &str) -> (Told, Audit, u64) {
    let until = Time::ZERO + Duration::from_secs(10);
    let (mut network, routes) = network(aqm, until);
    let mut told = Told::default();
    let mut number = 0;
    for burst in 0..250 {
        let now = Time::ZERO + ms(20 * burst);
        network.advance(now, &mut told);
        for flow in (0..2).flat_map(|flow| [flow; 10]) {
            let frame = Frame { bytes: vec![0; 500], flow, number, marked: false };
            assert!(network.send(now, routes[flow as usize], frame, &mut told).is_none());
            number += 1;
        }
        assert!(network.next_event().is_some_and(|next| next >= now));
    }
    network.advance(until, &mut told);
    assert_eq!(network.next_event(), None, "five seconds empty the network");
    let audit = network.finish(until).unwrap();
    let marked = network.links()[0].counters().marked;
    (told, audit, marked)
}

#[test]
fn every_packet_comes_back_and_deliveries_are_in_the_order_of_time() {
    for aqm in ["droptail", "red", "codel", "fq-codel"] {
        let (told, audit, marked) = run(aqm);
        assert_eq!((audit.sent, audit.in_flight), (5_000, 0), "{aqm}");
        assert_eq!((told.delivered.len() as u64, told.dropped.len() as u64), (audit.delivered, audit.dropped), "{aqm}");
        assert!(told.delivered.is_sorted_by_key(|(at, _)| *at), "{aqm}");
        let mut numbers: Vec<u32> = told.delivered.iter().map(|(_, frame)| frame.number).collect();
        numbers.extend(told.dropped.iter().map(|(_, _, frame)| frame.number));
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..5_000), "{aqm}: each packet comes back once");
        for link in [1, SHARED] {
            assert!(told.dropped.iter().any(|&(_, dropped_at, _)| dropped_at == link), "{aqm}: link {link} drops");
        }
        let delivered_marked = told.delivered.iter().filter(|(_, frame)| frame.marked).count() as u64;
        assert!(delivered_marked <= marked, "{aqm}");
        assert_eq!((told.marks, marked > 0), (marked, aqm != "droptail"), "{aqm}");
    }
}
