//! Header prediction (jacobson-1990): the usual ACK takes a short way.
//!
//! Nearly all ACKs bring new data in order to a sender that repairs nothing. What they need of the general way
//! ([`Sender::on_ack`](crate::tcp::Sender::on_ack)) is one straight line: an RTT sample, growth of the window, and full segments of
//! new data. One test of the state, made after everything that is not usual, and one of the header decide.
//! A sender that paces, samples the delivery rate, repairs, or has limits besides its windows takes the general way. Worlds with
//! `all_events` take it always, and tests compare.

use super::{SenderCore, State};
use crate::packet::{Packet, flag};
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use sojourn_cc::CongestionController;

impl SenderCore {
    /// Whether an ACK ever may be a usual one.
    #[inline]
    pub fn predicts(&self) -> bool {
        self.predicts
    }

    /// Finds out whether the next ACK may be a usual one. `quiet`: recovery has nothing to do with it.
    #[inline]
    pub fn predict(&mut self, quiet: bool) {
        let pending = self.after_timeout || (self.cwr_pending && self.ecn.is_on()) || self.ecn_at_one_segment || self.wait_for_rto;
        let usual = self.state == State::Established && self.snd_nxt == self.snd_max && self.limited_transmit_bytes == 0;
        self.predictable = quiet && usual && !pending;
    }

    /// Whether this ACK is a usual one: it acknowledges new data, leaves some outstanding, and says nothing else.
    #[inline]
    pub fn is_predicted(&self, ack: &Packet) -> bool {
        let plain = ack.flags == flag::ACK | flag::BACK && ack.extra == 0;
        self.predictable && plain && ack.seq > self.snd_una && ack.seq < self.snd_max
    }

    /// Takes a usual ACK: [`SenderCore::accept_ack`], [`SenderCore::grow`] and [`SenderCore::send_window`], without what can't happen.
    /// That sends a segment at most. If more may follow, gives the end of the window for [`SenderCore::send_full_segments`].
    #[inline]
    pub fn on_predicted_ack<O: SegmentSink>(&mut self, ack: &Packet, call: &mut Call<O>) -> Option<u64> {
        let digest = AckDigest::plain(ack, self.snd_una);
        self.read_timestamp(ack, call.params);
        self.rwnd = ack.window;
        self.snd_una = ack.seq;
        self.sample_rtt_of_new_data(&digest, call);
        self.start_timer(call);
        self.tell_controller(&self.delivered_by(&digest, false, call), call.now);
        let mss = u64::from(call.params.mss);
        let window = u64::from((self.cc.cwnd() as u32).min(self.receive_window(call.params)));
        let end = self.snd_una.saturating_add(window.saturating_mul(mss));
        if self.snd_nxt + mss < self.write_end && self.snd_nxt + mss <= end {
            self.transmit_new(mss, call);
        }
        (self.snd_nxt + mss <= end || self.snd_nxt + mss >= self.write_end).then_some(end)
    }

    /// Sends full segments of new data from `snd_nxt` on, up to the `end` of the window. Gives whether it came to the last segment of
    /// what the application has written, which is for the recovery strategy to send.
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
