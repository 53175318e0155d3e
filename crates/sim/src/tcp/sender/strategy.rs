//! Methods of the sender for recovery strategies that store the outstanding segments.

use super::rto::RttEstimator;
use super::{LastReduction, SenderCore};
use crate::tcp::call::{Call, SegmentSink};
use sojourn_cc::{CongestionController, CongestionEvent, Event, Signal, Window};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};
use std::ops::Range;

impl SenderCore {
    /// The bytes of the next new segment, if data is available and it ends before `end`.
    /// `end` is the [end of the window](SenderCore::window_end).
    #[inline]
    pub fn next_segment(&self, end: u64, params: &TcpOptions) -> Option<Range<u64>> {
        let next = self.snd_nxt..self.snd_nxt + u64::from(params.mss).min(self.write_end.checked_sub(self.snd_nxt)?);
        (next.start < next.end && next.end <= end).then_some(next)
    }

    /// Sends these bytes as one segment with these flags, new or again.
    /// [`SenderCore::track_new`] or [`SenderCore::track_again`] comes before.
    pub fn transmit_segment<O: SegmentSink>(&mut self, bytes: &Range<u64>, flags: u16, call: &mut Call<O>) {
        self.transmit_bytes(bytes.start, bytes.end - bytes.start, flags, call);
        self.snd_nxt = self.snd_nxt.max(bytes.end);
    }

    /// Sets the timer.
    pub fn set_timer(&mut self, at: Time) {
        self.timer = at;
    }

    /// The timer expired: the timeout doubles.
    pub fn back_off(&mut self, params: &TcpOptions) {
        self.rtt.back_off(params);
    }

    /// The round-trip times and the timeout.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Adds an RTT sample: that of the first and of the last segment that an ACK acknowledges.
    pub fn sample_rtts<O>(&mut self, first: Duration, last: Duration, call: &mut Call<O>) {
        let sent = Time::from_nanos(call.now.as_nanos().saturating_sub(first.as_nanos()));
        self.add_sample([first, last], sent, call.counts(), call.params);
        if !call.params.windowed_variation {
            self.rtt.end_backoff(call.params);
        }
        call.rtt_sample = Some(first);
    }

    /// The reduction is over.
    pub fn end_reduction(&mut self) {
        self.cc.on_event(&Event::ReductionEnd);
    }

    /// Congestion was signaled: the controller reduces the window.
    pub fn reduce<O>(&mut self, signal: Signal, call: &Call<O>) {
        self.cc.on_congestion(&CongestionEvent { now: call.now, window: self.cc.cwnd(), signal });
        self.recover = self.snd_max;
        self.last_reduction = if signal == Signal::Mark { LastReduction::Ecn } else { LastReduction::FastRetransmit };
        self.cwr_pending = true;
        self.stats.mark_cuts += u32::from(signal == Signal::Mark && call.counts());
    }

    /// A fast recovery begins.
    pub fn count_fast_retransmit<O>(&mut self, call: &Call<O>) {
        self.stats.fast_retransmits += u32::from(call.counts());
    }

    /// Reduces the window after a retransmission timeout.
    /// `again` is whether this window was reduced before; `in_flight` segments are still in flight.
    pub fn reduce_for_loss_state<O>(&mut self, again: bool, in_flight: u32, call: &Call<O>) {
        if again {
            self.cc.on_event(&Event::RepeatedRto { now: call.now });
        } else {
            self.cc.on_rto(call.now, self.cc.cwnd());
        }
        self.cc.on_event(&Event::RtoRestart { in_flight: f64::from(in_flight) });
        self.stats.timeouts += u32::from(call.counts());
        self.recover = self.snd_max;
        self.last_reduction = LastReduction::Timeout;
        self.cwr_pending = true;
    }

    /// Undoes the last reduction, which was unnecessary; `before` are the windows before it.
    pub fn undo(&mut self, before: Window) {
        self.cc.on_event(&if self.owns_window() { Event::SpuriousRecovery } else { Event::Undo(before) });
    }
}
