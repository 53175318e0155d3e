use super::*;
use sojourn_spec::tcp::Ecn;

/// Linux `tcp_ecn_received_counters`, `tcp_data_ecn_check`: a mark asks for two quick ACKs under classic ECN alone.
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
