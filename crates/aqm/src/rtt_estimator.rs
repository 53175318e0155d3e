//! A router's own estimate of each flow's round-trip time, from the headers of packets that pass, in fixed memory.
//!
//! A sender's SYN and its next packet are one round trip apart, wherever the router stands: that is the first estimate. Where
//! packets carry time stamps (rfc7323#3), a stamp that passes one way and the first packet that echoes it the other way
//! tell the time from here to one end and back; both ends together are the round trip (as Pollere's pping finds it). Each
//! end has one stamp under way, so that a flow takes the same memory at any rate.
//!
//! What a packet waits in the router's own queue is known and changes fast: it is left out of what is remembered, and what
//! the packet at hand will wait is added. Otherwise a handshake through a queue that is full at the start would count for as
//! long as the connection lasts.
//!
//! The receiver answers at once, so of its end the latest time counts: with one a round trip, a mean as rfc6298#2 has it
//! would lag by eight. The sender may wait for its window before it answers: of its end the least of the last 10 to 20 s counts.
//!
//! Flows are kept in sets of four. One that finds its set full of flows seen in the last 2 s gets no estimate.

use crate::flow_sketch::mix;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Duration, Time};

/// What a router reads of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// When it passes.
    pub now: Time,
    /// How long it will wait in the router's own queue; 0 for what comes from receivers.
    pub ahead: Duration,
    /// What tells its flow from others, such as a hash of addresses and ports; the same both ways.
    pub flow: u64,
    /// Whether it opens the connection.
    pub syn: bool,
    /// Its time stamp and the one that it echoes, if it carries them: TSval and TSecr (rfc7323#3).
    pub stamps: Option<(u64, u64)>,
}

const WAYS: usize = 4;
const IDLE: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_secs(10);

/// The time from the router to one end and back.
#[derive(Clone, Copy, Default, Debug)]
struct End {
    /// A stamp that went there, and when it left the router.
    asked: Option<(u64, Time)>,
    latest: Option<Duration>,
    /// The least of the window before and of this one, and when this one began.
    least: (Option<Duration>, Option<Duration>),
    since: Time,
}

impl End {
    /// A stamp goes there.
    fn ask(&mut self, stamp: u64, leaves: Time) {
        self.asked.get_or_insert((stamp, leaves));
    }

    /// A packet comes from there that echoes a stamp. One that is past the stamp that was asked for says only that the
    /// answer was lost, or that one answer served for two.
    fn answer(&mut self, echo: u64, now: Time) {
        let Some((stamp, at)) = self.asked.filter(|&(stamp, _)| echo >= stamp) else { return };
        self.asked = None;
        if echo > stamp {
            return;
        }
        let sample = now.since(at);
        self.latest = Some(sample);
        if now.since(self.since) >= WINDOW {
            (self.least, self.since) = ((self.least.1, None), now);
        }
        self.least.1 = Some(self.least.1.map_or(sample, |least| least.min(sample)));
    }

    fn least(&self) -> Option<Duration> {
        [self.least.0, self.least.1].into_iter().flatten().min()
    }
}

/// One flow.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    /// Its flow; `None` for nobody's.
    flow: Option<u64>,
    seen: Time,
    /// When its SYN left the router, until the next packet of its sender.
    syn: Option<Time>,
    handshake: Option<Duration>,
    receiver: End,
    sender: End,
}

impl Slot {
    /// The estimate in whole milliseconds for a packet with so much ahead of it, at least 1; 0 without one.
    fn rtt_ms(&self, ahead: Duration) -> u16 {
        let stamps = self.receiver.latest.zip(self.sender.least()).map(|(there, back)| there + back);
        let ms = |rtt: Duration| (((rtt + ahead).as_nanos() + 500_000) / 1_000_000).clamp(1, 0xffff) as u16;
        stamps.or(self.handshake).map_or(0, ms)
    }
}

/// The flows that a router knows.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    slots: Vec<Slot>,
}

