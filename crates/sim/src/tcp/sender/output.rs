//! The output of a sender: segments, and the number that the windows allow.
//!
//! Every loop that sends segments checks before each of them whether pacing holds it back ([`SenderCore::pacing_waits`]).

use super::{SenderCore, TimedSegment};
use crate::packet::{Packet, flag};
use crate::tcp::call::{Call, SegmentSink};
use sojourn_cc::CongestionController;
use sojourn_spec::tcp::{Ecn, RttHint, TcpOptions};
use sojourn_units::Time;

/// The deviations of [`SenderCore::send_window`] from the congestion window.
#[derive(Clone, Copy, Default, Debug)]
pub struct SendLimits {
    /// Segments that inflate the congestion window in fast recovery (rfc5681#3.2).
    pub inflation: u32,
    /// Segments sent at most; 0 is unlimited.
    pub burst: u32,
}

impl SenderCore {
    /// A packet of this connection at `now`, without payload.
    pub(super) fn packet(&self, seq: u64, now: Time) -> Packet {
        Packet {
            seq,
            stamp: now,
            peer: self.ts_recent,
            flow: self.flow,
            extra: 0,
            size: 0,
            flags: 0,
            window: 0,
            incarnation: self.incarnation,
        }
    }

    /// The flags of a packet that can carry marks.
    fn ect(&self) -> u16 {
        if self.ecn == Ecn::L4s { flag::ECT | flag::ECT1 } else { flag::ECT }
    }

    /// Whether ACKs and retransmissions can carry marks, as data does.
    /// Nothing can if the handshake turned ECN off.
    fn marks_all(&self, params: &TcpOptions) -> bool {
        self.ecn.is_on_all() || (self.ecn.is_on() && params.marks_all())
    }

    /// Whether retransmissions can carry marks.
    fn marks_again(&self, params: &TcpOptions) -> bool {
        self.marks_all(params) || (self.ecn.is_on() && params.ecn_on_retransmit)
    }

    /// Sends a header without data.
    pub(super) fn send_header<O: SegmentSink>(&mut self, seq: u64, flags: u16, call: &mut Call<O>) {
        let is_on = self.ecn.is_on_all() || (flags & flag::SYN == 0 && self.marks_all(call.params));
        let flags = if is_on { flags | self.ect() } else { flags };
        let opens = seq == 0 && flags & flag::ACK != 0;
        let flags = if opens || flags & flag::SYN != 0 { flags } else { flags | self.accecn_flags() };
        let option = if opens && flags & flag::ACCECN != 0 { call.params.accecn_of_first_ack() } else { 0 };
        call.send(Packet { size: (call.params.header + option) as u16, flags, ..self.packet(seq, call.now) });
    }

    /// Sends the segment that starts at `seq`, and returns its end.
    /// It is a full one, or the rest of the application's data. It is a retransmission if it starts below `snd_max`.
    #[inline(never)]
    pub fn transmit<O: SegmentSink>(&mut self, seq: u64, call: &mut Call<O>) -> u64 {
        self.transmit_inline(seq, call)
    }

    /// [`SenderCore::transmit`] within the loop that sends a window.
    /// A retransmission counts as lost; a strategy that retransmits segments that are not lost uses [`SenderCore::transmit_segment`].
    #[inline(always)]
    fn transmit_inline<O: SegmentSink>(&mut self, seq: u64, call: &mut Call<O>) -> u64 {
        let length = self.segment_length(seq, call.params);
        if seq < self.snd_max {
            self.lose(seq..seq + length, call);
        }
        if self.path.is_some() {
            self.track_transmission(seq..seq + length, call);
        }
        self.transmit_bytes(seq, length, 0, call);
        seq + length
    }

    /// Sends `length` bytes from `seq` on with these flags, and adds others that apply.
    /// Pacing and samples have recorded them before.
    #[inline(always)]
    pub(super) fn transmit_bytes<O: SegmentSink>(&mut self, seq: u64, length: u64, flags: u16, call: &mut Call<O>) {
        let params = call.params;
        let retransmission = seq < self.snd_max;
        let begins = self.snd_una == self.snd_max;
        if begins || self.timer == Time::NEVER {
            if begins {
                self.end_idle(call);
            }
            self.start_timer(call);
        }
        let end = seq + length;
        let mut flags = flags;
        if self.ecn.is_on() {
            flags |= self.accecn_flags();
            if !retransmission || self.marks_again(params) {
                flags |= self.ect();
                if self.cwr_pending {
                    flags |= flag::CWR;
                    self.cwr_pending = false;
                }
            }
        }
        if self.write_closed && end >= self.write_end {
            flags |= flag::FIN;
        }
        let counts = call.counts();
        self.stats.sent += u64::from(counts);
        if retransmission {
            flags |= flag::RETRANSMIT;
            self.stats.retransmitted += u64::from(counts);
        } else if self.timed.end == 0 {
            self.timed = TimedSegment { end, sent: call.now };
        }
        // A retransmission can end above snd_max: a short segment is sent again with data written since.
        self.snd_max = self.snd_max.max(end);
        self.last_sent = call.now;
        let size = (params.header as u64 + length) as u16;
        call.send(Packet { size, flags, extra: self.rtt_hint(params), ..self.packet(seq, call.now) });
    }

