//! `AccECN`'s TCP option: counts of the bytes that arrived with each mark (rfc9768#3.2.3).
//! `ByteCounter` is the receiver's part, `ByteReader` the sender's.
//!
//! "minimum" and "full" follow Linux (`tcp_options_fit_accecn`, `tcp_accecn_process_option`).
//! The option has three fields, ECT(1) first, and fewer where SACK blocks need the room.
//!
//! A path may drop packets that carry the option (rfc9768#3.2.3.2.2).
//! A SYN-ACK that is sent again therefore has none.
//! A receiver stops sending the option when a segment arrives for the third time after two ACKs with it.
//! A Linux host sends the option only after it received it: after a SYN-ACK without it data has none, and where data has none ACKs have
//! none.
//! By the RFC they have it.
//!
//! Only with "full" does the first data segment have the option, which rfc9768#3.2.3.2.1 recommends.
//! It would tell the server whether the client's counts come through, but a server here sends no data that they could count.

use sojourn_aqm::Ecn;
use sojourn_spec::tcp::{AccEcnOption, Handshake, TcpOptions};
use sojourn_units::{Duration, Time};

/// The three counters: ECT(0), CE, ECT(1).
const COUNTERS: usize = 3;
const CE: usize = 1;
/// The initial values; a field of zeros is thus never valid (rfc9768#3.2.1).
const START: [u32; COUNTERS] = [1, 0, 1];
/// A mask: a field holds the last 24 bits of a counter (rfc9768#A.1).
const FIELD: u32 = 0xff_ffff;
/// Bytes of the option's kind and length together, and of each field.
const BASE: u32 = 2;
const PER_FIELD: u32 = 3;
/// Bytes for options in a TCP header.
/// A SACK option takes 4 B, and each of its blocks 8 B.
const ROOM: u32 = 40;
const SACK: u32 = 4;
const PER_BLOCK: u32 = 8;
/// The number of SACK blocks that take precedence over the option (rfc9768#3.2.3.3).
const BLOCKS_FIRST: u32 = 2;
/// The number of ACKs that carry the option after a change (Linux `accecn_opt_demand`).
/// Without changes it is sent three times a round trip (Linux `tcp_ecn_option_beacon`).
const AFTER_CHANGE: u8 = 2;
const BEACONS: u64 = 3;
/// Bytes after which an option is sent in any case (rfc9768#3.2.3.3).
const MAX_UNREPORTED: u32 = 1 << 22;

/// The counter of bytes in packets with this ECN field; `None` for Not-ECT.
fn counter(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(0),
        Ecn::Ce => Some(CE),
        Ecn::Ect1 => Some(2),
    }
}

/// The counter at an index in the order of the fields, and the reverse mapping.
#[inline]
fn in_order(place: usize, ect1_first: bool) -> usize {
    if ect1_first { COUNTERS - 1 - place } else { place }
}

/// The option as a packet carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteCounts {
    /// The counters of ECT(0), CE and ECT(1), in bytes.
    counts: [u32; COUNTERS],
    /// The number of fields; they are the first ones of the order.
    fields: u8,
    /// Whether ECT(1) comes first; otherwise ECT(0) does.
    ect1_first: bool,
}

impl ByteCounts {
    /// The option of a host that gets no data; all its segments carry this one.
    pub const START: ByteCounts = ByteCounts { counts: START, fields: COUNTERS as u8, ect1_first: true };

    /// The kind of the option, which tells the order of its fields (rfc9768#3.2.3).
    pub fn kind(&self) -> u8 {
        if self.ect1_first { 174 } else { 172 }
    }

    /// The counters that have a field, with the lowest 24 bits of each.
    #[inline]
    fn present(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let ByteCounts { counts, fields, ect1_first } = *self;
        let counters = (0..COUNTERS).take(fields.into()).map(move |place| in_order(place, ect1_first));
        counters.map(move |counter| (counter, counts[counter] & FIELD))
    }

    /// The fields as they are on the wire, 24 bits each.
    pub fn fields(&self) -> impl Iterator<Item = u32> + use<> {
        self.present().map(|(_, field)| field)
    }
}

/// The number of fields that these counters need in this order.
fn fields_for(counters: [bool; COUNTERS], ect1_first: bool) -> u32 {
    (0..COUNTERS).rfind(|&place| counters[in_order(place, ect1_first)]).map_or(0, |last| last as u32 + 1)
}

/// How an option fits in a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fit {
    fields: u32,
    /// SACK blocks beside it.
    blocks: u32,
    /// Bytes that it adds; it may use the padding of a SACK option.
    bytes: u32,
}

