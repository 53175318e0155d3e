//! The log of a kernel's run: the actions of hosts in order.

use crate::header::Header;
use crate::packet::Packet;
use sojourn_aqm::{DropReason, Fate, HostDecision};
use sojourn_units::{Duration, Time};

/// The length of an entry in the log, in bytes.
pub const ENTRY_BYTES: usize = 32;

/// An action of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A host sent a packet.
    Sent(Packet),
    /// A receiving application read bytes of a flow.
    Read {
        /// The flow.
        flow: u32,
        /// Bytes of payload.
        bytes: u64,
    },
    /// A sender took a round-trip sample.
    Rtt {
        /// The flow.
        flow: u32,
        /// The round-trip time.
        rtt: Duration,
    },
    /// A sender's window has changed.
    Window {
        /// The flow.
        flow: u32,
        /// The congestion window in segments.
        cwnd: u32,
        /// The slow start threshold in segments.
        ssthresh: u32,
    },
    /// A sender entered fast recovery.
    Recovery {
        /// The flow.
        flow: u32,
    },
    /// A sender's retransmission timer expired.
    Timeout {
        /// The flow.
        flow: u32,
    },
    /// The last byte of a connection was acknowledged.
    Completed {
        /// The flow.
        flow: u32,
        /// The time at which it was opened.
        opened: Time,
        /// The payload in bytes.
        bytes: u64,
    },
    /// A queue of the kernel decided about a packet.
    /// These entries are ordered among themselves, but not relative to others.
    Decided {
        /// The number of the queue's link.
        link: u32,
        /// The decision.
        decision: HostDecision,
    },
    /// A queue of the kernel releases packets that it held back.
    Woken {
        /// The number of its link.
        link: u32,
    },
    /// The run has ended. This is the last entry.
    End {
        /// The value of [`KernelNetwork::fingerprint`](crate::KernelNetwork::fingerprint).
        /// A replay must reproduce it.
        fingerprint: u64,
    },
}

/// An entry and its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// The time of the action.
    pub at: Time,
    /// The action.
    pub entry: Entry,
}

/// An entry as stored: every kind has these fields, in this order and in little endian.
#[derive(Default)]
struct Stored {
    kind: u8,
    flags: u8,
    size: u16,
    flow: u32,
    first: u64,
    second: u64,
}

const SENT: u8 = 1;
const READ: u8 = 2;
const RTT: u8 = 3;
const WINDOW: u8 = 4;
const RECOVERY: u8 = 5;
const TIMEOUT: u8 = 6;
const COMPLETED: u8 = 7;
const END: u8 = 8;
const DECIDED: u8 = 9;
const WOKEN: u8 = 10;

/// The fates of packets in a queue of the kernel, in the order of their log numbers.
const FATES: [Fate; 5] =
    [Fate::Passed, Fate::Marked, Fate::Dropped(DropReason::Early), Fate::Dropped(DropReason::Forced), Fate::Dropped(DropReason::Tail)];

/// Combines two numbers into one.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Entry {
    /// The flow to which the entry belongs.
    pub fn flow(&self) -> Option<u32> {
        match *self {
            Entry::Sent(packet) => Some(packet.flow),
            Entry::Read { flow, .. }
            | Entry::Rtt { flow, .. }
            | Entry::Window { flow, .. }
            | Entry::Recovery { flow }
            | Entry::Timeout { flow }
            | Entry::Completed { flow, .. } => Some(flow),
            Entry::Decided { .. } | Entry::Woken { .. } | Entry::End { .. } => None,
        }
    }

    fn store(&self) -> Stored {
        match *self {
            Entry::Sent(packet) => Stored {
                kind: SENT,
                flags: packet.flags,
                size: packet.size,
                flow: packet.flow,
                first: pair(packet.seq, u32::from(packet.payload) | u32::from(packet.rtt_ms) << 16),
                second: pair(packet.ts_value, packet.ts_echo),
            },
            Entry::Read { flow, bytes } => Stored { kind: READ, flow, first: bytes, ..Stored::default() },
            Entry::Rtt { flow, rtt } => Stored { kind: RTT, flow, first: rtt.as_nanos(), ..Stored::default() },
            Entry::Window { flow, cwnd, ssthresh } => Stored { kind: WINDOW, flow, first: pair(cwnd, ssthresh), ..Stored::default() },
            Entry::Recovery { flow } => Stored { kind: RECOVERY, flow, ..Stored::default() },
            Entry::Timeout { flow } => Stored { kind: TIMEOUT, flow, ..Stored::default() },
            Entry::Completed { flow, opened, bytes } => {
                Stored { kind: COMPLETED, flow, first: opened.as_nanos(), second: bytes, ..Stored::default() }
            }
            Entry::Decided { link, decision } => Stored {
                kind: DECIDED,
                flags: FATES.iter().position(|&fate| fate == decision.fate).unwrap_or_default() as u8,
                flow: link,
                first: decision.call,
                second: u64::from(decision.number),
                ..Stored::default()
            },
            Entry::Woken { link } => Stored { kind: WOKEN, flow: link, ..Stored::default() },
            Entry::End { fingerprint } => Stored { kind: END, first: fingerprint, ..Stored::default() },
        }
    }

    fn restore(stored: &Stored) -> Option<Entry> {
        let Stored { kind, flags, size, flow, first, second } = *stored;
        let (low, high) = (first as u32, (first >> 32) as u32);
        Some(match kind {
            SENT => Entry::Sent(Packet {
                handle: 0,
                flow,
                seq: low,
                ts_value: second as u32,
                ts_echo: (second >> 32) as u32,
                size,
                payload: high as u16,
                rtt_ms: (high >> 16) as u16,
                flags,
                header: Header::default(),
            }),
            READ => Entry::Read { flow, bytes: first },
            RTT => Entry::Rtt { flow, rtt: Duration::from_nanos(first) },
            WINDOW => Entry::Window { flow, cwnd: low, ssthresh: high },
            RECOVERY => Entry::Recovery { flow },
            TIMEOUT => Entry::Timeout { flow },
            COMPLETED => Entry::Completed { flow, opened: Time::from_nanos(first), bytes: second },
            END => Entry::End { fingerprint: first },
            DECIDED => {
                let fate = *FATES.get(usize::from(flags))?;
                Entry::Decided { link: flow, decision: HostDecision { call: first, number: second as u32, fate } }
            }
            WOKEN => Entry::Woken { link: flow },
            _ => return None,
        })
    }
}

