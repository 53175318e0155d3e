//! A router's own estimate of each flow's round-trip time, in bounded memory.
//! It reads the headers of packets that pass.
//!
//! The first estimate is the time between a sender's SYN and its next packet: one round-trip time, at any position of the router. If
//! packets carry timestamps (rfc7323#3), the router also measures the time from a timestamp to the first packet in the other direction that
//! echoes it. This is the time from the router to one end and back; the sum for both ends is the round-trip time (like Pollere's pping).
//! The router follows one timestamp per end at a time, so that a flow uses the same memory at any rate.
//!
//! The time that packets wait in the router's own queue is known and changes fast. It is not part of the stored times: a handshake through
//! a queue that is full at the start would otherwise count for the whole connection. The estimator adds the flow's mean wait, smoothed over
//! about eight round-trip times as a sender smooths its own (rfc6298#2). The wait of the present packet would be unsuitable: a law that
//! drops less at a longer round-trip time would drop less while its own queue grows.
//!
//! The receiver answers immediately, so its latest time is used: at one sample per round-trip time, the mean of rfc6298#2 would lag by
//! eight round-trip times. The sender may wait for its window before it answers: the shortest time of the last 10 to 20 s is used.
//!
//! Flows are stored in sets of four. A flow whose set is full of flows seen in the last 2 s gets no estimate.

use crate::flow_sketch::mix;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Duration, Memory, Time, memory_of};

/// The header fields that a router reads.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The time at which the packet passes the router.
    pub now: Time,
    /// Identifies its flow, such as a hash of addresses and ports; the same in both directions.
    pub flow: u64,
    /// Its timestamps, if it carries them.
    pub timestamps: Option<Timestamps>,
}

/// A packet's timestamps, in any unit that both ends use (rfc7323#3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval: the sender's own.
    pub value: u64,
    /// TSecr: the other end's, echoed.
    pub echo: u64,
}

const WAYS: usize = 4;
const IDLE: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_secs(10);

/// A timestamp whose echo is awaited.
#[derive(Clone, Copy, Debug)]
struct Pending {
    value: u64,
    /// The time at which it left the router.
    sent: Time,
}

/// The time from the router to one end and back.
#[derive(Clone, Copy, Default, Debug)]
struct End {
    pending: Option<Pending>,
    latest: Option<Duration>,
    /// The shortest time of the window before this one.
    previous_min: Option<Duration>,
    /// The shortest time of this window.
    current_min: Option<Duration>,
    /// The start of this window.
    window_start: Time,
}

impl End {
    /// A timestamp leaves the router for this end at `sent`.
    #[inline]
    fn on_timestamp(&mut self, value: u64, sent: Time) {
        self.pending.get_or_insert(Pending { value, sent });
    }

    /// Handles the echo of a timestamp by this end; returns whether there is a new sample.
    /// An echo of a later timestamp than the pending one gives no sample: the first echo was lost, or one packet echoed for two.
    #[inline]
    fn on_echo(&mut self, echo: u64, now: Time) -> bool {
        let Some(Pending { value, sent }) = self.pending.filter(|pending| echo >= pending.value) else { return false };
        self.pending = None;
        if echo == value {
            self.sample(now, now.since(sent));
        }
        echo == value
    }

    /// Adds the sample of an echo.
    #[inline(never)]
    fn sample(&mut self, now: Time, sample: Duration) {
        self.latest = Some(sample);
        if now.since(self.window_start) >= WINDOW {
            (self.previous_min, self.current_min, self.window_start) = (self.current_min, None, now);
        }
        self.current_min = Some(self.current_min.map_or(sample, |shortest| shortest.min(sample)));
    }

    fn shortest(&self) -> Option<Duration> {
        [self.previous_min, self.current_min].into_iter().flatten().min()
    }
}

/// The key of a flow and the location of its state.
#[derive(Clone, Copy, Debug)]
struct Key {
    flow: u64,
    /// The index of its slot; [`Key::FREE`] if there is no flow.
    slot: u32,
}

impl Key {
    const FREE: u32 = u32::MAX;

    fn is_of(&self, flow: u64) -> bool {
        self.flow == flow && self.slot != Key::FREE
    }
}