impl Fit {
    /// Fits as many of the `wanted` fields as possible, and at least the `needed` ones.
    /// If need be a third SACK block is left out for these.
    /// `None` if they do not fit (Linux `tcp_options_fit_accecn`).
    fn new(wanted: u32, needed: u32, blocks: u32, timestamps: bool) -> Option<Fit> {
        let least = if needed > 0 { blocks.min(BLOCKS_FIRST) } else { blocks };
        (least..=blocks).rev().find_map(|blocks| {
            let (sack, padding) = if blocks > 0 { (SACK + PER_BLOCK * blocks, 2) } else { (0, 0) };
            let room = ROOM.saturating_sub(sack + if timestamps { TcpOptions::TIMESTAMPS } else { 0 });
            (needed..=wanted.max(needed)).rev().find_map(|fields| {
                let size = BASE + PER_FIELD * fields;
                let bytes = if size % 4 > padding { size.next_multiple_of(4) } else { size / 4 * 4 };
                (bytes <= room).then_some(Fit { fields, blocks, bytes })
            })
        })
    }
}

/// The AccECN feedback of an ACK: the option, and the number of SACK blocks beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckFeedback {
    /// The option, if it has one.
    pub option: Option<ByteCounts>,
    /// The number of SACK blocks that there is room for.
    pub blocks: u32,
    /// The size of the ACK without its SACK option, in bytes.
    pub size: u32,
}

/// The receiver's byte counts, and the rules for when an ACK carries them.
#[derive(Clone, Debug)]
pub struct ByteCounter {
    mode: AccEcnOption,
    /// Bytes of a header without the option.
    header: u32,
    timestamps: bool,
    counts: [u32; COUNTERS],
    /// Counters that changed since the start (`ever`) and the last option (`unreported`).
    /// `news` is whether a counter changed since the last ACK.
    ever: [bool; COUNTERS],
    unreported: [bool; COUNTERS],
    news: bool,
    last: Ecn,
    /// The number of coming ACKs that must carry the option.
    demand: u8,
    last_sent: Time,
    syn_acks: u8,
    syn_ack_sent: Option<Time>,
    /// First byte of the duplicate that the next ACK reports.
    /// `reported` is that of the last ACK, if it carried the option too (Linux `accecn_opt_sent_w_dsack`).
    duplicate: Option<u64>,
    reported: Option<u64>,
    /// Whether the path is assumed to drop the option, so that no more are sent.
    fails: bool,
    /// Whether the other host has sent the option; true where that is not required.
    pub received: bool,
    /// The round-trip time of the handshake; zero without one.
    rtt: Duration,
}

impl ByteCounter {
    /// A counter for these TCP options; `None` if they do not ask for the option.
    pub fn new(params: &TcpOptions) -> Option<Box<ByteCounter>> {
        let (mode, none) = (params.accecn_option, [false; COUNTERS]);
        let asked = mode != AccEcnOption::Off && params.agreed_ecn().is_accurate();
        asked.then(|| {
            Box::new(ByteCounter {
                mode,
                header: params.header - params.accecn_room(),
                timestamps: params.timestamps,
                counts: START,
                ever: none,
                unreported: none,
                news: false,
                last: Ecn::NotEct,
                demand: 0,
                last_sent: Time::ZERO,
                syn_acks: 0,
                syn_ack_sent: None,
                duplicate: None,
                reported: None,
                fails: false,
                received: mode == AccEcnOption::Recommended || params.handshake == Handshake::None,
                rtt: Duration::ZERO,
            })
        })
    }

    /// A SYN arrives; its payload is not counted (rfc9768#3.2).
    pub fn on_syn(&mut self, ecn: Ecn) {
        self.last = ecn;
    }

    /// A packet with `bytes` of payload arrives (Linux `tcp_ecn_received_counters`).
    /// The first one after the SYN-ACK gives the round-trip time.
    pub fn on_packet(&mut self, now: Time, ecn: Ecn, bytes: u32) {
        if let Some(sent) = self.syn_ack_sent {
            (self.rtt, self.syn_ack_sent) = (now.since(sent), None);
        }
        if let Some(at) = counter(ecn).filter(|_| bytes > 0) {
            let before = self.counts[at];
            self.counts[at] = before.wrapping_add(bytes);
            (self.ever[at], self.unreported[at], self.news) = (true, true, true);
            if (before ^ self.counts[at]) >= MAX_UNREPORTED {
                self.demand = self.demand.max(1);
            }
        }
        if std::mem::replace(&mut self.last, ecn) != ecn || ecn == Ecn::Ce {
            self.demand = AFTER_CHANGE;
        }
    }

    /// Whether an ACK that is sent now must carry the option.
    fn is_due(&self, now: Time, syn: bool) -> bool {
        match self.mode {
            _ if syn => self.syn_acks == 1,
            _ if self.fails || !self.received => false,
            AccEcnOption::Off => false,
            AccEcnOption::Recommended => self.news,
            AccEcnOption::Minimum => self.demand > 0 || now.since(self.last_sent) * BEACONS >= self.rtt,
            AccEcnOption::Full => true,
        }
    }

