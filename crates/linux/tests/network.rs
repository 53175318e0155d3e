//! The network under a kernel: arbitrary packets at arbitrary times.

use proptest::prelude::*;
use sojourn_aqm::algorithms::linux;
use sojourn_aqm::{AqmConfig, FlowHashes, REGISTRY};
use sojourn_cc::CcConfig;
use sojourn_link::kinds::duplication;
use sojourn_linux::{
    Connection, Dequeued, Discipline, DropReason, ENTRY_BYTES, Entry, Fate, Flow, Guest, HostPacket, HostQueue, KernelAck,
    KernelController, KernelNetwork, Logged, Lost, Packet, QueueOrder, Script, Tcp, Windows, Wiring, flag,
};
use sojourn_spec::link::{Link, Measure, RateChange};
use sojourn_spec::medium::{Medium, Turns};
use sojourn_spec::queue::Queue;
use sojourn_spec::tcp::{Control, EcnChoice};
use sojourn_units::{Amount, Duration, Rate, Time};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A connection whose feedback counts marks.
const CONNECTION: Connection = Connection { pacing: false, counts_marks: true };

const SECOND: Duration = Duration::from_secs(1);

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).unwrap()
}

fn wiring(queue: Queue) -> Wiring {
    let there = Link {
        name: "there".into(),
        rate: Some(rate(10_000_000)),
        delay: Duration::from_micros(333),
        queue: Some(Arc::new(queue)),
        rate_changes: vec![RateChange { at: Time::ZERO + SECOND, rate: rate(1_234_567) }],
        ..Link::default()
    };
    let back = Link { name: "back".into(), delay: Duration::from_nanos(1_234_567), measure: Measure::Counts, ..Link::default() };
    let flow = |number: u32| Flow {
        name: format!("f/{number}"),
        group: number,
        dscp: 0,
        source: 0,
        destination: 1,
        forward: vec![0],
        back: vec![1],
        start: Time::from_nanos(u64::from(number)),
        stop: Time::ZERO + SECOND * 10,
        traffic: (sojourn_traffic::REGISTRY[0].example)(),
        tcp: Some(Tcp {
            controller: "reno".into(),
            control: None,
            packet: 1500,
            ecn: if number == 1 { EcnChoice::On } else { EcnChoice::Off },
            sack: true,
            pacing: false,
        }),
    };
    Wiring {
        seed: i64::MAX as u64,
        warmup: Time::ZERO + SECOND,
        duration: Time::ZERO + SECOND * 10,
        packet: 1000,
        hosts: 2,
        headers: false,
        links: vec![there, back],
        traces: Vec::new(),
        classes: Vec::new(),
        flows: vec![flow(0), flow(1)],
    }
}

/// A kernel's queue for tests: a FIFO of 20 packets.
/// With a mood other than 0, it drops, marks and holds back packets at random.
#[derive(Clone, Default, Debug)]
struct Fifo {
    waiting: VecDeque<(u32, u64)>,
    mood: u64,
}

impl Fifo {
    /// True once in `one_in` calls on average.
    fn likes(&mut self, one_in: u64) -> bool {
        self.mood ^= self.mood << 13;
        self.mood ^= self.mood >> 7;
        self.mood ^= self.mood << 17;
        self.mood != 0 && self.mood.is_multiple_of(one_in)
    }
}

impl HostQueue for Fifo {
    fn enqueue(&mut self, _now: Time, number: u32, packet: HostPacket, lost: &mut Lost) {
        if self.waiting.len() > 19 || self.likes(9) {
            return lost.push_back((number, DropReason::Tail));
        }
        self.waiting.push_back((number, packet.handle));
        while self.likes(3) {
            lost.extend(self.waiting.pop_front().map(|(number, _)| (number, DropReason::Early)));
        }
    }

