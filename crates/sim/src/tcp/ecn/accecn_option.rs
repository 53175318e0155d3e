//! `AccECN`'s option: counts of the bytes that arrived with each mark (rfc9768#3.2.3), as the receiver sends them and as the sender reads
//! them.
//!
//! With "minimum" and "full" it is as in Linux (`tcp_options_fit_accecn`, `tcp_accecn_process_option`): three fields, ECT(1) first, and
//! fewer where SACK blocks need the room.
//!
//! A path may drop packets with it (rfc9768#3.2.3.2.2): a SYN-ACK that is sent again has none, and a receiver to which a segment comes for
//! the third time, after two ACKs with the option, sends it no more. In Linux a host sends the option only once it got it: after a
//! SYN-ACK without it data has none, and where data has none ACKs have none; by the RFC they have.
//!
//! But for "full" the first data segment has none, which rfc9768#3.2.3.2.1 recommends: it would tell the server whether the client's
//! counts come through, and a server here sends no data that they could count.

use sojourn_aqm::Ecn;
use sojourn_spec::tcp::{AccEcnOption, Handshake, TcpOptions};
use sojourn_units::{Duration, Time};

/// The three counters: ECT(0), CE, ECT(1).
const COUNTERS: usize = 3;
const CE: usize = 1;
/// What they begin with, so that a field of zeros is none (rfc9768#3.2.1).
const START: [u32; COUNTERS] = [1, 0, 1];
/// A field has the last 24 bits of a counter (rfc9768#A.1).
const FIELD: u32 = 0xff_ffff;
/// Bytes of kind and length, and of a field.
const BASE: u32 = 2;
const PER_FIELD: u32 = 3;
/// Room for options in a header, of which a SACK option takes 4 B, and each of its blocks 8 B.
const ROOM: u32 = 40;
const SACK: u32 = 4;
const PER_BLOCK: u32 = 8;
/// SACK blocks that come before the option (rfc9768#3.2.3.3).
const BLOCKS_FIRST: u32 = 2;
/// ACKs with the option after a change, and options a round trip (Linux `accecn_opt_demand`, `tcp_ecn_option_beacon`).
const AFTER_CHANGE: u8 = 2;
const BEACONS: u64 = 3;
/// An option is sent at least once for so many bytes (rfc9768#3.2.3.3).
const MOST_UNTOLD: u32 = 1 << 22;

/// The counter of bytes in packets with this ECN field; `None` for Not-ECT.
fn counter(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(0),
        Ecn::Ce => Some(CE),
        Ecn::Ect1 => Some(2),
    }
}

/// The counter at a place in the order of the fields, and the other way round.
#[inline]
fn in_order(place: usize, ect1_first: bool) -> usize {
    if ect1_first { COUNTERS - 1 - place } else { place }
}

/// The option on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteCounts {
    /// ECT(0), CE, ECT(1).
    counts: [u32; COUNTERS],
    /// How many fields it has, the first ones of its order.
    fields: u8,
    /// Whether ECT(1) comes first, else ECT(0).
    ect1_first: bool,
}

impl ByteCounts {
    /// That of a host that gets no data, in all its segments.
    pub const START: ByteCounts = ByteCounts { counts: START, fields: COUNTERS as u8, ect1_first: true };

    /// The kind of the option, which tells the order of its fields (rfc9768#3.2.3).
    pub fn kind(&self) -> u8 {
        if self.ect1_first { 174 } else { 172 }
    }

    /// The counters that it has fields of, and these, 24 bits each.
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

/// How many fields of an order are needed for these counters.
fn fields_for(counters: [bool; COUNTERS], ect1_first: bool) -> u32 {
    (0..COUNTERS).rfind(|&place| counters[in_order(place, ect1_first)]).map_or(0, |last| last as u32 + 1)
}

/// How an option fits in a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fit {
    fields: u32,
    /// SACK blocks beside it.
    blocks: u32,
    /// Bytes that it adds; it can take the place of the padding of a SACK option.
    bytes: u32,
}

impl Fit {
    /// As many fields as fit of those that are wanted, but at least those that are `needed`: for these a third SACK block goes. `None` if
    /// they don't fit (Linux `tcp_options_fit_accecn`).
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

/// What an ACK has beside its SACK blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// The option, if it has one.
    pub option: Option<ByteCounts>,
    /// The SACK blocks that there is room for.
    pub blocks: u32,
    /// The size of the ACK without its SACK option, in bytes.
    pub size: u32,
}

/// The counts of a receiver, and when it tells of them.
#[derive(Clone, Debug)]
pub struct ByteCounter {
    mode: AccEcnOption,
    /// Bytes of a header without the option.
    header: u32,
    timestamps: bool,
    counts: [u32; COUNTERS],
    /// The counters that changed since the start, since the last option, and whether one did since the last ACK.
    ever: [bool; COUNTERS],
    untold: [bool; COUNTERS],
    news: bool,
    last: Ecn,
    /// ACKs that are to have an option.
    demand: u8,
    last_sent: Time,
    syn_acks: u8,
    syn_ack_sent: Option<Time>,
    /// The byte at which the duplicate begins that the next ACK reports, and that which the last reported beside the option (Linux
    /// `accecn_opt_sent_w_dsack`).
    duplicate: Option<u64>,
    reported: Option<u64>,
    /// No option is sent any more.
    fails: bool,
    /// Whether the other host has sent the option, where that is asked for.
    pub received: bool,
    /// The round trip of the handshake; zero without one.
    rtt: Duration,
}

