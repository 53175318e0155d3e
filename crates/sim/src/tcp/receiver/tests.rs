use super::*;
use proptest::prelude::*;
use sojourn_spec::tcp::Ecn;
use sojourn_units::Duration;

/// A mark requests two quick ACKs under classic ECN alone.
/// Linux `tcp_ecn_received_counters`, `tcp_data_ecn_check`.
#[test]
fn a_change_of_the_mark_is_acknowledged_at_once_and_then_every_second_segment_as_in_linux() {
    let params = TcpOptions { ecn: Ecn::L4s, quick_start: 0, ..TcpOptions::linux() }.with_accecn_room();
    let (mut receiver, mut pool, mut ack) = (Receiver::new(&params, true).unwrap(), AckOptionsPool::default(), Packet::EMPTY);
    let mut number = 0;
    let mut arrive = |mark: u16| {
        let seq = u64::from(params.mss) * number;
        number += 1;
        let now = Time::from_nanos(number * 1_000_000);
        let (size, flags) = ((params.header + params.mss) as u16, flag::ECT | flag::ECT1 | mark);
        let segment = Packet { seq, stamp: now, size, flags, ..Packet::EMPTY };
        receiver.on_segment(now, &segment, &params, &mut pool, &mut ack).acks
    };
    // The first are acknowledged at once (`quick_acks`).
    let first: Vec<bool> = (0..18).map(|_| arrive(0)).collect();
    assert_eq!(first, [[true; 16].as_slice(), &[false, true]].concat());
    assert_eq!([flag::CE; 5].map(&mut arrive), [true, false, true, false, true]);
    assert_eq!([0; 5].map(arrive), [true, false, true, false, true]);
}

/// An ACK with the old mark is sent first if one is delayed, but not if ACKs are compressed.
/// Linux `dctcp_ece_ack_update`.
#[test]
fn a_delayed_ack_goes_before_a_change_of_the_mark_under_dctcp() {
    let params = TcpOptions { ecn: Ecn::Dctcp, quick_start: 0, quick_acks: 0, ..TcpOptions::linux() };
    let (mut receiver, mut pool, mut ack) = (Receiver::new(&params, true).unwrap(), AckOptionsPool::default(), Packet::EMPTY);
    let (mss, size) = (u64::from(params.mss), (params.header + params.mss) as u16);
    let segment = |number: u64, mark: u16| Packet { seq: mss * number, size, flags: flag::ECT | mark, ..Packet::EMPTY };
    let mut take = |receiver: &mut Receiver, now: u64, packet: &Packet| {
        receiver.on_segment(Time::from_nanos(now), packet, &params, &mut pool, &mut ack).acks
    };
    let syn = Packet { flags: flag::SYN, size: params.header as u16, ..Packet::EMPTY };
    take(&mut receiver, 1, &syn);
    let mut arrive = |receiver: &mut Receiver, number: u64| take(receiver, 100_000_000 + number * 1_000, &segment(number, 0));
    assert!(!receiver.must_ack_before(&segment(0, flag::CE), &params), "nothing waits for an ACK");
    assert!(!arrive(&mut receiver, 0), "the first is delayed");
    assert!(receiver.must_ack_before(&segment(1, flag::CE), &params), "the mark changes");
    assert!(!receiver.must_ack_before(&segment(1, 0), &params), "the mark stays");
    let above_a_gap: Vec<bool> = (2..8).map(|number| arrive(&mut receiver, number)).collect();
    assert_eq!(above_a_gap, [true, true, true, false, false, false], "after three duplicate ACKs they are put together");
    assert!(!receiver.must_ack_before(&segment(8, flag::CE), &params), "no ACK is delayed");
}

