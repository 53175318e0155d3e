//! A receiver that bounds its sender (rLEDBAT, RFC 9840), over real queues.

use crate::watch::Watch;
use sojourn_aqm::{Amount, AnyAqm, QueueController};
use sojourn_cc::CcConfig;
use sojourn_sim::tcp::TcpOptions;
use sojourn_sim::{LinkConfig, Observer, Packet, World, WorldConfig, flag};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::Link as PlannedLink;
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, Rate, Stream, Time};
use std::cell::RefCell;
use std::rc::Rc;

const RATE: u64 = 10_000_000;
const MSS: u64 = 1448;

/// The right edge that ACKs of the first flow advertised, and whether it ever moved back.
#[derive(Clone, Default)]
struct Edges {
    edge: u64,
    windows: Vec<u16>,
    moved_back: usize,
}

impl Observer for Edges {
    fn on_send(&mut self, _: Time, packet: &Packet) {
        if packet.flow != 0 || !packet.has(flag::ACK | flag::BACK) {
            return;
        }
        let edge = packet.seq + u64::from(packet.window) * MSS;
        self.moved_back += usize::from(edge < self.edge);
        self.edge = edge;
        self.windows.push(packet.window);
    }
}

/// Two flows for 60 s over a queue of `limit` packets and 40 ms each way.
/// The second is CUBIC, from 30 s on.
fn run(params: TcpOptions, limit: u32, both: bool) -> (World<Watch>, Rc<RefCell<Edges>>) {
    let link = |name: &str| {
        LinkConfig::new(
            PlannedLink { name: name.into(), rate: Rate::from_bps(RATE), delay: Duration::from_millis(20), ..PlannedLink::default() },
            QueueController::new(
                AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail),
                Amount::Packets(limit),
                false,
                Stream::named(1, name),
            ),
        )
    };
    let flow = |i: u32| Flow {
        name: format!("f/{i}"),
        group: i,
        forward: vec![0],
        back: vec![1],
        paths: None,
        stack: Some(i),
        traffic: Traffic::default(),
        host: None,
        start: Time::from_secs_f64(30.0 * f64::from(i)),
        stop: Time::NEVER,
    };
    let config = WorldConfig {
        seed: 1,
        end: Time::from_secs_f64(60.0),
        warmup: Time::from_secs_f64(if both { 40.0 } else { 10.0 }),
        links: vec![link("there"), link("back")],
        stacks: vec![params, TcpOptions { control: CcConfig::Cubic(Default::default()), ..TcpOptions::linux() }],
        flows: (0..1 + u32::from(both)).map(flow).collect(),
        ..Default::default()
    };
    let edges = Rc::new(RefCell::new(Edges::default()));
    let mut world = World::watched(config, Watch::of(&edges)).unwrap();
    world.finish().unwrap();
    (world, edges)
}

fn at_the_receiver() -> TcpOptions {
    TcpOptions { control: CcConfig::RLedbat(Default::default()), delayed_ack: None, ..TcpOptions::linux() }
}

#[test]
fn alone_it_fills_the_link_and_keeps_packets_waiting_for_its_target() {
    let (world, _) = run(at_the_receiver(), 200, false);
    let stats = world.links()[0].stats();
    let carried = world.links()[0].utilization().unwrap();
    assert!(carried > 0.85, "{carried}");
    // LEDBAT++'s target of 60 ms is a maximum, because of its slowdowns; CUBIC alone keeps the queue at 200 packets, 240 ms.
    let wait = stats.wait.mean();
    assert!((0.03..0.065).contains(&wait), "{wait}");
    assert_eq!(stats.counters.dropped_tail, 0);
}

#[test]
fn beside_an_ordinary_flow_it_shrinks_to_its_least_window() {
    let (world, edges) = run(at_the_receiver(), 100, true);
    let received: Vec<u64> = world.flows().map(|flow| flow.stats.received).collect();
    assert!(received[0] * 10 < received[1], "{received:?}");
    assert!(edges.borrow().windows.iter().all(|&window| window >= 2), "never closed");
}

#[test]
fn the_right_edge_never_moves_back_whatever_is_lost_or_delayed() {
    for (delayed_ack, limit) in [(None, 100), (None, 8), (Some(Duration::from_millis(40)), 100), (Some(Duration::from_millis(40)), 8)] {
        let (_, edges) = run(TcpOptions { delayed_ack, ack_every: 4, ..at_the_receiver() }, limit, true);
        let edges = edges.borrow();
        assert_eq!(edges.moved_back, 0);
        let (least, most) = (edges.windows.iter().min().unwrap(), edges.windows.iter().max().unwrap());
        assert!(*least < *most / 3, "the window moved: {least} to {most}");
    }
}

#[test]
fn the_offset_between_the_clocks_changes_nothing_for_round_trips() {
    let of = |clock_offset| run(TcpOptions { clock_offset, ..at_the_receiver() }, 100, true).0.fingerprint();
    assert_eq!(of(0), of(3_600_000_000_000));
}
