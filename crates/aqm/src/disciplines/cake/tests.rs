//! The scheduling of CAKE's queues for packets whose groups are known.

use super::*;
use crate::algorithms::test_link;
use crate::parcel::Parcel;
use crate::{AnyAqm, Diffserv, DropReason, Qdisc, QueueController, algorithms::cake};
use sojourn_units::Duration;
use sojourn_units::{Overhead, Rate, Stream};
use std::vec;

/// A queue for three groups with these DSCPs.
fn queue(params: cake::Params, limit: u32, dscps: [u8; 3]) -> Qdisc<Parcel> {
    let aqm = AnyAqm::Cake(params.build(&test_link()).unwrap());
    let mut controller = QueueController::new(aqm, Amount::Packets(limit), false, Stream::named(1, "cake"));
    controller.dscps = dscps.to_vec();
    let mut queue = Qdisc::new(controller);
    (0..3).for_each(|group| queue.add_place(group * 10, group));
    queue
}

/// A packet of a flow on the route of its group.
fn parcel(flow: u32, group: u32) -> Parcel {
    Parcel { flow, place: group * 10, size: 1000, ..Parcel::default() }
}

fn fill(queue: &mut Qdisc<Parcel>, flow: u32, group: u32, packets: u32) -> Vec<DropReason> {
    let parcel = parcel(flow, group);
    (0..packets).flat_map(|_| queue.offer(Time::ZERO, parcel, None)).map(|(_, reason)| reason).collect()
}

/// The next packets that are sent at this time, at most `most`.
fn served(queue: &mut Qdisc<Parcel>, now: Time, most: usize) -> Vec<Parcel> {
    (0..most).map_while(|_| queue.take(now).0).collect()
}

fn of_group(sent: &[Parcel], group: u32) -> usize {
    sent.iter().filter(|packet| packet.place == group * 10).count()
}

#[test]
fn hosts_share_alike_whatever_the_number_of_their_flows() {
    for (isolation, share) in [(cake::Isolation::TripleIsolate, 0.5), (cake::Isolation::Flows, 0.1)] {
        let mut queue = queue(cake::Params { isolation, ..cake::Params::default() }, 100_000, [0; 3]);
        fill(&mut queue, 0, 0, 1000);
        (1..10).for_each(|flow| drop(fill(&mut queue, flow, 1, 1000)));
        let sent = served(&mut queue, Time::ZERO, 1000);
        let part = of_group(&sent[100..], 0) as f64 / 900.0;
        assert!((part - share).abs() < 0.03, "{isolation:?}: {part}");
        assert!(queue.balances());
    }
}

#[test]
fn a_sparse_flow_goes_first() {
    let mut queue = queue(cake::Params::default(), 1000, [0; 3]);
    (1..5).for_each(|flow| drop(fill(&mut queue, flow, 0, 50)));
    served(&mut queue, Time::ZERO, 20);
    fill(&mut queue, 9, 1, 1);
    assert_eq!(served(&mut queue, Time::ZERO, 1)[0].flow, 9);
}

#[test]
fn tins_take_turns_by_their_quanta_without_a_shaper() {
    let params = cake::Params { diffserv: Diffserv::Diffserv4, ..cake::Params::default() };
    let mut queue = queue(params, 100_000, [0, 8, 46]);
    (0..3).for_each(|group| drop(fill(&mut queue, group, group, 3000)));
    let sent = served(&mut queue, Time::ZERO, 2000);
    // 1024 : 64 : 256.
    let part = |group| of_group(&sent, group) as f64 / sent.len() as f64;
    for (group, quantum) in [(0, 1024.0), (1, 64.0), (2, 256.0)] {
        assert!((part(group) - quantum / 1344.0).abs() < 0.02, "{group}: {}", part(group));
    }
}