/// Data that was acknowledged before does not update the newest timestamp (rfc7323#5.3).
/// Linux `tcp_validate_incoming`, `tcp_send_dupack`.
#[test]
fn a_segment_older_than_the_newest_in_order_is_not_taken_but_answered_at_once() {
    let linux = TcpOptions::linux();
    let mss = u64::from(linux.mss);
    let arrive = |params: &TcpOptions, segments: &[(u64, u64)]| {
        let (mut receiver, mut pool, mut ack) = (Receiver::new(params, true).unwrap(), AckOptionsPool::default(), Packet::EMPTY);
        let mut told = |&(number, stamp): &(u64, u64)| {
            let (seq, stamp, now) = (mss * number, Time::from_nanos(stamp * 1_000_000), Time::from_nanos(1_000_000_000));
            let segment = Packet { seq, stamp, size: (params.header + params.mss) as u16, ..Packet::EMPTY };
            let received = receiver.on_segment(now, &segment, params, &mut pool, &mut ack);
            assert!(received.acks, "quick ACKs");
            let sack = pool.take(ack.extra).sack;
            (ack.seq / mss, sack.and_then(|sack| sack.duplicate(ack.seq)).map(|(from, _)| from / mss))
        };
        segments.iter().map(&mut told).collect::<Vec<_>>()
    };
    // The retransmission of the second at 150 ms fills the gap. Then the originals of the second and fourth arrive, which are older.
    let reordered = [(0, 100), (2, 102), (1, 150), (1, 101), (3, 103)];
    assert_eq!(arrive(&linux, &reordered), [(1, None), (1, None), (3, None), (3, Some(1)), (3, None)]);
    assert_eq!(arrive(&TcpOptions { paws: false, ..linux.clone() }, &reordered)[4], (4, None));
    assert_eq!(
        arrive(&linux, &[(0, 100), (1, 150), (2, 149), (3, 148)]),
        [(1, None), (2, None), (3, None), (3, None)],
        "one tick is allowed"
    );
    // A duplicate of acknowledged data has a new timestamp, but later segments are still accepted.
    assert_eq!(arrive(&linux, &[(0, 100), (1, 101), (0, 150), (2, 102)]), [(1, None), (2, None), (2, Some(0)), (3, None)]);
}

/// An ACK has room for three blocks, and compression must not push one out.
/// Linux `tcp_sack_new_ofo_skb`.
#[test]
fn acks_that_are_put_together_go_before_a_third_block_changes() {
    let params = TcpOptions { quick_start: 0, quick_acks: 0, ..TcpOptions::linux() };
    let (mut receiver, mut pool, mut ack) = (Receiver::new(&params, true).unwrap(), AckOptionsPool::default(), Packet::EMPTY);
    let mss = u64::from(params.mss);
    let at = |micros: u64| Time::from_nanos(micros * 1_000);
    let syn = Packet { flags: flag::SYN, size: params.header as u16, stamp: at(1), ..Packet::EMPTY };
    receiver.on_segment(at(1), &syn, &params, &mut pool, &mut ack);
    let mut now = 100_000;
    // Which ACKs must go before segment `number`, and whether it is acknowledged at once.
    let mut arrive = |number: u64| {
        now += 10;
        let segment = Packet { seq: number * mss, stamp: at(now), size: (params.header + params.mss) as u16, ..Packet::EMPTY };
        let before = receiver.must_ack_before(&segment, &params);
        if before {
            receiver.on_timer(at(now), &params, &mut pool, &mut ack);
        }
        (before, receiver.on_segment(at(now), &segment, &params, &mut pool, &mut ack).acks)
    };
    assert_eq!([0, 2, 4, 6].map(&mut arrive), [(false, false), (false, true), (false, true), (false, true)], "three duplicate ACKs");
    // A new block, more of it, what makes one of it and the second. The blocks are 6 to 9, 4 and 2 then.
    assert_eq!([8, 9, 7].map(&mut arrive), [(false, false); 3]);
    assert_eq!(arrive(11), (true, false), "a block that is new, of which no ACK waits to tell");
    assert_eq!([12, 10].map(&mut arrive), [(false, false); 2], "the first block, and what makes one of it and the second");
    assert_eq!(arrive(3), (false, false), "the second block");
    // They are 2 to 4 and 6 to 12, so 15 is new. Then no ACK waits until 17 has come, and 6 to 13 is not among the first two.
    assert_eq!([15, 17, 13].map(arrive), [(true, false), (false, false), (true, false)]);
}

