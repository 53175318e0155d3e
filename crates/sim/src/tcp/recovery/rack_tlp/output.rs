//! Sending: new data, lost segments, and the test whether the window is the limit.

use super::RackTlp;
use super::states::{Pending, Resend};
use crate::packet::flag;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::SenderCore;
use std::ops::Range;

impl RackTlp {
    /// Sends what the window allows (Linux `tcp_write_xmit`).
    pub(super) fn send_new<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if !sender.has_data() {
            return;
        }
        let room = (sender.cwnd() as u32).saturating_sub(self.sent.in_flight());
        let (end, first, mut sent) = (sender.window_end(call.params), self.sent.packets_out() == 0, 0);
        loop {
            // Linux rearms the timer at the first new segment (`tcp_event_new_data_sent`), and schedules the probe after the burst.
            let (before, restarts) = (sent, first || self.pending == Pending::Probe);
            while sent < room
                && let Some(next) = sender.next_segment(end, call.params)
                && !sender.pacing_waits(call)
            {
                self.send_next(next, sender, call);
                sent += 1;
            }
            if sent > before && !self.schedule_probe(sender, false, call) && restarts {
                self.rearm_timeout(sender, call);
            }
            // Lost segments have precedence. If nothing was outstanding, the controller may have changed the window by now.
            if first || self.sent.has_waiting() || !sender.waits_for_pace(call) {
                return self.after_sending(sent, sent == room, sender);
            }
        }
    }

    /// Records that `sent` new segments left; `limited` is whether the congestion window is full.
    #[inline]
    pub(super) fn after_sending(&mut self, sent: u32, limited: bool, sender: &SenderCore) {
        if sent > 0 || limited {
            self.usage.update(limited, self.sent.packets_out(), sender);
        }
        self.count_in_reduction(sent);
    }

    /// Sends the next new segment, which has these bytes.
    #[inline(always)]
    pub(super) fn send_next<O: SegmentSink>(&mut self, bytes: Range<u64>, sender: &mut SenderCore, call: &mut Call<O>) {
        let sending = sender.track_new(bytes.end - bytes.start, call);
        self.sent.push(&bytes, call.now, sending);
        self.transmit(bytes, sender, call);
    }

    /// Sends after an ACK as its processing requires (Linux `tcp_xmit_recovery`).
    pub(super) fn resend<O: SegmentSink>(&mut self, what: Resend, sender: &mut SenderCore, call: &mut Call<O>) {
        match what {
            Resend::Nothing => return,
            Resend::NewData => {
                self.send_new(sender, call);
                if sender.snd_max() > self.high_seq {
                    return;
                }
                self.frto = false;
            }
            Resend::Lost => {}
        }
        self.send_lost(sender, call);
    }

    /// Retransmits lost segments (Linux `tcp_xmit_retransmit_queue`).
    #[inline]
    pub(super) fn send_lost<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if self.sent.has_waiting() {
            self.send_waiting(sender, call);
        }
    }

    #[cold]
    fn send_waiting<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        let cwnd = sender.cwnd() as u32;
        while self.sent.in_flight() < cwnd {
            let Some(number) = self.sent.next_lost() else { return };
            if sender.pacing_waits(call) {
                return;
            }
            let is_head = self.sent.is_head(number);
            self.retransmit(number, sender, call);
            self.count_in_reduction(1);
            if is_head && self.pending != Pending::Reordering {
                self.start_timeout(sender, call);
            }
        }
    }

    /// Retransmits one segment (Linux `tcp_retransmit_skb`).
    pub(super) fn retransmit<O: SegmentSink>(&mut self, number: u64, sender: &mut SenderCore, call: &mut Call<O>) {
        if self.transmit_again(number, false, sender, call) {
            self.undo.on_retransmission(call.now);
        }
    }

    /// Sends one segment again, as a probe of the tail or else as a retransmission.
    /// Returns whether a segment with this number is outstanding.
    pub(super) fn transmit_again<O: SegmentSink>(&mut self, number: u64, probe: bool, sender: &mut SenderCore, call: &mut Call<O>) -> bool {
        if self.sent.in_flight() == 0 {
            sender.end_idle(call);
        }
        let Some(segment) = self.sent.resend(number, call.now, probe) else { return false };
        self.resent = self.resent.saturating_add(1);
        sender.track_again(segment, call);
        let bytes = segment.start..segment.end();
        self.transmit(bytes, sender, call);
        true
    }

    /// Sends these bytes as one segment.
    #[inline]
    fn transmit<O: SegmentSink>(&mut self, bytes: Range<u64>, sender: &mut SenderCore, call: &mut Call<O>) {
        sender.transmit_segment(&bytes, if self.writes.end_with(&bytes) { flag::PSH } else { 0 }, call);
    }

    fn count_in_reduction(&mut self, sent: u32) {
        if self.state.is_reduction() {
            self.prr.out += sent;
        }
    }
}