#[test]
fn a_shaper_keeps_its_rate_with_the_overhead_and_the_urgent_tin_goes_first() {
    let bandwidth = Rate::from_bps(8_000_000);
    let overhead = Some(sojourn_units::AnyOverhead::Numbers(Overhead { per_packet: sojourn_units::Bytes(250), ..Overhead::default() }));
    let params = cake::Params { bandwidth, overhead, diffserv: Diffserv::Diffserv4, ..cake::Params::default() };
    let mut queue = queue(params, 100_000, [0, 8, 46]);
    fill(&mut queue, 0, 0, 1000);
    fill(&mut queue, 2, 2, 1000);
    let (mut now, mut sent) = (Time::ZERO, vec![]);
    while now < Time::ZERO + Duration::from_millis(500) {
        sent.extend(served(&mut queue, now, 1));
        now = now.max(queue.ready().unwrap());
    }
    // 1250 B take 1.25 ms: 400 packets, a quarter of them of the urgent tin, which has a quarter of the rate before all others.
    assert_eq!(sent.len(), 400);
    assert!((95..=105).contains(&of_group(&sent, 2)), "{}", of_group(&sent, 2));
    assert_eq!((sent[0].place, queue.take(Time::ZERO).0), (20, None));
}

#[test]
fn flows_have_queues_of_their_own_as_long_as_eight_ways_have_room() {
    let queuing = CakeQueuing { diffserv: Diffserv::BestEffort, isolates_hosts: true, bandwidth: None, overhead: Overhead::default() };
    let mut setup = QueueSetup { limit: Amount::Packets(1000), dscps: Vec::new(), filters: Vec::new() };
    let mut queues: CakeQueues<Parcel> = CakeQueues::new(queuing, &mut setup);
    let header = crate::AckHeader { connection: 0, number: 0, is_pure: true, echo: 0, timestamps: None, sack: [(0, 0); 4], blocks: 0 };
    let ack = |flow| ArrivingAck { flow, place: 0, ecn: crate::Ecn::NotEct, header };
    for flow in 0..400 {
        Queues::<_, cake::Cake>::push(&mut queues, Time::ZERO, parcel(flow, 0));
    }
    let mut own: Vec<u32> = (0..400).filter_map(|flow| queues.queue_of(&ack(flow))).map(|(queue, _)| queue).collect();
    own.sort_unstable();
    own.dedup();
    // A direct hash into 1024 queues has 71 collisions among 400 flows (400²/2/1024), eight ways have next to none.
    assert!(own.len() >= 398, "{} queues", own.len());
}

#[test]
fn the_longest_queue_of_all_tins_drops_and_all_is_accounted_for() {
    let params = cake::Params { diffserv: Diffserv::Diffserv4, ..cake::Params::default() };
    let mut queue = queue(params, 100, [0, 8, 46]);
    fill(&mut queue, 0, 0, 20);
    let lost = fill(&mut queue, 1, 1, 100);
    assert_eq!(lost, [DropReason::Tail; 20]);
    assert!(queue.balances() && queue.packets() == 100);
    let sent = served(&mut queue, Time::ZERO, 1000);
    assert_eq!((of_group(&sent, 0), of_group(&sent, 1), queue.bytes()), (20, 80, 0));
    assert!(queue.balances() && queue.take(Time::ZERO).0.is_none());
}

#[test]
fn each_tin_counts_what_it_did() {
    for (diffserv, tins) in [(Diffserv::BestEffort, 0), (Diffserv::Diffserv3, 3), (Diffserv::Diffserv4, 4)] {
        let mut queue = queue(cake::Params { diffserv, ..cake::Params::default() }, 100, [0, 8, 46]);
        (0..3).for_each(|group| drop(fill(&mut queue, group, group, 60)));
        let last = served(&mut queue, Time::ZERO, 30).pop().unwrap();
        let found = queue.subqueues();
        assert_eq!((found.len(), queue.last_subqueue().is_some(), queue.balances()), (tins, tins > 0, true), "{diffserv:?}");
        let Some(own) = queue.last_subqueue() else { continue };
        // Best effort, bulk, voice: the last of the tins.
        let of_group = [0, 1, tins - 1];
        assert_eq!((own, diffserv.names().last()), (of_group[last.place as usize / 10], Some("voice")));
        assert!(of_group.iter().all(|&tin| found[tin].counters.arrived == 60 && found[tin].counters.dropped_tail > 0), "{found:?}");
        assert_eq!(found.iter().map(|tin| tin.counters.dropped_tail).sum::<u64>(), 180 - 100);
        assert_eq!(found.iter().map(|tin| (tin.packets, tin.bytes)).fold((0, 0), |sum, tin| (sum.0 + tin.0, sum.1 + tin.1)), (70, 70_000));
    }
}
