//! The timer, which has one of three meanings (Linux `icsk_pending`).
//! They are a retransmission timeout, a probe of the tail (rfc8985#7), or the reordering window (rfc8985#6.2).

use super::states::{Pending, Probe, Setting, State};
use super::{AckOutcome, RackTlp};
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::SenderCore;
use crate::tcp::wheel;
use sojourn_cc::Signal;
use sojourn_units::{Duration, Time};

/// The time added to the probe and reordering timers (Linux `TCP_TIMEOUT_MIN_US`).
const TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// The longest assumed delay of a receiver's ACK of a single segment.
/// Source: rfc8985#7.2 TLP.max_ack_delay; Linux has `TCP_RTO_MIN`.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

impl RackTlp {
    /// Sets the timer, in whole ticks.
    /// A retransmission or a probe counts from the time at which pacing releases the next segment (Linux `tcp_pacing_delay`).
    #[inline]
    fn set<O>(&mut self, pending: Pending, mut after: Duration, sender: &mut SenderCore, call: &Call<O>) {
        if pending != Pending::Reordering && sender.tracks() {
            let delay = sender.pacing_delay(call.now);
            if delay >= call.params.tick {
                after = after + wheel::floor(delay, call.params.tick);
            }
        }
        let due = call.now + after;
        (self.pending, self.setting) = (pending, Setting { at: call.now, due });
        sender.set_timer(due);
    }