impl Logged {
    /// Serializes the entry, without the kernel's handle and the headers of a packet.
    pub fn to_bytes(&self) -> [u8; ENTRY_BYTES] {
        let stored = self.entry.store();
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0..8].copy_from_slice(&self.at.as_nanos().to_le_bytes());
        bytes[8] = stored.kind;
        bytes[9] = stored.flags;
        bytes[10..12].copy_from_slice(&stored.size.to_le_bytes());
        bytes[12..16].copy_from_slice(&stored.flow.to_le_bytes());
        bytes[16..24].copy_from_slice(&stored.first.to_le_bytes());
        bytes[24..32].copy_from_slice(&stored.second.to_le_bytes());
        bytes
    }

    /// Parses a stored entry; `None` for an unknown kind.
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Logged> {
        let number =
            |from: usize, length: usize| bytes[from..from + length].iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
        let stored = Stored {
            kind: bytes[8],
            flags: bytes[9],
            size: number(10, 2) as u16,
            flow: number(12, 4) as u32,
            first: number(16, 8),
            second: number(24, 8),
        };
        Some(Logged { at: Time::from_nanos(number(0, 8)), entry: Entry::restore(&stored)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Entry> {
        let packet = (any::<[u32; 4]>(), any::<[u16; 3]>(), any::<u8>()).prop_map(|(long, short, flags)| Packet {
            handle: 0,
            flow: long[0],
            seq: long[1],
            ts_value: long[2],
            ts_echo: long[3],
            size: short[0],
            payload: short[1],
            rtt_ms: short[2],
            flags,
            header: Header::default(),
        });
        prop_oneof![
            packet.prop_map(Entry::Sent),
            any::<(u32, u64)>().prop_map(|(flow, bytes)| Entry::Read { flow, bytes }),
            any::<(u32, u64)>().prop_map(|(flow, rtt)| Entry::Rtt { flow, rtt: Duration::from_nanos(rtt) }),
            any::<(u32, u32, u32)>().prop_map(|(flow, cwnd, ssthresh)| Entry::Window { flow, cwnd, ssthresh }),
            any::<u32>().prop_map(|flow| Entry::Recovery { flow }),
            any::<u32>().prop_map(|flow| Entry::Timeout { flow }),
            any::<(u32, u64, u64)>().prop_map(|(flow, opened, bytes)| Entry::Completed { flow, opened: Time::from_nanos(opened), bytes }),
            any::<u64>().prop_map(|fingerprint| Entry::End { fingerprint }),
            any::<u32>().prop_map(|link| Entry::Woken { link }),
            (any::<(u32, u64, u32)>(), 0..FATES.len()).prop_map(|((link, call, number), fate)| {
                Entry::Decided { link, decision: HostDecision { call, number, fate: FATES[fate] } }
            }),
        ]
    }

    proptest! {
        #[test]
        fn an_entry_comes_back_as_it_was_stored(at: u64, entry in entries()) {
            let logged = Logged { at: Time::from_nanos(at), entry };
            prop_assert_eq!(Logged::from_bytes(&logged.to_bytes()), Some(logged));
        }

        #[test]
        fn any_bytes_are_an_entry_or_refused(bytes: [u8; ENTRY_BYTES]) {
            if let Some(logged) = Logged::from_bytes(&bytes) {
                prop_assert_eq!(Logged::from_bytes(&logged.to_bytes()), Some(logged));
            }
        }
    }
}
