//! The packets in flight, and samples of the delivery rate (draft-ietf-ccwg-bbr#4.1).

use crate::{LossState, LostSegment, RateSample};
use alloc::collections::VecDeque;
use sojourn_units::{Duration, Time};

/// A packet in flight, with the state of the connection when it was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub at: Time,
    pub bytes: u64,
    /// The number of its first byte among all bytes sent.
    first: u64,
    /// Bytes in flight, including itself.
    in_flight: u64,
    delivered: u64,
    delivered_time: Time,
    first_send_time: Time,
    lost: u64,
    is_app_limited: bool,
}

/// The packets that an ACK acknowledges.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Batch {
    /// The one that was sent last.
    pub newest: Option<Sent>,
    pub bytes: u64,
    pub prior_in_flight: u64,
}

impl Batch {
    pub fn add(&mut self, packet: Sent) {
        self.bytes += packet.bytes;
        if self.newest.is_none_or(|newest| newest.at <= packet.at) {
            self.newest = Some(packet);
        }
    }
}

/// The packets in flight in the order of sending, and the counts of the connection in bytes.
#[derive(Clone, Default, Debug)]
pub(super) struct Flight {
    packets: VecDeque<Sent>,
    in_flight: u64,
    sent: u64,
    delivered: u64,
    lost: u64,
    delivered_time: Time,
    first_send_time: Time,
    /// `C.app_limited`: 0 if the application does not limit the connection.
    app_limited: u64,
    /// The value of `lost` at the last sample.
    lost_before: u64,
    /// The end of the packet that was lost last.
    lost_end: Option<u64>,
}

impl Flight {
    /// Bytes in flight.
    pub fn bytes(&self) -> u64 {
        self.in_flight
    }

    /// All bytes sent so far.
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// The number of the first byte in flight, or of the next one.
    pub fn first_byte(&self) -> u64 {
        self.packets.front().map_or(self.sent, |packet| packet.first)
    }

    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// `MarkConnectionAppLimited` (draft-ietf-ccwg-bbr#4.1.2.4).
    pub fn limit(&mut self) {
        self.app_limited = (self.delivered + self.in_flight).max(1);
    }

    pub fn send(&mut self, now: Time, bytes: u64) {
        if self.in_flight == 0 {
            (self.first_send_time, self.delivered_time) = (now, now);
        }
        self.in_flight += bytes;
        self.packets.push_back(Sent {
            at: now,
            bytes,
            first: self.sent,
            in_flight: self.in_flight,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            lost: self.lost,
            is_app_limited: self.is_app_limited(),
        });
        self.sent += bytes;
    }

    /// Removes the first packet in flight that was sent at this time.
    /// Of several it is the first of this size, if there is one.
    pub fn take(&mut self, sent: Time, bytes: u64) -> Option<Sent> {
        let first = self.packets.partition_point(|packet| packet.at < sent);
        let same = self.packets.range(first..).take_while(|packet| packet.at == sent);
        let found = same.clone().position(|packet| packet.bytes == bytes).or_else(|| same.clone().next().map(|_| 0))?;
        let packet = self.packets.remove(first + found)?;
        self.in_flight -= packet.bytes;
        Some(packet)
    }

    /// The oldest and the newest packet in flight that were sent until this time.
    pub fn ends_until(&self, time: Time) -> Option<[Sent; 2]> {
        let mut until = self.packets.range(..self.packets.partition_point(|packet| packet.at <= time));
        let oldest = until.next()?;
        Some([*oldest, *until.next_back().unwrap_or(oldest)])
    }

    /// A packet is delivered: `UpdateRateSample` (draft-ietf-ccwg-bbr#4.1.2.3).
    pub fn deliver(&mut self, now: Time, packet: &Sent) {
        self.delivered += packet.bytes;
        self.delivered_time = now;
        self.first_send_time = self.first_send_time.max(packet.at);
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
    }

    /// Removes packets that were sent before a time. They are neither delivered nor lost.
    pub fn forget_until(&mut self, time: Time) {
        while let Some(packet) = self.packets.front().filter(|packet| packet.at < time) {
            self.in_flight -= packet.bytes;
            self.packets.pop_front();
        }
    }

    /// Removes the oldest packet in flight, if it was sent until `last`, and counts it as lost.
    /// Returns it, and whether it directly follows the one lost before.
    pub fn lose_until(&mut self, last: Time) -> Option<(Sent, bool)> {
        let [oldest, _] = self.ends_until(last)?;
        self.lose(oldest.at, oldest.bytes)
    }

    /// Removes a packet and counts it as lost, as [`Flight::lose_until`] does.
    /// It is that of this size which was sent at this time.
    pub fn lose(&mut self, sent: Time, bytes: u64) -> Option<(Sent, bool)> {
        let packet = self.take(sent, bytes)?;
        self.lost += packet.bytes;
        let contiguous = self.lost_end.replace(packet.first + packet.bytes) == Some(packet.first);
        Some((packet, contiguous))
    }

    /// A packet that was just lost.
    /// The arguments are the bytes of a full one, and whether it follows another lost one.
    pub fn lost_segment(&self, now: Time, packet: &Sent, (full, contiguous): (f64, bool)) -> LostSegment {
        LostSegment {
            now,
            size: packet.bytes as f64 / full,
            tx_in_flight: packet.in_flight as f64 / full,
            lost: (self.lost - packet.lost) as f64 / full,
            is_app_limited: packet.is_app_limited,
            delivered_total: self.delivered as f64 / full,
            contiguous,
            selective_acks: true,
        }
    }

    /// The sample of an ACK, in packets of `full` bytes.
    /// `GenerateRateSample` (draft-ietf-ccwg-bbr#4.1.2.3):
    /// A time shorter than the smallest RTT gives no rate. The caller adds RTTs and the state of the sender.
    pub fn sample(&mut self, now: Time, batch: &Batch, (full, least): (f64, Duration)) -> RateSample {
        let packets = |bytes: u64| bytes as f64 / full;
        let newest = batch.newest;
        let since = newest.map_or(0, |newest| self.delivered - newest.delivered);
        let interval =
            newest.map_or(Duration::ZERO, |newest| newest.at.since(newest.first_send_time).max(now.since(newest.delivered_time)));
        let newly_lost = self.lost - core::mem::replace(&mut self.lost_before, self.lost);
        RateSample {
            now,
            delivered_total: packets(self.delivered),
            lost_total: packets(self.lost),
            newly_acked: packets(batch.bytes),
            newly_lost: packets(newly_lost),
            prior_delivered: newest.map(|newest| packets(newest.delivered)),
            delivered: packets(since),
            lost: newest.map_or(0.0, |newest| packets(self.lost - newest.lost)),
            tx_in_flight: newest.map_or(0.0, |newest| packets(newest.in_flight)),
            delivery_rate: if interval > Duration::ZERO && interval >= least { packets(since) / interval.as_secs_f64() } else { 0.0 },
            is_app_limited: newest.is_some_and(|newest| newest.is_app_limited),
            rtt: None,
            srtt: Duration::ZERO,
            prior_in_flight: packets(batch.prior_in_flight),
            in_flight: packets(self.in_flight),
            may_be_delayed: false,
            pacing_delay: Duration::ZERO,
            is_cwnd_limited: false,
            state: LossState::Open,
            selective_acks: true,
            marked: 0.0,
        }
    }
}
