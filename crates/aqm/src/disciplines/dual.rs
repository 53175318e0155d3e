//! A dual queue: low-latency and classic, served in weighted round robin by a credit.
//! Source: rfc9332#4.2.2, Linux `sch_dualpi2.c`.

use crate::classifier::{Classifier, Rule};
use crate::disciplines::discipline::{Contents, Departure, Layout, QueueSetup, QueueState, Queues, RemovedPacket, Waiting};
use crate::{Aqm, ArrivingAck, Backlog, DualClass, DualFilter, Ecn, Fate, Packet, PacketView, Subqueue, SubqueueSample};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::{Probability, Time};

/// A queue with fewer full packets than this is short (Linux `must_drop`).
const FEW_PACKETS: u64 = 2;

/// The shares of the two queues in a link, and their classification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DualQueuing {
    /// The percentage of bytes for the classic queue while packets wait in both.
    /// Range: 0 to 100.
    pub classic_share: u32,
    /// The size of a full packet in bytes, which is the unit of the initial credit.
    pub packet: u32,
    /// The mask of the ECN field; packets with one of its bits join the low-latency queue.
    /// Linux: `ecn_mask`.
    pub ecn_mask: u8,
    /// Whether the law receives the low-latency queue's length ([`DualAqm::on_low_latency`]).
    pub tells_length: bool,
}

impl DualQueuing {
    /// The needs of the two queues.
    pub const LAYOUT: Layout = Layout { hashes_flows: false, knows_groups: false, takes_filters: true };

    /// The mask of ECT(1) and CE, the codepoints of scalable senders (rfc9331#5.1).
    pub const L4S: u8 = 1;

    /// Whether the ECN field alone assigns a packet to the low-latency queue.
    #[inline]
    pub fn is_l4s(&self, ecn: Ecn) -> bool {
        ecn.bits() & self.ecn_mask != 0
    }

    /// Whether both queues are too short for signals (Linux `must_drop`).
    #[inline]
    pub fn is_short(&self, backlog_bytes: u64) -> bool {
        backlog_bytes < FEW_PACKETS * u64::from(self.packet)
    }

    /// The names of the two queues.
    /// They are in the order of [`Qdisc::subqueues`](crate::Qdisc::subqueues).
    pub const NAMES: [&str; 2] = ["low-latency", "classic"];
}

/// An algorithm that fills a dual queue.
pub trait DualAqm: Aqm {
    /// Reports the arrival time of the packet that has waited longest, before each update.
    /// `None` if none waits.
    fn on_oldest(&mut self, since: Option<Time>);

    /// A packet leaves the low-latency queue; [`Aqm::on_dequeue`] follows.
    /// Called only with [`DualQueuing::tells_length`].
    fn on_low_latency(&mut self, length: LowLatency) {
        let _ = length;
    }

    /// The present probability of a signal for packets of the low-latency queue.
    /// [`Aqm::probability`] is that of classic packets.
    fn low_latency_probability(&self) -> Option<Probability>;
}

/// The length of the low-latency queue in packets, at a departure from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LowLatency {
    /// The number of packets that the departing one found at its arrival.
    pub found: u32,
    /// The number of packets behind it.
    pub behind: u32,
}

/// The filters, prepared for lookups.
#[derive(Clone, Debug)]
struct Filters {
    /// Finds the first filter that matches a packet, or the number behind the last filter.
    classifier: Classifier,
    /// The class for each filter, and at the end the class of unmatched packets.
    classes: Vec<DualClass>,
}

impl Filters {
    fn new(filters: Vec<DualFilter>) -> Self {
        let classes = filters.iter().map(|filter| filter.class).chain([DualClass::Classic]).collect();
        let rules = filters.into_iter().map(|filter| filter.rule).chain([Rule::default()]).collect();
        Filters { classifier: Classifier::new(rules), classes }
    }

    /// The class of a packet that leaves the low-latency queue.
    #[cold]
    fn class_of_held(&self, packet: &impl Packet, queuing: DualQueuing) -> DualClass {
        if queuing.is_l4s(packet.ecn()) { DualClass::L4s } else { self.class_of(packet.place(), packet.ecn()) }
    }