/// The state of one flow.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    seen: Time,
    /// The time at which its SYN left the router; `None` after the next packet of its sender.
    syn: Option<Time>,
    handshake: Option<Duration>,
    receiver: End,
    sender: End,
    /// The mean time that its packets wait in the router's own queue.
    /// `None` before its first packet.
    wait: Option<Duration>,
    /// The time from which a packet's wait counts for the mean again: once per round-trip time.
    wait_due: Time,
    /// The estimate in whole milliseconds, at least 1; 0 if it is unknown.
    rtt_ms: u16,
}

impl Slot {
    /// The round-trip time without the router's own queue, if it is known.
    fn base(&self) -> Option<Duration> {
        let stamps = self.receiver.latest.zip(self.sender.shortest()).map(|(receiver, sender)| receiver + sender);
        stamps.or(self.handshake)
    }

    /// Adds the wait `ahead` of a packet to the mean wait.
    fn take_wait(&mut self, now: Time, ahead: Duration) {
        let wait = self.wait.map_or(ahead, |mean| Duration::from_nanos((7 * mean.as_nanos() + ahead.as_nanos()) / 8));
        self.wait = Some(wait);
        self.wait_due = now + self.base().unwrap_or(Duration::ZERO) + wait;
    }

    /// Updates the estimate after one of its parts has changed.
    #[inline(never)]
    fn estimate(&mut self) {
        let wait = self.wait.unwrap_or(Duration::ZERO);
        let ms = |rtt: Duration| (((rtt + wait).as_nanos() + 500_000) / 1_000_000).clamp(1, 0xffff) as u16;
        self.rtt_ms = self.base().map_or(0, ms);
    }
}

/// Estimates the round-trip times of the flows through a router.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// The sets of four keys, one after the other.
    keys: Vec<Key>,
    /// The states of flows, in the order in which their keys were first assigned.
    slots: Vec<Slot>,
}

impl RttEstimator {
    /// Room for this many flows, rounded up to a multiple of four and at least four.
    pub fn new(flows: u32) -> Self {
        let free = Key { flow: 0, slot: Key::FREE };
        RttEstimator { keys: vec![free; WAYS * (flows as usize).div_ceil(WAYS).max(1)], slots: Vec::new() }
    }

    /// Handles a packet of a flow's sender that will wait `ahead` in the router's own queue.
    /// `syn` is whether it opens the connection. Returns the flow's round-trip time in whole milliseconds, 0 if unknown.
    #[inline]
    pub fn from_sender(&mut self, header: &Header, syn: bool, ahead: Duration) -> u16 {
        let Some(slot) = self.claim(header) else { return 0 };
        if syn {
            // Of several SYNs the last counts: the estimate can then be too short, but never too long.
            *slot = Slot { seen: header.now, syn: Some(header.now + ahead), ..Slot::default() };
            slot.take_wait(header.now, ahead);
            return 0;
        }
        let mut changes = false;
        if let Some(syn) = slot.syn.take() {
            slot.handshake = Some(header.now.since(syn));
            changes = true;
        }
        if let Some(Timestamps { value, echo }) = header.timestamps {
            changes |= slot.sender.on_echo(echo, header.now);
            slot.receiver.on_timestamp(value, header.now + ahead);
        }
        if header.now >= slot.wait_due {
            slot.take_wait(header.now, ahead);
            changes = true;
        }
        if changes {
            slot.estimate();
        }
        slot.rtt_ms
    }

    /// Handles a packet of a flow's receiver, in the other direction.
    #[inline]
    pub fn from_receiver(&mut self, header: &Header) {
        let (Some(slot), Some(Timestamps { value, echo })) = (self.known(header), header.timestamps) else { return };
        if slot.receiver.on_echo(echo, header.now) {
            slot.estimate();
        }
        slot.sender.on_timestamp(value, header.now);
    }

    /// The first key of a flow's set.
    #[inline]
    fn set(&self, flow: u64) -> usize {
        let sets = self.keys.len() / WAYS;
        WAYS * ((u128::from(mix(flow)) * sets as u128) >> 64) as usize
    }

    /// The index of the slot of a flow whose set begins at `set`, if it has one.
    #[inline]
    fn find(&self, set: usize, flow: u64) -> Option<u32> {
        self.keys[set..set + WAYS].iter().find(|key| key.is_of(flow)).map(|key| key.slot)
    }

