//! The life of a connection: handshake, writes, a closed receive window, and the timer.

use super::{LastReduction, SenderCore, State};
use crate::packet::{Packet, flag};
use crate::tcp::ack_options::AckOptions;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::ecn;
use sojourn_aqm::{Ecn as Mark, Packet as _};
use sojourn_cc::{CongestionController, Event, Window};
use sojourn_spec::tcp::{AccEcnOption, Ecn, Handshake, TcpOptions};
use sojourn_units::Time;

/// The action that an expired timer requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// None.
    Handled,
    /// Continue to send: the wait after an ECN echo is over.
    EndsWait,
    /// Retransmit: the window was reduced and the timer backed off.
    Retransmission,
}

impl SenderCore {
    /// The application writes `bytes` more; `None` is data without end.
    /// A later write ends such data. With `last`, these bytes are its last. A write opens a closed connection. Returns whether data may be
    /// sent now.
    pub fn write<O: SegmentSink>(&mut self, bytes: Option<u64>, last: bool, call: &mut Call<O>) -> bool {
        self.check_app_limited(call.params);
        let written = if self.write_end == u64::MAX { self.snd_max } else { self.write_end };
        self.write_end = bytes.map_or(u64::MAX, |bytes| written.saturating_add(bytes));
        self.write_closed |= last;
        match self.state {
            State::Closed if call.params.handshake == Handshake::None => self.state = State::Established,
            State::Closed => {
                self.state = State::SynSent;
                self.send_syn(call);
            }
            State::Established => self.restart_after_idle(call),
            State::SynSent | State::Recovery | State::Finished => {}
        }
        self.state == State::Established
    }

    /// The application stops; sent data is still delivered.
    /// The next ACK takes the slow path.
    pub fn stop(&mut self) {
        self.predictable = false;
        self.write_end = self.write_end.min(self.snd_max);
    }

    /// Handles a SYN-ACK; returns whether it opened the connection.
    #[cold]
    pub fn on_syn_ack<O: SegmentSink>(&mut self, ack: &Packet, options: &AckOptions, call: &mut Call<O>) -> bool {
        if self.state != State::SynSent {
            return false;
        }
        let (params, syn_lost) = (call.params, self.syns_sent > 1);
        if !syn_lost || params.timestamps {
            self.sample_rtt(ack.stamp, call);
            self.rtt.end_backoff(params);
        } else if params.rto_3s_after_lost_syn {
            self.rtt.after_lost_syn(params);
        }
        if ack.has(flag::NO_ECN) || (self.ecn.is_accurate() && ack.flags & flag::ACE == 0) {
            self.end_ecn();
        }
        // After lost SYNs the window is one segment (rfc5681#3.1), and after a marked one (draft-ietf-tcpm-generalized-ecn; not in Linux).
        let marked = self.ecn.is_accurate() && ack.flags & flag::ACE == ecn::handshake(Mark::Ce) && !params.generalized_ecn;
        let many_lost = u32::from(self.syns_sent) > params.syn_losses_allowed + 1;
        self.cc.set_cwnd(if many_lost || marked { 1.0 } else { params.initial_window });
        self.state = State::Established;
        self.update_pace(params);
        self.timer = Time::NEVER;
        if params.handshake == Handshake::ThreeWay {
            let accecn_flags = self.answer_of_marks(ack, options, params);
            self.send_header(0, flag::ACK | accecn_flags, call);
        }
        true
    }

    /// The flags of the ACK of a SYN-ACK that concern marks.
    /// The ACK carries AccECN's option, but in Linux only if the SYN-ACK did: otherwise data carries none either.
    fn answer_of_marks(&mut self, ack: &Packet, options: &AckOptions, params: &TcpOptions) -> u16 {
        if !self.ecn.is_accurate() {
            return 0;
        }
        let has_option = match params.accecn_option {
            AccEcnOption::Off => false,
            AccEcnOption::Recommended => true,
            AccEcnOption::Minimum | AccEcnOption::Full => options.byte_counts.is_some(),
        };
        if !has_option {
            self.path.iter_mut().for_each(|path| path.accecn_flags &= !flag::ACCECN);
        }
        ecn::handshake(ack.ecn()) | (u16::from(has_option) * flag::ACCECN)
    }

    /// Turns ECN off, because the server does not support it (rfc3168#6.1.1, rfc9768#3.1.2).
    #[cold]
    fn end_ecn(&mut self) {
        self.ecn = Ecn::Off;
        self.path.iter_mut().for_each(|path| (path.marks, path.accecn_flags) = (None, 0));
    }

