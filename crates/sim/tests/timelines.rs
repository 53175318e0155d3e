//! Packet for packet as ns-2.35: retransmissions of one flow, and drops of a shared buffer.
//! One flow loses packets at given positions and sends what ns-2 sends then. Flows that share a buffer lose the same packets.
//!
//! The files in `conformance/oracles/ns2/stored/timelines` contain the agent, the duration, the lost transmissions (counted from 0) and the
//! sent packets in order. Those in `stored/shared-buffer` contain the starts of flows, their links, and the dropped packets of each flow in
//! order. `python -m conformance.oracles.ns2.timelines` makes them.

use crate::watch::Watch;
use sojourn_aqm::{Amount, AnyAqm, Aqm, ArrivalVerdict, Backlog, PacketView, QueueController};
use sojourn_cc::{
    CcConfig,
    algorithms::{cubic, tcp_lp},
};
use sojourn_sim::tcp::{Handshake, Recovery, SackAlgorithm, TcpOptions};
use sojourn_sim::{DropCause, LinkConfig, Observer, Packet, World, WorldConfig, flag};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{Link as PlannedLink, Measure};
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, Rate, Stream, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// Loses the transmissions of a list.
#[derive(Clone)]
struct Lossy {
    lost: Vec<u64>,
    seen: u64,
}

impl Aqm for Lossy {
    fn on_enqueue(&mut self, _: &PacketView, _: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        self.seen += 1;
        if self.lost.binary_search(&(self.seen - 1)).is_ok() { ArrivalVerdict::Drop } else { ArrivalVerdict::Pass }
    }
}

/// The sent packets in ns-2's numbering: a SYN is packet 0.
#[derive(Default)]
struct Sent {
    mss: u64,
    first: u64,
    packets: Vec<u64>,
}

impl Observer for Sent {
    fn on_send(&mut self, _: Time, packet: &Packet) {
        if !packet.has(flag::BACK) {
            let number = if packet.has(flag::SYN) { 0 } else { packet.seq / self.mss + self.first };
            self.packets.push(number);
        }
    }
}

fn agent(name: &str) -> TcpOptions {
    let mut tcp = match name {
        "linux-reno" | "linux-cubic" | "linux-lp" => TcpOptions { handshake: Handshake::None, ..TcpOptions::ns2_linux() },
        // A fine clock, because ns-2 draws the offset of its clock within a tick.
        _ => TcpOptions { handshake: Handshake::OneWay, tick: Duration::from_micros(100), ..TcpOptions::ns2() },
    };
    match name {
        "reno" => tcp.recovery = Recovery::Reno,
        "newreno" => tcp.recovery = Recovery::NewReno,
        "tahoe" => tcp.recovery = Recovery::Tahoe,
        "linux-lp" => {
            let mut params = tcp_lp::Params::default();
            params.variant = tcp_lp::Variant::Linux;
            tcp.control = CcConfig::TcpLp(params);
        }
        "linux-cubic" => {
            let mut params = cubic::Params::default();
            params.version = Some(cubic::Version::V21);
            tcp.control = CcConfig::Cubic(params);
        }
        _ => tcp.recovery = Recovery::Sack,
    }
    TcpOptions { mss: 1460, header: 40, window: 100_000, initial_ssthresh: 100_000.0, ..tcp }
}

fn link(name: &str, megabits: u64, lost: Vec<u64>) -> LinkConfig {
    let aqm = AnyAqm::Custom(Box::new(Lossy { lost, seen: 0 }));
    LinkConfig::new(
        PlannedLink {
            name: name.into(),
            rate: Rate::from_bps(megabits * 1_000_000),
            delay: Duration::from_micros(53_370),
            measure: Measure::Moments,
            ..PlannedLink::default()
        },
        QueueController::new(aqm, Amount::Packets(1_000_000), false, Stream::named(1, name)),
    )
}

fn send(name: &str, seconds: f64, lost: Vec<u64>) -> Vec<u64> {
    let tcp = agent(name);
    let sent = Sent { mss: u64::from(tcp.mss), first: u64::from(tcp.handshake != Handshake::None), packets: Vec::new() };
    let config = WorldConfig {
        seed: 1,
        end: Time::ZERO + Duration::from_secs_f64(seconds),
        links: vec![link("there", 100, lost), link("back", 1_000_000, Vec::new())],
        stacks: vec![tcp],
        flows: vec![Flow {
            name: "flow".into(),
            group: 0,
            forward: vec![0],
            back: vec![1],
            paths: None,
            stack: Some(0),
            traffic: Traffic::default(),
            host: None,
            // Not at whole milliseconds, which TCP-Linux's clock counts.
            start: Time::from_nanos(37_000),
            stop: Time::NEVER,
        }]
        .into(),
        ..Default::default()
    };
    let sent = Rc::new(RefCell::new(sent));
    World::watched(config, Watch::of(&sent)).unwrap().finish().unwrap();
    sent.take().packets
}

/// The drops of a queue: flow and packet in ns-2's numbering.
#[derive(Default)]
struct Dropped {
    mss: u64,
    first: u64,
    packets: Vec<(u32, u64)>,
}

impl Observer for Dropped {
    fn on_drop(&mut self, _: Time, _: u32, _: DropCause, packet: &Packet) {
        self.packets.push((packet.flow, if packet.has(flag::SYN) { 0 } else { packet.seq / self.mss + self.first }));
    }
}

