//! The segments of one TCP connection.

use super::file::Damage;
use super::headers::Kind;
use super::order::Ordered;
use crate::wire::flag;
use std::io::Read;
use std::net::SocketAddr;

/// A captured segment of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured {
    /// The time in ns since 1970.
    pub at: u64,
    /// Whether it travels from the first end to the second.
    pub forward: bool,
    /// Whether it has a SYN.
    pub syn: bool,
    /// The sequence number of its first byte.
    pub seq: u32,
    /// The acknowledged sequence number; `None` without an ACK.
    pub ack: Option<u32>,
    /// Bytes of payload.
    pub payload: u32,
    /// The receive window in bytes; `None` if the capture has no SYN of this direction.
    pub window: Option<u64>,
}

/// Reads the segments between two ends, in the order of time.
/// A later connection between the same ends is left out.
///
/// # Errors
/// The file is not a capture, is damaged, or has backward steps of times too large to sort.
pub fn segments(input: impl Read, ends: [SocketAddr; 2]) -> Result<Vec<Captured>, Damage> {
    let mut ordered = Ordered::new(input)?;
    let (mut found, mut scales, mut opened) = (Vec::new(), [None; 2], None);
    while let Some(arrival) = ordered.next_arrival()? {
        let Ok(packet) = &arrival.read else { continue };
        let Kind::Tcp(segment) = packet.kind else { continue };
        let Some(way) = [ends, [ends[1], ends[0]]].iter().position(|ends| *ends == [packet.source, packet.destination]) else { continue };
        let syn = segment.has(flag::SYN);
        if syn && !segment.has(flag::ACK) && *opened.get_or_insert(segment.seq) != segment.seq {
            break;
        }
        if syn {
            scales[way] = Some(segment.scale);
        }
        // Both ends scale or none does, and no SYN is scaled (rfc7323#2.2).
        let both = scales.iter().all(|scale| scale.flatten().is_some());
        let shift = scales[way].map(|scale| if syn || !both { 0 } else { scale.unwrap_or_default() });
        found.push(Captured {
            at: arrival.at,
            forward: way == 0,
            syn,
            seq: segment.seq,
            ack: segment.has(flag::ACK).then_some(segment.ack),
            payload: segment.payload,
            window: shift.map(|shift| u64::from(segment.window) << shift),
        });
    }
    Ok(found)
}