    fn dequeue(&mut self, _now: Time, lost: &mut Lost) -> Option<Dequeued> {
        if self.likes(4) {
            return None;
        }
        if self.likes(5) {
            lost.extend(self.waiting.pop_back().map(|(number, _)| (number, DropReason::Forced)));
        }
        let marked = self.likes(3);
        self.waiting.pop_front().map(|(number, handle)| Dequeued { number, handle, marked })
    }

    fn boxed_clone(&self) -> Box<dyn HostQueue> {
        Box::new(self.clone())
    }
}

/// A queue of the simulator as the kernel runs it.
/// It does what the C driver does, without the kernel.
#[derive(Clone, Debug)]
struct OfOurs {
    discipline: Discipline,
    /// The waiting packets as handle and number.
    waiting: Vec<(u64, u32)>,
}

impl OfOurs {
    /// Builds the discipline. The option's text comes after four bytes.
    fn make(order: &QueueOrder) -> Result<Box<dyn HostQueue>, String> {
        let text = order.qdisc.options[4..].split(|&byte| byte == 0).next().unwrap();
        Ok(Box::new(OfOurs { discipline: Discipline::new(text)?, waiting: Vec::new() }))
    }

    fn number(&mut self, handle: u64) -> u32 {
        let at = self.waiting.iter().position(|&(known, _)| known == handle).unwrap();
        self.waiting.swap_remove(at).1
    }

    fn drops(&mut self, lost: &mut Lost) {
        while let Some((packet, reason)) = self.discipline.next_dropped() {
            lost.push_back((self.number(packet.handle), reason));
        }
    }
}

impl HostQueue for OfOurs {
    fn enqueue(&mut self, now: Time, number: u32, packet: HostPacket, lost: &mut Lost) {
        self.waiting.push((packet.handle, number));
        let flags = if packet.can_mark { flag::ECT } else { 0 } | if packet.is_marked { flag::CE } else { 0 };
        // The driver reads these fields from headers; in tests they are in the handle.
        let (flow, payload) = ((packet.handle % 4) as u32, (packet.handle % 3) as u16);
        let (handle, size, rtt_ms) = (packet.handle, packet.size as u16, packet.rtt_hint_ms);
        self.discipline.enqueue(now, Packet { handle, flow, size, payload, rtt_ms, flags, ..Packet::default() });
        self.drops(lost);
    }

    fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Dequeued> {
        let next = self.discipline.dequeue(now);
        self.drops(lost);
        let packet = next?;
        Some(Dequeued { number: self.number(packet.handle), handle: packet.handle, marked: packet.has(flag::CE) })
    }

    fn set_flows(&mut self, now: Time, active: u32) {
        self.discipline.set_flows(now, active);
    }

    fn boxed_clone(&self) -> Box<dyn HostQueue> {
        Box::new(self.clone())
    }
}

fn fifo(_: &QueueOrder) -> Result<Box<dyn HostQueue>, String> {
    Ok(Box::new(Fifo::default()))
}

/// A queue of the kernel.
fn of_kernel(text: &str) -> Queue {
    Queue { aqm: AqmConfig::Linux(linux::Params { linux: text.into() }), ..Queue::default() }
}

/// Every registered queue of the simulator.
fn queues() -> Vec<Queue> {
    let known = REGISTRY.iter().filter(|entry| !(entry.default)().is_placeholder());
    known.map(|entry| Queue { aqm: (entry.default)(), ..Queue::droptail(Amount::Packets(20)) }).collect()
}

#[test]
fn a_plan_with_any_registered_queue_comes_back_as_it_was_written() {
    for queue in queues() {
        let plan = wiring(queue);
        assert_eq!(Wiring::from_toml(&plan.to_toml().unwrap()), Ok(plan));
    }
}

#[test]
fn a_plan_with_any_traffic_and_a_shared_medium_comes_back_as_it_was_written() {
    for kind in sojourn_traffic::REGISTRY {
        let mut plan = wiring(Queue::default());
        plan.flows[0].traffic = (kind.example)();
        let medium = Medium { name: "air".into(), turns: Turns::Random, overhead: SECOND, frames: 7, longest: Some(SECOND) };
        plan.links[0].medium = Some(Arc::new(medium));
        assert_eq!(Wiring::from_toml(&plan.to_toml().unwrap()), Ok(plan));
    }
}