    /// The slot of a flow, if it has one. The flow counts as active from now.
    #[inline]
    fn known(&mut self, header: &Header) -> Option<&mut Slot> {
        let at = self.find(self.set(header.flow), header.flow)?;
        self.see(at, header.now)
    }

    /// The slot of a flow, a new one if it has none and a key is available.
    #[inline]
    fn claim(&mut self, header: &Header) -> Option<&mut Slot> {
        let set = self.set(header.flow);
        let at = self.find(set, header.flow).or_else(|| self.take_key(set, header))?;
        self.see(at, header.now)
    }

    #[inline]
    fn see(&mut self, at: u32, now: Time) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(at as usize)?;
        slot.seen = now;
        Some(slot)
    }

    /// Assigns a key of its set to a flow: a free one, or that of the longest-idle flow.
    #[cold]
    fn take_key(&mut self, set: usize, header: &Header) -> Option<u32> {
        let seen = |key: &Key| self.slots.get(key.slot as usize).map(|slot| slot.seen);
        let keys = self.keys[set..set + WAYS].iter().map(seen).enumerate();
        let idle = keys.filter(|(_, seen)| seen.is_none_or(|seen| header.now.since(seen) >= IDLE));
        let (at, _) = idle.min_by_key(|&(_, seen)| seen)?;
        let key = &mut self.keys[set + at];
        key.flow = header.flow;
        if key.slot == Key::FREE {
            key.slot = self.slots.len() as u32;
            self.slots.push(Slot::default());
        }
        self.slots[key.slot as usize] = Slot::default();
        Some(key.slot)
    }
}

