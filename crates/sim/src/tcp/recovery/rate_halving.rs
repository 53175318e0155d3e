//! SACK recovery as in ns-2.35's TCP-Linux agent (`ns-2 tcp-linux.cc`, `scoreboard1.cc`).
//! Forward acknowledgments find losses, lost retransmissions are sent again, and the window is halved over a round trip instead of at once.

use super::loss_recovery::LossRecovery;
use super::retransmissions::{LOST_BELOW_SEGMENTS, Retransmissions};
use super::scoreboard::Scoreboard;
use crate::tcp::ack::AckDigest;
use crate::tcp::ack_options::SackBlocks;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{SendLimits, SenderCore};
use sojourn_units::{Memory, memory_of};
use std::collections::BTreeSet;

/// The window after recovery, at most this many segments above those in flight.
/// ns-2: `tcp_max_burst`.
const MAX_BURST: f64 = 3.0;

/// The state of rate halving.
#[derive(Clone, Default, Debug)]
pub struct RateHalving {
    scoreboard: Scoreboard,
    /// One past the highest byte retransmitted in this recovery.
    high_rxt: u64,
    /// Everything below is lost or SACKed, after a timeout or because of SACKs above it.
    lost_below: u64,
    /// Retransmissions that are not known to have arrived.
    retransmissions: Retransmissions,
    /// First bytes of the retransmissions that are lost.
    lost_retransmissions: BTreeSet<u64>,
    /// Segments that may be in flight while the window shrinks to its reduced size.
    shrinking_window: u64,
    /// True after a timeout, until everything sent before it is acknowledged.
    repairing_timeout: bool,
}

impl RateHalving {
    /// Marks everything below `end` that is not SACKed as lost, including retransmissions.
    fn lose_below(&mut self, end: u64) {
        self.high_rxt = 0;
        self.lost_below = end;
        self.retransmissions.clear();
        self.lost_retransmissions.clear();
        self.shrinking_window = 0;
    }

    /// Whether an ACK with these SACK blocks reveals new losses.
    fn find_losses(&mut self, snd_una: u64, sack: Option<&SackBlocks>, mss: u64) -> bool {
        self.lost_retransmissions = self.lost_retransmissions.split_off(&snd_una);
        let blocks = sack.into_iter().flat_map(SackBlocks::iter);
        let lost = self.retransmissions.on_ack(snd_una, blocks, self.scoreboard.end());
        let lost_again = !lost.is_empty();
        self.lost_retransmissions.extend(lost);
        let lost_below = self.scoreboard.end().saturating_sub(LOST_BELOW_SEGMENTS * mss);
        let hole = self.scoreboard.gap_from(self.lost_below.max(snd_una));
        self.lost_below = self.lost_below.max(lost_below);
        lost_again || hole < lost_below
    }

    /// Ends recovery: everything sent before it or before the timeout is acknowledged.
    fn end_recovery<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        self.scoreboard.clear();
        self.lose_below(0);
        self.repairing_timeout = false;
        sender.exit_recovery();
        if sender.cwnd() < sender.ssthresh() {
            let in_flight = (sender.snd_max() - sender.snd_una()) as f64 / f64::from(call.params.mss);
            sender.set_cwnd(sender.ssthresh().min(in_flight + MAX_BURST));
        }
    }

    /// Reduces ssthresh, and lets the window shrink segment by segment as ACKs arrive.
    fn enter_recovery<O>(&mut self, sender: &mut SenderCore, call: &Call<O>) {
        self.shrinking_window = sender.cwnd() as u64;
        sender.enter_recovery(true, call);
        sender.set_cwnd(sender.min_cwnd());
        sender.stop_timing();
    }

    /// Bytes in flight: sent, not SACKed, and not lost.
    fn pipe(&mut self, sender: &SenderCore, mss: u64) -> u64 {
        let outstanding = sender.snd_una()..sender.snd_max();
        let pipe = self.scoreboard.pipe(outstanding, self.lost_below.max(sender.snd_una()), self.high_rxt);
        pipe.saturating_sub(self.lost_retransmissions.len() as u64 * mss)
    }

    /// Sends lost retransmissions, then holes, then new data, while the window has room.
    fn fill_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        let mut in_flight = self.pipe(sender, mss).div_ceil(mss);
        self.shrinking_window = self.shrinking_window.min(in_flight + 1);
        while in_flight < (sender.cwnd() as u64).max(self.shrinking_window) {
            if sender.pacing_waits(call) {
                return;
            }
            let hole = self.scoreboard.gap_from(self.high_rxt.max(sender.snd_una()));
            if let Some(seq) = self.lost_retransmissions.pop_first() {
                self.retransmit(sender, seq, call);
            } else if hole < self.lost_below {
                self.high_rxt = self.retransmit(sender, hole, call);
            } else if sender.can_send_next(call.params) {
                sender.transmit(sender.snd_nxt(), call);
                sender.advance_snd_nxt(u64::MAX);
            } else {
                return;
            }
            in_flight += 1;
            self.shrinking_window = self.shrinking_window.min((in_flight - 1).max(1));
        }
    }

    fn retransmit<O: SegmentSink>(&mut self, sender: &mut SenderCore, seq: u64, call: &mut Call<O>) -> u64 {
        self.retransmissions.add(seq, sender.snd_max(), self.scoreboard.has(seq));
        sender.transmit(seq, call)
    }
}

impl LossRecovery for RateHalving {
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        let sacked = self.scoreboard.update(ack.packet.seq.max(ack.prior_una), ack.sack);
        if ack.advances() {
            sender.accept_ack(ack, call);
        } else {
            sender.sample_rtt(ack.packet.stamp, call);
            sender.end_backoff(call.params);
            sender.restart_timer(call);
        }
        let lost = self.find_losses(sender.snd_una(), ack.sack, u64::from(call.params.mss));
        sender.lose_below(self.lost_below, call);
        if ack.advances() || (sender.in_recovery() && sacked > 0) {
            sender.grow(ack, call);
        }
        let repairing = sender.in_recovery() || self.repairing_timeout;
        if repairing && sender.snd_una() >= sender.recover() {
            self.end_recovery(sender, call);
        } else if lost && !sender.in_recovery() {
            self.enter_recovery(sender, call);
        }
        self.fill_window(sender, call);
    }

    /// Marks everything that is not SACKed as lost.
    fn on_timeout(&mut self, sender: &mut SenderCore) {
        self.repairing_timeout = true;
        self.lose_below(sender.snd_max());
    }

    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        sender.send_window(SendLimits::default(), |seq| self.scoreboard.gap_from(seq), call);
    }

    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.fill_window(sender, call);
    }

    /// True with nothing lost or SACKed.
    /// The segments in flight are then those between `snd_una` and `snd_max`, so the window of every sender applies.
    fn is_quiet(&self) -> bool {
        let nothing_sent_again = self.high_rxt == 0 && self.retransmissions.is_empty() && self.lost_retransmissions.is_empty();
        let nothing_lost = self.lost_below == 0 && !self.repairing_timeout;
        nothing_sent_again && nothing_lost && self.scoreboard.is_empty()
    }

    fn check_invariants(&self, sender: &SenderCore) {
        self.scoreboard.check_invariants(sender.snd_una(), sender.snd_max());
        assert!(self.high_rxt <= sender.snd_max(), "HighRxt {} above snd_max {}", self.high_rxt, sender.snd_max());
    }
}

impl Memory for RateHalving {
    fn memory(&self) -> usize {
        memory_of([&self.scoreboard, &self.retransmissions])
    }
}
