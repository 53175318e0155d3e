//! Header prediction (jacobson-1990): the fast path of plain ACKs.
//!
//! Nearly all ACKs bring new data in order to a sender that repairs nothing. Compared with the slow path
//! ([`Sender::on_ack`](crate::tcp::Sender::on_ack)) they need only a straight line: an RTT sample, growth of the window, and full segments
//! of new data. One test of the state, made after everything that is not usual, and one test of the header decide. A sender that paces,
//! samples the delivery rate, repairs losses, or has limits besides its windows takes the slow path. Worlds with `all_events` always take
//! it, and tests compare the two.

use super::{SenderCore, State};
use crate::packet::{Packet, flag};
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use sojourn_cc::{AnyController, CongestionController};

impl SenderCore {
    /// Whether fast paths may be taken.
    #[inline]
    pub fn takes_shortcuts(&self) -> bool {
        self.shortcuts
    }

    /// Determines whether the next ACK may take the fast path.
    /// `quiet` is whether recovery has nothing to do.
    #[inline]
    pub fn predict(&mut self, quiet: bool) {
        let plain = quiet && self.shortcuts && self.path.is_none() && self.limits.is_none();
        let pending = self.after_timeout || (self.cwr_pending && self.ecn.is_on()) || self.ecn_at_one_segment || self.wait_for_rto;
        let usual = self.state == State::Established && self.snd_nxt == self.snd_max && self.limited_transmit_bytes == 0;
        self.predictable = plain && usual && !pending;
    }

    /// Whether this ACK may take the fast path.
    /// It acknowledges new data, leaves some outstanding, and carries nothing else.
    #[inline]
    pub fn is_predicted(&self, ack: &Packet) -> bool {
        let plain = ack.flags == flag::ACK | flag::BACK && ack.extra == 0;
        self.predictable && plain && ack.seq > self.snd_una && ack.seq < self.snd_max
    }

    /// Handles an ACK on the fast path.
    /// This is [`SenderCore::accept_ack`], [`SenderCore::grow`] and [`SenderCore::send_window`] without the cases that can't occur. It
    /// sends at most one segment. If more may follow, it returns the end of the window for [`SenderCore::send_full_segments`].
    #[inline]
    pub fn on_predicted_ack<O: SegmentSink>(&mut self, ack: &Packet, call: &mut Call<O>) -> Option<u64> {
        let digest = AckDigest::plain(ack, self.snd_una);
        self.read_timestamp(ack, call.params);
        self.rwnd = ack.window;
        self.snd_una = ack.seq;
        self.sample_rtt_of_new_data(&digest, call);
        self.start_timer(call);
        let delivery = self.ack_for_controller(&self.delivered_by(&digest, false, call), call.now);
        match &mut self.cc {
            // Inlined: its ACK needs no place in memory, and of its fields only what Reno reads is computed.
            AnyController::Reno(reno) => reno.on_ack(&delivery),
            other => other.on_ack(&{ delivery }),
        }
        let mss = u64::from(call.params.mss);
        let window = u64::from((self.cc.cwnd() as u32).min(self.receive_window(call.params)));
        let end = self.snd_una.saturating_add(window.saturating_mul(mss));
        if self.snd_nxt + mss < self.write_end && self.snd_nxt + mss <= end {
            self.transmit_new(mss, call);
        }
        (self.snd_nxt + mss <= end || self.snd_nxt + mss >= self.write_end).then_some(end)
    }

    /// Sends full segments of new data from `snd_nxt` on, up to the `end` of the window.
    /// Returns whether it reached the last segment of the application's data, which the recovery strategy sends.
    #[inline]
    pub fn send_full_segments<O: SegmentSink>(&mut self, end: u64, call: &mut Call<O>) -> bool {
        let mss = u64::from(call.params.mss);
        while self.snd_nxt + mss < self.write_end {
            if self.snd_nxt + mss > end {
                return false;
            }
            self.transmit_new(mss, call);
        }
        true
    }
}
