//! `AccECN`'s ACE field: each packet carries a count of marked packets (rfc9768#3.2).
//! `accecn_option.rs` has the option that goes with it.
//!
//! Marked ACKs are counted too, and the next packet sent reports them.
//! As in Linux no packet is sent for that alone; rfc9768#3.2.2.5.1 wants an ACK for every third.

use super::accecn_option::{ByteCounts, ByteReader};
use crate::packet::Packet;
use sojourn_aqm::Ecn;
use sojourn_spec::tcp::{AccEcnOption, TcpOptions};

/// Position of the ACE field in [`Packet::flags`](crate::packet::Packet); it has three bits.
const SHIFT: u32 = 13;
const MODULUS: u32 = 8;

/// The initial count; a field of zeros is thus never valid (rfc9768#3.2.1).
const START: u32 = 5;

/// The field of a host that has received no marks, and the increment for each mark.
pub const NO_MARKS: u16 = (START << SHIFT) as u16;
pub const ONE_MARK: u16 = 1 << SHIFT;

/// The ACE field of the answer to a SYN or SYN-ACK that arrived with this ECN field.
/// Sources: rfc9768#3.1.2, rfc9768#3.2.2.1.
pub fn handshake(ecn: Ecn) -> u16 {
    let field = match ecn {
        Ecn::NotEct => 2,
        Ecn::Ect1 => 3,
        Ecn::Ect0 => 4,
        Ecn::Ce => 6,
    };
    field << SHIFT
}

/// The number of unreported marks after which an ACK is sent at once (rfc9768#3.2.2.5.1).
/// Linux has its own (`TCP_ACCECN_ACE_MAX_DELTA`).
const MARKS_PER_ACK: u8 = 2;
const MARKS_PER_ACK_LINUX: u8 = 6;

/// The mean size of marked segments may be smaller than the MSS by this factor.
/// Sources: rfc9768#A.2.2, Linux `TCP_ACCECN_SAFETY_SHIFT`.
const SAFETY_FACTOR: u64 = 2;
/// Packets an ACK delivers on average above which a gap between two ACKs says little.
/// Sources: rfc9768#A.2.1, Linux `ACK_COMP_THRESH`.
/// `WEIGHT` is the weight of an ACK in that mean (Linux `PKTS_ACKED_WEIGHT`).
const THINNED_OUT: f64 = 4.0;
const WEIGHT: f64 = 1.0 / 64.0;

/// The receiver's counter `r.cep`: the packets that arrived with a mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkCounter {
    /// The count modulo 256; the field holds its last three bits.
    count: u8,
    /// Marks received since the last ACK.
    unreported: u8,
    last: Ecn,
    /// Whether each change of the ECN field requires an ACK at once.
    /// Linux does so (`tcp_ecn_received_counters`).
    asks_on_change: bool,
}

impl MarkCounter {
    /// A counter at the start of a connection that uses the `AccECN` option in this way.
    pub const fn new(option: AccEcnOption) -> Self {
        let asks_on_change = matches!(option, AccEcnOption::Minimum | AccEcnOption::Full);
        MarkCounter { count: START as u8, unreported: 0, last: Ecn::NotEct, asks_on_change }
    }

    /// A SYN arrives: its mark is not counted, the answer reports it (rfc9768#3.2.2.2).
    pub fn on_syn(&mut self, ecn: Ecn) {
        self.last = ecn;
    }

    /// A packet arrives; returns whether an ACK must be sent at once.
    /// It must at the first mark after an unmarked packet, and at the second mark since the last ACK (rfc9768#3.2.2.5.1).
    /// With "minimum" and "full" it must at each change of the field, and at the sixth mark, as in Linux.
    pub fn on_packet(&mut self, ecn: Ecn) -> bool {
        let marked = ecn == Ecn::Ce;
        self.count = self.count.wrapping_add(u8::from(marked));
        self.unreported = self.unreported.saturating_add(u8::from(marked));
        let changes = std::mem::replace(&mut self.last, ecn) != ecn;
        match self.asks_on_change {
            true => changes || self.unreported >= MARKS_PER_ACK_LINUX,
            false => (changes && marked) || self.unreported >= MARKS_PER_ACK,
        }
    }

    /// The flags of an ACK sent now.
    pub fn report(&mut self) -> u16 {
        self.unreported = 0;
        // The field is in the upper three bits, so the shift drops the rest of the count.
        u16::from(self.count) << SHIFT
    }
}

/// What an ACK newly delivers to the receiver.
#[derive(Clone, Copy, Debug)]
pub struct NewlyAcked {
    /// The number of segments, as a multiple of full ones.
    pub segments: f64,
    /// Whether the number is exact: there are SACK blocks, or no losses are being repaired.
    pub is_known: bool,
}

