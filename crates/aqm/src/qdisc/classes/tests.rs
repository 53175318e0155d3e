mod linux;

use super::*;
use crate::parcel::Parcel;
use crate::{AnyAqm, DropReason, Ecn, Link, REGISTRY};
use proptest::prelude::*;
use sojourn_units::{Rate, Stream};
use std::boxed::Box;
use std::vec;

/// A packet of a class, identified by its position.
fn parcel(class: u32, size: u32, ect: bool) -> Parcel {
    Parcel { place: class, flow: size % 7, size, ect, ..Parcel::default() }
}

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).unwrap()
}

fn discipline(entry: usize) -> Option<AnyAqm> {
    let link = Link { rate: rate(10_000_000), delay: Duration::from_millis(10), mean_packet: 1000, limit_packets: 20 };
    let params = (REGISTRY[entry].default)();
    (!params.is_placeholder()).then(|| params.build(&link).unwrap())
}

fn class(aqm: AnyAqm, group: u32, priority: u32, quantum: u32) -> ClassConfig {
    let controller = QueueController::new(aqm, Amount::Packets(20), true, Stream::named(1, "class"));
    let queue = QdiscConfig::One(Box::new(controller), None);
    ClassConfig { rule: Rule { groups: Some(vec![group]), ecn: None }, queue, priority, quantum, shares: None }
}

/// A queue with these classes; the position of a packet is the number of its class.
fn queue(classes: Vec<ClassConfig>) -> Qdisc<Parcel> {
    let groups = classes.len() as u32;
    let mut queue = Qdisc::of_classes(classes);
    (0..groups).for_each(|group| queue.add_place(group, group));
    queue
}

fn fifo() -> AnyAqm {
    discipline(0).unwrap()
}

/// The bytes sent by each class in `time` on a link.
/// 20 packets of 1000 bytes wait in each class all the time.
fn share(mut queue: Qdisc<Parcel>, link: Rate, classes: &[u32], time: Duration) -> Vec<u64> {
    let (mut now, mut sent) = (Time::ZERO, vec![0; 8]);
    while now < Time::ZERO + time {
        for &class in classes {
            queue.offer(now, parcel(class, 1000, false), None);
        }
        let (taken, dropped) = queue.take(now);
        assert_eq!(dropped, [], "a waiting packet was dropped");
        now = match taken {
            Some(packet) => {
                sent[packet.place as usize] += 1000;
                now + link.time_for(1000)
            }
            None => queue.ready().unwrap(),
        };
    }
    assert!(queue.balances());
    sent
}

#[test]
fn a_class_of_a_higher_priority_goes_first_and_others_share_by_their_quantums() {
    let queue = queue(vec![class(fifo(), 0, 9, 3000), class(fifo(), 1, 9, 1000), class(fifo(), 2, 1, 1000)]);
    let sent = share(queue.clone(), rate(8_000_000), &[0, 1, 2], Duration::from_secs(1));
    assert_eq!(&sent[..3], [0, 0, 1_000_000]);
    let sent = share(queue, rate(8_000_000), &[0, 1], Duration::from_secs(1));
    assert_eq!(&sent[..2], [750_000, 250_000]);
}

#[test]
fn classes_with_rates_have_them_share_the_rest_by_priority_and_stay_below_their_highest() {
    let with = |group, priority, bps: u64, ceil: Option<u64>| {
        let shares = Shares { rate: rate(bps), ceil: ceil.map(rate), link: Some(rate(10_000_000)) };
        ClassConfig { shares: Some(shares), ..class(fifo(), group, priority, (bps / 80) as u32) }
    };
    let classes = || queue(vec![with(0, 1, 1_000_000, Some(2_000_000)), with(1, 2, 2_000_000, None), with(2, 2, 4_000_000, None)]);
    let share = |of: &[u32]| {
        share(classes(), rate(10_000_000), of, Duration::from_secs(10)).iter().map(|bytes| *bytes as f64 * 8.0 / 1e7).collect::<Vec<_>>()
    };
    let near = |got: f64, expected: f64| assert!((got - expected).abs() < 0.01 * expected, "expected {expected} Mbit/s, got {got}");
    // All busy: each has its rate. Of the other 3 Mbit/s the first class gets 1 up to its ceil, the others share the rest 1 : 2.
    let all = share(&[0, 1, 2]);
    [2.0, 2.0 + 2.0 / 3.0, 4.0 + 4.0 / 3.0].iter().zip(&all).for_each(|(expected, got)| near(*got, *expected));
    // Alone, a class has its ceil; the link is idle for the rest.
    near(share(&[0])[0], 2.0);
    near(share(&[1])[1], 10.0);
}

