//! SACK recovery as ns-2.35's TCP-Linux does it: forward acknowledgements, and the rate halved over a round trip
//! instead of a silence of half of one (`tcp/tcp-linux.cc`, `tcp/scoreboard1.cc`).

use super::receiver::SackBlocks;
use super::sack::{BELOW, Board};
use super::sender::{Call, Outlet, Sender, State};
use crate::packet::Packet;
use sojourn_cc::CongestionController;

/// Segments beyond those in flight that the end of recovery allows (`tcp_max_burst`).
const BURST: f64 = 3.0;

impl Sender {
    pub(super) fn recover_by_halving<O: Outlet>(&mut self, ack: &Packet, blocks: Option<SackBlocks>, echo: bool, call: &mut Call<O>) {
        let Some(mut board) = self.board.take() else { return };
        let (was, repairing) = (self.una, self.after_timeout);
        let fresh = board.update(ack.seq.max(self.una), blocks);
        if ack.seq > self.una {
            self.advance(ack, echo, call);
            self.after_timeout = repairing;
        } else {
            self.sample_rtt(call.now.since(ack.stamp), ack.stamp, call);
            self.end_backoff(call.params);
            self.restart_timer(call);
        }
        let lost = self.find_losses(&mut board, call);
        if ack.seq > was || (self.state == State::Recovery && fresh > 0) {
            self.grow(ack, was, echo, call);
        }
        if self.una >= self.recover && (self.state == State::Recovery || self.after_timeout) {
            self.end_halving(&mut board, call);
        } else if lost && self.state != State::Recovery {
            board.shrinking = self.cc.cwnd() as u64;
            self.enter_recovery(call);
            let floor = self.cc.min_cwnd();
            self.cc.set_cwnd(floor);
            self.stop_timing();
        }
        self.fill_halving(&mut board, call);
        self.board = Some(board);
    }

    /// Whether this ACK tells of losses not known before.
    fn find_losses<O>(&self, board: &mut Board, call: &Call<O>) -> bool {
        let again = board.find_lost_again(self.una);
        let edge = board.end().saturating_sub(BELOW * u64::from(call.params.mss));
        let hole = board.gap_from(board.lost.max(self.una));
        board.lost = board.lost.max(edge);
        again || hole < edge
    }

    fn end_halving<O>(&mut self, board: &mut Board, call: &Call<O>) {
        board.clear();
        self.state = State::Open;
        self.after_timeout = false;
        if self.cc.cwnd() < self.cc.ssthresh() {
            let in_flight = (self.max - self.una) as f64 / f64::from(call.params.mss);
            self.cc.set_cwnd(self.cc.ssthresh().min(in_flight + BURST));
        }
    }

    /// After a timeout: all that is not known to have arrived is lost.
    pub(super) fn resend_all<O: Outlet>(&mut self, call: &mut Call<O>) {
        let Some(mut board) = self.board.take() else { return };
        board.lose_all(self.max);
        self.fill_halving(&mut board, call);
        self.board = Some(board);
    }

    fn fill_halving<O: Outlet>(&mut self, board: &mut Board, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        let edge = self.una + u64::from(self.bound(call.params)) * mss;
        let mut in_flight = board.still_in_flight(self.una, self.max, mss).div_ceil(mss);
        board.shrinking = board.shrinking.min(in_flight + 1);
        while in_flight < (self.cc.cwnd() as u64).max(board.shrinking) {
            let hole = board.gap_from(board.resent.max(self.una));
            let seq = if board.lost_again.is_empty() {
                if hole < board.lost {
                    board.resent = hole + mss;
                    board.send_again(hole, self.max);
                    hole
                } else if self.has_more() && self.next + mss.min(self.limit() - self.next) <= edge {
                    let seq = self.next;
                    self.next += mss.min(self.limit() - seq);
                    seq
                } else {
                    return;
                }
            } else {
                let seq = board.lost_again.remove(0);
                board.send_again(seq, self.max);
                seq
            };
            self.emit(seq, call);
            in_flight += 1;
            board.shrinking = board.shrinking.min((in_flight - 1).max(1));
        }
    }
}
