//! Every file is rejected in one line, or its flows have times within the capture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_capture::read::{Summary, summary};

/// Link layers.
/// BSD loopback, Ethernet, PPP, raw IP, Cisco HDLC, both of Linux's, and an unknown one.
const LINK_TYPES: [u32; 10] = [0, 1, 9, 50, 51, 101, 104, 113, 276, 127];

// The bytes are a whole file, or the packets of a well-formed file.
fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let found = if first % 2 == 0 { summary(rest) } else { summary(packets(*first / 2, rest).as_slice()) };
    match found {
        Err(damage) => assert!(!damage.said.is_empty() && !damage.to_string().contains('\n'), "{damage:?}"),
        Ok(found) => in_bounds(&found),
    }
});

/// A pcap file of packets.
/// For each packet, two bytes determine its length and the microseconds since the previous one.
fn packets(link_type: u8, mut bytes: &[u8]) -> Vec<u8> {
    let link_type = LINK_TYPES[usize::from(link_type) % LINK_TYPES.len()];
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = numbers(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link_type]);
    let mut at = 0;
    while let Some(([later, length], rest)) = bytes.split_first_chunk() {
        let (packet, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        at += u32::from(*later);
        file.extend(numbers(&[1_000_000_000, at, packet.len() as u32, packet.len() as u32 + u32::from(*later)]));
        file.extend(packet);
        bytes = rest;
    }
    file
}

fn in_bounds(found: &Summary) {
    let mut packets: u64 = found.unread.values().map(|count| count.packets).sum();
    for flow in &found.flows {
        assert!(flow.start <= flow.last && flow.last <= found.span, "{flow:?}");
        assert!(flow.rtt().is_none_or(|rtt| rtt <= found.span.saturating_mul(2)), "{flow:?}");
        assert!(flow.waits().is_none_or(|waits| waits.usual <= waits.longest && waits.longest <= found.span), "{flow:?}");
        for way in &flow.ways {
            assert!(way.packets > 0 || way.bytes == 0, "{flow:?}");
            assert!(way.delivered.load.bytes() <= way.bytes, "{flow:?}");
            packets += way.packets;
        }
    }
    for flow in &found.datagrams {
        assert!(flow.ways.iter().all(|way| way.first <= way.last && way.last <= found.span), "{flow:?}");
        // Other interfaces contain the same datagrams.
        packets += flow.ways.iter().map(|way| way.packets).sum::<u64>();
    }
    assert!(packets <= found.all.packets);
}