#[test]
fn a_class_takes_a_packet_although_the_limit_of_another_is_reached() {
    let mut queue = queue(vec![class(fifo(), 0, 1, 1000), class(fifo(), 1, 2, 1000)]);
    let mut lost = Vec::new();
    for number in 0..30 {
        lost.extend(queue.offer(Time::ZERO, parcel(1, 1000, false), None));
        if number % 10 == 0 {
            assert_eq!(queue.offer(Time::ZERO, parcel(0, 500, false), None), [], "there was room in its class");
        }
    }
    assert_eq!(lost, vec![(parcel(1, 1000, false), DropReason::Tail); 10]);
    assert_eq!((queue.packets(), queue.bytes(), queue.counters().dropped_tail), (23, 21_500, 10));
    let order: Vec<u32> = std::iter::from_fn(|| queue.take(Time::ZERO).0).map(|packet| packet.place).collect();
    assert_eq!((&order[..4], order.len()), (&[0, 0, 0, 1][..], 23));
}

#[test]
fn an_idle_class_sees_an_idle_link_although_others_are_busy() {
    struct Idle(bool);
    impl Aqm for Idle {
        fn on_enqueue(&mut self, _: &crate::PacketView, backlog: &crate::Backlog, _: &mut Stream) -> crate::ArrivalVerdict {
            self.0 |= backlog.idle_since.is_some();
            if backlog.idle_since == Some(Time::from_nanos(5)) { crate::ArrivalVerdict::Drop } else { crate::ArrivalVerdict::Pass }
        }
    }
    impl Clone for Idle {
        fn clone(&self) -> Self {
            Idle(self.0)
        }
    }
    let mut queue = queue(vec![class(AnyAqm::Custom(Box::new(Idle(false))), 0, 1, 1000), class(fifo(), 1, 2, 1000)]);
    let at = Time::from_nanos;
    (0..3).for_each(|_| drop(queue.offer(at(0), parcel(1, 1000, false), None)));
    queue.offer(at(1), parcel(0, 1000, false), None);
    assert_eq!(queue.take(at(5)).0.unwrap().place, 0);
    // Its packet was sent at 5 ns: since then it has been idle, and its discipline drops arrivals.
    queue.offer(at(9), parcel(0, 1000, false), None);
    assert_eq!((queue.packets(), queue.counters().dropped_forced), (3, 1));
}

proptest! {
    #[test]
    fn packets_balance_under_any_disciplines(
        entries in prop::collection::vec((0..REGISTRY.len(), 0u32..3, 1u32..4000, prop::option::of(1u64..20)), 1..5),
        has_rates: bool,
        steps in prop::collection::vec((0u32..6, 40u32..1500, any::<bool>(), 0u64..2_000_000), 1..400),
    ) {
        let configs = entries.iter().enumerate().filter_map(|(group, &(entry, priority, quantum, mbit))| {
            let shares = has_rates.then(|| Shares { rate: rate(1_000_000), ceil: mbit.map(|mbit| rate(mbit * 1_000_000)), link: mbit.map(|_| rate(20_000_000)) });
            Some(ClassConfig { shares, ..class(discipline(entry)?, group as u32, priority, quantum) })
        });
        let configs: Vec<ClassConfig> = configs.collect();
        prop_assume!(!configs.is_empty());
        let (mut queue, mut now, mut lost, mut sent) = (queue(configs), Time::ZERO, 0, 0);
        for &(class, size, can_mark, later) in &steps {
            now += Duration::from_nanos(later);
            queue.update(now, None);
            lost += queue.offer(now, parcel(class, size, can_mark), None).len();
            if later % 3 > 0 {
                let (taken, dropped) = queue.take(now);
                (sent, lost) = (sent + usize::from(taken.is_some()), lost + dropped.len());
            }
        }
        prop_assert!(queue.balances());
        prop_assert_eq!(steps.len(), lost + sent + queue.packets() as usize);
        // A packet that is held back leaves at the time that `ready` returned.
        while queue.packets() > 0 {
            let before = queue.packets();
            now = now.max(queue.ready().unwrap_or(now));
            queue.take(now);
            prop_assert!(queue.packets() < before);
        }
        prop_assert!(queue.balances() && queue.bytes() == 0);
    }
}