impl Memory for RttEstimator {
    fn memory(&self) -> usize {
        memory_of([&self.keys, &self.slots])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn header(ms: u64, flow: u64, timestamps: Option<(u64, u64)>) -> Header {
        let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
        Header { now: Time::from_nanos(ms * MS), flow, timestamps }
    }

    /// A router whose own queue is empty.
    impl RttEstimator {
        fn syn(&mut self, ms: u64, flow: u64) -> u16 {
            self.from_sender(&header(ms, flow, None), true, Duration::ZERO)
        }

        fn data(&mut self, header: Header) -> u16 {
            self.from_sender(&header, false, Duration::ZERO)
        }
    }

    #[test]
    fn flows_are_spread_over_all_sets() {
        let router = RttEstimator::new(WAYS as u32 * 64);
        let sets = (0..1000).map(|flow| router.set(flow)).collect::<std::collections::BTreeSet<_>>();
        assert_eq!((sets.len(), sets.last().copied()), (64, Some(63 * WAYS)));
    }

    #[test]
    fn the_handshake_gives_the_first_estimate() {
        let mut router = RttEstimator::new(8);
        assert_eq!(router.syn(1000, 1), 0);
        assert_eq!(router.data(header(1123, 1, None)), 123);
        assert_eq!(router.data(header(9000, 1, None)), 123, "nothing else is known");
        assert_eq!(router.data(header(9000, 2, None)), 0, "the router did not see its handshake");
    }

    #[test]
    fn a_repeated_syn_counts_from_the_last_one() {
        let mut router = RttEstimator::new(8);
        router.syn(0, 1);
        router.syn(1000, 1);
        assert_eq!(router.data(header(1090, 1, None)), 90);
        router.syn(5000, 1);
        assert_eq!(router.data(header(5200, 1, None)), 200, "a new connection starts without an estimate");
    }

    #[test]
    fn timestamps_and_echoes_give_the_time_to_each_end() {
        let mut router = RttEstimator::new(8);
        router.data(header(100, 1, Some((95, 0))));
        router.from_receiver(&header(130, 1, Some((7, 95))));
        assert_eq!(router.data(header(175, 1, Some((170, 7)))), 30 + 45);
        router.from_receiver(&header(245, 1, Some((8, 170))));
        // The queue has grown, and the sender waits for its window.
        assert_eq!(router.data(header(345, 1, Some((340, 8)))), 70 + 45);
    }

    #[test]
    fn the_mean_wait_in_the_routers_own_queue_is_added_and_not_stored() {
        let mut router = RttEstimator::new(8);
        router.from_sender(&header(0, 1, None), true, Duration::from_millis(80));
        assert_eq!(
            router.from_sender(&header(120, 1, None), false, Duration::from_millis(80)),
            40 + 80,
            "the handshake took 40 ms without the queue"
        );
        assert_eq!(router.data(header(130, 1, None)), 40 + 80, "within a round-trip time nothing counts");
        assert_eq!(router.data(header(240, 1, None)), 40 + 70, "an eighth of the way to an empty queue (rfc6298#2)");
        for round in 1..100 {
            router.data(header(240 + 120 * round, 1, None));
        }
        assert_eq!(router.data(header(20_000, 1, None)), 40, "what the first packet met is forgotten");
    }

    #[test]
    fn a_queue_that_grows_for_a_moment_does_not_lengthen_the_estimate_at_once() {
        let mut router = RttEstimator::new(8);
        router.syn(0, 1);
        assert_eq!(router.data(header(40, 1, None)), 40);
        let wait = Duration::from_millis(160);
        assert_eq!(router.from_sender(&header(80, 1, None), false, wait), 40 + 20, "as the sender's own smoothed time would be");
    }

    #[test]
    fn an_echo_of_a_later_timestamp_gives_no_sample() {
        let mut router = RttEstimator::new(8);
        router.data(header(0, 1, Some((1, 0))));
        router.from_receiver(&header(500, 1, Some((9, 2))));
        assert_eq!(router.data(header(510, 1, Some((3, 9)))), 0);
        router.from_receiver(&header(540, 1, Some((10, 3))));
        assert_eq!(router.data(header(560, 1, Some((4, 10)))), 40, "30 to the receiver and 10 to the sender, measured before");
    }

    #[test]
    fn a_longer_path_is_measured_after_two_windows() {
        let mut router = RttEstimator::new(4);
        let mut last = 0;
        for i in 0..100 {
            let (at, back, stamp) = (1000 * i, if i < 10 { 20 } else { 50 }, 10 * i);
            router.data(header(at, 1, Some((stamp + 1, stamp))));
            router.from_receiver(&header(at + 10, 1, Some((stamp + 2, stamp + 1))));
            last = router.data(header(at + 10 + back, 1, Some((stamp + 3, stamp + 2))));
            router.from_receiver(&header(at + 20 + back, 1, Some((stamp + 4, stamp + 3))));
            if i == 15 {
                assert_eq!(last, 30, "the shorter time still counts");
            }
        }
        assert_eq!(last, 60);
    }

    #[test]
    fn a_full_set_has_no_slot_for_a_new_flow_until_one_is_idle() {
        let mut router = RttEstimator::new(4);
        for flow in 0..4 {
            router.syn(flow, flow);
            assert_eq!(router.data(header(flow + 50, flow, None)), 50);
        }
        router.syn(100, 9);
        assert_eq!(router.data(header(150, 9, None)), 0);
        assert_eq!(router.data(header(150, 3, None)), 50, "the other flows keep their slots");
        router.syn(2060, 9);
        assert_eq!(router.data(header(2100, 9, None)), 40);
        assert_eq!(router.data(header(2100, 3, None)), 50, "the slot of the flow that was idle longest is free");
        assert_eq!(router.memory(), 4 * (size_of::<Key>() + size_of::<Slot>()));
    }

    #[test]
    fn a_flow_that_has_sent_a_syn_alone_is_not_idle() {
        let mut router = RttEstimator::new(4);
        (0..4).for_each(|flow| _ = router.syn(5000 + flow, flow));
        router.syn(5100, 9);
        assert_eq!((router.data(header(5150, 9, None)), router.data(header(5200, 0, None))), (0, 200));
    }

    proptest! {
        #[test]
        fn the_estimate_never_exceeds_what_was_measured(
            packets in prop::collection::vec((0u64..400, 0u64..6, any::<bool>(), any::<bool>(), 0u64..50, 0u64..50), 1..300),
        ) {
            let (mut router, mut now) = (RttEstimator::new(4), 0);
            for (gap, flow, forward, syn, stamp, echo) in packets {
                now += gap;
                let seen = header(now, flow, (stamp > 10).then_some((stamp, echo)));
                if forward {
                    prop_assert!(u64::from(router.from_sender(&seen, syn, Duration::ZERO)) <= 2 * now);
                } else {
                    router.from_receiver(&seen);
                }
            }
        }
    }
}
