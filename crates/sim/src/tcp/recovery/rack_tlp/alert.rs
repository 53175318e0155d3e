//! The states of congestion control (Linux `tcp_fastretrans_alert`).

use super::prr::Prr;
use super::rack::Arrival;
use super::states::{Resend, State};
use super::{AckOutcome, RackTlp};
use crate::tcp::call::Call;
use crate::tcp::outstanding::Segment;
use crate::tcp::sender::SenderCore;
use sojourn_cc::{Signal, Window};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::Duration;

impl RackTlp {
    /// Handles an unusual ACK, or any ACK outside of the state `Open`.
    /// Finds losses and changes the state.
    pub(super) fn alert<O>(&mut self, sender: &mut SenderCore, outcome: &mut AckOutcome, call: &Call<O>) -> Resend {
        if outcome.ece {
            self.undo.set_before(None);
        }
        // The order is that of Linux: a finished state ends before this ACK may undo a reduction or start a new one.
        self.leave_finished_state(sender);
        match self.state {
            State::Recovery => {
                if outcome.advanced && call.params.undo && self.try_undo_partial(sender, outcome, call.params.mss) {
                    return Resend::Nothing;
                }
                if call.params.undo && self.try_undo_duplicates(sender) {
                    self.try_to_open(sender, outcome, call);
                }
                // An undo may have left the state; losses that this ACK reveals then start a new recovery.
                self.find_losses(sender, outcome, call);
                if self.state != State::Recovery {
                    if self.sent.lost_out == 0 {
                        return Resend::Nothing;
                    }
                    self.enter_recovery(sender, Some(outcome), call);
                }
                return Resend::Lost;
            }
            State::Loss => {
                let resend = self.process_loss(sender, outcome, call.params);
                self.find_losses(sender, outcome, call);
                if self.state != State::Open && !outcome.lost_retransmission {
                    return resend;
                }
            }
            State::Open | State::Disorder | State::Cwr => {
                if self.state != State::Cwr && call.params.undo {
                    self.try_undo_duplicates(sender);
                }
            }
        }
        self.find_losses(sender, outcome, call);
        if self.sent.lost_out == 0 {
            self.try_to_open(sender, outcome, call);
            return Resend::Nothing;
        }
        self.enter_recovery(sender, Some(outcome), call);
        Resend::Lost
    }

    /// Reports the state to a sender that samples its delivery rate.
    #[inline]
    pub(super) fn tell_state(&self, sender: &mut SenderCore) {
        if sender.tracks() {
            sender.set_loss_state(self.state.of_losses());
        }
    }

    /// Ends a state once the data that was sent before it is acknowledged.
    fn leave_finished_state(&mut self, sender: &mut SenderCore) {
        if self.state == State::Open {
            self.undo.forget_stamp();
        } else if sender.snd_una() >= self.high_seq {
            match self.state {
                // The state lasts until a segment with CWR has reached the receiver.
                State::Cwr if sender.snd_una() > self.high_seq => {
                    if self.is_reducing(sender) {
                        self.end_reduction(sender);
                    }
                    sender.end_reduction();
                    self.state = State::Open;
                }
                State::Recovery => {
                    self.end_recovery(sender);
                    if self.undo.is_possible() {
                        self.end_reduction(sender);
                    }
                    sender.end_reduction();
                }
                _ => {}
            }
        }
    }

    /// Marks lost segments after an ACK (Linux `tcp_identify_packet_loss`).
    fn find_losses<O>(&mut self, sender: &mut SenderCore, outcome: &mut AckOutcome, call: &Call<O>) {
        if !self.rack.advanced {
            return;
        }
        let retransmissions = self.sent.retrans_out;
        if let Some(timeout) = self.detect(sender, call) {
            outcome.set_timer = false;
            self.set_reordering_timer(sender, timeout, call);
        }
        outcome.lost_retransmission |= self.sent.retrans_out < retransmissions;
    }