#[test]
fn what_a_kernel_cannot_do_is_refused_with_its_field() {
    let refused = |change: fn(&mut Wiring)| {
        let mut plan = wiring(Queue::default());
        change(&mut plan);
        Guest::new(plan.to_toml().unwrap().as_bytes(), &mut fifo).unwrap_err()
    };
    assert_eq!(refused(|plan| plan.flows[1].back = vec![2]), "flows.f/1: expected links and hosts of the plan");
    assert_eq!(refused(|plan| plan.flows[1].source = 2), "flows.f/1: expected links and hosts of the plan");
    assert_eq!(refused(|plan| plan.links[0].queue = None), "links.there: expected a queue exactly where there is a rate");
    assert_eq!(Guest::new(b"\xff", &mut fifo).unwrap_err(), "expected text in UTF-8");
}

#[test]
fn what_the_kernel_cannot_run_of_ours_is_refused_with_the_text() {
    let refused = |text: &str| KernelNetwork::new(&wiring(of_kernel(text)), &mut fifo).unwrap_err();
    for text in [
        "sojourn { aqm = 'nothing' }",
        "sojourn { aqm = 'pd', hints = 'router' }",
        "sojourn { linux = 'pfifo' }",
        "sojourn 1",
        "sojourn {}\na = 1",
    ] {
        let said = refused(text);
        assert!(said.starts_with("links.there.queue.linux: expected after \"sojourn\" the table of a queue"), "{said}");
    }
    assert_eq!(refused("sojourn { aqm = 'red', min = -1 }").split(": ").next(), Some("links.there.queue.linux.min"));
    assert!(KernelNetwork::new(&wiring(of_kernel("sojourn")), &mut OfOurs::make).is_ok());
    assert!(Discipline::new(b"\xff").is_err() && Discipline::new(b"queue = {}").is_err());
}

#[test]
fn cake_as_a_discipline_is_told_of_groups_their_dscps_and_the_hashes_of_flows() {
    let mut plan = wiring(of_kernel("sojourn { aqm = 'cake' }"));
    plan.flows[1].dscp = 46;
    let mut told = String::new();
    let mut note = |order: &QueueOrder| {
        told = String::from_utf8_lossy(&order.qdisc.options).into_owned();
        OfOurs::make(order)
    };
    KernelNetwork::new(&plan, &mut note).unwrap();
    let hashes = [0, 1].map(|flow: usize| FlowHashes::short(FlowHashes::of_name(&plan.flows[flow].name)));
    assert!(told.contains(&format!("groups = [0, 1]\ndscps = [0, 46]\nhashes = {hashes:?}")), "{told}");
}

#[test]
fn a_discipline_that_the_kernel_refuses_is_named_with_its_link() {
    let plan = wiring(of_kernel("red limit 100k"));
    let refuse = &mut |order: &QueueOrder| {
        assert_eq!((order.link, order.packet, order.qdisc.kind), (0, 1500, "red"));
        Err(String::from("expected more"))
    };
    assert_eq!(KernelNetwork::new(&plan, refuse).unwrap_err(), "links.there.queue.linux: expected more");
    let unknown = KernelNetwork::new(&wiring(of_kernel("blue")), &mut fifo).unwrap_err();
    assert!(unknown.starts_with("links.there.queue.linux: expected a queue discipline of Linux: "), "{unknown}");
}

#[test]
fn a_plan_with_any_controller_comes_back_as_it_was_written() {
    for entry in sojourn_cc::REGISTRY {
        let mut plan = wiring(Queue::default());
        plan.flows[0].tcp.as_mut().unwrap().control = Some(Control((entry.default)()));
        let read = Wiring::from_toml(&plan.to_toml().unwrap());
        // A law in Python can't run in the kernel.
        let expected = if entry.name == "external" {
            Err(String::from(
                "flows.f/0.tcp.control.cc: expected a registered controller, since a Linux host takes none in Python, got external",
            ))
        } else {
            Ok(plan)
        };
        assert_eq!(read, expected);
    }
}

