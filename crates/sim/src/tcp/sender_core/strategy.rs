//! What a recovery strategy that keeps the outstanding segments itself asks of the sender.

use super::{LastReduction, Limits, SenderCore, State};
use crate::tcp::call::{Call, SegmentSink};
use sojourn_cc::{Ack, CongestionController, CongestionEvent, Event, Signal, Window};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};
use std::ops::Range;

/// What an ACK delivered, for the congestion controller.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Segments that it acknowledges for the first time, cumulatively or by SACK blocks.
    pub segments: u32,
    /// Segments that it acknowledges cumulatively, whether they were acknowledged by SACK blocks before or not.
    pub advanced: u32,
    /// Segments in flight before.
    pub in_flight: u32,
    /// The RTT of the newest of them.
    pub rtt: Option<Duration>,
    /// The delay from sender to receiver in nanoseconds, by their two clocks.
    pub one_way_delay: Option<i64>,
    /// Whether the window may grow because it limited the sender.
    pub cwnd_limited: bool,
    /// Whether the window is being reduced.
    pub in_recovery: bool,
    /// Whether data sent before the last timeout is not acknowledged yet.
    pub after_timeout: bool,
    /// Whether nothing was lost, marked or out of order before.
    pub open: bool,
    /// Whether the ACK echoes a congestion mark.
    pub ece: bool,
}

impl SenderCore {
    /// Whether the connection is open for data.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.state == State::Established
    }

    /// The bytes of the next new segment, if there is data for one and it ends before `end`, the [end of the
    /// window](SenderCore::window_end).
    #[inline]
    pub fn next_segment(&self, end: u64, params: &TcpOptions) -> Option<Range<u64>> {
        let next = self.snd_nxt..self.snd_nxt + u64::from(params.mss).min(self.write_end.checked_sub(self.snd_nxt)?);
        (next.start < next.end && next.end <= end).then_some(next)
    }

    /// Sends these bytes as one segment with these flags: the next new one, or one that was sent before. [`SenderCore::track_new`] or
    /// [`SenderCore::track_again`] comes before.
    pub fn transmit_segment<O: SegmentSink>(&mut self, bytes: &Range<u64>, flags: u16, call: &mut Call<O>) {
        self.transmit_bytes(bytes.start, bytes.end - bytes.start, flags, call);
        self.snd_nxt = self.snd_nxt.max(bytes.end);
    }

    /// Sets the timer.
    pub fn set_timer(&mut self, at: Time) {
        self.timer = at;
    }

    /// The retransmission timeout, backed off.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// The timer expired: the timeout doubles.
    pub fn back_off(&mut self, params: &TcpOptions) {
        self.rtt.back_off(params);
    }

    /// The smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// The smallest RTT, zero before the first sample.
    pub fn rtt_min(&self) -> Duration {
        self.rtt.min()
    }

    /// Takes an RTT sample: that of the first of the segments that an ACK acknowledges, and that of the last one.
    pub fn sample_rtts<O>(&mut self, first: Duration, last: Duration, call: &mut Call<O>) {
        let sent = Time::from_nanos(call.now.as_nanos().saturating_sub(first.as_nanos()));
        self.add_sample([first, last], sent, call.counts(), call.params);
        if !call.params.windowed_variation {
            self.rtt.end_backoff(call.params);
        }
        call.rtt_sample = Some(first);
    }

    /// Tells the controller what an ACK delivered.
    pub fn report<O>(&mut self, delivered: &Delivered, call: &Call<O>) {
        let acked = f64::from(delivered.segments);
        let marked = if self.ecn.counts() { self.marked_of(delivered.ece, acked) } else { 0.0 };
        let in_flight = f64::from(delivered.in_flight);
        if let Some(Limits { increase: Some(limit), .. }) = self.limits.as_deref_mut() {
            limit.on_flight(in_flight, &self.cc);
        }
        self.cc.on_ack(&Ack {
            now: call.now,
            acked,
            advanced: f64::from(delivered.advanced),
            rtt: delivered.rtt,
            srtt: self.rtt.srtt(),
            rtt_min: self.rtt.min(),
            one_way_delay: delivered.one_way_delay,
            in_flight,
            cwnd_limited: delivered.cwnd_limited,
            in_recovery: delivered.in_recovery,
            after_timeout: delivered.after_timeout,
            open: delivered.open,
            abc_limit: f64::from(call.params.abc),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            marked,
        });
        if let Some(Limits { increase: Some(limit), .. }) = self.limits.as_deref_mut().filter(|_| !delivered.in_recovery) {
            limit.cap(&mut self.cc, call.now);
        }
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

    /// The retransmission timer expired, `again` in a window that was reduced before. So many segments are still in flight.
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

    /// The last reduction was made for nothing; the windows were so before it.
    pub fn undo(&mut self, before: Window) {
        self.cc.on_event(&if self.owns_window() { Event::SpuriousRecovery } else { Event::Undo(before) });
    }
}
