//! The summary of a capture: flows, datagrams, and the load of its link in each direction.

use super::datagrams::Datagrams;
use super::file::{Damage, Format};
use super::flows::{Direction, Flow};
use super::headers::{Kind, Packet};
use super::load::{Load, STEP};
use super::order::{Arrival, Falls, Ordered};
use super::sides;
use super::unread::Unread;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Read;
use std::net::SocketAddr;

/// The averaging time of rates in tenths of a second.
const WINDOW: u64 = 10;
/// The maximum number of flows of a capture.
const MOST_FLOWS: usize = 100_000;

/// A number of packets and their bytes, including the link layer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// The number of packets.
    pub packets: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, packets: u64, bytes: u64) {
        (self.packets, self.bytes) = (self.packets + packets, self.bytes + bytes);
    }
}

/// The load of one direction of the link.
#[derive(Clone, Copy, Default, Debug)]
pub struct Carried {
    /// The rate of the interface in bit/s; 0 if unknown.
    pub speed: u64,
    /// The largest throughput over a second in bit/s, or over a shorter capture.
    /// Packets that a queue dropped are excluded, as far as ACKs reveal them.
    pub busiest: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The number of bytes of flows with most of their data in this direction.
    pub data: u64,
}

/// The summary of a capture.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The kind of file.
    pub format: Format,
    /// The time from the first packet to the last, in ns.
    pub span: u64,
    /// The count of all packets.
    pub all: Count,
    /// The counts of packets that are neither TCP nor UDP, by reason.
    pub unread: BTreeMap<Unread, Count>,
    /// The truncation of the file, if any.
    pub cut: Option<Damage>,
    /// Backward steps of times.
    pub falls: Falls,
    /// Mean link-layer bytes per packet.
    pub layer: u64,
    /// The TCP flows in the order of their first packets.
    pub flows: Vec<Flow>,
    /// The UDP flows in the order of their first packets.
    pub datagrams: Vec<Datagrams>,
    /// The load of the link from left to right, and back.
    pub link: [Carried; 2],
    /// The number of groups of flows whose side of the link is a guess.
    /// They have no relation to other flows.
    pub guesses: usize,
}

/// Reads a whole capture.
///
/// # Errors
/// The file is not a capture, is damaged, has backward steps of times too large to sort, or has too many flows.
pub fn summary(input: impl Read) -> Result<Summary, Damage> {
    let mut ordered = Ordered::new(input)?;
    let mut reading = Reading::default();
    while let Some(arrival) = ordered.next_arrival()? {
        reading.add(&arrival)?;
    }
    let Reading { mut all, mut unread, layer, mut flows, mut datagrams, span, .. } = reading;
    let (packets, bytes) = ordered.untimed;
    if packets > 0 {
        all.add(packets, bytes);
        unread.entry(Unread::Untimed).or_default().add(packets, bytes);
    }
    let guesses = sides::assign(&mut flows, &mut datagrams);
    let link = carried(&flows, &datagrams, &ordered.speeds(), span);
    let layer = (layer.bytes + layer.packets / 2).checked_div(layer.packets).unwrap_or(0);
    let (format, cut, falls) = (ordered.format(), ordered.cut().cloned(), ordered.falls);
    Ok(Summary { format, span, all, unread, cut, falls, layer, flows, datagrams, link, guesses })
}

/// A capture while it is being read.
#[derive(Default)]
struct Reading {
    first: Option<u64>,
    span: u64,
    all: Count,
    unread: BTreeMap<Unread, Count>,
    /// The number of packets read, and the bytes of their link layers.
    layer: Count,
    flows: Vec<Flow>,
    datagrams: Vec<Datagrams>,
    /// Indices of flows by their ends.
    tcp: HashMap<[SocketAddr; 2], usize>,
    udp: HashMap<[SocketAddr; 2], usize>,
}

impl Reading {
    fn add(&mut self, arrival: &Arrival) -> Result<(), Damage> {
        self.span = arrival.at - *self.first.get_or_insert(arrival.at);
        self.all.add(1, u64::from(arrival.length));
        let packet = match &arrival.read {
            Ok(packet) => packet,
            Err(reason) => {
                self.unread.entry(*reason).or_default().add(1, u64::from(arrival.length));
                return Ok(());
            }
        };
        self.layer.add(1, u64::from(packet.layer));
        let mut ends = [packet.source, packet.destination];
        ends.sort_unstable();
        if self.flows.len() + self.datagrams.len() >= MOST_FLOWS {
            return Err(Damage::at(arrival.place, format!("expected fewer than {MOST_FLOWS} flows, got another")));
        }
        self.count(packet, ends, arrival.interface);
        Ok(())
    }