    #[cold]
    fn class_of(&self, place: u32, ecn: Ecn) -> DualClass {
        self.classes[self.classifier.class_of(place, ecn)]
    }
}

/// The sum of the two percentages.
const WHOLE: i64 = 100;

/// One of the two queues.
#[derive(Clone, Debug)]
struct Queue<P> {
    waiting: Waiting<P>,
    /// Its statistics, except for the number of waiting packets.
    did: Subqueue,
}

impl<P: Packet> Queue<P> {
    fn pop(&mut self) -> Option<(Time, P)> {
        let (since, packet) = self.waiting.pop_front()?;
        self.did.bytes -= u64::from(packet.size());
        Some((since, packet))
    }
}

/// The two queues.
#[derive(Clone, Debug)]
pub struct DualQueues<P> {
    queuing: DualQueuing,
    filters: Option<Box<Filters>>,
    low_latency: Queue<P>,
    /// For each waiting packet the queue length that it found, if the law needs it.
    found: VecDeque<u32>,
    classic: Queue<P>,
    /// Above zero it is the classic queue's turn (Linux `c_protection_credit`).
    credit: i64,
    /// The credit per byte of the packet that was removed last.
    charge: i64,
    /// Whether that packet was in the low-latency queue.
    last_is_l4s: bool,
    /// Whether the packet that arrived last belongs to the low-latency queue.
    /// `joined_l4s` is the same for the packet that joined last.
    arriving_l4s: bool,
    joined_l4s: bool,
}

impl<P: Packet> DualQueues<P> {
    /// Empty queues.
    pub fn new(queuing: DualQueuing, setup: &mut QueueSetup) -> Self {
        let filters = core::mem::take(&mut setup.filters);
        let empty = || Queue { waiting: VecDeque::new(), did: Subqueue::default() };
        let (low_latency, classic) = (empty(), empty());
        let mut queues = DualQueues {
            queuing,
            filters: (!filters.is_empty()).then(|| Box::new(Filters::new(filters))),
            low_latency,
            found: VecDeque::new(),
            classic,
            credit: 0,
            charge: 0,
            last_is_l4s: false,
            arriving_l4s: false,
            joined_l4s: false,
        };
        queues.reset_credit();
        queues
    }

    fn share(&self) -> i64 {
        i64::from(self.queuing.classic_share).min(WHOLE)
    }

    fn reset_credit(&mut self) {
        self.credit = i64::from(self.queuing.packet) * (2 * self.share() - WHOLE);
    }

    fn queue(&mut self, is_l4s: bool) -> &mut Queue<P> {
        if is_l4s { &mut self.low_latency } else { &mut self.classic }
    }

    /// The arrival times of the packets that have waited longest, one for each queue.
    fn heads(&self) -> [Option<Time>; 2] {
        [&self.low_latency, &self.classic].map(|queue| queue.waiting.front().map(|&(since, _)| since))
    }

    /// The class of a packet at this position on its route, with this ECN field.
    /// Filters apply only to packets that the ECN field leaves to the classic queue (Linux `dualpi2_skb_classify`).
    #[inline]
    pub fn class_of(&self, place: u32, ecn: Ecn) -> DualClass {
        match &self.filters {
            _ if self.queuing.is_l4s(ecn) => DualClass::L4s,
            None => DualClass::Classic,
            Some(filters) => filters.class_of(place, ecn),
        }
    }

    /// Whether an arriving packet joins the low-latency queue.
    #[inline]
    fn is_low_latency(&self, packet: &P) -> bool {
        let filtered = |filters: &Filters| filters.class_of(packet.place(), packet.ecn()) != DualClass::Classic;
        self.queuing.is_l4s(packet.ecn()) || self.filters.as_deref().is_some_and(filtered)
    }

