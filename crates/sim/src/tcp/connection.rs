//! A connection's life: opening, what the application hands over, closed windows, and the timer.

use super::params::{Handshake, SackAlgorithm};
use super::sender::{Action, Call, Outlet, Sender, State};
use crate::packet::{Packet, flag};
use sojourn_cc::CongestionController;
use sojourn_units::Time;

impl Sender {
    /// The application hands over `bytes` more (`None`: without end); with `last`, these are the last.
    pub fn write<O: Outlet>(&mut self, bytes: Option<u64>, last: bool, call: &mut Call<O>) {
        self.limit = bytes.map_or(u64::MAX, |bytes| self.limit.saturating_add(bytes));
        self.closing |= last;
        match self.state {
            State::Closed if call.params.handshake == Handshake::None => {
                self.state = State::Open;
                self.send_new(0, call);
            }
            State::Closed => {
                self.state = State::Opening;
                self.send_syn(call);
            }
            State::Open => {
                self.restart_if_idle(call);
                self.send_new(0, call);
                self.mind_closed_window(call);
            }
            State::Opening | State::Recovery | State::Done => {}
        }
    }

    /// Whether it has something to send, or sent something that is not acknowledged.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.una < self.limit && self.state != State::Done
    }

    /// The application stops: what was sent is still delivered.
    pub fn stop(&mut self) {
        self.limit = self.limit.min(self.max);
    }

    fn restart_if_idle<O>(&mut self, call: &Call<O>) {
        let idle = call.now.since(self.last_sent) > self.rtt.rto();
        if call.params.restart_after_idle && self.una == self.max && idle {
            self.cc.set_cwnd(self.cc.cwnd().min(call.params.initial_window));
        }
    }

    fn send_syn<O: Outlet>(&mut self, call: &mut Call<O>) {
        self.syns += 1;
        if self.timed.0 == 0 && self.syns == 1 {
            self.timed = (1, call.now);
        }
        self.deadline = call.now + self.rtt.rto();
        let size = call.params.header as u16;
        call.send(Packet { size, flags: flag::SYN, ..self.packet(0, call.now) });
    }

    pub(super) fn on_syn_ack<O: Outlet>(&mut self, ack: &Packet, call: &mut Call<O>) {
        if self.state != State::Opening {
            return;
        }
        if self.syns == 1 || call.params.timestamps {
            self.sample_rtt(call.now.since(ack.stamp), ack.stamp, call);
            self.rtt.end_backoff(call.params);
        } else if call.params.rto_3s_after_lost_syn {
            self.rtt.after_lost_syn(call.params);
        }
        self.timed = (0, call.now);
        // A lost SYN leaves one segment to begin with (RFC 5681 section 3.1).
        self.cc.set_cwnd(if self.syns > 1 { 1.0 } else { call.params.initial_window });
        self.state = State::Open;
        self.deadline = Time::NEVER;
        if call.params.handshake == Handshake::ThreeWay {
            call.send(Packet { size: call.params.header as u16, flags: flag::ACK, ..self.packet(0, call.now) });
        }
        self.send_new(0, call);
    }

    pub(super) fn on_window_update<O: Outlet>(&mut self, call: &mut Call<O>) {
        if self.una == self.max && !self.waits {
            self.rtt.end_backoff(call.params);
            self.deadline = Time::NEVER;
        }
        if self.state == State::Open && self.dupacks == 0 {
            self.send_new(0, call);
        }
        self.mind_closed_window(call);
    }

    /// With nothing in flight and a window that takes nothing, only a probe will tell that it has opened, should the
    /// ACK that says so be lost: the persist timer (RFC 9293 section 3.8.6.1).
    #[inline]
    pub(super) fn mind_closed_window<O>(&mut self, call: &Call<O>) {
        if self.una == self.max && self.deadline == Time::NEVER && self.has_more() && self.state == State::Open {
            self.force_timer(call);
        }
    }

    /// Asks for the window with an empty segment, which a receiver must acknowledge, and waits twice as long for the next.
    fn probe<O: Outlet>(&mut self, call: &mut Call<O>) {
        self.rtt.back_off(call.params);
        self.force_timer(call);
        call.send(Packet { size: call.params.header as u16, ..self.packet(self.una, call.now) });
    }

    /// The timer fires at `call.now`.
    pub fn on_timer<O: Outlet>(&mut self, call: &mut Call<O>) {
        if call.now < self.deadline {
            return;
        }
        if self.state == State::Opening {
            self.rtt.back_off(call.params);
            if call.params.handshake == Handshake::OneWay {
                // ns-2's agents take the SYN for data: its loss cuts the threshold to the least.
                self.cc.on_rto(call.now, 1.0);
            }
            return self.send_syn(call);
        }
        self.deadline = Time::NEVER;
        let waited = std::mem::take(&mut self.waits);
        if self.una == self.max && waited {
            self.cc.set_cwnd(1.0);
            self.recover = self.max;
            self.last = Action::Timeout;
            self.reduced = true;
            return self.send_new(0, call);
        }
        if self.una == self.max {
            if self.has_more() && self.state == State::Open {
                self.probe(call);
            }
            return;
        }
        self.inflation = 0;
        self.dupacks = 0;
        let cut_for_mark = self.last == Action::Mark && self.una < self.recover;
        if cut_for_mark || (call.params.hold_ssthresh_on_repeated_rto && self.after_timeout) {
            // Already cut in this window, for a mark or by a timeout before: the threshold stays.
            self.cc.set_cwnd(1.0);
        } else {
            let window = self.window_in_use(call.params);
            self.cc.on_rto(call.now, window);
        }
        if call.now >= self.count_from {
            self.stats.timeouts += 1;
        }
        self.reduced = true;
        self.recover = self.max;
        self.state = State::Open;
        self.last = Action::Timeout;
        self.after_timeout = true;
        self.rtt.back_off(call.params);
        self.stop_timing();
        self.force_timer(call);
        if self.board.is_some() && call.params.sack_algorithm == SackAlgorithm::RateHalving {
            return self.resend_all(call);
        }
        if let Some(board) = &mut self.board {
            board.resent = 0;
            if call.params.sack_algorithm == SackAlgorithm::Ns2Sack1 {
                board.clear();
            }
        }
        self.next = self.una;
        self.send_new(0, call);
    }
}
