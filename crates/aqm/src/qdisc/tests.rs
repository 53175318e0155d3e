use super::*;
use crate::algorithms::{dualpi2, test_link};
use crate::disciplines::dual::DualQueues;
use crate::parcel::Parcel;
use crate::{
    Amount, Aqm, ArrivalVerdict, Backlog, DepartureVerdict, DualAqm, DualClass, DualFilter, DualQueuing, Ecn, Needs, PacketView, Rule,
    Shares,
};
use sojourn_units::{Bytes, Stream};
use std::vec::Vec;

/// Verdicts from a list: one for each arrival, one for each departure.
#[derive(Clone)]
struct Scripted {
    arrivals: Vec<ArrivalVerdict>,
    departures: Vec<DepartureVerdict>,
    needs: Needs,
}

impl Aqm for Scripted {
    fn on_enqueue(&mut self, _: &PacketView, _: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        if self.arrivals.is_empty() { ArrivalVerdict::Pass } else { self.arrivals.remove(0) }
    }
    fn on_dequeue(&mut self, _: &PacketView, _: Duration, _: &Backlog, _: &mut Stream) -> DepartureVerdict {
        if self.departures.is_empty() { DepartureVerdict::Pass } else { self.departures.remove(0) }
    }
    fn update_interval(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }
    fn needs(&self) -> Needs {
        self.needs
    }
}

const HEAD_DROP: Needs = Needs {
    departures: true,
    head_drop: true,
    no_arrivals: false,
    waiting_packets: false,
    rtt_hints: false,
    flow_count: false,
    first_update: None,
};

fn queue(arrivals: &[ArrivalVerdict], departures: &[DepartureVerdict], needs: Needs, limit: Amount, ecn: bool) -> Qdisc<Parcel> {
    let scripted = Scripted { arrivals: arrivals.to_vec(), departures: departures.to_vec(), needs };
    Qdisc::new(QueueController::new(AnyAqm::Custom(Box::new(scripted)), limit, ecn, Stream::named(1, "qdisc")))
}

fn parcel(id: u32, ect: bool) -> Parcel {
    Parcel { id, size: 100 + id, ect, ..Parcel::default() }
}

fn ids(lost: &[(Parcel, DropReason)]) -> Vec<(u32, DropReason)> {
    lost.iter().map(|(parcel, reason)| (parcel.id, *reason)).collect()
}

/// Offers packets 0..n while the link is sending and returns those that were lost.
fn offer(queue: &mut Qdisc<Parcel>, n: u32, ect: bool) -> Vec<(u32, DropReason)> {
    (0..n).flat_map(|id| ids(&queue.offer(Time::ZERO, parcel(id, ect), None))).collect()
}

#[test]
fn a_mark_becomes_an_early_drop_where_ecn_is_off_or_the_packet_cannot_carry_it() {
    for (ecn, ect) in [(false, true), (true, false), (false, false)] {
        let mut q = queue(&[ArrivalVerdict::Signal], &[], Needs::default(), Amount::Packets(9), ecn);
        assert_eq!(offer(&mut q, 2, ect), [(0, DropReason::Early)]);
        assert_eq!((q.counters().marked, q.packets(), q.bytes()), (0, 1, 101));
    }
    let mut q = queue(&[ArrivalVerdict::Signal], &[], Needs::default(), Amount::Packets(9), true);
    assert_eq!(offer(&mut q, 2, true), []);
    assert_eq!(q.counters().marked, 1);
    assert!(q.take(Time::ZERO).0.unwrap().ce);
}

#[test]
fn a_packet_to_be_marked_at_its_departure_is_marked_there_or_dropped_on_arrival_or_spared() {
    let (strict, sparing) = (ArrivalVerdict::DropUnlessMarkable, ArrivalVerdict::DropWithoutEcn);
    for (verdict, ecn, ect, lost, marked) in [
        (strict, true, true, 0, 1),
        (strict, true, false, 1, 0),
        (strict, false, true, 1, 0),
        (sparing, true, true, 0, 1),
        (sparing, true, false, 0, 0),
        (sparing, false, true, 1, 0),
    ] {
        let verdicts = ([verdict, ArrivalVerdict::Pass], [DepartureVerdict::MarkOrPass]);
        let mut q = queue(&verdicts.0, &verdicts.1, HEAD_DROP, Amount::Packets(9), ecn);
        assert_eq!(offer(&mut q, 2, ect).len(), lost);
        let (taken, dropped) = q.take(Time::ZERO);
        assert!(taken.is_some() && dropped.is_empty());
        assert_eq!(q.counters().marked, marked);
        assert!(q.balances());
    }
}

