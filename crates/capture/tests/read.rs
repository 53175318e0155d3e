//! Captures of any program are read correctly.
//! The tests use random flows in random link layers, with unordered times.

use proptest::prelude::*;
use sojourn_capture::read::{Flow, Summary, Unread, segments, summary};
use sojourn_capture::wire::{self, Endpoint, Ip, Tcp, flag};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// A packet of a file: its time in ns, its bytes, and its length.
#[derive(Clone, Debug)]
struct Captured {
    at: u64,
    bytes: Vec<u8>,
    length: u32,
}

/// A classic file with times in ns.
fn pcap(link_type: u32, packets: &[Captured]) -> Vec<u8> {
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = numbers(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, link_type]);
    for Captured { at, bytes, length } in packets {
        file.extend(numbers(&[(1_000_000_000 + at / SECOND) as u32, (at % SECOND) as u32, bytes.len() as u32, *length]));
        file.extend(bytes);
    }
    file
}

fn read(link_type: u32, packets: &[Captured]) -> Summary {
    summary(pcap(link_type, packets).as_slice()).unwrap()
}

/// Link types, the bytes before an IPv4 packet, and how many of them a link carries.
const LAYERS: [(u32, &[u8], u32); 12] = [
    (101, &[], 0),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], 14),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0], 18),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x91, 0, 0, 7, 0x81, 0, 0, 8, 8, 0], 22),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0], 22),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21], 22),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x47, 0, 1, 0, 64, 0, 1, 1, 64], 22),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 50, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], 22),
    (0, &[2, 0, 0, 0], 0),
    (113, &[0, 3, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], 0),
    (276, &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 3, 6, 0, 0, 0, 0, 0, 0, 0, 0], 0),
    (9, &[0xff, 3, 0, 0x21], 4),
];

/// A connection of `segments` full segments over a path of `rtt` ns.
/// The capture is at the sender.
#[derive(Clone, Copy, Debug)]
struct Case {
    start: u64,
    rtt: u64,
    segments: u32,
    upward: bool,
}

const PAYLOAD: u32 = 1448;

impl Case {
    /// The packets: the handshake, then a segment and its ACK every 5 ms.
    fn packets(&self, number: u8, layer: &[u8]) -> Vec<Captured> {
        let (client, server) = (
            Endpoint { address: [192, 0, 2, 1], port: 40_000 + u16::from(number) },
            Endpoint { address: [198, 51, 100, number], port: 80 },
        );
        let mut packets = Vec::new();
        let mut add = |at: u64, source: Endpoint, destination: Endpoint, tcp: Tcp<'_>, payload: u32| {
            let ip = Ip { source, destination, dscp: 0, ecn: 0, id: 0 };
            let headers = wire::tcp(&ip, &tcp, payload);
            packets.push(Captured {
                at: self.start + at,
                bytes: [layer, headers.bytes()].concat(),
                length: layer.len() as u32 + headers.length,
            });
        };
        let tcp = |seq: u32, ack: u32, flags: u16| Tcp {
            seq,
            ack,
            flags,
            window: 1000,
            mss: Some(1460).filter(|_| flags & flag::SYN > 0),
            ..Tcp::default()
        };
        add(0, client, server, tcp(u32::MAX, 0, flag::SYN), 0);
        add(self.rtt, server, client, tcp(99, 0, flag::SYN | flag::ACK), 0);
        add(self.rtt + 1000, client, server, tcp(0, 100, flag::ACK), 0);
        let (sender, receiver, begin, other) = if self.upward { (client, server, 0, 100) } else { (server, client, 100, 0) };
        for segment in 0..self.segments {
            let (at, seq) = (self.rtt + 5 * MS * u64::from(segment + 1), begin + segment * PAYLOAD);
            add(at, sender, receiver, tcp(seq, other, flag::ACK), PAYLOAD);
            add(at + self.rtt, receiver, sender, tcp(other, seq + PAYLOAD, flag::ACK), 0);
        }
        packets
    }
}

fn data(flow: &Flow) -> (u64, bool) {
    (flow.ways[flow.data()].bytes, flow.data() == 0)
}

