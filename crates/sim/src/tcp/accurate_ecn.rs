//! The count of marked packets in ACKs: `AccECN`'s ACE field (rfc9768#3.2). The option with counts of bytes is not modeled.

use crate::packet::Packet;

/// The ACE field in [`Packet::flags`](crate::packet::Packet): three bits.
const SHIFT: u32 = 13;
const MODULUS: u32 = 8;

/// Where the counts begin, so that a field of zeros is none (rfc9768#3.2.1).
const START: u32 = 5;

/// Marks without an ACK after which the next is sent at once (rfc9768#3.2.2.5.1).
const MARKS_PER_ACK: u8 = 2;

/// `r.cep` of a receiver: the packets that arrived with a mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkCounter {
    /// The field has its last three bits.
    count: u8,
    /// Marks since the last ACK.
    unreported: u8,
    last_was_marked: bool,
}

impl MarkCounter {
    /// A counter at the start of a connection.
    pub const NEW: MarkCounter = MarkCounter { count: START as u8, unreported: 0, last_was_marked: false };

    /// A packet arrives; says whether an ACK must be sent at once: the first mark after a packet without, or the second since the
    /// last ACK (rfc9768#3.2.2.5.1).
    pub fn on_packet(&mut self, marked: bool) -> bool {
        self.count = self.count.wrapping_add(u8::from(marked));
        self.unreported = self.unreported.saturating_add(u8::from(marked));
        let first = marked && !self.last_was_marked;
        self.last_was_marked = marked;
        first || self.unreported >= MARKS_PER_ACK
    }

    /// The flags of an ACK that is sent now.
    pub fn report(&mut self) -> u16 {
        self.unreported = 0;
        ((u32::from(self.count) % MODULUS) << SHIFT) as u16
    }
}

/// `s.cep` of a sender: the marks that ACKs have told of.
#[derive(Clone, Copy, Debug)]
pub struct MarkReader {
    count: u32,
}

impl MarkReader {
    /// A reader at the start of a connection.
    pub const NEW: MarkReader = MarkReader { count: START };

    /// The marks that an ACK tells of for the first time, which delivers `delivered` packets. If there are so many that the field
    /// may have gone round while ACKs were lost, it is the most that fits (rfc9768#A.2.1, Linux `__tcp_accecn_process`).
    pub fn read(&mut self, ack: &Packet, delivered: u32) -> u32 {
        let field = u32::from(ack.flags >> SHIFT) % MODULUS;
        let least = (field + MODULUS - self.count % MODULUS) % MODULUS;
        let marks = if delivered < MODULUS { least } else { delivered - (delivered - least) % MODULUS };
        self.count = self.count.wrapping_add(marks);
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ack(counter: &mut MarkCounter) -> Packet {
        Packet { flags: counter.report(), ..Packet::EMPTY }
    }

    #[test]
    fn the_first_mark_and_every_second_one_ask_for_an_ack() {
        let mut counter = MarkCounter::NEW;
        assert_eq!([false, true, false, true].map(|marked| counter.on_packet(marked)), [false, true, false, true]);
        counter.report();
        assert_eq!([true, true, true].map(|marked| counter.on_packet(marked)), [false, true, true]);
    }

    #[test]
    fn a_lost_ack_hides_no_mark_and_a_long_gap_is_read_as_marked() {
        let (mut counter, mut reader) = (MarkCounter::NEW, MarkReader::NEW);
        (0..5).for_each(|_| _ = counter.on_packet(true));
        assert_eq!(reader.read(&ack(&mut counter), 5), 5);
        // 12 packets, 10 of them marked: the field says 2, and 10 fits.
        (0..10).for_each(|_| _ = counter.on_packet(true));
        assert_eq!(reader.read(&ack(&mut counter), 12), 10);
        // 9 packets without a mark: 8 fit as well as 0, so they are taken for marked.
        assert_eq!(reader.read(&ack(&mut counter), 9), 8);
    }

    proptest! {
        #[test]
        fn where_acks_are_seven_packets_apart_at_most_each_mark_is_told_once(
            gaps in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..8), 0..200),
        ) {
            let (mut counter, mut reader) = (MarkCounter::NEW, MarkReader::NEW);
            for packets in gaps {
                packets.iter().for_each(|&marked| _ = counter.on_packet(marked));
                let marked = packets.iter().filter(|&&marked| marked).count();
                prop_assert_eq!(reader.read(&ack(&mut counter), packets.len() as u32), marked as u32);
            }
        }
    }
}