/// Flows that start at given times in us and share a link.
/// Each has its own access links at either end.
struct SharedQueue {
    starts: Vec<u64>,
    rate: u64,
    access: u64,
    limit: u32,
}

impl SharedQueue {
    fn link(&self, name: String, rate: u64, microseconds: u64, limit: u32) -> LinkConfig {
        let aqm = AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail);
        let controller = QueueController::new(aqm, Amount::Packets(limit), false, Stream::named(1, &name));
        let (rate, delay) = (Rate::from_bps(rate), Duration::from_micros(microseconds));
        LinkConfig::new(PlannedLink { name, rate, delay, measure: Measure::Counts, ..PlannedLink::default() }, controller)
    }

    fn drops(&self, name: &str, seconds: f64) -> Vec<(u32, u64)> {
        let tcp = match agent(name) {
            linux if linux.sack_algorithm == SackAlgorithm::RateHalving => linux,
            classic => TcpOptions {
                mss: 1000,
                window: 128,
                initial_ssthresh: 128.0,
                min_rto: Duration::from_secs(1),
                initial_rto: Duration::from_secs(6),
                ..classic
            },
        };
        let first = u64::from(tcp.handshake != Handshake::None);
        let dropped = Dropped { mss: u64::from(tcp.mss), first, packets: Vec::new() };
        let shared = |name: &str, limit| {
            let mut config = self.link(name.into(), self.rate, 20_000, limit);
            config.link.measure = Measure::Moments;
            config
        };
        let mut links = vec![shared("there", self.limit), shared("back", 1000)];
        let mut flows = Vec::new();
        for (i, &start) in self.starts.iter().enumerate() {
            let own = links.len() as u32;
            let access_link = |part, delay| self.link(format!("{part}/{i}"), self.access, delay, 1_000_000);
            links.extend([access_link("in", 2370), access_link("out", 4000), access_link("in-back", 4000), access_link("out-back", 2370)]);
            flows.push(Flow {
                name: format!("flow/{i}"),
                group: 0,
                forward: vec![own, 0, own + 1],
                back: vec![own + 2, 1, own + 3],
                paths: None,
                stack: Some(0),
                traffic: Traffic::default(),
                host: None,
                start: Time::from_nanos(1000 * start),
                stop: Time::NEVER,
            });
        }
        let config = WorldConfig {
            seed: 1,
            end: Time::ZERO + Duration::from_secs_f64(seconds),
            links,
            stacks: vec![tcp],
            flows: flows.into(),
            ..Default::default()
        };
        let dropped = Rc::new(RefCell::new(dropped));
        World::watched(config, Watch::of(&dropped)).unwrap().finish().unwrap();
        dropped.take().packets
    }
}

/// The fields of each stored file of a kind.
fn stored(kind: &str) -> Vec<impl Fn(&str) -> String + use<>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/oracles/ns2/stored").join(kind);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let fields = files.map(|text| {
        move |name: &str| {
            let field = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            field.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
        }
    });
    fields.collect()
}

/// "3-5 4 6" as 3 4 5 4 6.
fn numbers(text: &str) -> Vec<u64> {
    let range = |word: &str| -> (u64, u64) {
        let (from, to) = word.split_once('-').unwrap_or((word, word));
        (from.parse().unwrap(), to.parse().unwrap())
    };
    text.split_whitespace().map(range).flat_map(|(from, to)| from..=to).collect()
}

#[test]
fn flows_that_share_a_buffer_lose_what_they_lose_in_ns2() {
    let cases = stored("shared-buffer");
    assert!(cases.len() >= 10, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for field in cases {
        let number = |name: &str| field(name).parse().unwrap();
        let shared = SharedQueue {
            starts: field("starts").split(' ').map(|start| start.parse().unwrap()).collect(),
            rate: number("rate"),
            access: number("access"),
            limit: number("limit") as u32,
        };
        let pair = |word: &str| word.split_once(':').map(|(flow, packet)| (flow.parse().unwrap(), packet.parse().unwrap())).unwrap();
        let theirs: Vec<(u32, u64)> = field("lost").split(' ').map(pair).collect();
        let ours = shared.drops(&field("agent"), number("seconds") as f64);
        let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        assert!(theirs.len() > 80, "{} losses say little", theirs.len());
        if same + 1 < theirs.len() || ours.len().abs_diff(theirs.len()) > 1 {
            wrong.push(format!(
                "{} {} flows at {} bit/s, {} packets: {} lost, in ns-2 {}, of which the first {same} are the same",
                field("agent"),
                shared.starts.len(),
                shared.rate,
                shared.limit,
                ours.len(),
                theirs.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_agents_send_what_ns2_sends() {
    let (mut played, mut wrong) = (0, Vec::new());
    for field in stored("timelines") {
        let (name, lost, theirs) = (field("agent"), numbers(&field("lost")), numbers(&field("sent")));
        let ours = send(&name, field("seconds").parse().unwrap(), lost.clone());
        let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        // The last round trip may lie on either side of the end.
        let end = theirs.len().saturating_sub(1);
        if same < end || ours.len().abs_diff(theirs.len()) > 1 {
            wrong.push(format!(
                "{name}: of {} packets the first {same} are the same, with {} lost; then ns-2 sends {:?}, we {:?}",
                theirs.len(),
                lost.partition_point(|&at| at < same as u64),
                &theirs[same..(same + 5).min(theirs.len())],
                &ours[same..(same + 5).min(ours.len())],
            ));
        }
        played += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played >= 5, "{played} timelines");
}
