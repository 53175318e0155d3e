//! What follows when a reduction is found to have been made for nothing: it is taken back.

use super::states::State;
use super::{Brought, RackTlp};
use crate::tcp::sender::SenderCore;

impl RackTlp {
    /// Linux `tcp_undo_cwnd_reduction`
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

    /// Everything up to `high_seq` is acknowledged: recovery ends (Linux `tcp_try_undo_recovery`).
    #[cold]
    pub(super) fn end_recovery(&mut self, sender: &mut SenderCore) {
        if self.undo.may_undo() {
            self.take_back(sender, false);
        } else {
            self.rack.on_recovery_end();
        }
        self.state = State::Open;
    }

    /// Linux `tcp_try_undo_dsack`: every retransmission arrived as a duplicate.
    pub(super) fn try_undo_duplicates(&mut self, sender: &mut SenderCore) -> bool {
        let undone = self.undo.all_duplicates();
        if undone {
            self.rack.keep_window();
            self.take_back(sender, false);
        }
        undone
    }

    /// Linux `tcp_try_undo_loss`: says whether the timeout was spurious.
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

    /// Linux `tcp_try_undo_partial`: a hole was filled by a late segment. Says whether nothing is to be sent again now.
    #[cold]
    pub(super) fn try_undo_partial(&mut self, sender: &mut SenderCore, brought: &Brought, mss: u32) -> bool {
        if !self.undo.is_possible() || !self.undo.is_delayed() {
            return false;
        }
        self.rack.on_reordering(brought.prior_una, self.sent.highest_sacked(sender.snd_una()), mss);
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