    /// The retransmission timer starts now.
    pub(super) fn start_timeout<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        self.set(Pending::Retransmission, sender.rtt().rto(), sender, call);
    }

    /// Restarts the retransmission timer, or stops it with nothing outstanding.
    /// If the timer had another meaning, it counts from the departure of the first segment (Linux `tcp_rearm_rto`).
    pub(super) fn rearm_timeout<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        if self.sent.packets_out() == 0 {
            self.pending = Pending::Retransmission;
            sender.set_timer(Time::NEVER);
        } else if self.pending == Pending::Retransmission {
            self.start_timeout(sender, call);
        } else {
            let left = self.timeout_of_head(sender, call.now).max(Duration::from_micros(1));
            self.set(Pending::Retransmission, left, sender, call);
        }
    }

    /// The time until the first segment times out (Linux `tcp_rto_delta_us`).
    #[inline]
    fn timeout_of_head(&self, sender: &SenderCore, now: Time) -> Duration {
        self.sent.head().map_or(Duration::ZERO, |head| (head.sent + sender.rtt().rto()).since(now))
    }

    /// Sets the timer after an ACK that made progress (Linux `tcp_set_xmit_timer`).
    pub(super) fn set_timer<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        if self.sent.packets_out() == 0 || !self.schedule_probe(sender, true, call) {
            self.rearm_timeout(sender, call);
        }
    }

    /// Sets the timer for a probe, two round trips from now; returns whether it did.
    /// Source: Linux `tcp_schedule_loss_probe`.
    pub(super) fn schedule_probe<O>(&mut self, sender: &mut SenderCore, from_now: bool, call: &Call<O>) -> bool {
        if !call.params.tail_loss_probe || !matches!(self.state, State::Open | State::Cwr) {
            return false;
        }
        let mut wait = call.params.initial_rto;
        if sender.rtt().srtt() > Duration::ZERO {
            let alone = self.sent.packets_out() == 1;
            wait = sender.rtt().srtt() * 2 + if alone { call.params.min_rto.min(MAX_ACK_DELAY) } else { TIMEOUT_MIN };
        }
        let timeout = if from_now { sender.rtt().rto() } else { self.timeout_of_head(sender, call.now) };
        if timeout > Duration::ZERO {
            wait = wait.min(timeout);
        }
        self.set(Pending::Probe, wait, sender, call);
        true
    }

    /// Sets the timer at which further segments may be lost.
    pub(super) fn set_reordering_timer<O>(&mut self, sender: &mut SenderCore, wait: Duration, call: &Call<O>) {
        self.set(Pending::Reordering, wait + TIMEOUT_MIN, sender, call);
    }

    /// Whether a retransmission was sent as a probe.
    pub(super) fn has_resent_probe(&self) -> bool {
        self.probe.is_some_and(|probe| probe.resent)
    }

    /// An ACK reaches the byte for which the probe was sent (Linux `tcp_process_tlp_ack`).
    /// If a retransmission repaired a loss, the window is reduced.
    pub(super) fn on_probe_acked<O>(&mut self, sender: &mut SenderCore, ack: u64, outcome: &mut AckOutcome, call: &Call<O>) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.high_seq) else { return };
        if !probe.resent || outcome.duplicate_probe {
            self.probe = None;
        } else if ack > probe.high_seq {
            self.start_reduction(sender, Signal::Loss, call);
            self.end_reduction(sender);
            sender.end_reduction();
            self.state = State::Cwr;
            self.keep_open(sender);
        } else if !(outcome.advanced || outcome.acked || outcome.sacked) {
            self.probe = None;
        }
    }

    /// Moves the timer to its expiry on the wheel; returns whether that is later than now.
    fn waits_for_wheel<O>(&self, sender: &mut SenderCore, call: &Call<O>) -> bool {
        let Setting { at, due } = self.setting;
        if sender.timer() == due {
            sender.set_timer(wheel::due(at, due.since(at), call.params));
        }
        call.now < sender.timer()
    }

    /// Handles the expiry of the timer; returns whether it was one of the three.
    pub(super) fn timer_expired<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) -> bool {
        if self.waits_for_wheel(sender, call) {
            return true;
        }
        if self.sent.packets_out() == 0 {
            return false;
        }
        sender.set_timer(Time::NEVER);
        self.newly_lost = 0;
        match self.pending {
            Pending::Retransmission => self.retransmission_timeout(sender, call),
            Pending::Probe => self.send_probe(sender, call),
            Pending::Reordering => self.reordering_timeout(sender, call),
        }
        true
    }

    /// Sends new data, or else the last segment again, as a probe (Linux `tcp_send_loss_probe`).
    #[cold]
    fn send_probe<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if self.probe.is_none() {
            let next = sender.next_segment(sender.window_end(call.params), call.params);
            let resent = next.is_none();
            if let Some(next) = next {
                self.send_next(next, sender, call);
                self.after_sending(1, self.sent.in_flight() >= sender.cwnd() as u32, sender);
            } else if let Some(last) = self.sent.last() {
                self.transmit_again(last, true, sender, call);
            }
            self.probe = Some(Probe { high_seq: sender.snd_max(), resent });
            self.pending = Pending::Retransmission;
        }
        self.rearm_timeout(sender, call);
    }

    /// Handles the expiry of the reordering window (Linux `tcp_rack_reo_timeout`).
    #[cold]
    fn reordering_timeout<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.detect(sender, call);
        if self.newly_lost > 0 {
            if self.state != State::Recovery {
                self.enter_recovery(sender, None, call);
                self.reduce(sender, 1, false, call.params);
            }
            self.send_lost(sender, call);
        }
        if self.pending != Pending::Retransmission {
            self.rearm_timeout(sender, call);
        }
    }

    /// Handles a retransmission timeout (Linux `tcp_retransmit_timer`).
    #[cold]
    fn retransmission_timeout<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.enter_loss(sender, call);
        self.timeouts += 1;
        self.retransmit(self.sent.numbers().start, sender, call);
        sender.back_off(call.params);
        self.start_timeout(sender, call);
    }

    /// Reports all lost segments to a sender that samples its delivery rate.
    #[cold]
    fn tell_losses<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        if sender.tracks() {
            self.sent.waiting().for_each(|segment| sender.lose_segment(segment, call));
        }
    }

    /// Marks segments as lost after a timeout (Linux `tcp_enter_loss`).
    #[cold]
    fn enter_loss<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        let (unusual, recovering) =
            (matches!(self.state, State::Open | State::Disorder), matches!(self.state, State::Recovery | State::Loss));
        let head = self.sent.numbers().start;
        for number in self.sent.numbers() {
            let late = |segment| self.rack.is_late(segment, call.now);
            if number == head || self.sent.get(number).is_some_and(late) {
                self.sent.mark_lost(number);
            }
        }
        // A second timeout in the same window of data must not reduce the window or the undo information again (Linux `tcp_enter_loss`).
        let again = !unusual && self.high_seq > sender.snd_una() && (self.state != State::Loss || self.timeouts > 0);
        if !again {
            self.undo.set_before(Some(self.windows(sender)));
            self.undo.start(sender.snd_una(), self.sent.retrans_out + u32::from(self.has_resent_probe()));
        }
        self.tell_losses(sender, call);
        sender.reduce_for_loss_state(again, self.sent.in_flight(), call);
        // A timeout although enough duplicates arrived shows that the reordering degree was too high.
        if unusual && self.sent.sacked_out >= call.params.dupack_threshold {
            self.rack.reordering = self.rack.reordering.min(call.params.dupack_threshold);
        }
        self.state = State::Loss;
        self.high_seq = sender.snd_max();
        self.probe = None;
        self.frto = call.params.f_rto && (!recovering || self.timeouts > 0);
    }
}
