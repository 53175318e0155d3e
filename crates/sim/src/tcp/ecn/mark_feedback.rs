//! How a receiver reports marked segments to the sender.
//! Classic ECN echoes one mark a window (rfc3168#6.1.3).
//! DCTCP sets or clears the echo in each ACK (rfc8257#3.2), and `AccECN` counts (rfc9768#3.2).

use super::accurate_ecn::{self, MarkCounter};
use crate::packet::{Packet, flag};
use sojourn_aqm::{Ecn as Mark, Packet as _};
use sojourn_spec::tcp::{AccEcnOption, Ecn, TcpOptions};

/// The arrivals so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrivals {
    Nothing,
    /// A SYN, which decides whether ECN is used.
    Syn,
    /// A segment that could carry a mark (ECT).
    Ect,
}

/// The state of a receiver's feedback on marks.
#[derive(Clone, Debug)]
pub struct MarkFeedback {
    ecn: Ecn,
    /// Whether ACKs carry an echo (ECE).
    pub echoes: bool,
    /// Whether ACKs themselves are sent as ECT, and can be marked.
    marks_acks: bool,
    counter: MarkCounter,
    arrivals: Arrivals,
    /// Whether marks require an ACK at once.
    pub asks_for_ack: bool,
}

impl MarkFeedback {
    /// The feedback of rfc3168 at the start of a connection.
    pub const CLASSIC: MarkFeedback = MarkFeedback {
        ecn: Ecn::Classic,
        echoes: false,
        marks_acks: false,
        counter: MarkCounter::new(AccEcnOption::Off),
        arrivals: Arrivals::Nothing,
        asks_for_ack: false,
    };

    /// The feedback at the start of a connection with these options.
    pub fn new(params: &TcpOptions) -> Self {
        let (ecn, counter) = (params.agreed_ecn(), MarkCounter::new(params.accecn_option));
        MarkFeedback { ecn, marks_acks: params.marks_all(), counter, ..MarkFeedback::CLASSIC }
    }

    /// Whether each mark is reported.
    #[inline]
    pub fn counts(&self) -> bool {
        self.ecn.counts()
    }

    /// Whether ACKs carry the count of marked packets (`AccECN`).
    pub fn is_accurate(&self) -> bool {
        self.ecn.is_accurate()
    }

    /// A SYN arrives; returns the flags of the answer.
    /// No other packet reports the mark of a SYN (rfc9768#3.2.2.2), and with other feedback none does.
    pub fn on_syn(&mut self, syn: &Packet) -> u16 {
        if syn.has(flag::NO_ECN) && self.arrivals == Arrivals::Nothing {
            (self.ecn, self.marks_acks) = (Ecn::Off, false);
        }
        if self.arrivals == Arrivals::Nothing {
            self.arrivals = Arrivals::Syn;
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

    /// A segment arrives where each mark is reported.
    /// Returns whether its ACK reports something that the last one did not.
    #[inline]
    pub fn take(&mut self, segment: &Packet, ecn: Mark) -> bool {
        if self.ecn.is_accurate() {
            self.asks_for_ack = self.counter.on_packet(ecn);
            return self.asks_for_ack;
        }
        self.echo_each(segment)
    }

    /// A segment arrives where an echo answers the marks of a window.
    /// It also answers a segment that cannot carry a mark although others could.
    /// That one is probably a retransmission (Linux `tcp_data_ecn_check`).
    #[inline]
    pub fn take_first(&mut self, segment: &Packet) -> bool {
        if segment.has(flag::CWR) {
            self.echoes = false;
        }
        let new = segment.has(flag::CE) && !self.echoes;
        self.echoes |= new;
        let can_mark = segment.flags & (flag::ECT | flag::CE) != 0;
        if can_mark {
            self.arrivals = Arrivals::Ect;
        }
        new || (self.arrivals == Arrivals::Ect) != can_mark
    }

    /// DCTCP reports the marks of data only (Linux `tcp_data_ecn_check`).
    #[inline(never)]
    fn echo_each(&mut self, segment: &Packet) -> bool {
        let marked = segment.has(flag::CE);
        !segment.has(flag::ACK) && std::mem::replace(&mut self.echoes, marked) != marked
    }

    /// Whether a delayed ACK must be sent before this segment is processed (rfc8257#3.2).
    /// It must if this segment is marked and those before are not, or the reverse.
    #[inline]
    pub fn changes_with(&self, segment: &Packet) -> bool {
        self.ecn == Ecn::Dctcp && segment.has(flag::CE) != self.echoes
    }

    /// The flags of an ACK sent now.
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