#[test]
fn a_plan_whose_groups_are_beyond_its_flows_is_refused_in_one_line() {
    let mut plan = wiring(Queue::default());
    plan.flows[1].group = u32::MAX;
    let error = Wiring::from_toml(&plan.to_toml().unwrap()).unwrap_err();
    assert_eq!(error, "flows.f/1.group: expected a number below 2, the number of flows, got 4294967295");
}

#[test]
fn a_reduction_that_was_for_a_timeout_counts_once_and_one_for_nothing_is_taken_back() {
    let now = Time::ZERO + SECOND;
    let mut reno = KernelController::new(&CcConfig::Reno(Default::default()), 40, CONNECTION).unwrap();
    assert_eq!(reno.windows().cwnd, 40);
    assert_eq!(reno.on_congestion(now, 40, false), Windows { cwnd: 20, ssthresh: 20, ..Windows::default() });
    assert_eq!(reno.undo().cwnd, 40);
    reno.on_congestion(now, 40, false);
    assert_eq!(reno.on_rto(now, 40), Windows { cwnd: 1, ssthresh: 20, ..Windows::default() });
    assert_eq!(reno.undo().cwnd, 40);
}

/// The packets that a host sends, each with the time since the previous one.
/// A packet has at least one byte.
fn sends() -> impl Strategy<Value = Vec<(u64, Packet)>> {
    let send = (0u64..3_000_000, 0u32..4, 1..=u16::MAX, any::<u16>(), any::<u8>(), any::<u32>());
    let packet = send.prop_map(|(gap, flow, size, payload, flags, seq)| {
        let packet =
            Packet { handle: 0, flow, seq, ts_value: seq, ts_echo: !seq, size, payload, rtt_ms: payload, flags, ..Packet::default() };
        (gap, packet)
    });
    prop::collection::vec(packet, 1..300).prop_map(|mut sends| {
        (1..).zip(&mut sends).for_each(|(handle, (_, packet))| packet.handle = handle);
        sends
    })
}

/// The difference between the handles of a copy and its packet.
const COPY: u64 = 1000;