impl ByteCounter {
    /// What these options ask for; `None` if they ask for nothing.
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
                untold: none,
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

    /// A SYN arrives, whose payload is not counted (rfc9768#3.2).
    pub fn on_syn(&mut self, ecn: Ecn) {
        self.last = ecn;
    }

    /// A packet with so much payload arrives (Linux `tcp_ecn_received_counters`). The first after the SYN-ACK gives the round trip.
    pub fn on_packet(&mut self, now: Time, ecn: Ecn, bytes: u32) {
        if let Some(sent) = self.syn_ack_sent {
            (self.rtt, self.syn_ack_sent) = (now.since(sent), None);
        }
        if let Some(at) = counter(ecn).filter(|_| bytes > 0) {
            let before = self.counts[at];
            self.counts[at] = before.wrapping_add(bytes);
            (self.ever[at], self.untold[at], self.news) = (true, true, true);
            if (before ^ self.counts[at]) >= MOST_UNTOLD {
                self.demand = self.demand.max(1);
            }
        }
        if std::mem::replace(&mut self.last, ecn) != ecn || ecn == Ecn::Ce {
            self.demand = AFTER_CHANGE;
        }
    }

    /// Whether an ACK that is sent now has the option.
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

    /// The order that needs fewer fields for what has changed, and how many (rfc9768#3.2.3.3); in Linux's ways all fields, ECT(1) first.
    fn wanted(&self, syn: bool) -> (bool, u32) {
        if self.mode != AccEcnOption::Recommended || syn {
            return (true, COUNTERS as u32);
        }
        let (first, second) = (fields_for(self.ever, false), fields_for(self.ever, true));
        (second < first, first.min(second))
    }

    /// How these fields fit beside so many SACK blocks; alone they always do.
    fn fit(&self, wanted: u32, ect1_first: bool, blocks: u32) -> Option<Fit> {
        if blocks == 0 {
            return Some(Fit { fields: wanted, blocks, bytes: (BASE + PER_FIELD * wanted).next_multiple_of(4) });
        }
        Fit::new(wanted, fields_for(self.untold, ect1_first), blocks, self.timestamps)
    }

    /// The segment that begins with this byte arrives once more. If the last ACK said so too, and had the option, that was lost as the first
    /// was (Linux `tcp_rcv_spurious_retrans`).
    pub fn on_duplicate(&mut self, start: u64) {
        self.fails |= self.reported == Some(start);
        self.duplicate = Some(start);
    }

    /// That segment will not be reported.
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Whether its SYN-ACKs have an ACE field of zeros: from the third on (rfc9768#3.2.3.2.2).
    pub fn hides_ecn(&self) -> bool {
        self.syn_acks > 2
    }

    /// An ACK is sent now, which has so many SACK blocks to tell.
    #[inline]
    pub fn on_ack(&mut self, now: Time, syn: bool, blocks: u32) -> Told {
        if syn {
            self.syn_ack_sent = Some(now);
            self.syn_acks = self.syn_acks.saturating_add(1);
        }
        let due = self.is_due(now, syn);
        self.reported = self.duplicate.take().filter(|_| due);
        self.news = false;
        let (ect1_first, wanted) = self.wanted(syn);
        let fit = if due { self.fit(wanted, ect1_first, blocks) } else { None };
        let Some(Fit { fields, blocks, bytes }) = fit else { return Told { option: None, blocks, size: self.header } };
        self.untold = [false; COUNTERS];
        self.last_sent = now;
        self.demand = self.demand.saturating_sub(1);
        let option = ByteCounts { counts: self.counts, fields: fields as u8, ect1_first };
        Told { option: Some(option), blocks, size: self.header + bytes }
    }
}

/// From so many bytes without an option on, a first one says nothing: a counter may have gone round (Linux `tcp_accecn_process_option`).
const LATEST_FIRST: u32 = (1 << 23) - 1;

/// What a sender knows of the counters (Linux `tcp_accecn_process_option`).
#[derive(Clone, Copy, Debug)]
pub struct ByteReader {
    counts: [u32; COUNTERS],
    /// Bytes that were delivered before the first option; `None` after it.
    before_first: Option<u32>,
    /// The counter that an ACK without an option is taken to count in: the last that changed alone.
    estimate: Option<usize>,
}

impl ByteReader {
    /// A reader at the start of a connection.
    pub const NEW: ByteReader = ByteReader { counts: START, before_first: Some(0), estimate: None };

    /// The marked bytes that an ACK tells of, which delivers so many; `None` where the counters are not clear.
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

    /// Takes the fields of an option (rfc9768#A.1). Says whether it is clear which counters changed.
    fn take(&mut self, option: &ByteCounts) -> bool {
        let (was, mut changed, mut ambiguous) = (self.estimate, false, false);
        for (counter, field) in option.present() {
            // 24 bits with their sign: an estimate may have been too high.
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