/// The sender's counter `s.cep`: the marks that ACKs have reported.
#[derive(Clone, Copy, Debug)]
pub struct MarkReader {
    count: u32,
    /// The counts of bytes, where ACKs carry the option.
    bytes: Option<ByteReader>,
    /// The mean number of packets that an ACK delivers; 0 before the first.
    mean: f64,
    mss: u32,
}

impl MarkReader {
    /// A reader at the start of a connection.
    pub fn new(params: &TcpOptions) -> Self {
        let bytes = (params.accecn_option != AccEcnOption::Off).then_some(ByteReader::NEW);
        MarkReader { count: START, bytes, mean: 0.0, mss: params.mss }
    }

    /// The marks that this ACK reports for the first time.
    /// The three-bit field may have wrapped if ACKs were lost and this one delivers many packets.
    /// The option then tells whether it did.
    /// Without an option it is assumed that it did, unless ACKs deliver many packets on average.
    /// Sources: rfc9768#A.2, Linux `__tcp_accecn_process`.
    pub fn read(&mut self, ack: &Packet, option: Option<&ByteCounts>, newly: NewlyAcked) -> u32 {
        let delivered = newly.segments.ceil() as u32;
        let bytes = (newly.segments * f64::from(self.mss)) as u32;
        let marked = self.bytes.as_mut().and_then(|reader| reader.read(option, bytes));
        if delivered > 0 {
            let size = f64::from(delivered);
            self.mean = if self.mean > 0.0 { self.mean + WEIGHT * (size - self.mean) } else { size };
        }
        let field = u32::from(ack.flags >> SHIFT) % MODULUS;
        let least = (field + MODULUS - self.count % MODULUS) % MODULUS;
        let marks = match marked {
            _ if delivered < MODULUS => least,
            Some(0) => least,
            Some(marked) if delivered >= 2 * MODULUS && newly.is_known => at_rate(marked, bytes, least, delivered),
            Some(marked) => self.reconcile(marked, least, delivered),
            None if self.mean > THINNED_OUT => least,
            None => most(least, delivered),
        };
        self.count = self.count.wrapping_add(marks);
        marks
    }

    /// `least` marks, or the most possible if there were too many marked bytes for that.
    /// Source: rfc9768#A.2.2.
    fn reconcile(&self, marked: u32, least: u32, delivered: u32) -> u32 {
        let most = most(least, delivered);
        let bytes = |marks: u32| u64::from(marks) * u64::from(self.mss);
        let is_enough = u64::from(marked) <= bytes(least) && u64::from(marked) < bytes(most) / SAFETY_FACTOR;
        if is_enough { least } else { most }
    }
}

/// The most marks that agree with the field, of which `least` is the lowest (rfc9768#A.2.1).
fn most(least: u32, delivered: u32) -> u32 {
    delivered - (delivered - least) % MODULUS
}

