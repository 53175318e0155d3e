//! NewReno: Reno with one retransmission on each partial ACK (rfc6582).
//! It stays in recovery until everything sent before it is acknowledged.

use super::loss_recovery::LossRecovery;
use super::reno::Reno;
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{RecoveryEntry, SenderCore};

/// The state of NewReno.
#[derive(Clone, Default, Debug)]
pub struct NewReno {
    reno: Reno,
    /// A partial ACK arrived in this recovery, so later ones do not restart the timer.
    /// This is the impatient variant (rfc6582#4).
    partial_ack_seen: bool,
}

impl NewReno {
    /// An ACK of new data within recovery that does not reach `recover` (rfc6582#3.2 step 3).
    fn partial_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        // Deflate by the acknowledged data and add one segment back.
        let acked = (ack.packet.seq - ack.prior_una).div_ceil(mss) as u32;
        let before = sender.cwnd() + f64::from(self.reno.inflation);
        if self.reno.inflation > acked {
            self.reno.inflation -= acked - 1;
        } else {
            sender.set_cwnd(sender.cwnd() - f64::from(acked - self.reno.inflation));
            self.reno.inflation = 1;
        }
        let deflated = sender.cwnd() + f64::from(self.reno.inflation);
        debug_assert!(deflated > before - f64::from(acked) + 0.999, "{acked} segments acknowledged, {before} inflated to {deflated}");
        // Applies even if an ECN echo left a window of less than a segment (ns-2 tcp-newreno.cc).
        sender.set_cwnd(sender.cwnd().max(1.0));
        sender.accept_partial_ack(ack);
        sender.grow(&AckDigest { ece: false, ..*ack }, call);
        if !self.partial_ack_seen {
            sender.restart_timer(call);
        }
        self.partial_ack_seen = true;
        sender.drop_timed_segment(call.params);
        sender.transmit(sender.snd_una(), call);
        sender.advance_snd_nxt(sender.snd_una() + mss);
    }
}

impl LossRecovery for NewReno {
    #[inline]
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        if ack.advances() {
            if sender.in_recovery() && !ack.full {
                self.partial_ack(sender, ack, call);
            } else {
                self.reno.full_ack(sender, ack, call);
            }
        } else if ack.is_duplicate() {
            let entry = self.reno.duplicate_ack(sender, call);
            let recover_moved = entry == RecoveryEntry::ReducedForEcn && call.params.update_recover_after_ecn;
            if entry == RecoveryEntry::Reduced || recover_moved {
                self.partial_ack_seen = false;
            }
        } else {
            return;
        }
        let burst = if self.reno.dupacks > 0 { call.params.recovery_burst } else { 0 };
        self.reno.send_inflated(sender, burst, call);
    }

    fn on_timeout(&mut self, sender: &mut SenderCore) {
        self.reno.on_timeout(sender);
    }

    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.reno.send_window(sender, call);
    }

    fn is_quiet(&self) -> bool {
        self.reno.is_quiet()
    }

    fn inflation(&self) -> u32 {
        self.reno.inflation
    }

    fn check_invariants(&self, sender: &SenderCore) {
        self.reno.check_invariants(sender);
    }
}