impl RttEstimator {
    /// Room for this many flows, rounded up to a multiple of four and at least four.
    pub fn new(flows: u32) -> Self {
        RttEstimator { slots: vec![Slot::default(); WAYS * (flows as usize).div_ceil(WAYS).max(1)] }
    }

    /// A packet of a flow's sender passes: its round-trip time in whole milliseconds, 0 if unknown.
    #[inline]
    pub fn from_sender(&mut self, header: &Header) -> u16 {
        let Some(slot) = self.slot(header, true) else { return 0 };
        if header.syn {
            // Of several the last counts: the estimate can come out too short, which nobody gains by, but not too long.
            *slot = Slot { flow: slot.flow, seen: header.now, syn: Some(header.now + header.ahead), ..Slot::default() };
            return 0;
        }
        if let Some(syn) = slot.syn.take() {
            slot.handshake = Some(header.now.since(syn));
        }
        if let Some((stamp, echo)) = header.stamps {
            slot.sender.answer(echo, header.now);
            slot.receiver.ask(stamp, header.now + header.ahead);
        }
        slot.rtt_ms(header.ahead)
    }

    /// A packet of a flow's receiver passes the other way.
    #[inline]
    pub fn from_receiver(&mut self, header: &Header) {
        let (Some(slot), Some((stamp, echo))) = (self.slot(header, false), header.stamps) else { return };
        slot.receiver.answer(echo, header.now);
        slot.sender.ask(stamp, header.now);
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// The slot of a flow; with `claim`, a free one if it has none.
    fn slot(&mut self, header: &Header, claim: bool) -> Option<&mut Slot> {
        let sets = self.slots.len() / WAYS;
        let set = ((u128::from(mix(header.flow)) * sets as u128) >> 64) as usize;
        let slots = &mut self.slots[WAYS * set..WAYS * (set + 1)];
        let own = slots.iter().position(|slot| slot.flow == Some(header.flow));
        let free = |slot: &Slot| slot.flow.is_none() || header.now.since(slot.seen) >= IDLE;
        let longest = || (0..WAYS).filter(|&i| free(&slots[i])).min_by_key(|&i| (slots[i].flow.is_some(), slots[i].seen));
        let at = own.or_else(|| longest().filter(|_| claim))?;
        let slot = &mut slots[at];
        if own.is_none() {
            *slot = Slot { flow: Some(header.flow), ..Slot::default() };
        }
        slot.seen = header.now;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn header(ms: u64, flow: u64, stamps: Option<(u64, u64)>) -> Header {
        Header { now: Time::from_nanos(ms * MS), ahead: Duration::ZERO, flow, syn: false, stamps }
    }

    fn syn(ms: u64, flow: u64) -> Header {
        Header { syn: true, ..header(ms, flow, None) }
    }

    #[test]
    fn the_handshake_gives_the_first_estimate() {
        let mut router = RttEstimator::new(8);
        assert_eq!(router.from_sender(&syn(1000, 1)), 0);
        assert_eq!(router.from_sender(&header(1123, 1, None)), 123);
        assert_eq!(router.from_sender(&header(9000, 1, None)), 123, "nothing else is known");
        assert_eq!(router.from_sender(&header(9000, 2, None)), 0, "its handshake was not seen");
    }

    #[test]
    fn a_repeated_syn_counts_from_the_last_one() {
        let mut router = RttEstimator::new(8);
        router.from_sender(&syn(0, 1));
        router.from_sender(&syn(1000, 1));
        assert_eq!(router.from_sender(&header(1090, 1, None)), 90);
        router.from_sender(&syn(5000, 1));
        assert_eq!(router.from_sender(&header(5200, 1, None)), 200, "a new connection begins anew");
    }

    #[test]
    fn stamps_and_their_echoes_tell_both_ends_apart() {
        let mut router = RttEstimator::new(8);
        router.from_sender(&header(100, 1, Some((95, 0))));
        router.from_receiver(&header(130, 1, Some((7, 95))));
        assert_eq!(router.from_sender(&header(175, 1, Some((170, 7)))), 30 + 45);
        router.from_receiver(&header(245, 1, Some((8, 170))));
        // The queue has grown, and the sender waits for its window.
        assert_eq!(router.from_sender(&header(345, 1, Some((340, 8)))), 70 + 45);
    }

    #[test]
    fn what_waits_in_the_routers_own_queue_is_known_and_not_remembered() {
        let behind = |wait: u64, header: Header| Header { ahead: Duration::from_millis(wait), ..header };
        let mut router = RttEstimator::new(8);
        router.from_sender(&behind(160, syn(0, 1)));
        assert_eq!(router.from_sender(&header(200, 1, None)), 40);
        assert_eq!(router.from_sender(&behind(15, header(200, 1, None))), 55);
        router.from_sender(&behind(15, header(300, 1, Some((9, 8)))));
        router.from_receiver(&header(345, 1, Some((7, 9))));
        assert_eq!(router.from_sender(&behind(12, header(355, 1, Some((10, 7))))), 30 + 10 + 12);
    }

    #[test]
    fn an_answer_to_a_later_stamp_is_no_sample() {
        let mut router = RttEstimator::new(8);
        router.from_sender(&header(0, 1, Some((1, 0))));
        router.from_receiver(&header(500, 1, Some((9, 2))));
        assert_eq!(router.from_sender(&header(510, 1, Some((3, 9)))), 0);
        router.from_receiver(&header(540, 1, Some((10, 3))));
        assert_eq!(router.from_sender(&header(560, 1, Some((4, 10)))), 40, "30 there, 10 back from before");
    }

    #[test]
    fn a_path_that_grew_longer_is_believed_after_two_windows() {
        let mut router = RttEstimator::new(4);
        let mut last = 0;
        for i in 0..100 {
            let (at, back, stamp) = (1000 * i, if i < 10 { 20 } else { 50 }, 10 * i);
            router.from_sender(&header(at, 1, Some((stamp + 1, stamp))));
            router.from_receiver(&header(at + 10, 1, Some((stamp + 2, stamp + 1))));
            last = router.from_sender(&header(at + 10 + back, 1, Some((stamp + 3, stamp + 2))));
            router.from_receiver(&header(at + 20 + back, 1, Some((stamp + 4, stamp + 3))));
            if i == 15 {
                assert_eq!(last, 30, "the shorter time is not forgotten yet");
            }
        }
        assert_eq!(last, 60);
    }

    #[test]
    fn a_full_set_turns_newcomers_away_until_somebody_is_idle() {
        let mut router = RttEstimator::new(4);
        for flow in 0..4 {
            router.from_sender(&syn(flow, flow));
            assert_eq!(router.from_sender(&header(flow + 50, flow, None)), 50);
        }
        router.from_sender(&syn(100, 9));
        assert_eq!(router.from_sender(&header(150, 9, None)), 0);
        assert_eq!(router.from_sender(&header(150, 3, None)), 50, "those who are there stay");
        router.from_sender(&syn(2060, 9));
        assert_eq!(router.from_sender(&header(2100, 9, None)), 40);
        assert_eq!(router.from_sender(&header(2100, 3, None)), 50, "who was seen longest ago makes room");
        assert_eq!(router.memory(), 4 * size_of::<Slot>());
    }

    proptest! {
        #[test]
        fn whatever_passes_the_estimate_is_the_handshake_or_two_ways_that_were_seen(
            packets in prop::collection::vec((0u64..400, 0u64..6, any::<bool>(), any::<bool>(), 0u64..50, 0u64..50), 1..300),
        ) {
            let (mut router, mut now) = (RttEstimator::new(4), 0);
            for (gap, flow, forward, syn, stamp, echo) in packets {
                now += gap;
                let seen = Header { syn, ..header(now, flow, (stamp > 10).then_some((stamp, echo))) };
                if forward {
                    prop_assert!(u64::from(router.from_sender(&seen)) <= 2 * now);
                } else {
                    router.from_receiver(&seen);
                }
            }
        }
    }
}