/// The RTT is stored eightfold (Linux `__tcp_ack_snd_check`).
#[test]
fn acks_are_put_together_for_a_third_of_the_round_trip_and_a_millisecond_at_most() {
    for (micros, waits) in [(300, 99), (1_000, 330), (3_000, 990), (5_000, 1_000), (100_000, 1_000)] {
        let params = TcpOptions { quick_start: 0, quick_acks: 0, ..TcpOptions::linux() };
        let mut host = Host::new(&params, true);
        let at = |micros: u64| Time::from_nanos(micros * 1_000);
        host.take(at(1), &Packet { flags: flag::SYN, size: params.header as u16, stamp: at(1), ..Packet::EMPTY }, &params);
        let mut arrive = |number: u64, now: Time| {
            let size = (params.header + params.mss) as u16;
            host.take(now, &Packet { seq: number * u64::from(params.mss), stamp: now, size, ..Packet::EMPTY }, &params);
            host.receiver.deadline()
        };
        // Three duplicate ACKs go at once.
        let now = at(1 + micros);
        let due = [0, 2, 3, 4, 5].map(|number| arrive(number, now))[4];
        assert_eq!(due.since(now), Duration::from_micros(waits), "with a round trip of {micros} us");
    }
}

/// Linux `tcp_data_queue` forgets a D-SACK that no ACK has reported.
#[test]
fn a_duplicate_above_a_gap_is_reported_only_if_no_other_segment_comes_before_the_ack() {
    let params = TcpOptions { quick_start: 0, quick_acks: 0, ..TcpOptions::linux() };
    let reported = |after: &[u64]| {
        let mut host = Host::new(&params, true);
        let at = |micros: u64| Time::from_nanos(micros * 1_000);
        host.take(at(1), &Packet { flags: flag::SYN, size: params.header as u16, stamp: at(1), ..Packet::EMPTY }, &params);
        let mut now = 100_000;
        for number in [0, 2, 3, 4, 5, 3].iter().chain(after) {
            now += 10;
            let size = (params.header + params.mss) as u16;
            host.take(at(now), &Packet { seq: number * u64::from(params.mss), stamp: at(now), size, ..Packet::EMPTY }, &params);
        }
        let mut ack = Packet::ack_of(0, 0, 0);
        assert!(host.receiver.on_timer(host.receiver.deadline(), &params, &mut host.pool, &mut ack));
        let first = host.pool.take(ack.extra).sack.and_then(|sack| sack.iter().next()).unwrap();
        (first.0 / u64::from(params.mss), first.1 / u64::from(params.mss))
    };
    assert_eq!(reported(&[]), (3, 4));
    assert_eq!(reported(&[6]), (2, 7), "the block alone");
}

/// A segment without ECT among others with ECT is probably a retransmission.
/// Linux `tcp_data_ecn_check`.
#[test]
fn a_segment_without_ect_among_others_is_acknowledged_at_once_and_so_is_the_next() {
    let params = TcpOptions { ecn: Ecn::Classic, quick_start: 0, quick_acks: 2, ..TcpOptions::linux() };
    let mut host = Host::new(&params, true);
    let mut arrive = |number: u64, ect: u16| {
        let (now, size) = (Time::from_nanos((1 + number) * 1_000_000), (params.header + params.mss) as u16);
        let segment = Packet { seq: number * u64::from(params.mss), stamp: now, size, flags: ect, ..Packet::EMPTY };
        let mut ack = Packet::EMPTY;
        host.receiver.on_segment(now, &segment, &params, &mut host.pool, &mut ack).acks
    };
    let acks: Vec<bool> = (0..6).map(|number| arrive(number, flag::ECT)).collect();
    assert_eq!(acks, [true, true, false, true, false, true], "the first two at once, then every second");
    assert_eq!(
        [(6, flag::RETRANSMIT), (7, flag::ECT), (8, flag::ECT), (9, flag::ECT)].map(|(number, ect)| arrive(number, ect)),
        [true, true, false, true]
    );
}