#[test]
fn a_full_queue_drops_at_the_tail_whatever_the_verdict_but_keeps_a_draw_from_the_queue() {
    let verdicts = [ArrivalVerdict::Pass, ArrivalVerdict::Pass, ArrivalVerdict::Signal, ArrivalVerdict::Pass, ArrivalVerdict::DropBoth(0)];
    let mut q = queue(&verdicts, &[], Needs::default(), Amount::Packets(2), true);
    let lost = offer(&mut q, 5, true);
    assert_eq!(lost, [(2, DropReason::Tail), (3, DropReason::Tail), (0, DropReason::Early), (4, DropReason::Early)]);
    assert_eq!(q.counters().marked, 0);
    assert!(q.balances());
}

#[test]
fn a_limit_in_bytes_refuses_the_packet_that_would_pass_it() {
    let mut q = queue(&[], &[], Needs::default(), Amount::Bytes(303), false);
    assert_eq!(offer(&mut q, 5, false), [(3, DropReason::Tail), (4, DropReason::Tail)]);
    assert_eq!(q.bytes(), 303);
    assert_eq!(q.counters().dropped_bytes, 103 + 104);
}

#[test]
fn a_packet_that_finds_the_link_idle_is_taken_whatever_the_limit() {
    let mut q = queue(&[], &[], Needs::default(), Amount::Bytes(0), false);
    assert_eq!(q.offer(Time::ZERO, parcel(0, false), Some(Time::ZERO)), []);
    assert!(q.take(Time::ZERO).0.is_some());
}

#[test]
fn verdicts_at_the_head_mark_and_drop() {
    let verdicts = [DepartureVerdict::Drop, DepartureVerdict::Drop, DepartureVerdict::Signal];
    let mut q = queue(&[], &verdicts, HEAD_DROP, Amount::Packets(9), true);
    offer(&mut q, 6, true);
    let (packet, lost) = q.take(Time::ZERO);
    assert_eq!(ids(&lost), [(0, DropReason::Forced), (1, DropReason::Forced)]);
    assert_eq!(packet, Some(Parcel { ce: true, ..parcel(2, true) }));
    assert_eq!((q.packets(), q.bytes()), (3, 103 + 104 + 105));
    assert!(q.balances());
}

#[test]
fn a_position_where_no_packet_waits_costs_only_the_arriving_packet() {
    let verdicts = [ArrivalVerdict::DropBoth(7), ArrivalVerdict::DropBoth(u32::MAX)];
    let mut q = queue(&verdicts, &[], Needs::default(), Amount::Packets(9), true);
    assert_eq!(offer(&mut q, 3, true), [(0, DropReason::Early), (1, DropReason::Early)]);
    assert!(q.take(Time::ZERO).0.is_some());
    assert_eq!(q.counters().dropped_early, 2);
    assert!(q.balances());
}

#[test]
fn an_algorithm_that_does_not_ask_for_departures_is_not_asked_about_them() {
    let mut q = queue(&[], &[DepartureVerdict::Drop], Needs::default(), Amount::Packets(9), true);
    offer(&mut q, 1, true);
    assert_eq!(q.take(Time::ZERO), (Some(parcel(0, true)), Vec::new()));
}

#[test]
fn a_timer_with_a_zero_interval_still_moves_on() {
    let mut q = queue(&[], &[], Needs::default(), Amount::Packets(9), true);
    q.update(Time::from_nanos(3), None);
    assert_eq!(q.next_update(), Time::from_nanos(4));
}

/// An algorithm with two queues that marks every second arrival.
#[derive(Clone, Debug)]
struct MarksEarly(bool);

impl Aqm for MarksEarly {
    fn on_enqueue(&mut self, _: &PacketView, _: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        self.0 = !self.0;
        if self.0 { ArrivalVerdict::Pass } else { ArrivalVerdict::Signal }
    }
    fn on_dequeue(&mut self, departure: &PacketView, _: Duration, _: &Backlog, _: &mut Stream) -> DepartureVerdict {
        assert!(departure.class == DualClass::Classic, "the mark of this queue makes a classic packet scalable");
        DepartureVerdict::Pass
    }
    fn needs(&self) -> Needs {
        HEAD_DROP
    }
}

impl DualAqm for MarksEarly {
    fn on_oldest(&mut self, _: Option<Time>) {}
    fn low_latency_probability(&self) -> Option<Probability> {
        None
    }
}