    /// Marks the segments that are lost by now; returns the time until others may be.
    pub(super) fn detect<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) -> Option<Duration> {
        let in_recovery = matches!(self.state, State::Recovery | State::Loss);
        let arrival = Arrival { now: call.now, min_rtt: sender.rtt().min(), srtt: sender.rtt().srtt() };
        let report = |segment: &mut Segment| sender.lose_segment(segment, call);
        let (lost, timeout) = self.rack.detect(&mut self.sent, in_recovery, arrival, report);
        self.newly_lost += lost;
        timeout
    }

    /// Handles an ACK in the state `Loss` (Linux `tcp_process_loss`).
    #[cold]
    fn process_loss(&mut self, sender: &mut SenderCore, outcome: &AckOutcome, params: &TcpOptions) -> Resend {
        if outcome.advanced && params.undo && self.try_undo_timeout(sender, false) {
            return Resend::Nothing;
        }
        let recovered = sender.snd_una() >= self.high_seq;
        if self.frto {
            // rfc5682#3.1 step 3.b: data that was never retransmitted has arrived, so the timeout was spurious.
            if outcome.original && params.undo && self.try_undo_timeout(sender, true) {
                return Resend::Nothing;
            }
            if sender.snd_max() > self.high_seq {
                // Step 3.a: the loss was real.
                self.frto &= !outcome.sacked && outcome.acked;
            } else if outcome.advanced && !recovered {
                // Step 2.b: the ACK of new data shows whether the timeout was spurious.
                self.high_seq = sender.snd_max();
                if sender.can_send_next(params) {
                    return Resend::NewData;
                }
                self.frto = false;
            }
        }
        if recovered {
            if params.undo {
                self.end_recovery(sender);
            } else {
                self.state = State::Open;
            }
            return Resend::Nothing;
        }
        Resend::Lost
    }

    /// Handles an ACK with no losses outstanding (Linux `tcp_try_to_open`).
    /// An echoed mark leads to the state `Cwr`, otherwise the state is `Open` or `Disorder`.
    fn try_to_open<O>(&mut self, sender: &mut SenderCore, outcome: &mut AckOutcome, call: &Call<O>) {
        if !self.sent.any_retransmission() {
            self.undo.forget_stamp();
        }
        if outcome.ece {
            self.enter_cwr(sender, outcome, call);
        }
        if self.state != State::Cwr {
            self.keep_open(sender);
        }
    }

    /// Chooses between the states `Open` and `Disorder` (Linux `tcp_try_keep_open`).
    pub(super) fn keep_open(&mut self, sender: &SenderCore) {
        let quiet = self.sent.sacked_out + self.sent.lost_out == 0 && !self.sent.any_retransmission();
        let state = if quiet { State::Open } else { State::Disorder };
        if self.state != state {
            self.state = state;
            self.high_seq = sender.snd_max();
        }
    }

    /// Handles the echo of a mark (Linux `tcp_enter_cwr`).
    /// A controller whose window may still grow is reduced first, and then grows for the unmarked part of this ACK. Others process the ACK
    /// before the reduction.
    #[cold]
    fn enter_cwr<O>(&mut self, sender: &mut SenderCore, outcome: &mut AckOutcome, call: &Call<O>) {
        self.undo.set_before(None);
        if matches!(self.state, State::Open | State::Disorder) {
            self.undo.forbid();
            if !sender.grows_on_marks() {
                self.report(sender, outcome, false, call);
            }
            self.start_reduction(sender, Signal::Mark, call);
            self.state = State::Cwr;
        }
    }

    /// Enters recovery (Linux `tcp_enter_recovery`).
    /// Without an ACK, a timer found the loss.
    #[cold]
    pub(super) fn enter_recovery<O>(&mut self, sender: &mut SenderCore, outcome: Option<&mut AckOutcome>, call: &Call<O>) {
        let ece = outcome.as_ref().is_some_and(|outcome| outcome.ece);
        if let Some(outcome) = outcome {
            self.report(sender, outcome, false, call);
        }
        if !self.sent.any_retransmission() {
            self.undo.forget_stamp();
        }
        self.undo.set_before(None);
        self.undo.start(sender.snd_una(), self.sent.retrans_out + u32::from(self.has_resent_probe()));
        if !self.state.is_reduction() {
            self.undo.set_before((!ece).then(|| self.windows(sender)));
            self.start_reduction(sender, Signal::Loss, call);
        } else if !self.is_reducing(sender) {
            self.own_window = sender.cwnd();
        } else if let Some(target) = sender.lower_target() {
            self.own_window = target;
            self.prr.target = target as u32;
        }
        self.state = State::Recovery;
        sender.count_fast_retransmit(call);
    }

    /// The windows to restore after an unnecessary reduction (Linux `tcp_current_ssthresh`).
    pub(super) fn windows(&self, sender: &SenderCore) -> Window {
        let ssthresh = if self.state.is_reduction() { sender.ssthresh() } else { sender.ssthresh_of_window() };
        Window { cwnd: sender.cwnd(), ssthresh }
    }

    /// Starts a window reduction by PRR (Linux `tcp_init_cwnd_reduction`).
    #[cold]
    pub(super) fn start_reduction<O>(&mut self, sender: &mut SenderCore, signal: Signal, call: &Call<O>) {
        self.high_seq = sender.snd_max();
        self.probe = None;
        let before = sender.cwnd();
        sender.reduce(signal, call);
        self.own_window = sender.cwnd().max(2.0);
        self.prr = Prr::start(before as u32, self.own_window as u32);
        // The window stays in use: PRR lowers it ACK by ACK to the window that the controller has just set.
        if signal != Signal::Mark || !sender.grows_on_marks() {
            sender.set_cwnd(before);
        }
    }

    /// Ends a window reduction (Linux `tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self, sender: &mut SenderCore) {
        sender.set_cwnd(self.own_window);
    }
}