fn case() -> impl Strategy<Value = Case> {
    (0..2 * SECOND, 1..200u64, 1..200u32, any::<bool>()).prop_map(|(start, rtt, segments, upward)| Case {
        start,
        rtt: rtt * MS,
        segments,
        upward,
    })
}

proptest! {
    /// Tests bytes, directions and round trips of random flows in any link layer.
    /// Times step back by up to 1 ms.
    #[test]
    fn flows_are_read_as_they_were_written(
        cases in prop::collection::vec(case(), 1..8),
        layer in 0..LAYERS.len(),
        late in prop::collection::vec(0..MS, 64),
    ) {
        let (link_type, layer, carried) = LAYERS[layer];
        let mut packets: Vec<Captured> = cases.iter().zip(1..).flat_map(|(case, number)| case.packets(number, layer)).collect();
        // Each packet is written up to 1 ms late.
        let mut order: Vec<usize> = (0..packets.len()).collect();
        order.sort_by_key(|&packet| packets[packet].at + late[packet % late.len()]);
        packets = order.iter().map(|&packet| packets[packet].clone()).collect();
        let found = read(link_type, &packets);
        prop_assert_eq!((found.flows.len(), found.all.packets, found.unread.len()), (cases.len(), packets.len() as u64, 0));
        prop_assert_eq!(found.layer, u64::from(carried));
        prop_assert!(found.falls.most <= MS);
        for case in &cases {
            let flow = found.flows.iter().find(|flow| flow.rtt().is_some_and(|rtt| rtt.abs_diff(case.rtt) <= 1000) && data(flow) == (u64::from(case.segments * PAYLOAD), case.upward));
            prop_assert!(flow.is_some(), "{:?} of {:?}", case, found.flows);
        }
        // The load of each direction: at most 5 ms per segment and flow, plus one round trip in a short capture.
        let bytes = |upward: bool| cases.iter().filter(|case| case.upward == upward).map(|case| u64::from(case.segments) * u64::from(PAYLOAD + 40 + carried)).sum::<u64>();
        let sums = [bytes(true), bytes(false)];
        let link = found.link.map(|way| way.data);
        let acks = packets.len() as u64 * u64::from(44 + carried);
        prop_assert!((sums[0]..=sums[0] + acks).contains(&link[0]) && (sums[1]..=sums[1] + acks).contains(&link[1])
            || (sums[1]..=sums[1] + acks).contains(&link[0]) && (sums[0]..=sums[0] + acks).contains(&link[1]), "{:?} {:?}", sums, link);
    }

    /// Tests that a file that ends anywhere contains the packets before its end.
    #[test]
    fn a_cut_file_is_read_up_to_the_cut(case in case(), end in 24usize..20_000) {
        let whole = pcap(101, &case.packets(1, &[]));
        let cut = &whole[..end.min(whole.len())];
        let found = summary(cut).unwrap();
        let mut at = 24;
        let mut packets = 0;
        while let Some(size) = cut.get(at + 8..at + 12).map(|size| u32::from_le_bytes(size.try_into().unwrap()) as usize) {
            at += 16 + size;
            packets += u64::from(at <= cut.len());
        }
        prop_assert_eq!((found.all.packets, found.cut.is_some()), (packets, at > cut.len() || cut.len() - at.min(cut.len()) > 0));
    }
}