    /// Adds a packet to a queue (rfc9332#A.1).
    /// `is_l4s` is its class at arrival: a mark by this queue does not change it.
    fn add(&mut self, now: Time, packet: P, is_l4s: bool) {
        if is_l4s && self.queuing.tells_length {
            self.found.push_back(self.low_latency.waiting.len() as u32);
        }
        self.joined_l4s = is_l4s;
        let queue = self.queue(is_l4s);
        queue.did.bytes += u64::from(packet.size());
        queue.waiting.push_back((now, packet));
    }

    /// The next packet, the time of its arrival, and its class.
    #[inline(always)]
    fn take(&mut self) -> Option<(Time, P, DualClass)> {
        let (low_latency, classic) = (!self.low_latency.waiting.is_empty(), !self.classic.waiting.is_empty());
        let both = low_latency && classic;
        self.last_is_l4s = low_latency && !(both && self.credit > 0);
        let charge = if self.last_is_l4s { self.share() } else { self.share() - WHOLE };
        self.charge = if both { charge } else { 0 };
        if !low_latency && !classic {
            self.reset_credit();
        }
        let (since, packet) = self.queue(self.last_is_l4s).pop()?;
        // A CE mark by this queue must not turn a packet scalable. Packets of the class `LowLatency` are never marked here, so their ECN
        // field is still that of their arrival.
        let class = match &self.filters {
            _ if !self.last_is_l4s => DualClass::Classic,
            None => DualClass::L4s,
            Some(filters) => filters.class_of_held(&packet, self.queuing),
        };
        Some((since, packet, class))
    }

    /// The length of the low-latency queue, if the law needs it.
    /// `None` if the last packet came from the classic queue.
    fn take_length(&mut self) -> Option<LowLatency> {
        if !self.last_is_l4s {
            return None;
        }
        self.found.pop_front().map(|found| LowLatency { found, behind: self.low_latency.waiting.len() as u32 })
    }
}

impl<P: Packet> Contents<P> for DualQueues<P> {
    fn packets(&self) -> u32 {
        (self.low_latency.waiting.len() + self.classic.waiting.len()) as u32
    }

    fn drain(&mut self, take: &mut dyn FnMut(P)) {
        let DualQueues { low_latency, classic, .. } = self;
        low_latency.waiting.drain(..).chain(classic.waiting.drain(..)).for_each(|(_, packet)| take(packet));
    }

    fn oldest(&self) -> Option<Time> {
        self.heads().into_iter().flatten().min()
    }

    fn subqueues(&self) -> Vec<Subqueue> {
        let of = |queue: &Queue<P>| Subqueue { packets: queue.waiting.len() as u32, ..queue.did };
        Vec::from([&self.low_latency, &self.classic].map(of))
    }

    #[inline]
    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        let queue = if at == 0 { &self.low_latency } else { &self.classic };
        (queue.waiting.len() as u32, queue.did.bytes)
    }

    #[inline]
    fn last_subqueue(&self) -> Option<usize> {
        Some(usize::from(!self.last_is_l4s))
    }

    #[inline]
    fn last_joined(&self) -> Option<usize> {
        Some(usize::from(!self.joined_l4s))
    }

    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        let is_l4s = self.class_of(ack.place, ack.ecn) != DualClass::Classic;
        Some((u32::from(is_l4s), if is_l4s { &self.low_latency.waiting } else { &self.classic.waiting }))
    }

    fn add_place(&mut self, place: u32, group: u32) {
        if let Some(filters) = &mut self.filters {
            filters.classifier.add_place(place, group);
        }
    }
}

/// Queue 1 is the low-latency queue.
impl<P: Packet, A: DualAqm> Queues<P, A> for DualQueues<P> {
    #[inline]
    fn push(&mut self, now: Time, packet: P) {
        self.add(now, packet, self.arriving_l4s);
    }

    #[inline]
    fn pop(&mut self, now: Time, state: &mut QueueState, aqm: &mut A) -> Option<RemovedPacket<P>> {
        let (since, packet, class) = self.take()?;
        if let Some(length) = self.take_length() {
            aqm.on_low_latency(length);
        }
        let view = PacketView { class, ..PacketView::of(now, &packet) };
        Some(RemovedPacket { since, packet, view, backlog: state.without(view.size), queue: u32::from(self.last_is_l4s) })
    }

