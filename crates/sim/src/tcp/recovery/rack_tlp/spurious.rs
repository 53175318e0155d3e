//! The undo of a reduction that proves unnecessary.

use super::states::State;
use super::{AckOutcome, RackTlp};
use crate::tcp::sender::SenderCore;

impl RackTlp {
    /// Undoes the reduction (Linux `tcp_undo_cwnd_reduction`).
    #[cold]
    fn take_back(&mut self, sender: &mut SenderCore, unmark_lost: bool) {
        if unmark_lost {
            self.sent.unmark_lost();
            sender.unmark_lost();
        }
        if let Some(before) = self.undo.before {
            sender.undo(before);
        }
        self.undo.forbid();
        self.rack.advanced = true;
    }

    /// Ends recovery: everything up to `high_seq` is acknowledged.
    /// Source: Linux `tcp_try_undo_recovery`.
    #[cold]
    pub(super) fn end_recovery(&mut self, sender: &mut SenderCore) {
        if self.undo.may_undo() {
            self.take_back(sender, false);
        } else {
            self.rack.on_recovery_end();
        }
        self.state = State::Open;
    }

    /// Undoes it if every retransmission arrived as a duplicate (Linux `tcp_try_undo_dsack`).
    pub(super) fn try_undo_duplicates(&mut self, sender: &mut SenderCore) -> bool {
        let undone = self.undo.all_duplicates();
        if undone {
            self.rack.keep_window();
            self.take_back(sender, false);
        }
        undone
    }

    /// Undoes a timeout if it was spurious; returns whether it was (Linux `tcp_try_undo_loss`).
    #[cold]
    pub(super) fn try_undo_timeout(&mut self, sender: &mut SenderCore, found_by_frto: bool) -> bool {
        if !found_by_frto && !self.undo.may_undo() {
            return false;
        }
        self.take_back(sender, true);
        self.timeouts = 0;
        self.state = State::Open;
        true
    }

    /// Undoes it if a late segment filled a hole (Linux `tcp_try_undo_partial`).
    /// Returns whether nothing must be retransmitted now.
    #[cold]
    pub(super) fn try_undo_partial(&mut self, sender: &mut SenderCore, outcome: &AckOutcome, mss: u32) -> bool {
        if !self.undo.is_possible() || !self.undo.is_delayed() {
            return false;
        }
        self.rack.on_reordering(outcome.prior_una, self.sent.highest_sacked(sender.snd_una()), mss);
        if self.sent.retrans_out > 0 {
            return true;
        }
        if !self.sent.any_retransmission() {
            self.undo.forget_stamp();
        }
        self.take_back(sender, true);
        self.keep_open(sender);
        false
    }
}
