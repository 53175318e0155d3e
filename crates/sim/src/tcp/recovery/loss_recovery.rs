//! What every recovery strategy does.

use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{Expiry, SendLimits, SenderCore};
use sojourn_cc::LossState;

/// What a sender asks of its recovery strategy.
pub trait LossRecovery {
    /// An ACK arrives: takes what it acknowledges, finds losses, and sends what is to be sent.
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>);

    /// The retransmission timer expired and the window was reduced: takes what is outstanding for lost, before it goes on sending.
    fn on_timeout(&mut self, _sender: &mut SenderCore) {}

    /// The sender's timer expires. A strategy whose timer stands for more than a retransmission does all of this itself.
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

    /// Whether it tells the controller itself of ECN echoes and of delivery-rate samples, and knows what ACKs deliver.
    fn reports_itself(&self) -> bool {
        false
    }

    /// Sends what the windows allow, outside recovery: after a handshake or a write.
    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>);

    /// Goes on sending, within recovery or without: after an ACK that was taken while it [`is quiet`](Self::is_quiet), when pacing lets the next segments go, or when the
    /// receive window opens.
    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.send_window(sender, call);
    }

    /// Whether an ACK of new data without SACK blocks would do here only what it does in every sender: take the ACK, open the window,
    /// send what the windows allow. Then it may take the short way of `sender/prediction.rs`.
    fn is_quiet(&self) -> bool {
        false
    }

    /// How far it is with the repair of losses.
    fn loss_state(&self, sender: &SenderCore) -> LossState {
        sender.loss_state()
    }

    /// Segments that inflate the congestion window (rfc5681#3.2).
    fn inflation(&self) -> u32 {
        0
    }

    /// Checks in debug builds what holds of it after each call.
    ///
    /// # Panics
    /// Something does not: the strategy has a defect.
    fn check_invariants(&self, _sender: &SenderCore) {}
}

/// Sends what the windows allow, where nothing above `snd_nxt` is known to have arrived.
#[inline]
pub fn send_all<O: SegmentSink>(sender: &mut SenderCore, limits: SendLimits, call: &mut Call<O>) {
    sender.send_window(limits, |seq| seq, call);
}