    fn count(&mut self, packet: &Packet, ends: [SocketAddr; 2], interface: usize) {
        let at = self.span;
        match &packet.kind {
            Kind::Udp { opens_quic } => {
                let known = self.udp.get(&ends).copied();
                let flow = known.unwrap_or_else(|| {
                    self.datagrams.push(Datagrams::new(packet, *opens_quic));
                    self.datagrams.len() - 1
                });
                self.udp.insert(ends, flow);
                self.datagrams[flow].add(packet, at, interface);
            }
            Kind::Tcp(segment) => {
                let known = self.tcp.get(&ends).copied().filter(|&flow| !self.flows[flow].is_over(packet, segment));
                let flow = known.unwrap_or_else(|| {
                    self.flows.push(Flow::new(packet, segment, at));
                    self.flows.len() - 1
                });
                self.tcp.insert(ends, flow);
                self.flows[flow].add(packet, segment, at, interface);
            }
        }
    }
}

/// The offered and delivered load of a flow's direction.
struct FlowLoad<'a> {
    /// The index of the direction in [`Summary::link`].
    direction: usize,
    /// Whether it is data.
    data: bool,
    load: &'a Load,
    /// Delivered payload, and link bytes per payload byte; `None` without ACKs.
    delivered: Option<(&'a Load, f64)>,
}

fn of_flow(flow: &Flow) -> [FlowLoad<'_>; 2] {
    let main = flow.data();
    [0, 1].map(|way| {
        let Direction { load, delivered, sent, .. } = &flow.ways[way];
        let known = way == main && !delivered.load.tenths.is_empty();
        let delivered = known.then(|| (&delivered.load, load.bytes() as f64 / *sent as f64));
        FlowLoad { direction: usize::from(flow.left == (way == 1)), data: way == main, load, delivered }
    })
}

fn of_datagrams(flow: &Datagrams) -> [FlowLoad<'_>; 2] {
    let direction = |way| usize::from(flow.left == (way == 1));
    [0, 1].map(|way| FlowLoad { direction: direction(way), data: true, load: &flow.ways[way].load, delivered: None })
}

/// The load of each direction, at the interface that sees most of it.
fn carried(flows: &[Flow], datagrams: &[Datagrams], speeds: &[u64], span: u64) -> [Carried; 2] {
    let mut link = [Carried::default(); 2];
    // Per direction, interface and tenth of a second: offered and delivered bytes.
    let mut tenths: HashMap<(usize, usize), BTreeMap<u64, [f64; 2]>> = HashMap::new();
    for FlowLoad { direction, data, load, delivered } in flows.iter().flat_map(of_flow).chain(datagrams.iter().flat_map(of_datagrams)) {
        let bytes = load.bytes();
        link[direction].bytes += bytes;
        link[direction].data += if data { bytes } else { 0 };
        let sums = tenths.entry((direction, load.interface.unwrap_or(0))).or_default();
        let (out, factor) = delivered.unwrap_or((load, 1.0));
        for (kind, load, factor) in [(0, load, 1.0), (1, out, factor)] {
            load.tenths.iter().for_each(|(tenth, bytes)| sums.entry(*tenth).or_default()[kind] += *bytes as f64 * factor);
        }
    }
    let time = span.clamp(1_000_000, WINDOW * STEP) as f64 / 1e9;
    for ((direction, interface), sums) in tenths {
        let [came, delivered] = busiest(&sums);
        let rate = (came.min(delivered) * 8.0 / time) as u64;
        let speed = speeds.get(interface).copied().unwrap_or(0);
        let carried = &mut link[direction];
        (carried.busiest, carried.speed) = (rate, speed).max((carried.busiest, carried.speed));
    }
    link
}

/// The maximum within a second, of offered and of delivered bytes.
fn busiest(tenths: &BTreeMap<u64, [f64; 2]>) -> [f64; 2] {
    let (mut within, mut sum, mut most) = (VecDeque::new(), [0.0; 2], [0.0f64; 2]);
    for (&tenth, &bytes) in tenths {
        while let Some(&(_, gone)) = within.front().filter(|(first, _): &&(u64, [f64; 2])| *first + WINDOW <= tenth) {
            sum = [0, 1].map(|kind| sum[kind] - gone[kind]);
            within.pop_front();
        }
        within.push_back((tenth, bytes));
        sum = [0, 1].map(|kind| sum[kind] + bytes[kind]);
        most = [0, 1].map(|kind| most[kind].max(sum[kind]));
    }
    most
}
