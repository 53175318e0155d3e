//! RTT samples and the retransmission timer of a sender.

use super::SenderCore;
use super::rto::SentData;
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

impl SenderCore {
    /// Samples the RTT if an ACK of new data allows it, and ends the backoff of the timer.
    #[inline(always)]
    pub(super) fn sample_rtt_of_new_data<O: SegmentSink>(&mut self, ack: &AckDigest, call: &mut Call<O>) {
        let params = call.params;
        if params.timestamps {
            self.sample_rtt(ack.packet.stamp, call);
            self.end_backoff_unless_ecn(ack.ece, params);
        } else if self.timed.end != 0 && self.snd_una >= self.timed.end {
            let sent = self.timed.sent;
            self.timed.end = 0;
            self.end_backoff_unless_ecn(ack.ece, params);
            self.sample_rtt(sent, call);
        }
    }

    /// Ends the backoff, except after consecutive ECN echoes at a window of one segment.
    /// Those keep the timer backed off (rfc3168#6.1.2).
    #[inline]
    fn end_backoff_unless_ecn(&mut self, ece: bool, params: &TcpOptions) {
        if !(self.ecn_at_one_segment && ece) {
            self.rtt.end_backoff(params);
            self.ecn_at_one_segment = false;
        }
    }

    /// Adds an RTT sample of a segment that was sent at `sent`.
    #[inline]
    pub fn sample_rtt<O>(&mut self, sent: Time, call: &mut Call<O>) {
        let rtt = call.now.since(sent);
        self.add_sample([rtt; 2], sent, call.counts(), call.params);
        call.rtt_sample = Some(rtt);
    }

    /// Adds the RTTs of the first and the last segment that an ACK acknowledges.
    /// The first was sent at `sent`. The arguments are plain values, so that the fast path need not write its call to memory.
    #[inline(never)]
    pub(super) fn add_sample(&mut self, [rtt, last]: [Duration; 2], sent: Time, counts: bool, params: &TcpOptions) {
        if params.windowed_variation {
            self.rtt.sample_windowed(rtt, last, SentData { snd_una: self.snd_una, snd_nxt: self.snd_max }, params);
        } else {
            self.rtt.sample(rtt, sent, self.clock_phase, params);
        }
        if counts {
            self.stats.rtt.add(rtt.as_secs_f64());
        }
    }

    /// Ends the timing of a segment: an ACK of retransmitted data yields no RTT sample.
    /// Source: rfc6298#3, Karn's algorithm.
    pub fn stop_timing(&mut self) {
        self.timed.end = 0;
    }

    /// Handles a partial ACK of the timed segment.
    /// It yields no sample, but ends the backoff of the timer (ns-2 `tcp-newreno.cc`).
    pub fn drop_timed_segment(&mut self, params: &TcpOptions) {
        if self.timed.end != 0 && self.snd_una >= self.timed.end {
            self.timed.end = 0;
            self.rtt.end_backoff(params);
        }
    }

    /// Ends the exponential backoff of the timer.
    pub fn end_backoff(&mut self, params: &TcpOptions) {
        self.rtt.end_backoff(params);
    }

    /// Restarts the retransmission timer if data is outstanding, else stops it.
    /// Source: rfc6298#5.2, rfc6298#5.3.
    #[inline]
    pub fn restart_timer<O>(&mut self, call: &Call<O>) {
        let outstanding = self.snd_nxt > self.snd_una || self.snd_una < self.snd_max || self.waits_for_rto();
        self.timer = if outstanding { call.now + self.rtt.rto() } else { Time::NEVER };
    }

    /// Starts the timer, even if nothing is outstanding.
    #[inline]
    pub fn start_timer<O>(&mut self, call: &Call<O>) {
        self.timer = call.now + self.rtt.rto();
    }

    /// The time since the last segment was sent.
    pub(super) fn idle_time(&self, now: Time) -> Duration {
        now.since(self.last_sent)
    }
}
