//! Loss recovery: Reno (RFC 5681), NewReno (RFC 6582), SACK (RFC 6675), and SACK with a counted pipe (ns-2's Sack1).

use super::params::Recovery;
use super::receiver::SackBlocks;
use super::sender::{Action, Call, Outlet, Sender, State};
use crate::packet::Packet;
use sojourn_cc::CongestionController;

impl Sender {
    /// Reno and `NewReno`: only the cumulative ACK tells.
    #[inline]
    pub(super) fn recover_by_dupacks<O: Outlet>(&mut self, ack: &Packet, echo: bool, call: &mut Call<O>) {
        if ack.seq > self.una {
            let stays = call.params.recovery == Recovery::NewReno && self.state == State::Recovery && ack.seq < self.recover;
            if stays { self.partial_ack(ack, call) } else { self.full_ack(ack, echo, call) }
        } else if ack.seq == self.una && self.una < self.max {
            self.duplicate_ack(call);
        } else {
            return;
        }
        let recovering = call.params.recovery == Recovery::NewReno && self.dupacks > 0;
        if self.dupacks == 0 || self.dupacks >= call.params.dupack_threshold {
            self.send_new(if recovering { call.params.recovery_burst } else { 0 }, call);
        }
    }

    fn full_ack<O: Outlet>(&mut self, ack: &Packet, echo: bool, call: &mut Call<O>) {
        let was = self.una;
        let recovered = self.state == State::Recovery;
        self.inflation = 0;
        self.state = State::Open;
        self.advance(ack, echo, call);
        if recovered && call.params.deflate_on_exit {
            let in_flight = ((self.max - self.una) / u64::from(call.params.mss)) as f64;
            self.cc.set_cwnd(self.cc.ssthresh().min(in_flight.max(1.0) + 1.0));
        } else {
            self.grow(ack, was, echo, call);
        }
    }