/// Tests the second after slow start, with 20 Mbit/s for a link of 10 Mbit/s.
/// The link drops every second segment. They are retransmitted in the next second.
#[test]
fn a_rate_is_what_acks_report_without_what_a_queue_dropped() {
    const GAP: u64 = 595_200;
    let mut packets = Case { start: 0, rtt: 20 * MS, segments: 0, upward: true }.packets(1, &[]);
    let (client, server) = (Endpoint { address: [192, 0, 2, 1], port: 40_001 }, Endpoint { address: [198, 51, 100, 1], port: 80 });
    let mut add = |at: u64, source: Endpoint, destination: Endpoint, (seq, ack): (u32, u32), payload: u32| {
        let ip = Ip { source, destination, dscp: 0, ecn: 0, id: 0 };
        let headers = wire::tcp(&ip, &Tcp { seq, ack, flags: flag::ACK, ..Tcp::default() }, payload);
        packets.push(Captured { at, bytes: headers.bytes().to_vec(), length: headers.length });
    };
    for segment in 0..1680u32 {
        let at = 30 * MS + u64::from(segment) * GAP;
        add(at, client, server, (segment * PAYLOAD, 100), PAYLOAD);
        if segment % 2 == 0 {
            add(at + 20 * MS, server, client, (100, PAYLOAD), 0);
        } else {
            add(at + SECOND, client, server, (segment * PAYLOAD, 100), PAYLOAD);
            add(at + SECOND + 20 * MS, server, client, (100, (segment + 2).min(1680) * PAYLOAD), 0);
        }
    }
    packets.sort_by_key(|packet| packet.at);
    // 1,488 B in 1.19 ms.
    let found = read(101, &packets);
    assert!(found.link[0].busiest.abs_diff(10_000_000) < 300_000, "{:?}", found.link);
}

#[test]
fn a_packet_that_is_not_read_is_counted_by_its_kind() {
    let frame = |kind: u16, rest: &[u8]| {
        let bytes = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind.to_be_bytes()[..], rest].concat();
        Captured { at: 0, length: bytes.len() as u32, bytes }
    };
    let ipv4 = |protocol: u8, offset: u8| {
        [&[0x45, 0, 0, 40, 0, 0, 0, offset, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[0; 20]].concat()
    };
    let cases = [
        (frame(0x88cc, &[0; 20]), Unread::EtherType(0x88cc), "EtherType 0x88cc (LLDP)"),
        (frame(0x8847, &[0, 1, 1, 64, 0x10]), Unread::EtherType(0x8847), "EtherType 0x8847 (MPLS without IP)"),
        (frame(0x8864, &[0x11, 0, 0, 1, 0, 0, 0xc0, 0x21]), Unread::Ppp(0xc021), "PPP protocol 0xc021"),
        (frame(0x0800, &ipv4(1, 0)), Unread::Protocol(1), "IP protocol 1 (ICMP)"),
        (frame(0x0800, &ipv4(17, 9)), Unread::Fragment, "fragments without ports"),
        (frame(0x0800, &ipv4(6, 0)[..30]), Unread::Cut, "cut within the headers"),
        (frame(0x0800, &[0x75; 40]), Unread::Malformed, "malformed"),
        (frame(38, &[0x42, 0x42, 3]), Unread::Llc, "802.2 frames"),
    ];
    for (packet, reason, text) in cases {
        let found = read(1, &[packet]);
        assert_eq!(found.unread.keys().copied().collect::<Vec<_>>(), [reason]);
        assert_eq!(reason.to_string(), text);
    }
    let found = read(127, &[frame(0, &[])]);
    assert_eq!(found.unread.keys().map(ToString::to_string).collect::<Vec<_>>(), ["link type 127 (802.11 with a radiotap header)"]);
}

/// The header of IPv6 with extension headers, and a TCP header.
fn ipv6(length: u16, next: u8, extensions: &[u8]) -> Vec<u8> {
    let mut bytes = [&[0x60, 0, 0, 0], &length.to_be_bytes()[..], &[next, 64]].concat();
    bytes.extend([[0xfd; 16], [0xfe; 16]].concat());
    bytes.extend(extensions);
    bytes.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 16, 3, 0, 0, 0, 0, 0]);
    bytes
}