/// A receiver with its pool of options, which reports all actions as text.
struct Host {
    receiver: Receiver,
    pool: AckOptionsPool,
}

impl Host {
    fn new(params: &TcpOptions, predicts: bool) -> Self {
        Host { receiver: Receiver::new(params, predicts).unwrap(), pool: AckOptionsPool::default() }
    }

    /// A segment arrives; the timer that is due before it runs first.
    fn take(&mut self, now: Time, segment: &Packet, params: &TcpOptions) -> Vec<String> {
        let mut acks = Vec::new();
        while self.receiver.deadline() < now {
            acks.extend(self.act(self.receiver.deadline(), params));
        }
        if self.receiver.must_ack_before(segment, params) {
            acks.extend(self.act(now, params));
        }
        let mut ack = Packet::EMPTY;
        let received = self.receiver.on_segment(now, segment, params, &mut self.pool, &mut ack);
        acks.push(format!("{received:?} {:?}", self.receiver.deadline()));
        acks.extend(received.acks.then(|| self.told(&ack)));
        acks
    }

    fn act(&mut self, due: Time, params: &TcpOptions) -> Option<String> {
        let mut ack = Packet::ack_of(0, 0, 0);
        self.receiver.on_timer(due, params, &mut self.pool, &mut ack).then(|| self.told(&ack))
    }

    fn told(&mut self, ack: &Packet) -> String {
        let options = self.pool.take(ack.extra);
        format!("{ack:?} {:?} {:?}", options.sack.map(|sack| sack.iter().collect::<Vec<_>>()), options.byte_counts)
    }
}

proptest! {
    /// A drawn sequence of segments, each with its number, gap in µs and mark.
    /// The first segments may be lost. Either most of the others or half of them are in order.
    #[test]
    fn the_short_ways_give_the_same_acks_at_the_same_times(
        ecn in prop_oneof![Just(Ecn::Off), Just(Ecn::Classic), Just(Ecn::Dctcp), Just(Ecn::L4s)],
        (quick_start, round_trip, first) in (prop_oneof![Just(0u32), 0u32..20], 0u64..100_000, prop_oneof![Just(0u64), 1u64..4]),
        kinds in prop_oneof![Just(8u32), Just(40)],
        steps in prop::collection::vec((0u32..40, prop_oneof![0u64..300, 0u64..300, 0u64..60_000], 0u32..20), 1..400),
    ) {
        let params = TcpOptions { ecn, quick_start, quick_acks: quick_start, ..TcpOptions::linux() }.with_accecn_room();
        let mss = u64::from(params.mss);
        let (mut short, mut long) = (Host::new(&params, true), Host::new(&params, false));
        let (mut now, mut next) = (Time::from_nanos(1), first);
        let syn = Packet { flags: flag::SYN, size: params.header as u16, ..Packet::EMPTY };
        prop_assert_eq!(short.take(now, &syn, &params), long.take(now, &syn, &params));
        now += Duration::from_micros(round_trip);
        for (which, micros, mark) in steps {
            now += Duration::from_micros(micros);
            // Most are the next one; some are lost, come late, or come once more.
            let missing = long.receiver.rcv_nxt / mss;
            let number = match which % kinds {
                0 => next + 1,
                1 => missing,
                2 => next.saturating_sub(u64::from(mark)),
                _ => next,
            };
            next = next.max(number + 1);
            let flags = flag::ECT | [flag::CE, flag::PSH, flag::CWR].get(mark as usize).copied().unwrap_or(0);
            let size = (params.header + if which % kinds == 3 { 100 } else { params.mss }) as u16;
            let segment = Packet { seq: number * mss, stamp: now, size, flags, ..Packet::EMPTY };
            prop_assert_eq!(short.take(now, &segment, &params), long.take(now, &segment, &params));
        }
    }
}