/// Two levels of deficit round robin: 3 to 1 outside and 1 to 1 inside.
/// They leave 3/8, 3/8 and 1/4 of the link.
#[test]
fn classes_of_a_class_share_what_it_has() {
    let inner = vec![class(fifo(), 0, 1, 1000), class(fifo(), 1, 1, 1000)];
    let outer = |groups: &[u32], queue, quantum| {
        let rule = Rule { groups: Some(groups.to_vec()), ecn: None };
        ClassConfig { rule, queue, priority: 1, quantum, shares: None }
    };
    let mut queue = Qdisc::of_classes(vec![
        outer(&[0, 1], QdiscConfig::Classes(inner), 3000),
        ClassConfig { rule: Rule { groups: Some(vec![2]), ecn: None }, ..class(fifo(), 2, 1, 1000) },
    ]);
    (0..3).for_each(|group| queue.add_place(group, group));
    let sent = share(queue.clone(), rate(8_000_000), &[0, 1, 2], Duration::from_secs(1));
    assert_eq!(&sent[..3], [375_000, 375_000, 250_000]);
    // The two outer classes, then the two inner ones; the last packet was in one of each.
    queue.offer(Time::ZERO, parcel(1, 700, false), None);
    assert_eq!(queue.take(Time::ZERO).0.unwrap().size, 700);
    assert_eq!((queue.subqueues().len(), queue.last_path()), (4, vec![0, 3]));
    assert_eq!(queue.subqueues().iter().map(|part| part.counters.arrived).collect::<Vec<_>>(), [1, 0, 0, 1]);
    assert!(queue.balances());
}

/// The `ceil` of the inner class is 1 Mbit/s, that of the outer class 2 Mbit/s.
#[test]
fn a_class_is_held_back_by_its_own_ceil_and_by_that_of_the_class_around_it() {
    let with = |group, ceil| ClassConfig {
        shares: Some(Shares { rate: rate(500_000), ceil: Some(rate(ceil)), link: Some(rate(10_000_000)) }),
        ..class(fifo(), group, 1, 1500)
    };
    let sent = |ceils: [u64; 2], of: &[u32]| {
        let inner = QdiscConfig::Classes(vec![with(0, ceils[0]), with(1, ceils[1])]);
        let outer = ClassConfig { rule: Rule::default(), queue: inner, ..with(0, 2_000_000) };
        let mut queue = Qdisc::of_classes(vec![outer]);
        (0..2).for_each(|group| queue.add_place(group, group));
        let sent = share(queue, rate(10_000_000), of, Duration::from_secs(10));
        [sent[0], sent[1]].map(|bytes| bytes as f64 * 8.0 / 1e7)
    };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.03, "{found} for {expected} Mbit/s");
    near(sent([1_000_000, 9_000_000], &[0])[0], 1.0);
    near(sent([9_000_000, 9_000_000], &[0, 1]).iter().sum(), 2.0);
}

#[test]
fn a_class_goes_by_the_codepoint() {
    let l4s = Rule { groups: None, ecn: Some(vec![Ecn::Ect0]) };
    let mut queue = queue(vec![ClassConfig { rule: l4s, ..class(fifo(), 0, 1, 1000) }, class(fifo(), 1, 2, 1000)]);
    queue.offer(Time::ZERO, parcel(9, 100, false), None);
    queue.offer(Time::ZERO, parcel(9, 200, true), None);
    assert_eq!(queue.take(Time::ZERO).0.unwrap().size, 200);
}
