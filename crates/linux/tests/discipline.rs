//! A queue of the simulator as a qdisc, with packets that the kernel must get back.

use proptest::prelude::*;
use sojourn_aqm::REGISTRY;
use sojourn_linux::{Discipline, Packet, Time, flag};
use std::collections::BTreeSet;

/// A discipline with this queue, for the flows 0 to 2.
fn discipline(queue: &str) -> Discipline {
    let link = "link = 'l'\nrate = '10 Mbit/s'\ndelay = '0 s'\npacket = 1000\nseed = 1\ngroups = [0, 1, 1]\ndscps = [0, 46]";
    Discipline::new(format!("{link}\nqueue = {{ {queue} }}").as_bytes()).unwrap_or_else(|error| panic!("{queue}: {error}"))
}

/// Every queue with its defaults, and queues that hold packets back or have several parts.
fn queues() -> Vec<String> {
    let registered = REGISTRY.iter().filter(|entry| !(entry.default)().is_placeholder());
    let mut queues: Vec<String> = registered.map(|entry| format!("aqm = '{}', limit = '15 packets', ecn = true", entry.name)).collect();
    queues.extend(["1 bit/s", "1 Mbit/s"].map(|rate| format!("aqm = 'cake', bandwidth = '{rate}', diffserv = 'diffserv4'")));
    queues.push("limit = '12 kB', ack_filter = 'aggressive'".into());
    queues
}

/// A call of the kernel to a discipline.
#[derive(Clone, Copy, Debug)]
enum Call {
    Enqueue { flow: u32, ect1: bool },
    Dequeue,
    Flows(u32),
    Reset,
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let call = prop_oneof![
        8 => (0..4u32, any::<bool>()).prop_map(|(flow, ect1)| Call::Enqueue { flow, ect1 }),
        3 => Just(Call::Dequeue),
        1 => (0..9u32).prop_map(Call::Flows),
        1 => Just(Call::Reset),
    ];
    prop::collection::vec((0..20_000_000u64, call), 1..150)
}

/// The packets that a discipline holds for the kernel.
#[derive(Default)]
struct Kernel {
    last: u64,
    waiting: BTreeSet<u64>,
}

impl Kernel {
    fn enqueue(&mut self, discipline: &mut Discipline, now: Time, flow: u32, flags: u8) {
        self.last += 1;
        self.waiting.insert(self.last);
        discipline.enqueue(now, Packet { handle: self.last, flow, flags, size: 1000, payload: 948, ..Packet::default() });
    }

    /// Takes back the packets that the discipline sends and drops. Each must be a waiting one.
    fn take_back(&mut self, discipline: &mut Discipline, sent: Option<Packet>) -> bool {
        let dropped = std::iter::from_fn(|| discipline.next_dropped()).map(|(packet, _)| packet);
        sent.into_iter().chain(dropped).all(|packet| self.waiting.remove(&packet.handle))
    }
}

#[test]
fn a_reset_gives_back_every_packet_that_waits_once_whatever_the_queue() {
    for queue in queues() {
        let (mut discipline, mut kernel) = (discipline(&queue), Kernel::default());
        (0..20).for_each(|number| kernel.enqueue(&mut discipline, Time::ZERO, number % 3, 0));
        let sent = discipline.dequeue(Time::from_nanos(1_000));
        assert!(kernel.take_back(&mut discipline, sent) && !kernel.waiting.is_empty(), "{queue}: what waits is to be reset");
        discipline.reset(Time::from_nanos(2_000));
        assert!(kernel.take_back(&mut discipline, None), "{queue}: a packet came back twice");
        assert!(kernel.waiting.is_empty(), "{queue}: lost {:?}", kernel.waiting);
        // The queue is reset: it is empty and its counters are zero.
        assert_eq!((discipline.dequeue(Time::from_nanos(3_000)), discipline.counters().arrived), (None, 0), "{queue}");
        kernel.enqueue(&mut discipline, Time::from_nanos(4_000), 0, 0);
        assert_eq!(discipline.dequeue(Time::from_nanos(5_000)).map(|packet| packet.handle), Some(21), "{queue}");
    }
}

#[test]
fn a_group_beyond_the_flows_is_refused_in_one_line() {
    let task = "link = 'l'\nrate = '10 Mbit/s'\ndelay = '0 s'\npacket = 1000\nseed = 1\ngroups = [0, 4294967295]\nqueue = { aqm = 'cake' }";
    let error = Discipline::new(task.as_bytes()).unwrap_err();
    assert_eq!(error, "groups: expected a number below 2, the number of flows, got 4294967295");
}

proptest! {
    #[test]
    fn each_packet_leaves_a_discipline_once_also_across_resets(calls in calls(), at in 0..queues().len()) {
        let (mut discipline, mut kernel, mut now) = (discipline(&queues()[at]), Kernel::default(), Time::ZERO);
        for (gap, call) in calls {
            now = Time::from_nanos(now.as_nanos() + gap);
            let mut sent = None;
            match call {
                Call::Enqueue { flow, ect1 } => {
                    kernel.enqueue(&mut discipline, now, flow, if ect1 { flag::ECT | flag::ECT1 } else { 0 });
                }
                Call::Dequeue => sent = discipline.dequeue(now),
                Call::Flows(active) => discipline.set_flows(now, active),
                Call::Reset => discipline.reset(now),
            }
            prop_assert!(kernel.take_back(&mut discipline, sent), "a packet that does not wait came back");
            prop_assert!(!matches!(call, Call::Reset) || kernel.waiting.is_empty(), "a reset lost {:?}", kernel.waiting);
        }
    }
}