    fn show(&self, packet: &P, view: &mut PacketView, _backlog: &mut Backlog) {
        view.class = self.class_of(packet.place(), packet.ecn());
    }

    #[inline]
    fn arrives(&mut self, packet: &P, fate: Fate) {
        self.arriving_l4s = self.is_low_latency(packet);
        let counters = &mut self.queue(self.arriving_l4s).did.counters;
        counters.count_arrival(packet.size());
        counters.count(packet.size(), fate);
    }

    #[inline]
    fn leaves(&mut self, packet: &Departure, fate: Fate) {
        let did = &mut self.queue(packet.queue == 1).did;
        did.counters.count(packet.size, fate);
        match fate {
            Fate::Dropped(_) => did.drops_of_earlier += u64::from(packet.is_earlier),
            Fate::Passed | Fate::Marked => self.credit += self.charge * i64::from(packet.size),
        }
    }

    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        if queue == 1 {
            self.found.remove(at);
        }
        let queue = self.queue(queue == 1);
        let (since, packet) = queue.waiting.remove(at)?;
        queue.did.bytes -= u64::from(packet.size());
        Some((since, packet))
    }

    fn before_update(&self, aqm: &mut A) {
        aqm.on_oldest(self.oldest());
    }

    fn samples(&self, aqm: &A) -> Vec<SubqueueSample> {
        let probabilities = [aqm.low_latency_probability(), aqm.probability()];
        let sample = |at: usize| {
            let (packets, bytes) = self.subqueue_backlog(at);
            SubqueueSample { packets, bytes, oldest: self.heads()[at], probability: probabilities[at] }
        };
        Vec::from([0, 1].map(sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropReason;
    use crate::algorithms::dualq::DualQ;
    use std::vec::Vec;

    fn queuing(classic_share: u32) -> DualQueuing {
        DualQueuing { classic_share, packet: 1000, ecn_mask: DualQueuing::L4S, tells_length: true }
    }

    impl Packet for u32 {
        fn size(&self) -> u32 {
            *self
        }
        fn flow(&self) -> u32 {
            0
        }
        fn can_mark(&self) -> bool {
            true
        }
        fn mark(&mut self) {}
    }

    fn empty(queuing: DualQueuing) -> DualQueues<u32> {
        DualQueues::new(queuing, &mut QueueSetup { limit: crate::Amount::Packets(1000), dscps: Vec::new(), filters: Vec::new() })
    }

    /// Reports the fate of the packet that was removed last.
    fn leave(queues: &mut DualQueues<u32>, size: u32, fate: Fate, is_earlier: bool) {
        let queue = u32::from(queues.last_is_l4s);
        Queues::<_, DualQ>::leaves(queues, &Departure { queue, size, at: Some(Time::ZERO), is_earlier }, fate);
    }

    /// Whether each of the next `count` packets is from the low-latency queue.
    fn served(queues: &mut DualQueues<u32>, count: usize) -> Vec<bool> {
        let next = |_| {
            let (_, size, class) = queues.take()?;
            leave(queues, size, Fate::Passed, false);
            Some(class == DualClass::L4s)
        };
        (0..count).map_while(next).collect()
    }

    #[test]
    fn while_packets_wait_in_both_the_classic_queue_has_its_share_of_the_bytes() {
        for (share, size) in [(10, 1000), (10, 250), (50, 1000), (0, 1000)] {
            let mut queues = empty(queuing(share));
            (0..1000).for_each(|_| queues.add(Time::ZERO, 1000, true));
            (0..4000).for_each(|_| queues.add(Time::ZERO, size, false));
            let order = served(&mut queues, 500);
            let classic = order.iter().filter(|&&low| !low).count() as f64 * f64::from(size);
            let all = classic + order.iter().filter(|&&low| low).count() as f64 * 1000.0;
            assert!((classic / all - f64::from(share) / 100.0).abs() < 0.02, "{share} %, {size} B: {}", classic / all);
            assert!(order[0], "the low-latency queue is first");
        }
    }

    #[test]
    fn each_queue_has_all_of_the_link_while_the_other_is_empty_and_owes_nothing_for_it() {
        let mut queues = empty(queuing(10));
        (0..50).for_each(|_| queues.add(Time::ZERO, 1000, false));
        assert_eq!(served(&mut queues, 40), [false; 40]);
        (0..5).for_each(|_| queues.add(Time::ZERO, 1000, true));
        assert_eq!(served(&mut queues, 5), [true; 5]);
        assert_eq!((served(&mut queues, 99).len(), queues.packets(), queues.take()), (10, 0, None));
    }

    #[test]
    fn the_oldest_packet_is_that_of_both_heads() {
        let mut queues = empty(queuing(10));
        assert_eq!(queues.oldest(), None);
        queues.add(Time::from_nanos(5), 1, true);
        queues.add(Time::from_nanos(7), 1, false);
        assert_eq!(queues.oldest(), Some(Time::from_nanos(5)));
        queues.take();
        assert_eq!(queues.oldest(), Some(Time::from_nanos(7)));
    }

    #[test]
    fn the_law_is_told_what_a_packet_of_the_low_latency_queue_found_and_leaves_behind() {
        let mut queues = empty(queuing(10));
        (0..4).for_each(|_| queues.add(Time::ZERO, 1, true));
        queues.add(Time::ZERO, 1, false);
        // An ACK filter takes the second one.
        Queues::<_, DualQ>::remove(&mut queues, 1, 1);
        let lengths: Vec<_> = std::iter::from_fn(|| queues.take().map(|_| queues.take_length())).collect();
        let [first, second, third] = [(0, 2), (2, 1), (3, 0)].map(|(found, behind)| Some(LowLatency { found, behind }));
        assert_eq!(lengths, [first, second, third, None]);
    }

    #[test]
    fn a_mask_of_the_ecn_field_says_whose_packets_are_in_the_low_latency_queue() {
        let members = |ecn_mask| {
            let queues: DualQueues<u32> = empty(DualQueuing { ecn_mask, ..queuing(10) });
            Ecn::ALL.map(|ecn| queues.class_of(0, ecn) == DualClass::L4s)
        };
        // Not-ECT, ECT(0), ECT(1), CE.
        assert_eq!(members(DualQueuing::L4S), [false, false, true, true]);
        assert_eq!(members(3), [false, true, true, true]);
    }

    #[test]
    fn each_queue_counts_what_came_to_it_and_what_became_of_it() {
        let mut queues = empty(queuing(10));
        for (is_l4s, size, fate) in [
            (true, 100, Fate::Passed),
            (true, 200, Fate::Dropped(DropReason::Tail)),
            (false, 300, Fate::Marked),
            (false, 400, Fate::Passed),
        ] {
            let counters = &mut queues.queue(is_l4s).did.counters;
            counters.count_arrival(size);
            counters.count(size, fate);
            if !matches!(fate, Fate::Dropped(_)) {
                queues.add(Time::ZERO, size, is_l4s);
            }
        }
        let [low, classic] = queues.subqueues()[..] else { panic!("two queues") };
        assert_eq!((low.packets, low.bytes, classic.packets, classic.bytes), (1, 100, 2, 700));
        for fate in [Fate::Marked, Fate::Dropped(DropReason::Forced), Fate::Passed] {
            let (_, size, _) = queues.take().unwrap();
            leave(&mut queues, size, fate, true);
        }
        let [low, classic] = queues.subqueues()[..] else { panic!("two queues") };
        let counted = |queue: Subqueue| [queue.counters.arrived, queue.counters.marked, queue.counters.dropped(), queue.drops_of_earlier];
        assert_eq!((counted(low), counted(classic)), ([2, 1, 1, 0], [2, 1, 1, 1]));
        assert_eq!((low.bytes, classic.bytes, classic.counters.dropped_bytes), (0, 0, 300));
    }
}
