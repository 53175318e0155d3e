//! The interface of recovery strategies.

use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{Expiry, SendLimits, SenderCore};
use sojourn_cc::LossState;

/// A recovery strategy, as the sender calls it.
pub trait LossRecovery {
    /// Handles an ACK: processes its information, finds losses, and sends.
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>);

    /// The retransmission timer expired and the window was reduced.
    /// Marks the outstanding data as lost, before the sender continues.
    fn on_timeout(&mut self, _sender: &mut SenderCore) {}

    /// The sender's timer expires.
    /// A strategy whose timer has more meanings than a retransmission implements all of this itself.
    fn on_timer<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        match sender.on_timer(call) {
            Expiry::Handled => {}
            Expiry::EndsWait => self.send_window(sender, call),
            Expiry::Retransmission => {
                self.on_timeout(sender);
                self.go_on_sending(sender, call);
            }
        }
    }

    /// Whether the strategy itself reports ECN echoes and rate samples to the controller.
    /// Such a strategy counts the segments that ACKs deliver.
    fn reports_itself(&self) -> bool {
        false
    }

    /// Sends what the windows allow, outside recovery: after a handshake or a write.
    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>);

    /// Continues to send, in recovery or outside.
    /// Called after an ACK that was handled while it [`is quiet`](Self::is_quiet), or when pacing releases the next segments.
    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.send_window(sender, call);
    }

    /// Sends what a receive window that has opened allows, in recovery or outside.
    fn on_window_update<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.go_on_sending(sender, call);
    }

    /// Whether an ACK of new data without SACK blocks requires nothing of the strategy.
    /// The ACK then takes the fast path of `sender/prediction.rs`: the sender processes it, grows the window, and sends the segments that
    /// the windows allow.
    fn is_quiet(&self) -> bool {
        false
    }

    /// The state of loss recovery.
    fn loss_state(&self, sender: &SenderCore) -> LossState {
        sender.loss_state()
    }

    /// Segments that inflate the congestion window (rfc5681#3.2).
    fn inflation(&self) -> u32 {
        0
    }

    /// Checks its invariants after each call, in debug builds.
    ///
    /// # Panics
    /// If one does not hold: the strategy has a defect.
    fn check_invariants(&self, _sender: &SenderCore) {}
}

/// Sends all that the windows allow, if no byte above `snd_nxt` is known to have arrived.
#[inline]
pub fn send_all<O: SegmentSink>(sender: &mut SenderCore, limits: SendLimits, call: &mut Call<O>) {
    sender.send_window(limits, |seq| seq, call);
}
