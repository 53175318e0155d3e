//! Tahoe: a fast retransmit on the third duplicate ACK, then slow start from one segment.
//! There is no fast recovery: the sender goes back to the lost segment, as after a timeout (ns-2 `tcp.cc`, `dupack_action`).

use super::loss_recovery::{LossRecovery, send_all};
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{RecoveryEntry, SendLimits, SenderCore};

/// The state of Tahoe.
#[derive(Clone, Default, Debug)]
pub struct Tahoe {
    /// Duplicate ACKs since new data was acknowledged.
    /// A timeout does not reset it (ns-2 `tcp.cc`, `timeout`).
    dupacks: u32,
}

impl Tahoe {
    /// Handles a duplicate ACK: limited transmit, or the fast retransmit.
    fn duplicate_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.dupacks += 1;
        let threshold = call.params.dupack_threshold;
        if self.dupacks == threshold {
            go_back_to_loss(sender, call);
        } else if self.dupacks < threshold && call.params.limited_transmit {
            sender.limited_transmit(self.dupacks, call);
        }
    }
}

/// Reduces the window to one segment, retransmits, and continues from there.
/// After a reduction for an ECN echo in the same window ssthresh stays.
fn go_back_to_loss<O: SegmentSink>(sender: &mut SenderCore, call: &mut Call<O>) {
    if sender.enter_recovery(sender.may_reduce_again(call.params), call) != RecoveryEntry::Refused {
        sender.exit_recovery();
        sender.set_cwnd(1.0);
        sender.go_back();
        let end = sender.fast_retransmit(call);
        sender.advance_snd_nxt(end);
    }
}

impl LossRecovery for Tahoe {
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        if ack.advances() {
            self.dupacks = 0;
            sender.accept_ack(ack, call);
            sender.grow(ack, call);
        } else if ack.is_duplicate() {
            self.duplicate_ack(sender, call);
        } else {
            return;
        }
        self.send_window(sender, call);
    }

    fn on_timeout(&mut self, sender: &mut SenderCore) {
        sender.go_back();
    }

    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        send_all(sender, SendLimits::default(), call);
    }

    fn is_quiet(&self) -> bool {
        self.dupacks == 0
    }
}
