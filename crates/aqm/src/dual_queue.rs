//! A queue for scalable senders and one for all others: weighted round robin by a credit (rfc9332#4.2.2, Linux `sch_dualpi2.c`).

use alloc::collections::VecDeque;
use sojourn_units::Time;

/// How two queues share a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DualQueuing {
    /// The percentage of the bytes that the classic queue sends while packets wait in both, 0 to 100.
    pub classic_share: u32,
    /// The size of a full packet in bytes: that much the other queue is ahead at first.
    pub packet: u32,
}

/// All of the percentages.
const WHOLE: i64 = 100;

/// The two queues.
#[derive(Clone, Debug)]
pub(crate) struct DualQueues<P> {
    queuing: DualQueuing,
    low_latency: VecDeque<(Time, P)>,
    classic: VecDeque<(Time, P)>,
    /// Above zero it is the classic queue's turn (Linux `c_protection_credit`).
    credit: i64,
    /// What each byte of the packet that was taken last adds to it.
    charge: i64,
}

impl<P> DualQueues<P> {
    pub fn new(queuing: DualQueuing) -> Self {
        let mut queues = DualQueues { queuing, low_latency: VecDeque::new(), classic: VecDeque::new(), credit: 0, charge: 0 };
        queues.reset_credit();
        queues
    }

    fn share(&self) -> i64 {
        i64::from(self.queuing.classic_share).min(WHOLE)
    }

    fn reset_credit(&mut self) {
        self.credit = i64::from(self.queuing.packet) * (2 * self.share() - WHOLE);
    }

    /// Packets in both queues.
    pub fn packets(&self) -> u32 {
        (self.low_latency.len() + self.classic.len()) as u32
    }

    /// When the packet arrived that has waited longest.
    pub fn oldest(&self) -> Option<Time> {
        let head = |queue: &VecDeque<(Time, P)>| queue.front().map(|&(since, _)| since);
        head(&self.low_latency).into_iter().chain(head(&self.classic)).min()
    }

    /// Adds a packet to the queue of its kind as it arrived (rfc9332#A.1): the mark that this queue has set does not count.
    pub fn push(&mut self, now: Time, packet: P, is_l4s: bool) {
        let queue = if is_l4s { &mut self.low_latency } else { &mut self.classic };
        queue.push_back((now, packet));
    }

    /// The queue of scalable senders, or the other.
    pub fn queue(&self, is_l4s: bool) -> &VecDeque<(Time, P)> {
        if is_l4s { &self.low_latency } else { &self.classic }
    }

    /// Takes out the packet at a place of a queue.
    pub fn remove(&mut self, is_l4s: bool, at: usize) -> Option<(Time, P)> {
        if is_l4s { self.low_latency.remove(at) } else { self.classic.remove(at) }
    }

    /// The next packet, the time of its arrival, and whether it was in the low-latency queue. A packet that is sent must be charged.
    pub fn pop(&mut self) -> Option<(Time, P, bool)> {
        let both = !self.low_latency.is_empty() && !self.classic.is_empty();
        if self.low_latency.is_empty() || (both && self.credit > 0) {
            self.charge = if both { self.share() - WHOLE } else { 0 };
            let head = self.classic.pop_front();
            if head.is_none() {
                self.reset_credit();
            }
            return head.map(|(since, packet)| (since, packet, false));
        }
        self.charge = if both { self.share() } else { 0 };
        self.low_latency.pop_front().map(|(since, packet)| (since, packet, true))
    }

    /// The packet that was taken last is sent; it has `size` bytes.
    pub fn charge(&mut self, size: u32) {
        self.credit += self.charge * i64::from(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Which of the next `count` packets are of the low-latency queue.
    fn served(queues: &mut DualQueues<u32>, count: usize) -> Vec<bool> {
        let next = |_| {
            let (_, size, is_l4s) = queues.pop()?;
            queues.charge(size);
            Some(is_l4s)
        };
        (0..count).map_while(next).collect()
    }

    #[test]
    fn while_packets_wait_in_both_the_classic_queue_has_its_share_of_the_bytes() {
        for (share, size) in [(10, 1000), (10, 250), (50, 1000), (0, 1000)] {
            let mut queues = DualQueues::new(DualQueuing { classic_share: share, packet: 1000 });
            (0..1000).for_each(|_| queues.push(Time::ZERO, 1000, true));
            (0..4000).for_each(|_| queues.push(Time::ZERO, size, false));
            let order = served(&mut queues, 500);
            let classic = order.iter().filter(|&&low| !low).count() as f64 * f64::from(size);
            let all = classic + order.iter().filter(|&&low| low).count() as f64 * 1000.0;
            assert!((classic / all - f64::from(share) / 100.0).abs() < 0.02, "{share} %, {size} B: {}", classic / all);
            assert!(order[0], "the low-latency queue is first");
        }
    }

    #[test]
    fn each_queue_has_all_of_the_link_while_the_other_is_empty_and_owes_nothing_for_it() {
        let mut queues = DualQueues::new(DualQueuing { classic_share: 10, packet: 1000 });
        (0..50).for_each(|_| queues.push(Time::ZERO, 1000, false));
        assert_eq!(served(&mut queues, 40), [false; 40]);
        (0..5).for_each(|_| queues.push(Time::ZERO, 1000, true));
        assert_eq!(served(&mut queues, 5), [true; 5]);
        assert_eq!((served(&mut queues, 99).len(), queues.packets(), queues.pop()), (10, 0, None));
    }

    #[test]
    fn the_oldest_packet_is_that_of_both_heads() {
        let mut queues = DualQueues::new(DualQueuing { classic_share: 10, packet: 1000 });
        assert_eq!(queues.oldest(), None);
        queues.push(Time::from_nanos(5), 1, true);
        queues.push(Time::from_nanos(7), 1, false);
        assert_eq!(queues.oldest(), Some(Time::from_nanos(5)));
        queues.pop();
        assert_eq!(queues.oldest(), Some(Time::from_nanos(7)));
    }
}