#[test]
fn a_classic_packet_that_the_dual_queue_marks_as_it_arrives_stays_in_the_classic_queue() {
    let mut controller = QueueController::passing().with(MarksEarly(false));
    controller.ecn = true;
    let queuing = DualQueuing { classic_share: 10, packet: 1000, ecn_mask: DualQueuing::L4S, tells_length: false };
    let queues: DualQueues<Parcel> = DualQueues::new(queuing, &mut QueueSetup::of(&mut controller));
    let (state, discipline) =
        (QueueState::new(Time::NEVER, AckFilter::None), AnyDiscipline::Own(Box::new(AqmDiscipline::new(controller, queues))));
    let mut q = Qdisc { state, discipline, hashes_flows: false, knows_groups: false };
    assert_eq!(offer(&mut q, 4, true), []);
    let order: Vec<_> = core::iter::from_fn(|| q.take(Time::ZERO).0).map(|packet| (packet.id, packet.ce)).collect();
    assert_eq!(order, [(0, false), (1, true), (2, false), (3, true)]);
    assert!(q.balances());
}

/// The ECN field decides first, then the first filter that matches.
/// Otherwise a packet joins the classic queue (Linux `dualpi2_skb_classify`).
#[test]
fn filters_are_asked_about_packets_that_their_ecn_field_leaves_to_the_classic_queue() {
    let filter = |groups: &[u32], ecn: Option<Ecn>, class| {
        let rule = Rule { groups: Some(groups.to_vec()), ecn: ecn.map(|ecn| std::vec![ecn]) };
        DualFilter { rule, class }
    };
    let filters = std::vec![
        filter(&[1], None, DualClass::LowLatency),
        filter(&[1, 2], Some(Ecn::Ect0), DualClass::L4s),
        filter(&[3], None, DualClass::Classic),
        filter(&[3], None, DualClass::L4s),
    ];
    let queuing = DualQueuing { classic_share: 10, packet: 100, ecn_mask: DualQueuing::L4S, tells_length: false };
    let mut queues: DualQueues<Parcel> =
        DualQueues::new(queuing, &mut QueueSetup { limit: Amount::Packets(1000), dscps: Vec::new(), filters });
    (0..4).for_each(|group| crate::Contents::add_place(&mut queues, 10 * group, group));
    use DualClass::{Classic as C, L4s as L, LowLatency as U};
    // Of packets that are not ECT, ECT(0), ECT(1) and CE.
    let of_group = |group: u32| Ecn::ALL.map(|ecn| queues.class_of(10 * group, ecn));
    assert_eq!([0, 1, 2, 3].map(of_group), [[C, C, L, L], [U, U, L, L], [C, L, L, L], [C, C, L, L]]);
    assert_eq!(queues.class_of(7, Ecn::Ect0), C, "a packet of no group");
}

/// A dual queue under `params` on a busy link.
/// A filter assigns every packet of position 1 to `class`.
fn filtered(params: &dualpi2::Params, class: DualClass, limit: u32) -> Qdisc<Parcel> {
    let aqm = AnyAqm::DualPi2(params.build(&test_link()).unwrap());
    let mut controller = QueueController::new(aqm, Amount::Packets(limit), true, Stream::named(1, "qdisc"));
    controller.filters = std::vec![DualFilter { rule: Rule { groups: Some(std::vec![1]), ecn: None }, class }];
    let mut q = Qdisc::new(controller);
    q.add_place(1, 1);
    q
}

/// The numbers of sent and dropped packets among 40.
/// They are not ECN-capable and wait 5 ms, which is above the step of 1 ms.
#[test]
fn what_a_filter_takes_for_scalable_is_dropped_above_the_step_and_what_it_takes_for_low_latency_gets_no_signals() {
    let ends = |class| {
        let mut q = filtered(&dualpi2::Params::default(), class, 100);
        let packet = Parcel { place: 1, size: 1000, ..Parcel::default() };
        (0..40).for_each(|id| assert!(q.offer(Time::ZERO, Parcel { id, ..packet }, None).is_empty()));
        let at = Time::from_nanos(5_000_000);
        let sent = core::iter::from_fn(|| q.take(at).0).count();
        assert!(q.balances());
        let [low, classic] = [0, 1].map(|at| q.subqueues()[at].counters);
        (sent, low.arrived, classic.arrived, low.dropped())
    };
    assert_eq!(ends(DualClass::L4s), (0, 40, 0, 40));
    assert_eq!(ends(DualClass::LowLatency), (40, 40, 0, 0));
    assert_eq!(ends(DualClass::Classic), (40, 0, 40, 0));
}

