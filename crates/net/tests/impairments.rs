//! Impairments of a link: what they drop is counted by its cause and audited, whatever the queue, and wherever events are left out.

use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_link::{ImpairmentConfig, Impairments, Place, kinds::loss};
use sojourn_net::{Audit, Delivery, DropCause, LinkConfig, LinkObserver, Network, NetworkBuilder, Sink, Window};
use sojourn_spec::link::Link as PlannedLink;
use sojourn_units::{Amount, Duration, Rate, Stream, Time};

#[derive(Clone, Default, Debug)]
struct Datagram {
    flow: u32,
}

impl sojourn_aqm::Packet for Datagram {
    fn size(&self) -> u32 {
        1000
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn can_mark(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
}

impl sojourn_net::Packet for Datagram {}

/// Packets dropped for each cause, and those delivered.
#[derive(Default, Debug, PartialEq)]
struct Told {
    impaired: u64,
    queue: u64,
    delivered: Vec<(Time, u32)>,
}

impl LinkObserver<Datagram> for Told {
    fn on_drop(&mut self, _: Time, link: u32, cause: DropCause, _: Datagram) {
        assert_eq!(link, 0);
        match cause {
            DropCause::Impairment => self.impaired += 1,
            DropCause::Queue(_) => self.queue += 1,
        }
    }
}

impl Sink<Datagram> for Told {
    fn on_deliver(&mut self, now: Time, packet: Datagram) {
        self.delivered.push((now, packet.flow));
    }
}

/// What a run found.
#[derive(Debug, PartialEq)]
struct Found {
    told: Told,
    audit: Audit,
    arrived: u64,
    impaired: u64,
    stats: String,
}

/// Two flows with two links each for a link with losses, for 100 s at 1.25 times its rate.
fn run(aqm: &str, losses: &[(Place, f64)], all_events: bool) -> Found {
    let until = Time::ZERO + Duration::from_secs(101);
    let (rate, delay) = (Rate::from_bps(800_000).unwrap(), Duration::from_millis(10));
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == aqm).unwrap().default)();
    let aqm = config.build(&Link { rate, delay, mean_packet: 1000, limit_packets: 20 }).unwrap();
    let loss = |&(place, probability)| ImpairmentConfig { kind: loss::Params { probability }.into(), place };
    let losses: Vec<ImpairmentConfig> = losses.iter().map(loss).collect();
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until });
    builder.all_events(all_events);
    builder.add_link(LinkConfig {
        link: PlannedLink { name: "lossy".into(), rate: Some(rate), delay, ..PlannedLink::default() },
        controller: QueueController::new(aqm, Amount::Packets(20), false, Stream::named(1, "aqm")),
        impairments: Impairments::new(&losses, 1, "lossy"),
    });
    let routes = [0; 2].map(|link| builder.add_route(&[link], Delivery::Deferred, false).unwrap());
    let mut network: Network<Datagram> = builder.build();
    let mut told = Told::default();
    for number in 0..12_500u64 {
        let now = Time::ZERO + Duration::from_millis(8 * number);
        network.advance(now, &mut told);
        let flow = (number % 2) as u32;
        assert!(network.send(now, routes[flow as usize], Datagram { flow }, &mut told).is_none());
    }
    network.advance(until, &mut told);
    let audit = network.finish(until).unwrap();
    let stats = network.links()[0].stats();
    Found { told, audit, arrived: stats.counters.arrived, impaired: stats.impaired, stats: format!("{stats:?}") }
}

#[test]
fn losses_are_counted_by_their_cause_and_audited() {
    for aqm in ["droptail", "red", "codel"] {
        let none = run(aqm, &[], false);
        assert_eq!((none.told.impaired, none.impaired), (0, 0));
        let before = run(aqm, &[(Place::BeforeQueue, 0.1)], false);
        let after = run(aqm, &[(Place::AfterQueue, 0.1)], false);
        for found in [&before, &after] {
            assert_eq!(found.told.impaired, found.impaired, "{aqm}");
            assert_eq!(found.audit.dropped, found.told.impaired + found.told.queue, "{aqm}");
            assert_eq!(found.audit.delivered, found.told.delivered.len() as u64, "{aqm}");
            assert_eq!((found.audit.sent, found.audit.in_flight), (12_500, 0), "{aqm}");
        }
        // What is lost before the queue never arrives there; what is lost after it has been sent.
        assert_eq!(before.arrived + before.impaired, 12_500, "{aqm}");
        assert!((1_100..1_400).contains(&before.impaired), "{aqm}: {}", before.impaired);
        assert_eq!(after.arrived, 12_500, "{aqm}");
        assert_eq!(after.told.queue, none.told.queue, "{aqm}: the queue does not see what is lost after it");
        let sent = 12_500 - after.told.queue;
        assert!((sent / 12..sent / 8).contains(&after.impaired), "{aqm}: {} of {sent}", after.impaired);
    }
}

#[test]
fn an_event_at_every_hop_changes_nothing() {
    for aqm in ["red", "codel"] {
        let losses = [(Place::BeforeQueue, 0.02), (Place::AfterQueue, 0.05)];
        assert_eq!(run(aqm, &losses, false), run(aqm, &losses, true), "{aqm}");
    }
}
