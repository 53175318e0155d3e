//! A network driven by hand, with its own kind of packets, has the simulator's results.

use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_net::{Audit, Delivered, Delivery, Event, Network, NetworkBuilder, TimerClass, Window};
use sojourn_sim::{LinkConfig, World, WorldConfig};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{Link as PlannedLink, Measure};
use sojourn_traffic::{Action, Application, Model, Traffic, Write, kinds};
use sojourn_units::{Amount, Bytes, Duration, Rate, Stream, Time};

/// A packet with its bytes, which can't be copied.
#[derive(Clone, Default, Debug)]
struct Frame {
    bytes: Vec<u8>,
    source: u32,
}

impl sojourn_aqm::Packet for Frame {
    fn size(&self) -> u32 {
        self.bytes.len() as u32
    }
    fn flow(&self) -> u32 {
        self.source
    }
    fn can_mark(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
}

impl sojourn_net::Packet for Frame {}

const SOURCES: u32 = 5;
const WINDOW: Window = Window { from: Time::from_nanos(2_000_000_000), until: Time::from_nanos(20_000_000_000) };

fn link(name: String, aqm: &str, rate: u64, limit: u32, measure: Measure) -> LinkConfig {
    let (rate, delay) = (Rate::from_bps(rate).unwrap(), Duration::from_millis(3));
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == aqm).unwrap().default)();
    let aqm = config.build(&Link { rate, delay, mean_packet: 1000, limit_packets: limit }).unwrap();
    let controller = QueueController::new(aqm, Amount::Packets(limit), false, Stream::named(1, &name));
    LinkConfig::new(PlannedLink { name, rate: Some(rate), delay, measure, ..PlannedLink::default() }, controller)
}

/// A shared link, and an access link for each source.
/// Some have so little room that they drop too.
fn links(aqm: &str) -> Vec<LinkConfig> {
    let mut links = vec![link("shared".into(), aqm, 4_000_000, 40, Measure::All)];
    let access = |i| link(format!("access/{i}"), "droptail", 2_000_000 + 100_000 * i, 2 + i as u32, Measure::Counts);
    links.extend((0..u64::from(SOURCES)).map(access));
    links
}

fn traffic(source: u32) -> Traffic {
    let (rate, size) = (Rate::from_bps(1_000_000).unwrap(), Bytes(500 + 100 * u64::from(source)));
    match source % 2 {
        0 => Traffic::Cbr(kinds::cbr::Params { rate, size, jitter: 0.3 }),
        _ => Traffic::Poisson(kinds::poisson::Params { rate, size, sizes: kinds::poisson::Sizes::Exponential }),
    }
}

/// The results of the simulator for datagrams on the shared link.
fn simulated(aqm: &str) -> (Audit, String) {
    let flow = |source: u32| Flow {
        name: format!("f/{source}"),
        group: 0,
        forward: vec![1 + source, 0],
        back: Vec::new(),
        paths: None,
        stack: None,
        traffic: traffic(source),
        host: None,
        start: Time::from_secs_f64(0.1 * f64::from(source)),
        stop: Time::NEVER,
    };
    let config = WorldConfig {
        seed: 1,
        end: WINDOW.until,
        warmup: WINDOW.from,
        links: links(aqm),
        flows: (0..SOURCES).map(flow).collect(),
        ..Default::default()
    };
    let mut world = World::new(config).unwrap();
    let audit = world.finish().unwrap();
    (audit, format!("{:?}", world.links()[0].stats()))
}

/// The results of a network driven by hand, and the times of all deliveries.
/// The sources are timers in the network's calendar.
fn by_hand(aqm: &str) -> (Audit, String, Vec<Time>) {
    let mut builder = NetworkBuilder::new(WINDOW);
    links(aqm).into_iter().for_each(|link| _ = builder.add_link(link));
    let routes: Vec<_> = (0..SOURCES).map(|source| builder.add_route(&[1 + source, 0], Delivery::Deferred, false).unwrap()).collect();
    let mut network: Network<Frame> = builder.build();
    let mut sources: Vec<Application> = (0..SOURCES)
        .map(|source| {
            let Model::Flow(model) = traffic(source).model() else { unreachable!("datagrams") };
            let random = || Stream::named(1, &format!("flow/f/{source}/application"));
            Application::new(model, Time::from_secs_f64(0.1 * f64::from(source)), Time::NEVER, random)
        })
        .collect();
    for (source, application) in (0u32..).zip(&sources) {
        network.set_timer(application.due(), TimerClass(0), source, 0);
    }
    let mut delivered = Vec::new();
    while let Some(event) = network.next(Time::NEVER, &mut ()) {
        match event {
            Event::Delivery(Delivered { at, .. }) => delivered.push(at),
            Event::Timer { at, entity: source, .. } => {
                let application = &mut sources[source as usize];
                if let Action::Write(Write { bytes: Some(bytes), .. }) = application.act() {
                    let frame = Frame { bytes: vec![0; bytes as usize], source };
                    assert!(network.send(at, routes[source as usize], frame, &mut ()).is_none(), "deliveries are deferred");
                }
                network.set_timer(application.due(), TimerClass(0), source, 0);
            }
        }
    }
    let audit = network.finish(WINDOW.until).unwrap();
    (audit, format!("{:?}", network.links()[0].stats()), delivered)
}

#[test]
fn a_network_driven_by_hand_gives_the_figures_of_the_simulator() {
    // Precomputed, buffered, and a queue for each flow; the access links are of the third kind.
    for aqm in ["droptail", "red", "pie", "codel", "fq-codel"] {
        let (audit, stats) = simulated(aqm);
        let (by_hand_audit, by_hand_stats, delivered) = by_hand(aqm);
        assert!(audit.delivered > 8_000 && audit.dropped > 500, "{aqm}: {audit:?}");
        assert_eq!((by_hand_audit, by_hand_stats), (audit, stats), "{aqm}");
        assert!(delivered.is_sorted(), "{aqm}: deliveries come in the order of time");
        assert_eq!(delivered.len() as u64, audit.delivered, "{aqm}");
    }
}