    fn partial_ack<O: Outlet>(&mut self, ack: &Packet, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        // Deflate by what was acknowledged and add one segment back (RFC 6582 section 3.2 step 3).
        let acked = (ack.seq - self.una).div_ceil(mss) as u32;
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cc.set_cwnd((self.cc.cwnd() - f64::from(acked - self.inflation)).max(1.0));
            self.inflation = 1;
        }
        let was = self.una;
        self.una = ack.seq;
        self.next = self.next.max(self.una);
        self.grow(ack, was, false, call);
        if !self.partial_seen {
            self.restart_timer(call);
        }
        self.partial_seen = true;
        self.partial_covers_timed(call.params);
        self.emit(self.una, call);
        self.next = self.next.max((self.una + mss).min(self.max));
    }

    fn duplicate_ack<O: Outlet>(&mut self, call: &mut Call<O>) {
        self.dupacks += 1;
        let threshold = call.params.dupack_threshold;
        if self.dupacks == threshold {
            if self.beyond_recover() || !call.params.avoid_multiple_fast_retransmits {
                self.enter_recovery(call);
                self.resend_first(threshold, call);
            } else if self.last == Action::Mark {
                // Cut for a mark in this window already: repair without a second cut.
                self.repair_after_mark(call);
                self.resend_first(threshold, call);
            }
        } else if self.dupacks > threshold && self.state == State::Recovery {
            self.inflation += 1;
        } else if self.dupacks < threshold && call.params.limited_transmit {
            self.limited_transmit(call);
        }
    }

    /// The window was cut for a mark already: recovery begins without a second cut.
    fn repair_after_mark<O>(&mut self, call: &Call<O>) {
        self.last = Action::FastRetransmit;
        self.state = State::Recovery;
        if call.params.update_recover_after_ecn {
            self.recover = self.max;
            self.partial_seen = false;
        }
    }

    fn resend_first<O: Outlet>(&mut self, inflation: u32, call: &mut Call<O>) {
        self.stop_timing();
        self.force_timer(call);
        self.emit(self.una, call);
        self.inflation = inflation;
    }

    /// SACK where segments in flight are counted up and down (ns-2's Sack1).
    pub(super) fn recover_by_pipe<O: Outlet>(&mut self, ack: &Packet, blocks: Option<SackBlocks>, echo: bool, call: &mut Call<O>) {
        let Some(mut board) = self.board.take() else { return };
        if self.state == State::Recovery {
            self.pipe_in_recovery(&mut board, ack, blocks, echo, call);
        } else if ack.seq > self.una {
            let was = self.una;
            self.advance(ack, echo, call);
            self.grow(ack, was, echo, call);
            board.clear();
        } else if ack.seq == self.una && self.una < self.max && !self.after_timeout && board.update(self.una, blocks) > 0 {
            self.dupacks += 1;
            if self.dupacks == call.params.dupack_threshold {
                self.enter_pipe(&mut board, call);
            } else if self.dupacks < call.params.dupack_threshold && call.params.limited_transmit {
                self.limited_transmit(call);
            }
        }
        self.board = Some(board);
        if self.state == State::Open && self.dupacks == 0 {
            self.send_new(0, call);
        } else if self.state == State::Recovery && self.dupacks != call.params.dupack_threshold {
            self.fill_pipe(call);
        }
    }

    fn enter_pipe<O: Outlet>(&mut self, board: &mut super::sack::Board, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        let cut_for_mark = self.last == Action::Mark;
        if self.beyond_recover() || !call.params.avoid_multiple_fast_retransmits {
            self.enter_recovery(call);
        } else if cut_for_mark {
            self.repair_after_mark(call);
        } else {
            return;
        }
        board.pipe = (self.max - self.una).div_ceil(mss) as i64 - i64::from(call.params.dupack_threshold);
        self.stop_timing();
        self.force_timer(call);
        self.emit(self.una, call);
        board.resent = self.una + mss;
    }

    fn pipe_in_recovery<O: Outlet>(
        &mut self,
        board: &mut super::sack::Board,
        ack: &Packet,
        blocks: Option<SackBlocks>,
        echo: bool,
        call: &mut Call<O>,
    ) {
        board.pipe -= 1;
        if ack.seq >= self.recover {
            self.recover = 0;
            self.state = State::Open;
            self.advance(ack, echo, call);
            board.clear();
        } else if ack.seq > self.una {
            let was = self.una;
            self.una = ack.seq;
            self.next = self.next.max(self.una);
            self.grow(ack, was, echo, call);
            board.update(self.una, blocks);
            board.pipe -= 1;
            self.restart_timer(call);
            self.end_backoff(call.params);
            self.dupacks = call.params.dupack_threshold + 1;
        } else if ack.seq == self.una {
            board.update(self.una, blocks);
            self.dupacks += 1;
        }
    }

    /// Sends holes, then new data, while the counted pipe leaves room.
    fn fill_pipe<O: Outlet>(&mut self, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        loop {
            let edge = self.una + u64::from(self.bound(call.params)) * mss;
            let more = self.has_more();
            let Some(board) = &mut self.board else { return };
            if board.pipe >= self.cc.cwnd() as i64 {
                return;
            }
            let hole = board.next_hole(self.una);
            let seq = hole.unwrap_or(self.next);
            if seq + mss > edge || (hole.is_none() && !more) {
                return;
            }
            board.pipe += 1;
            if hole.is_some() {
                board.resent = seq + mss;
            }
            self.emit(seq, call);
            self.next = self.next.max((seq + mss).min(self.max));
        }
    }

    /// SACK as RFC 6675 says.
    pub(super) fn recover_by_board<O: Outlet>(&mut self, ack: &Packet, blocks: Option<SackBlocks>, echo: bool, call: &mut Call<O>) {
        let Some(mut board) = self.board.take() else { return };
        let (was, news) = (self.una, ack.seq > self.una);
        let fresh = board.update(ack.seq.max(self.una), blocks);
        let params = call.params;
        match self.state {
            State::Recovery if ack.seq >= self.recover => {
                self.state = State::Open;
                self.inflation = 0;
                self.advance(ack, echo, call);
                board.resent = 0;
                board.rescued = false;
            }
            State::Recovery if news => {
                self.una = ack.seq;
                self.next = self.next.max(self.una);
                self.restart_timer(call);
                if params.timestamps {
                    self.end_backoff(call.params);
                }
                self.grow(ack, was, echo, call);
            }
            State::Recovery if fresh > 0 => self.grow(ack, was, echo, call),
            State::Recovery => {}
            _ if news => {
                self.advance(ack, echo, call);
                self.grow(ack, was, echo, call);
            }
            _ => {}
        }
        // An ACK with news of what arrived beyond counts as a duplicate even if it acknowledges new data (RFC 6675 section 5).
        self.dupacks += u32::from(fresh > 0 && self.state == State::Open && ack.seq == self.una);
        let lost = board.lost_below(params.dupack_threshold, params.mss);
        let duplicate = self.state == State::Open && self.dupacks > 0 && fresh > 0;
        if duplicate && (self.dupacks >= params.dupack_threshold || lost > self.una) {
            self.enter_from_board(&mut board, call);
        }
        if self.state == State::Recovery {
            self.fill_from_board(&mut board, lost, call);
        }
        let open = self.state == State::Open;
        self.board = Some(board);
        if open && (news || self.dupacks == 0) {
            self.send_new(0, call);
        }
        if open && duplicate && self.dupacks < params.dupack_threshold && params.limited_transmit {
            self.limited_transmit(call);
        }
    }

    /// Recovery begins, unless a timeout happened and its window is not yet acknowledged (RFC 6675 section 5.1).
    fn enter_from_board<O: Outlet>(&mut self, board: &mut super::sack::Board, call: &mut Call<O>) {
        if self.una >= self.recover {
            self.enter_recovery(call);
        } else if self.last == Action::Mark {
            self.repair_after_mark(call);
        } else {
            return;
        }
        board.resent = self.una;
        board.rescued = false;
        self.stop_timing();
        self.force_timer(call);
        self.resend_at(self.una, board, call);
    }

    fn resend_at<O: Outlet>(&mut self, seq: u64, board: &mut super::sack::Board, call: &mut Call<O>) {
        self.emit(seq, call);
        board.resent = board.resent.max(seq + u64::from(call.params.mss));
    }

    /// RFC 6675 section 5 step C: while the pipe leaves room for a segment, send what `NextSeg` gives.
    fn fill_from_board<O: Outlet>(&mut self, board: &mut super::sack::Board, lost: u64, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        let edge = self.una + u64::from(self.bound(call.params)) * mss;
        let window = (self.cc.cwnd() * mss as f64) as u64;
        while board.in_flight(self.una, self.max, lost.max(self.una)) + mss <= window {
            let hole = board.next_hole(self.una);
            if let Some(seq) = hole.filter(|&seq| seq < lost) {
                self.resend_at(seq, board, call);
            } else if self.has_more() && self.next + mss.min(self.limit() - self.next) <= edge {
                self.emit(self.next, call);
                self.next = self.max.max(self.next);
            } else if let Some(seq) = hole {
                self.resend_at(seq, board, call);
            } else if let Some(seq) = board.tail(self.una, self.recover, call.params.mss).filter(|_| !board.rescued) {
                // Once a recovery, and HighRxt stays where it is.
                board.rescued = true;
                self.emit(seq, call);
            } else {
                return;
            }
        }
    }

    pub(super) fn has_more(&self) -> bool {
        self.next < self.limit()
    }
}
