//! How a receiver tells of marked segments: one echo for a window (rfc3168#6.1.3), an echo or none in each ACK (rfc8257#3.2), or
//! counts (rfc9768#3.2).

use super::accurate_ecn::{self, MarkCounter};
use crate::packet::{Packet, flag};
use sojourn_aqm::{Ecn as Mark, Packet as _};
use sojourn_spec::tcp::{AccEcnOption, Ecn, TcpOptions};

/// What has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Nothing,
    /// A SYN, by which it is decided whether there is ECN.
    Syn,
    /// A segment that could carry a mark.
    Ect,
}

/// What a receiver tells of marks.
#[derive(Clone, Debug)]
pub struct MarkFeedback {
    ecn: Ecn,
    /// Whether ACKs carry an echo.
    pub echoes: bool,
    /// Whether ACKs can carry marks.
    marks_acks: bool,
    counter: MarkCounter,
    seen: Seen,
    /// The marks ask for an ACK at once.
    pub asks_for_ack: bool,
}

impl MarkFeedback {
    /// That of rfc3168 at the start of a connection.
    pub const CLASSIC: MarkFeedback = MarkFeedback {
        ecn: Ecn::Classic,
        echoes: false,
        marks_acks: false,
        counter: MarkCounter::new(AccEcnOption::Off),
        seen: Seen::Nothing,
        asks_for_ack: false,
    };

    /// At the start of a connection with these options.
    pub fn new(params: &TcpOptions) -> Self {
        let (ecn, counter) = (params.agreed_ecn(), MarkCounter::new(params.accecn_option));
        MarkFeedback { ecn, marks_acks: params.marks_all(), counter, ..MarkFeedback::CLASSIC }
    }

    /// Whether each mark is told.
    #[inline]
    pub fn counts(&self) -> bool {
        self.ecn.counts()
    }

    /// Whether ACKs have the count of marked packets.
    pub fn is_accurate(&self) -> bool {
        self.ecn.is_accurate()
    }

    /// A SYN arrives: gives the flags of the answer to it. Its mark is told by no other packet (rfc9768#3.2.2.2), with other feedback by none.
    pub fn on_syn(&mut self, syn: &Packet) -> u16 {
        if syn.has(flag::NO_ECN) && self.seen == Seen::Nothing {
            (self.ecn, self.marks_acks) = (Ecn::Off, false);
        }
        if self.seen == Seen::Nothing {
            self.seen = Seen::Syn;
        }
        if self.ecn.is_accurate() {
            self.counter.on_syn(syn.ecn());
            return accurate_ecn::handshake(syn.ecn());
        }
        if self.ecn == Ecn::Off {
            return syn.flags & flag::NO_ECN;
        }
        u16::from(self.marks_acks) * flag::ECT
    }

    /// A segment with this ECN field arrives where each mark is told; says whether its ACK tells what the last one did not.
    #[inline]
    pub fn take(&mut self, segment: &Packet, ecn: Mark) -> bool {
        if self.ecn.is_accurate() {
            self.asks_for_ack = self.counter.on_packet(ecn);
            return self.asks_for_ack;
        }
        self.echo_each(segment)
    }

    /// The same where the echo of a mark stands for a window, or for a segment that can't carry a mark where others could: it is
    /// probably a retransmission (Linux `tcp_data_ecn_check`).
    #[inline]
    pub fn take_first(&mut self, segment: &Packet) -> bool {
        if segment.has(flag::CWR) {
            self.echoes = false;
        }
        let new = segment.has(flag::CE) && !self.echoes;
        self.echoes |= new;
        let can_mark = segment.flags & (flag::ECT | flag::CE) != 0;
        if can_mark {
            self.seen = Seen::Ect;
        }
        new || (self.seen == Seen::Ect) != can_mark
    }

    /// DCTCP tells of data alone (Linux `tcp_data_ecn_check`).
    #[inline(never)]
    fn echo_each(&mut self, segment: &Packet) -> bool {
        let marked = segment.has(flag::CE);
        !segment.has(flag::ACK) && std::mem::replace(&mut self.echoes, marked) != marked
    }

    /// Whether a delayed ACK must go before this segment is taken: the segment is marked and those before are not, or the other
    /// way round (rfc8257#3.2).
    #[inline]
    pub fn changes_with(&self, segment: &Packet) -> bool {
        self.ecn == Ecn::Dctcp && segment.has(flag::CE) != self.echoes
    }

    /// The flags of an ACK that is sent now.
    #[inline]
    pub fn report(&mut self) -> u16 {
        let ect = u16::from(self.marks_acks) * flag::ECT;
        if !self.ecn.is_accurate() {
            return ect | (u16::from(self.echoes) * flag::ECE);
        }
        self.asks_for_ack = false;
        self.counter.report() | ect
    }
}