    /// Whether ECT(1) comes first, and how many fields the option should have.
    /// It is the order that needs fewer fields for the counters that changed (rfc9768#3.2.3.3).
    /// "minimum" and "full" always take all fields, ECT(1) first, as Linux.
    fn wanted(&self, syn: bool) -> (bool, u32) {
        if self.mode != AccEcnOption::Recommended || syn {
            return (true, COUNTERS as u32);
        }
        let (first, second) = (fields_for(self.ever, false), fields_for(self.ever, true));
        (second < first, first.min(second))
    }

    /// Fits these fields beside `blocks` SACK blocks; without blocks they always fit.
    fn fit(&self, wanted: u32, ect1_first: bool, blocks: u32) -> Option<Fit> {
        if blocks == 0 {
            return Some(Fit { fields: wanted, blocks, bytes: (BASE + PER_FIELD * wanted).next_multiple_of(4) });
        }
        Fit::new(wanted, fields_for(self.unreported, ect1_first), blocks, self.timestamps)
    }

    /// The segment that begins with this byte arrives once more.
    /// If the last ACK reported it too, with the option, that ACK was lost as the first was (Linux `tcp_rcv_spurious_retrans`).
    pub fn on_duplicate(&mut self, start: u64) {
        self.fails |= self.reported == Some(start);
        self.duplicate = Some(start);
    }

    /// The pending duplicate will not be reported.
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Whether SYN-ACKs have an ACE field of zeros: from the third on (rfc9768#3.2.3.2.2).
    pub fn hides_ecn(&self) -> bool {
        self.syn_acks > 2
    }

    /// An ACK is sent now, which has `blocks` SACK blocks to report.
    #[inline]
    pub fn on_ack(&mut self, now: Time, syn: bool, blocks: u32) -> AckFeedback {
        if syn {
            self.syn_ack_sent = Some(now);
            self.syn_acks = self.syn_acks.saturating_add(1);
        }
        let due = self.is_due(now, syn);
        self.reported = self.duplicate.take().filter(|_| due);
        self.news = false;
        let (ect1_first, wanted) = self.wanted(syn);
        let fit = if due { self.fit(wanted, ect1_first, blocks) } else { None };
        let Some(Fit { fields, blocks, bytes }) = fit else { return AckFeedback { option: None, blocks, size: self.header } };
        self.unreported = [false; COUNTERS];
        self.last_sent = now;
        self.demand = self.demand.saturating_sub(1);
        let option = ByteCounts { counts: self.counts, fields: fields as u8, ect1_first };
        AckFeedback { option: Some(option), blocks, size: self.header + bytes }
    }
}

/// Bytes delivered without an option from which on a first option is ignored.
/// A counter may have wrapped by then (Linux `tcp_accecn_process_option`).
const LATEST_FIRST: u32 = (1 << 23) - 1;

/// The sender's view of the receiver's counters (Linux `tcp_accecn_process_option`).
#[derive(Clone, Copy, Debug)]
pub struct ByteReader {
    counts: [u32; COUNTERS],
    /// Bytes delivered before the first option; `None` after it.
    before_first: Option<u32>,
    /// The counter to which the bytes of an ACK without the option are added.
    /// It is the last one that changed alone.
    estimate: Option<usize>,
}

impl ByteReader {
    /// A reader at the start of a connection.
    pub const NEW: ByteReader = ByteReader { counts: START, before_first: Some(0), estimate: None };

    /// The newly CE-marked bytes, by an ACK that delivers `delivered` bytes.
    /// `None` where it is not clear which counters changed.
    pub fn read(&mut self, option: Option<&ByteCounts>, delivered: u32) -> Option<u32> {
        let before = self.counts[CE];
        let option = option.filter(|_| self.before_first.is_none_or(|bytes| bytes < LATEST_FIRST));
        let clear = match (option, self.estimate) {
            (Some(option), _) => {
                self.before_first = None;
                self.take(option)
            }
            (None, Some(counter)) => {
                self.counts[counter] = self.counts[counter].wrapping_add(delivered);
                true
            }
            (None, None) => {
                self.before_first = self.before_first.map(|bytes| bytes.saturating_add(delivered));
                false
            }
        };
        clear.then(|| self.counts[CE].wrapping_sub(before))
    }

    /// Takes over the fields of an option (rfc9768#A.1).
    /// Returns whether it is clear which counters changed.
    fn take(&mut self, option: &ByteCounts) -> bool {
        let (was, mut changed, mut ambiguous) = (self.estimate, false, false);
        for (counter, field) in option.present() {
            // A difference of 24 bits with its sign: an estimate may have been too high.
            let change = (field.wrapping_sub(self.counts[counter]) << 8) as i32 >> 8;
            self.counts[counter] = self.counts[counter].wrapping_add_signed(change);
            if change != 0 && was != Some(counter) {
                ambiguous |= changed;
                (self.estimate, changed) = (Some(counter), true);
            }
            ambiguous |= change < 0;
        }
        if ambiguous {
            self.estimate = None;
        }
        was.is_some() && !ambiguous
    }
}

#[cfg(test)]
#[path = "accecn_option_tests.rs"]
mod tests;
