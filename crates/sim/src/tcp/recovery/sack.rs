//! SACK recovery with a scoreboard and a computed pipe (rfc6675).

use super::loss_recovery::LossRecovery;
use super::scoreboard::Scoreboard;
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{RecoveryEntry, SendLimits, SenderCore};
use sojourn_units::Memory;

/// The state of SACK recovery.
#[derive(Clone, Default, Debug)]
pub struct Sack {
    scoreboard: Scoreboard,
    /// Duplicate ACKs since new data was acknowledged.
    dupacks: u32,
    /// HighRxt: one past the highest byte retransmitted in this recovery (rfc6675#2).
    high_rxt: u64,
    /// RescueRxt: whether this recovery sent its rescue retransmission.
    /// Source: rfc6675#4 NextSeg rule 4.
    rescue_rxt: bool,
}

impl Sack {
    /// Processes an ACK; `sacked` bytes are newly known to have arrived.
    fn accept<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, sacked: u64, call: &mut Call<O>) {
        if !sender.in_recovery() {
            if ack.advances() {
                self.dupacks = 0;
                sender.accept_ack(ack, call);
                sender.grow(ack, call);
            }
        } else if ack.full {
            self.dupacks = 0;
            self.high_rxt = 0;
            self.rescue_rxt = false;
            sender.exit_recovery();
            sender.accept_ack(ack, call);
        } else if ack.advances() {
            sender.accept_partial_ack(ack);
            sender.restart_timer(call);
            if call.params.timestamps {
                sender.end_backoff(call.params);
            }
            sender.grow(ack, call);
        } else if sacked > 0 {
            sender.grow(ack, call);
        }
    }

    /// Begins recovery with a retransmission of the first segment (rfc6675#5.1).
    /// It does not if this window was reduced before.
    fn enter<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if sender.enter_recovery(sender.snd_una() >= sender.recover(), call) == RecoveryEntry::Refused {
            return;
        }
        self.high_rxt = sender.fast_retransmit(call);
        self.rescue_rxt = false;
    }

    /// Sends the segments of NextSeg while the pipe leaves room (rfc6675#5 step C).
    /// Bytes below `lost_below` are lost.
    fn fill_pipe<O: SegmentSink>(&mut self, sender: &mut SenderCore, lost_below: u64, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        let cwnd = (sender.cwnd() * mss as f64) as u64;
        let lost_below = lost_below.max(sender.snd_una());
        while self.scoreboard.pipe(sender.snd_una()..sender.snd_max(), lost_below, self.high_rxt) + mss <= cwnd {
            if sender.pacing_waits(call) {
                return;
            }
            let hole = self.scoreboard.hole_from(self.high_rxt.max(sender.snd_una()));
            if let Some(seq) = hole.filter(|&seq| seq < lost_below) {
                self.retransmit(sender, seq, call);
            } else if sender.can_send_next(call.params) {
                sender.transmit(sender.snd_nxt(), call);
                sender.advance_snd_nxt(u64::MAX);
            } else if let Some(seq) = hole {
                self.retransmit(sender, seq, call);
            } else if let Some(seq) = self.rescue_segment(sender, mss) {
                // The rescue retransmission is sent once in a recovery and does not move HighRxt.
                self.rescue_rxt = true;
                sender.transmit(seq, call);
            } else {
                return;
            }
        }
    }

    fn retransmit<O: SegmentSink>(&mut self, sender: &mut SenderCore, seq: u64, call: &mut Call<O>) {
        self.high_rxt = self.high_rxt.max(sender.transmit(seq, call));
    }

    /// The last segment sent before recovery, for the rescue retransmission.
    /// It must not lie below a SACK block nor have been retransmitted (rfc6675#4 NextSeg rule 4). Data sent since is too recent to count as
    /// lost.
    fn rescue_segment(&self, sender: &SenderCore, mss: u64) -> Option<u64> {
        let recover = sender.recover();
        let seq = recover.saturating_sub(mss).max(self.scoreboard.end()).max(sender.snd_una());
        (!self.rescue_rxt && seq < recover && seq >= self.high_rxt).then_some(seq)
    }
}

impl LossRecovery for Sack {
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        let params = call.params;
        let sacked = self.scoreboard.update(ack.packet.seq.max(ack.prior_una), ack.sack);
        self.accept(sender, ack, sacked, call);
        // An ACK with new SACK information counts as a duplicate, even if it acknowledges new data (rfc6675#5).
        let duplicate = !sender.in_recovery() && sacked > 0 && ack.packet.seq == sender.snd_una();
        self.dupacks += u32::from(duplicate);
        let lost_below = self.scoreboard.lost_below(params.dupack_threshold, params.mss);
        sender.lose_below(lost_below, call);
        let duplicate = !sender.in_recovery() && self.dupacks > 0 && sacked > 0;
        if duplicate && (self.dupacks >= params.dupack_threshold || lost_below > sender.snd_una()) {
            self.enter(sender, call);
        }
        if sender.in_recovery() {
            self.fill_pipe(sender, lost_below, call);
            return;
        }
        if ack.advances() || self.dupacks == 0 {
            self.send_window(sender, call);
        }
        if duplicate && self.dupacks < params.dupack_threshold && params.limited_transmit {
            sender.limited_transmit(self.dupacks, call);
        }
    }

    /// The scoreboard is kept: SACKed data is not retransmitted.
    fn on_timeout(&mut self, sender: &mut SenderCore) {
        self.dupacks = 0;
        self.high_rxt = 0;
        sender.go_back();
    }

    #[inline]
    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        sender.send_window(SendLimits::default(), |seq| self.scoreboard.gap_from(seq), call);
    }

    fn is_quiet(&self) -> bool {
        self.dupacks == 0 && self.scoreboard.is_empty()
    }

    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if sender.in_recovery() {
            self.fill_pipe(sender, self.scoreboard.lost_below(call.params.dupack_threshold, call.params.mss), call);
        } else {
            self.send_window(sender, call);
        }
    }

    fn check_invariants(&self, sender: &SenderCore) {
        self.scoreboard.check_invariants(sender.snd_una(), sender.snd_max());
        assert!(self.high_rxt <= sender.snd_max(), "HighRxt {} above snd_max {}", self.high_rxt, sender.snd_max());
    }
}

impl Memory for Sack {
    fn memory(&self) -> usize {
        self.scoreboard.memory()
    }
}