/// The marks that agree with the field and with the share of marked bytes in all bytes.
fn at_rate(marked: u32, bytes: u32, least: u32, delivered: u32) -> u32 {
    if bytes <= marked {
        return most(least, delivered);
    }
    let estimate = (u64::from(marked) * u64::from(delivered)).div_ceil(u64::from(bytes)) as u32;
    most(least, delivered).min(least + estimate / MODULUS * MODULUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::ecn::ByteCounter;
    use proptest::prelude::*;
    use sojourn_units::Time;

    fn counter() -> MarkCounter {
        MarkCounter::new(AccEcnOption::Off)
    }

    fn reader(accecn_option: AccEcnOption) -> MarkReader {
        MarkReader::new(&TcpOptions { accecn_option, ..TcpOptions::rfc() })
    }

    fn ack(counter: &mut MarkCounter) -> Packet {
        Packet { flags: counter.report(), ..Packet::EMPTY }
    }

    fn newly(segments: u32) -> NewlyAcked {
        NewlyAcked { segments: f64::from(segments), is_known: true }
    }

    #[test]
    fn the_first_mark_and_every_second_one_ask_for_an_ack_and_in_linux_each_change() {
        let mut counter = counter();
        let arrive = |counter: &mut MarkCounter, ecns: [Ecn; 5]| ecns.map(|ecn| counter.on_packet(ecn));
        let ecns = [Ecn::Ect1, Ecn::Ce, Ecn::Ect1, Ecn::Ce, Ecn::Ce];
        assert_eq!(arrive(&mut counter, ecns), [false, true, false, true, true]);
        counter.report();
        assert_eq!([Ecn::Ce, Ecn::Ce].map(|ecn| counter.on_packet(ecn)), [false, true]);
        let mut linux = MarkCounter::new(AccEcnOption::Full);
        assert_eq!(arrive(&mut linux, ecns), [true, true, true, true, false]);
        assert_eq!(arrive(&mut linux, [Ecn::Ce; 5]), [false, false, true, true, true], "three marks were there before");
    }

    #[test]
    fn a_lost_ack_hides_no_mark_and_a_long_gap_is_read_as_marked_unless_all_are_long() {
        let (mut counter, mut reader) = (counter(), reader(AccEcnOption::Off));
        (0..3).for_each(|_| _ = counter.on_packet(Ecn::Ce));
        assert_eq!(reader.read(&ack(&mut counter), None, newly(3)), 3);
        // Of 12 packets 10 are marked: the field says 2, and 10 agrees with it.
        (0..10).for_each(|_| _ = counter.on_packet(Ecn::Ce));
        assert_eq!(reader.read(&ack(&mut counter), None, newly(12)), 10);
        // 9 packets without a mark: 8 agrees as well as 0, so 8 are taken as marked.
        assert_eq!(reader.read(&ack(&mut counter), None, newly(9)), 8);
        // The examples of rfc9768#A.2.1.
        assert_eq!([9, 10].map(|delivered| most(2, delivered)), [2, 10]);
        (0..100).for_each(|_| _ = reader.read(&ack(&mut counter), None, newly(7)));
        assert_eq!(reader.read(&ack(&mut counter), None, newly(9)), 0);
    }

    /// The examples of rfc9768#A.2.2.
    /// Each gives the marks by the field, the packets, the marked bytes, and the marks that follow.
    #[test]
    fn marked_bytes_tell_whether_the_field_has_gone_round() {
        for (least, delivered, marked, marks) in [(0, 8, 1460, 8), (2, 10, 1460, 2), (7, 15, 10_200, 7)] {
            assert_eq!(reader(AccEcnOption::Full).reconcile(marked, least, delivered), marks);
        }
        // The number of marked segments among 24.
        for marks in [0, 8, 12, 24] {
            assert_eq!(at_rate(marks * 1460, 24 * 1460, marks % MODULUS, 24), marks);
        }
    }

    /// Nine of ten segments are marked and small.
    /// The field says 1, but one segment has fewer bytes (rfc9768#A.2.2).
    #[test]
    fn more_marked_bytes_than_a_segment_has_tell_that_the_field_has_gone_round() {
        let params = TcpOptions { ecn: sojourn_spec::tcp::Ecn::L4s, accecn_option: AccEcnOption::Full, ..TcpOptions::rfc() };
        let (mut counter, mut reader) = (MarkCounter::new(AccEcnOption::Full), MarkReader::new(&params));
        let mut bytes = ByteCounter::new(&params).unwrap();
        bytes.received = true;
        let mut arrive = |ecns: &[Ecn]| {
            for &ecn in ecns {
                counter.on_packet(ecn);
                bytes.on_packet(Time::ZERO, ecn, 500);
            }
            reader.read(&ack(&mut counter), bytes.on_ack(Time::ZERO, false, 0).option.as_ref(), newly(ecns.len() as u32))
        };
        arrive(&[Ecn::Ect1]);
        assert_eq!(arrive(&[&[Ecn::Ce; 9][..], &[Ecn::Ect1]].concat()), 9);
    }

    proptest! {
        #[test]
        fn where_acks_are_seven_packets_apart_at_most_each_mark_is_told_once(
            gaps in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..8), 0..200),
        ) {
            let (mut counter, mut reader) = (counter(), reader(AccEcnOption::Off));
            for packets in gaps {
                packets.iter().for_each(|&marked| _ = counter.on_packet(if marked { Ecn::Ce } else { Ecn::Ect1 }));
                let marked = packets.iter().filter(|&&marked| marked).count();
                prop_assert_eq!(reader.read(&ack(&mut counter), None, newly(packets.len() as u32)), marked as u32);
            }
        }

        #[test]
        fn with_the_option_each_mark_of_full_segments_is_told_once_however_many_acks_are_lost(
            gaps in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..100), 1..100),
        ) {
            let params = TcpOptions { ecn: sojourn_spec::tcp::Ecn::L4s, accecn_option: AccEcnOption::Full, ..TcpOptions::rfc() };
            let (mut counter, mut reader) = (MarkCounter::new(AccEcnOption::Full), MarkReader::new(&params));
            let mut bytes = ByteCounter::new(&params).unwrap();
            bytes.received = true;
            let mut arrive = |counter: &mut MarkCounter, reader: &mut MarkReader, packets: &[bool]| {
                for ecn in packets.iter().map(|&marked| if marked { Ecn::Ce } else { Ecn::Ect1 }) {
                    counter.on_packet(ecn);
                    bytes.on_packet(Time::ZERO, ecn, params.mss);
                }
                let option = bytes.on_ack(Time::ZERO, false, 0).option;
                reader.read(&ack(counter), option.as_ref(), newly(packets.len() as u32))
            };
            // From the first option on it is known which counters change.
            arrive(&mut counter, &mut reader, &[false]);
            for packets in gaps {
                let marked = packets.iter().filter(|&&marked| marked).count() as u32;
                prop_assert_eq!(arrive(&mut counter, &mut reader, &packets), marked);
            }
        }
    }
}
