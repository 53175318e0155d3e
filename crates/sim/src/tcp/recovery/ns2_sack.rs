//! SACK recovery as in ns-2's Sack1 agent (`ns-2 tcp-sack1.cc`).
//! It counts segments in flight, instead of computing the pipe from the scoreboard.

use super::loss_recovery::{LossRecovery, send_all};
use super::scoreboard::Scoreboard;
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{RecoveryEntry, SendLimits, SenderCore};
use sojourn_units::Memory;

/// The state of Sack1.
#[derive(Clone, Default, Debug)]
pub struct Ns2Sack {
    scoreboard: Scoreboard,
    /// Duplicate ACKs since new data was acknowledged.
    dupacks: u32,
    /// One past the highest byte retransmitted in this recovery.
    high_rxt: u64,
    /// Segments in flight, counted up and down (`pipe_`).
    pipe: i64,
}

impl Ns2Sack {
    fn forget(&mut self) {
        self.scoreboard.clear();
        self.dupacks = 0;
        self.high_rxt = 0;
    }

    fn enter<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if sender.enter_recovery(sender.may_reduce_again(call.params), call) == RecoveryEntry::Refused {
            return;
        }
        let mss = u64::from(call.params.mss);
        let outstanding = (sender.snd_max() - sender.snd_una()).div_ceil(mss) as i64;
        self.pipe = outstanding - i64::from(call.params.dupack_threshold);
        self.high_rxt = sender.fast_retransmit(call);
    }

    fn on_ack_in_recovery<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        self.pipe -= 1;
        if ack.packet.seq >= sender.recover() {
            sender.forget_recover();
            sender.exit_recovery();
            sender.accept_ack(ack, call);
            self.forget();
        } else if ack.advances() {
            sender.accept_partial_ack(ack);
            sender.grow(ack, call);
            self.scoreboard.update(sender.snd_una(), ack.sack);
            self.pipe -= 1;
            sender.restart_timer(call);
            sender.end_backoff(call.params);
            self.dupacks = call.params.dupack_threshold + 1;
        } else if ack.packet.seq == ack.prior_una {
            self.scoreboard.update(ack.prior_una, ack.sack);
            self.dupacks += 1;
        }
    }

    /// Sends holes, then new data, while the pipe leaves room.
    fn fill_pipe<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        while self.pipe < sender.cwnd() as i64 {
            let hole = self.scoreboard.hole_from(self.high_rxt.max(sender.snd_una()));
            let seq = hole.unwrap_or(sender.snd_nxt());
            if seq + mss > sender.window_end(call.params) || (hole.is_none() && !sender.has_data()) || sender.pacing_waits(call) {
                return;
            }
            self.pipe += 1;
            let end = sender.transmit(seq, call);
            if hole.is_some() {
                self.high_rxt = end;
            }
            sender.advance_snd_nxt(end);
        }
    }
}

impl LossRecovery for Ns2Sack {
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        let threshold = call.params.dupack_threshold;
        if sender.in_recovery() {
            self.on_ack_in_recovery(sender, ack, call);
        } else if ack.advances() {
            sender.accept_ack(ack, call);
            sender.grow(ack, call);
            self.forget();
        } else if ack.is_duplicate() && !sender.after_timeout() && self.scoreboard.update(sender.snd_una(), ack.sack) > 0 {
            self.dupacks += 1;
            if self.dupacks == threshold {
                self.enter(sender, call);
            } else if self.dupacks < threshold && call.params.limited_transmit {
                sender.limited_transmit(self.dupacks, call);
            }
        }
        if sender.in_recovery() {
            if self.dupacks != threshold {
                self.fill_pipe(sender, call);
            }
        } else if self.dupacks == 0 {
            self.send_window(sender, call);
        }
    }

    fn on_timeout(&mut self, sender: &mut SenderCore) {
        self.forget();
        sender.go_back();
    }

    #[inline]
    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        send_all(sender, SendLimits::default(), call);
    }

    fn is_quiet(&self) -> bool {
        self.dupacks == 0 && self.high_rxt == 0 && self.scoreboard.is_empty()
    }

    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        if sender.in_recovery() {
            self.fill_pipe(sender, call);
        } else {
            self.send_window(sender, call);
        }
    }

    fn check_invariants(&self, sender: &SenderCore) {
        self.scoreboard.check_invariants(sender.snd_una(), sender.snd_max());
        assert!(self.high_rxt <= sender.snd_max(), "HighRxt {} above snd_max {}", self.high_rxt, sender.snd_max());
    }
}

impl Memory for Ns2Sack {
    fn memory(&self) -> usize {
        self.scoreboard.memory()
    }
}