#[test]
fn each_connection_has_a_controller_of_its_own_until_it_is_over() {
    let mut plan = wiring(Queue::default());
    plan.flows[0].tcp.as_mut().unwrap().control = Some(Control(CcConfig::Reno(Default::default())));
    let mut guest = Guest::new(plan.to_toml().unwrap().as_bytes(), &mut fifo).unwrap();
    let (first, second) = (guest.controller_starts(0, 10), guest.controller_starts(0, 20));
    guest.controller(first).unwrap().on_congestion(Time::ZERO, 10, false);
    let cwnd = |guest: &mut Guest, number| guest.controller(number).map(|controller| controller.windows().cwnd);
    assert_eq!((cwnd(&mut guest, first), cwnd(&mut guest, second)), (Some(5), Some(20)));
    guest.controller_ends(first);
    assert_eq!((cwnd(&mut guest, first), guest.controller_starts(0, 7)), (None, first));
    assert_eq!((cwnd(&mut guest, first), cwnd(&mut guest, 9)), (Some(7), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_packet_and_every_duplicate_leaves_once_however_hosts_send(sends in sends(), queue in 0..queues().len(), probability in 0.0..1.0) {
        let mut plan = wiring(queues()[queue].clone());
        plan.links[0].impairments = vec![duplication::Params { probability }.into()];
        let mut network = KernelNetwork::new(&plan, &mut fifo).unwrap();
        network.set_copies(|handle| handle + COPY);
        let (mut left, mut now) = (BTreeSet::new(), 0);
        let settle = |network: &mut KernelNetwork, left: &mut BTreeSet<u64>| {
            while let Some(settled) = network.settled() {
                assert!(left.insert(settled.packet.handle), "a packet leaves twice");
                assert!(settled.fate == Fate::Dropped || settled.packet.flow < 2, "a packet of no flow arrives");
                assert!(settled.packet.has(flag::ECT) || !settled.packet.has(flag::CE) || sends[(settled.packet.handle % COPY) as usize - 1].1.has(flag::CE));
            }
        };
        for &(gap, packet) in &sends {
            now += gap;
            network.send(Time::from_nanos(now), packet);
            settle(&mut network, &mut left);
        }
        let audit = network.finish(plan.duration).unwrap();
        settle(&mut network, &mut left);
        prop_assert_eq!(left.len() as u64 + audit.in_flight, sends.len() as u64 + audit.duplicated);
        prop_assert_eq!(left.iter().any(|&handle| handle > COPY), audit.duplicated > 0);
    }

    #[test]
    fn a_fifo_of_the_kernel_is_measured_as_a_drop_tail_queue(sends in sends()) {
        let network = |queue: Queue| KernelNetwork::new(&wiring(queue), &mut fifo).unwrap();
        let (mut theirs, mut ours) = (network(of_kernel("pfifo limit 20")), network(Queue::droptail(Amount::Packets(20))));
        let mut now = SECOND.as_nanos();
        for (gap, packet) in sends {
            now += gap + 1;
            theirs.send(Time::from_nanos(now), packet);
            ours.send(Time::from_nanos(now), packet);
        }
        let end = Time::ZERO + SECOND * 10;
        prop_assert_eq!(theirs.finish(end), ours.finish(end));
        prop_assert_eq!(theirs.fingerprint(), ours.fingerprint());
        let (theirs, ours) = (theirs.links()[0].stats(), ours.links()[0].stats());
        prop_assert_eq!((theirs.counters, theirs.sent_bits(), theirs.wait.count()), (ours.counters, ours.sent_bits(), ours.wait.count()));
        prop_assert_eq!(format!("{:?}", theirs.wait), format!("{:?}", ours.wait));
    }

    #[test]
    fn every_queue_of_ours_does_in_the_kernel_what_it_does_in_the_network(sends in sends(), which in 0..queues().len(), ecn: bool) {
        let mut queue = queues()[which].clone();
        queue.options.ecn = ecn;
        let table = toml::Value::try_from(&queue).unwrap();
        let mut networks = [of_kernel(&format!("sojourn {table}")), queue].map(|queue| KernelNetwork::new(&wiring(queue), &mut OfOurs::make).unwrap());
        let mut now = SECOND.as_nanos();
        for (gap, packet) in sends {
            // Only the network can order two ends of transmission in one nanosecond.
            now += gap + 1;
            let (flow, payload) = ((packet.handle % 4) as u32, (packet.handle % 3) as u16);
            // A mark on a packet that is already marked is not visible.
            let flags = packet.flags & !(flag::ECT1 | flag::CE);
            networks.iter_mut().for_each(|network| network.send(Time::from_nanos(now), Packet { flow, payload, flags, ..packet }));
        }
        let end = Time::ZERO + SECOND * 10;
        let [theirs, ours] = networks.map(|mut network| {
            let audit = network.finish(end);
            let stats = network.links()[0].stats();
            let counters = (stats.counters.arrived, stats.counters.dropped(), stats.counters.marked);
            (audit, network.fingerprint(), counters, format!("{:?}", stats.wait))
        });
        prop_assert_eq!(theirs, ours);
    }

    #[test]
    fn a_queue_of_the_kernel_does_the_same_again_from_the_log(sends in sends(), mood in 1u64.., wakes in 1u64..50) {
        let plan = wiring(of_kernel("pfifo"));
        let text = plan.to_toml().unwrap();
        let mut guest = Guest::new(text.as_bytes(), &mut |_| Ok(Box::new(Fifo { mood, ..Fifo::default() }))).unwrap();
        let (mut now, mut left) = (0, BTreeSet::new());
        for &(gap, packet) in &sends {
            now += gap;
            guest.send(now, packet);
            if now % wakes == 0 {
                guest.wake(now, (wakes % 3) as u32);
            }
            while let Some((settled, fate)) = guest.settled() {
                // The kernel itself frees packets that its queue drops.
                prop_assert!(fate == Fate::Dropped || left.insert(settled.handle), "a packet leaves twice");
            }
        }
        guest.on_end(plan.duration.as_nanos());
        let entries: Vec<Logged> = guest.log().as_chunks::<ENTRY_BYTES>().0.iter().filter_map(Logged::from_bytes).collect();
        let mut scripts: HashMap<u32, Script> = HashMap::new();
        for entry in &entries {
            if let Entry::Decided { link, decision } = entry.entry {
                scripts.entry(link).or_default().add(decision);
            }
        }
        let mut again = KernelNetwork::new(&plan, &mut |order| Ok(Box::new(scripts.remove(&order.link).unwrap_or_default()))).unwrap();
        for logged in &entries {
            match logged.entry {
                Entry::Sent(packet) => again.send(logged.at, packet),
                Entry::Woken { link } => again.wake(logged.at, link),
                Entry::End { fingerprint } => {
                    again.advance(logged.at);
                    prop_assert_eq!(again.fingerprint(), fingerprint);
                }
                _ => {}
            }
        }
        prop_assert!(again.finish(plan.duration).is_ok());
    }

    #[test]
    fn no_acknowledgment_breaks_a_controller(
        which in 0..sojourn_cc::REGISTRY.len(),
        calls in prop::collection::vec((any::<[u64; 4]>(), any::<[u32; 4]>(), any::<[bool; 4]>(), 0u8..8), 1..100),
    ) {
        let mut controller = KernelController::new(&(sojourn_cc::REGISTRY[which].default)(), 10, CONNECTION).unwrap();
        let mut now = Time::ZERO;
        for (long, short, flags, call) in calls {
            now += Duration::from_nanos(long[0] >> 24);
            let windows = match call {
                0 => controller.on_congestion(now, short[0], flags[0]),
                1 => controller.on_rto(now, short[0]),
                2 => controller.undo(),
                _ => controller.on_ack(now, &KernelAck {
                    snd_una: long[0],
                    snd_max: long[1],
                    rtt_us: (long[2] >> 32) as i64 - 1,
                    one_way_delay_ns: long[3] as i64 >> 16,
                    acked: short[0] >> 16,
                    advanced: short[0] >> 8,
                    in_flight: short[1] >> 8,
                    srtt_us: short[2],
                    rtt_min_us: short[3],
                    has_one_way_delay: u8::from(flags[0]),
                    cwnd_limited: u8::from(flags[1]),
                    in_recovery: u8::from(flags[2]),
                    after_timeout: u8::from(flags[3]),
                    ..KernelAck::default()
                }),
            };
            prop_assert!(windows.cwnd >= 1 && windows.ssthresh >= 2);
        }
    }

    #[test]
    fn it_does_not_matter_how_often_the_network_is_advanced(sends in sends(), queue in 0..queues().len(), steps in 1u64..20) {
        let plan = wiring(queues()[queue].clone());
        let (mut often, mut seldom) = (KernelNetwork::new(&plan, &mut fifo).unwrap(), KernelNetwork::new(&plan, &mut fifo).unwrap());
        let mut now = 0;
        for (gap, packet) in sends {
            (1..steps).for_each(|step| often.advance(Time::from_nanos(now + gap * step / steps)));
            now += gap;
            often.send(Time::from_nanos(now), packet);
            seldom.send(Time::from_nanos(now), packet);
        }
        prop_assert_eq!(often.finish(plan.duration), seldom.finish(plan.duration));
        prop_assert_eq!(often.fingerprint(), seldom.fingerprint());
        while let Some(settled) = seldom.settled() {
            prop_assert_eq!(often.settled(), Some(settled));
        }
    }
}