/// A packet takes its own bytes and 780 B of memory: 1780 B here.
/// Linux treats a packet without memory as one that finds its queue full, whichever queue it would join.
#[test]
fn a_packet_that_memory_does_not_suffice_for_is_lost_as_where_the_queue_is_full() {
    let params = dualpi2::Params { memory_limit: Bytes(10_000), ..dualpi2::Params::default() };
    let mut q = filtered(&params, DualClass::LowLatency, 100);
    let parcel = |place| Parcel { place, size: 1000, ..Parcel::default() };
    let lost: Vec<usize> = (0..8).map(|at| q.offer(Time::ZERO, parcel(at % 2), None).len()).collect();
    assert_eq!(lost, [0, 0, 0, 0, 0, 1, 1, 1]);
    assert_eq!((q.packets(), q.counters().dropped_tail), (5, 3));
    let ack = Parcel { size: 320, ..Parcel::default() };
    assert_eq!(q.offer(Time::ZERO, ack, None).len(), 0, "1100 B are left: 780 and 320");
    assert_eq!(q.offer(Time::ZERO, ack, Some(Time::ZERO)).len(), 0, "what finds the link idle goes straight to it");
    assert!(q.balances());
}

/// Classes of these disciplines with 8 kbit/s each.
/// They match the groups 0, 1, and so on; the position of a packet is its group.
fn slow_classes<const N: usize>(disciplines: [&str; N]) -> Qdisc<Parcel> {
    let slow = Shares { rate: sojourn_units::Rate::from_bps(8_000).unwrap(), ceil: sojourn_units::Rate::from_bps(8_000), link: None };
    let class = |group: u32, discipline: &str| {
        let entry = crate::REGISTRY.iter().find(|entry| entry.name == discipline).unwrap();
        let aqm = (entry.default)().build(&test_link()).unwrap();
        let controller = QueueController::new(aqm, Amount::Packets(20), false, Stream::named(1, "class"));
        let rule = Rule { groups: Some(std::vec![group]), ecn: None };
        let queue = QdiscConfig::One(Box::new(controller), None);
        ClassConfig { rule, queue, priority: 0, quantum: 1514, shares: Some(slow) }
    };
    let mut q = Qdisc::of_classes((0..).zip(disciplines).map(|(group, name)| class(group, name)).collect());
    (0..4).for_each(|group| q.add_place(group, group));
    q
}

#[test]
fn a_queue_that_ends_gives_up_every_packet_also_those_that_a_class_holds_back() {
    let mut q = slow_classes(["droptail", "fq-codel", "dualpi2", "cake"]);
    for id in 0..40 {
        q.offer(Time::ZERO, Parcel { id, place: id % 4, flow: id % 3, size: 1000, ..Parcel::default() }, None);
    }
    // Each class has sent ahead of its rate of 8 kbit/s, so all of them hold back.
    let sent: Vec<u32> = std::iter::from_fn(|| q.take(Time::ZERO).0).map(|parcel| parcel.id).collect();
    assert!(q.packets() > 20 && q.ready().is_some());
    let mut ids = sent;
    q.into_packets(&mut |parcel| ids.push(parcel.id));
    ids.sort_unstable();
    assert_eq!(ids, (0..40).collect::<Vec<_>>());
}

#[test]
fn a_queue_balances_only_if_each_packet_is_accounted_for_in_each_part_and_in_each_class() {
    let mut q = slow_classes(["dualpi2", "droptail"]);
    for id in 0..9 {
        q.offer(Time::ZERO, Parcel { id, place: id % 2, size: 1000, ..Parcel::default() }, None);
    }
    q.take(Time::ZERO);
    let now = Time::from_nanos(9);
    q.offer(now, Parcel { id: 9, place: 1, size: 1000, ..Parcel::default() }, None);
    assert_eq!(q.samples().last().and_then(|droptail| droptail.oldest), Some(Time::ZERO), "the oldest packet of the class");
    let balances = |change: &dyn Fn(&mut Qdisc<Parcel>)| {
        let mut changed = q.clone();
        change(&mut changed);
        changed.balances()
    };
    let class = |q: &mut Qdisc<Parcel>, change: fn(&mut Qdisc<Parcel>)| q.children_mut().into_iter().for_each(change);
    assert!(balances(&|_| ()));
    assert!(!balances(&|q| q.state.departed += 1), "a packet too many has departed");
    assert!(!balances(&|q| q.discipline.get_mut().counters_mut().marked += 1), "a mark is in no part");
    assert!(!balances(&|q| class(q, |q| q.state.departed += 1)), "in a class");
    assert!(
        !balances(&|q| class(q, |q| q.discipline.get_mut().counters_mut().marked += u64::from(!q.subqueues().is_empty()))),
        "in its queues"
    );
}