    /// The timer expires.
    pub fn on_timer<O: SegmentSink>(&mut self, call: &mut Call<O>) -> Expiry {
        if self.state == State::SynSent {
            self.on_syn_timeout(call);
            return Expiry::Handled;
        }
        self.timer = Time::NEVER;
        let waited = self.waits_for_rto();
        self.wait_for_rto = false;
        if self.snd_una < self.snd_max {
            // rfc6298#5.4 to rfc6298#5.6.
            self.reduce_for_timeout(call);
            self.rtt.back_off(call.params);
            self.stop_timing();
            self.start_timer(call);
            return Expiry::Retransmission;
        }
        if waited {
            self.cc.set_cwnd(1.0);
            self.recover = self.snd_max;
            self.last_reduction = LastReduction::Timeout;
            self.cwr_pending = true;
            return Expiry::EndsWait;
        }
        if self.has_data() && self.state == State::Established {
            self.send_window_probe(call);
        }
        Expiry::Handled
    }

    /// Reduces the window after an idle time longer than the RTO.
    /// It falls back to the initial window (rfc5681#4.1), or in Linux by a half for each RTO that has passed (rfc2861#3.1,
    /// `tcp_cwnd_restart`).
    #[cold]
    pub fn restart_after_idle<O>(&mut self, call: &Call<O>) {
        let (mut idle, rto, params) = (self.idle_time(call.now), self.rtt.rto(), call.params);
        if !params.restart_after_idle || self.owns_window() || self.snd_una < self.snd_max || idle <= rto {
            return;
        }
        let (mut cwnd, mut ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        let least = cwnd.min(params.initial_window);
        if params.linux_growth {
            ssthresh = self.ssthresh_of_window();
            while idle > rto && cwnd > least {
                (idle, cwnd) = (idle.saturating_sub(rto), (cwnd / 2.0).floor());
            }
        } else {
            cwnd = least;
        }
        self.cc.on_event(&Event::IdleRestart(Window { cwnd: cwnd.max(least), ssthresh }));
    }

    /// Linux's estimate of the path ([`Window::ssthresh_of_window`]).
    pub fn ssthresh_of_window(&self) -> f64 {
        Window { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() }.ssthresh_of_window()
    }

    /// A segment is about to be sent while nothing is in flight.
    #[inline(never)]
    pub fn end_idle<O>(&mut self, call: &Call<O>) {
        self.cc.on_event(&Event::IdleEnd { now: call.now, idle: self.idle_time(call.now), srtt: self.rtt.srtt() });
    }

    #[cold]
    fn send_syn<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        self.syns_sent = self.syns_sent.saturating_add(1);
        self.start_timer(call);
        let asked = u32::from(self.syns_sent) > call.params.ecn_syns && call.params.ecn_syns > 0 && self.ecn.is_on();
        self.send_header(0, flag::SYN | (u16::from(asked) * flag::NO_ECN), call);
    }

    #[cold]
    fn on_syn_timeout<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        if u32::from(self.syns_sent) > call.params.syn_linear_timeouts {
            self.rtt.back_off(call.params);
        }
        if call.params.handshake == Handshake::OneWay {
            // ns-2's agents count the SYN as data: its loss leaves the smallest ssthresh.
            self.cc.on_rto(call.now, 1.0);
        }
        self.send_syn(call);
    }

    /// Everything is acknowledged and the application has closed.
    #[cold]
    pub fn finish<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        self.state = State::Finished;
        self.timer = Time::NEVER;
        self.set_pace_due(Time::NEVER);
        if call.params.handshake == Handshake::ThreeWay {
            self.send_header(self.snd_max, flag::ACK, call);
        }
    }

    /// Starts the persist timer if the receive window is closed and nothing is in flight.
    /// The ACK that opens the window may be lost (rfc9293#3.8.6.1).
    #[inline]
    pub fn start_persist_timer<O>(&mut self, call: &Call<O>) {
        if self.snd_una == self.snd_max && self.timer == Time::NEVER && self.has_data() && self.state == State::Established {
            self.start_timer(call);
        }
    }

    /// The receive window changed while nothing is in flight: the persist timer stops.
    #[cold]
    pub fn stop_persist_timer<O>(&mut self, call: &Call<O>) {
        if self.snd_una == self.snd_max && !self.waits_for_rto() {
            self.rtt.end_backoff(call.params);
            self.timer = Time::NEVER;
        }
    }

    /// Sends an empty segment, which the receiver must acknowledge.
    /// The time to the next one doubles (rfc9293#3.8.6.1).
    #[cold]
    fn send_window_probe<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        self.rtt.back_off(call.params);
        self.start_timer(call);
        self.send_header(self.snd_una, 0, call);
    }
}