    /// [`SenderCore::transmit`] of a full segment of new data at `snd_nxt`.
    /// Data is outstanding and more is to come.
    #[inline(always)]
    pub(super) fn transmit_new<O: SegmentSink>(&mut self, mss: u64, call: &mut Call<O>) {
        let (params, seq) = (call.params, self.snd_nxt);
        let end = seq + mss;
        if self.timed.end == 0 {
            self.timed = TimedSegment { end, sent: call.now };
        }
        self.stats.sent += u64::from(call.counts());
        (self.snd_nxt, self.snd_max, self.last_sent) = (end, end, call.now);
        let flags = if self.ecn.is_on() { flag::ECT } else { 0 };
        let size = (params.header as u64 + mss) as u16;
        call.send(Packet { size, flags, extra: self.rtt_hint(params), ..self.packet(seq, call.now) });
    }

    /// The RTT hint in data segments, in ms.
    #[inline]
    fn rtt_hint(&self, params: &TcpOptions) -> u32 {
        u32::from(match params.rtt_hint {
            RttHint::Off => 0,
            RttHint::Smoothed => self.rtt.hint_ms(),
            RttHint::Claimed(ms) => ms,
        })
    }

    /// Retransmits the first unacknowledged segment and restarts the timer; returns its end.
    /// Source: rfc5681#3.2 step 3.
    pub fn fast_retransmit<O: SegmentSink>(&mut self, call: &mut Call<O>) -> u64 {
        self.stop_timing();
        self.start_timer(call);
        self.transmit(self.snd_una, call)
    }

    /// Bytes of the segment that starts at `seq`, which lies below `write_end`.
    #[inline]
    pub(super) fn segment_length(&self, seq: u64, params: &TcpOptions) -> u64 {
        u64::from(params.mss).min(self.write_end - seq)
    }

    /// One past the last byte that the application has written; `u64::MAX` for data without end.
    #[inline]
    pub fn write_end(&self) -> u64 {
        self.write_end
    }

    /// Whether data is available from `snd_nxt` on.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.snd_nxt < self.write_end
    }

    /// Whether data is available from `snd_nxt` on and fits the receive window.
    pub fn can_send_next(&self, params: &TcpOptions) -> bool {
        self.has_data() && self.snd_nxt + self.segment_length(self.snd_nxt, params) <= self.window_end(params)
    }

    /// One past the last byte that the receive window (or the stack's own limit) allows.
    #[inline]
    pub fn window_end(&self, params: &TcpOptions) -> u64 {
        self.snd_una + u64::from(self.send_limit(params)) * u64::from(params.mss)
    }

    /// Moves `snd_nxt` up to `to`, but not beyond what was sent.
    pub fn advance_snd_nxt(&mut self, to: u64) {
        self.snd_nxt = self.snd_nxt.max(to.min(self.snd_max));
    }

    /// Continues from `snd_una`, after a timeout.
    pub fn go_back(&mut self) {
        self.snd_nxt = self.snd_una;
    }

    /// Sends from `snd_nxt` on all that the congestion window and the receive window allow.
    /// `next_gap` returns the first byte at or after a byte that is not known to have arrived.
    #[inline]
    pub fn send_window<O: SegmentSink>(&mut self, limits: SendLimits, next_gap: impl Fn(u64) -> u64, call: &mut Call<O>) {
        if self.wait_for_rto {
            return;
        }
        let mss = u64::from(call.params.mss);
        let cwnd = u64::from(self.cc.cwnd() as u32) + u64::from(limits.inflation);
        let window = cwnd.min(u64::from(self.send_limit(call.params)));
        let end = self.snd_una.saturating_add(window.saturating_mul(mss));
        let mut sent = 0;
        while self.has_data() {
            self.snd_nxt = next_gap(self.snd_nxt);
            if !self.has_data() || self.snd_nxt + self.segment_length(self.snd_nxt, call.params) > end || self.pacing_waits(call) {
                break;
            }
            self.snd_nxt = self.transmit_inline(self.snd_nxt, call);
            sent += 1;
            if sent == limits.burst {
                break;
            }
        }
    }

    /// Sends one segment on a duplicate ACK below the threshold (rfc3042#2).
    /// `dupacks` is the number of duplicate ACKs.
    pub fn limited_transmit<O: SegmentSink>(&mut self, dupacks: u32, call: &mut Call<O>) {
        if self.wait_for_rto || (call.params.limited_transmit_new_data_only && self.snd_nxt < self.snd_max) {
            return;
        }
        let mss = u64::from(call.params.mss);
        let allowed = (self.cc.cwnd() + f64::from(dupacks)) * mss as f64;
        let length = mss.min(self.write_end.saturating_sub(self.snd_nxt));
        let outstanding = self.snd_nxt + length - self.snd_una;
        let fits = outstanding <= u64::from(self.send_limit(call.params)) * mss && outstanding as f64 <= allowed;
        if length > 0 && fits && !self.pacing_waits(call) {
            let before = self.snd_max;
            self.snd_nxt = self.transmit(self.snd_nxt, call);
            // Data sent before a timeout counts as in flight as before.
            self.limited_transmit_bytes += (self.snd_max - before) as u32;
        }
    }
}
