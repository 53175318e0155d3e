//! Header prediction (jacobson-1990): the fast path of ACKs while nothing is missing.
//!
//! It is [`LossRecovery::on_ack`](crate::tcp::recovery::LossRecovery::on_ack) without the cases that can't occur then: an ACK without SACK
//! blocks, in the state `Open`, while nothing is known of any outstanding segment. An ACK that reports marks takes the usual path from there
//! on. Worlds with `all_events` never take it, and tests compare the two.

use super::outcome::AckOutcome;
use super::rack::Arrival;
use super::states::State;
use super::{LossRecovery, RackTlp};
use crate::tcp::ack::{AckDigest, Delivered};
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::clock::micros_between;
use crate::tcp::sender::SenderCore;

impl RackTlp {
    /// Whether this ACK may take the fast path.
    #[inline]
    pub(super) fn is_predicted(&self, sender: &SenderCore, ack: &AckDigest) -> bool {
        let usual = self.state == State::Open && self.probe.is_none() && sender.takes_shortcuts();
        usual && ack.sack.is_none() && !ack.ece && self.sent.is_plain(ack.prior_una, ack.packet.seq)
    }

    /// Handles an ACK on the fast path.
    #[inline(never)]
    pub(super) fn on_predicted_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        let (now, prior_in_flight) = (call.now, self.sent.packets_out());
        (self.newly_lost, self.timeouts) = (0, 0);
        let Some(run) = self.sent.take_plain(ack.packet.seq) else { return };
        if let Some(sampler) = sender.begin_delivery(ack, call.params) {
            sampler.take_acknowledged(&run, now);
        }
        self.rack.advance(&run.last, Arrival { now, min_rtt: sender.rtt().min(), srtt: sender.rtt().srtt() });
        self.rack.update_reo_wnd(now);
        self.writes.forget_below(ack.packet.seq);
        let marked = sender.end_delivery(ack, ack.packet.seq - ack.prior_una, call);
        sender.accept_partial_ack(ack);
        let rtt = micros_between(run.last.sent, now);
        sender.sample_rtts(micros_between(run.first.sent, now), rtt, call);
        let (acked, in_flight) = (f64::from(run.count), f64::from(prior_in_flight));
        let one_way_delay = ack.one_way_delay(call.params.timestamps);
        if marked {
            let mut outcome =
                AckOutcome { prior_in_flight, rtt: Some(rtt), one_way_delay, ..AckOutcome::of_marked(&run, ack.prior_una, self.high_seq) };
            return self.finish_ack(sender, ack, &mut outcome, call);
        }
        self.tell_state(sender);
        self.set_timer(sender, call);
        sender.tell_sample(call);
        if !sender.owns_window() {
            let delivered = Delivered {
                acked,
                advanced: acked,
                in_flight,
                rtt: Some(rtt),
                one_way_delay,
                cwnd_limited: self.may_grow(sender, call.params),
                in_recovery: false,
                after_timeout: false,
                open: true,
                abc_limit: f64::from(call.params.abc),
                ece: false,
            };
            sender.report(&delivered, call);
        }
        sender.update_pace(call.params);
        self.send_window(sender, call);
    }
}