#[test]
fn lengths_of_ipv6_are_those_of_extension_headers_jumbograms_and_offload() {
    // Hop-by-hop with a jumbo payload option (rfc2675#2) after two bytes of padding; destination options; a first fragment.
    let jumbo = [6, 0, 0xc2, 4, 0, 1, 0x38, 0x9c];
    let options = [6, 0, 1, 4, 0, 0, 0, 0];
    let fragment = [6, 0, 0, 1, 0, 0, 0, 9];
    let routing_then_options = [60, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0];
    let cases = [
        (ipv6(20 + 1400, 6, &[]), 9999, 1400),
        (ipv6(28 + 1400, 60, &options), 9999, 1400),
        (ipv6(28 + 1400, 44, &fragment), 9999, 1400),
        (ipv6(36 + 1400, 43, &routing_then_options), 9999, 1400),
        (ipv6(0, 0, &jumbo), 40 + 80_028, 80_028 - 28),
        (ipv6(0, 6, &[]), 60 + 70_000, 70_000),
    ];
    for (bytes, length, payload) in cases {
        let found = read(101, &[Captured { at: 0, bytes: bytes.clone(), length }]);
        assert_eq!(found.flows.first().map(|flow| flow.ways[0].bytes), Some(payload), "{bytes:x?}");
    }
}

#[test]
fn a_total_length_of_0_means_the_rest_of_the_frame() {
    let case = Case { start: 0, rtt: 20 * MS, segments: 9, upward: true };
    let (link_type, layer, _) = LAYERS[2];
    let mut packets = case.packets(1, layer);
    let before = read(link_type, &packets);
    packets.iter_mut().filter(|packet| packet.length > 1000).for_each(|packet| packet.bytes[20..22].fill(0));
    let after = read(link_type, &packets);
    assert_eq!(data(&after.flows[0]), data(&before.flows[0]));
    assert_eq!(data(&after.flows[0]), (u64::from(9 * PAYLOAD), true));
}

/// A damaged record whose length is not that of its packet.
#[test]
fn a_length_that_no_link_layer_explains_is_that_of_the_ip_packet_and_its_headers() {
    let case = Case { start: 0, rtt: 20 * MS, segments: 9, upward: true };
    let (link_type, layer, carried) = LAYERS[1];
    let mut packets = case.packets(1, layer);
    let before = read(link_type, &packets);
    packets[4].length = u32::MAX;
    let after = read(link_type, &packets);
    assert_eq!((after.layer, before.layer), (u64::from(carried), u64::from(carried)));
    assert_eq!(data(&after.flows[0]), data(&before.flows[0]));
}

#[test]
fn the_segments_of_a_connection_have_their_direction_and_scaled_windows() {
    let ends = [Endpoint { address: [192, 0, 2, 1], port: 1 }, Endpoint { address: [192, 0, 2, 2], port: 2 }];
    let mut packets = Vec::new();
    let mut add = |way: usize, flags: u16, numbers: [u32; 2], window: u16, options: &[u8], payload: u32| {
        let [source, destination] = if way == 0 { ends } else { [ends[1], ends[0]] };
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0];
        bytes.extend(source.address.iter().chain(&destination.address));
        bytes.extend([source.port, destination.port].iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes.extend((((5 + options.len() as u16 / 4) << 12) | flags).to_be_bytes());
        bytes.extend(window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        let length = bytes.len() as u32 + payload;
        bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packets.push(Captured { at: packets.len() as u64 * MS, bytes, length });
    };
    add(0, flag::SYN, [7, 0], 100, &[3, 3, 2, 1], 0);
    add(1, flag::SYN | flag::ACK, [9, 8], 100, &[3, 3, 4, 1], 0);
    add(0, flag::ACK, [8, 10], 100, &[], 1000);
    add(1, flag::ACK, [10, 1008], 100, &[], 0);
    add(0, flag::SYN, [7_000, 0], 100, &[], 0);
    let file = pcap(101, &packets);
    let addresses = ends.map(|end| (end.address, end.port).into());
    let found = segments(file.as_slice(), addresses).unwrap();
    // A later connection between the same ends is left out.
    assert_eq!(found.iter().map(|each| each.forward).collect::<Vec<_>>(), [true, false, true, false]);
    // rfc7323#2.2: windows are scaled from the third segment on.
    assert_eq!(found.iter().map(|each| each.window).collect::<Vec<_>>(), [Some(100), Some(100), Some(400), Some(1600)]);
    assert_eq!((found[2].payload, found[3].ack, found[0].ack, found[3].at - found[0].at), (1000, Some(1008), None, 3 * MS));
    assert!(segments(file.as_slice(), [addresses[0]; 2]).unwrap().is_empty());
}
