//! The sending endpoint: what goes out, timers, and the common part of every recovery.

use super::inflight::Inflight;
use super::params::{Handshake, Recovery, RttHint, SackAlgorithm, TcpParams, WindowBasis};
use super::receiver::SackBlocks;
use super::rto::RttEstimator;
use super::sack::Board;
use crate::packet::{Packet, flag};
use sojourn_cc::{Ack, AnyController, CongestionController, CongestionEvent, Signal, Source, Start};
use sojourn_net::Moments;
use sojourn_units::{Duration, Time};

/// Where a connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Closed,
    Opening,
    Open,
    Recovery,
    Done,
}

/// The last thing done to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    None,
    FastRetransmit,
    Timeout,
    Mark,
}

/// What a call changed that the world must know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Nothing special.
    Going,
    /// Every byte of a finite transfer is acknowledged.
    Complete,
}

/// What a sender counts, within the window of statistics.
#[derive(Clone, Copy, Default, Debug)]
pub struct SenderStats {
    /// Data segments sent.
    pub sent: u64,
    /// Of these, sent before.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Window cuts for congestion marks.
    pub mark_cuts: u64,
    /// RTT samples in seconds.
    pub rtt: Moments,
}

/// The sending endpoint of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) cc: AnyController,
    pub(super) rtt: RttEstimator,
    /// First unacknowledged byte, next byte to send, one past the highest byte sent, one past the last byte to send.
    pub(super) una: u64,
    pub(super) next: u64,
    pub(super) max: u64,
    pub(super) limit: u64,
    pub(super) recover: u64,
    /// The segment being timed ends here (0: none) and was sent then.
    pub(super) timed: (u64, Time),
    pub(super) deadline: Time,
    /// The time of this sender's pending timer event.
    pub armed: Option<Time>,
    pub(super) state: State,
    pub(super) last: Action,
    pub(super) dupacks: u32,
    pub(super) inflation: u32,
    /// Bytes sent by limited transmit since new data was acknowledged.
    pub(super) limited: u64,
    pub(super) window: u16,
    pub(super) flow: u32,
    pub(super) incarnation: u16,
    pub(super) reduced: bool,
    pub(super) mark_backoff: bool,
    /// Marked with a window too small to halve: nothing is sent until the timer expires (RFC 3168 section 6.1.2).
    pub(super) waits: bool,
    pub(super) partial_seen: bool,
    /// No new data was acknowledged since the last timeout.
    pub(super) after_timeout: bool,
    /// Whether the application has said how much there is.
    pub(super) closing: bool,
    pub(super) syns: u32,
    pub(super) phase: Duration,
    pub(super) last_sent: Time,
    /// The receiver's latest time stamp, to be echoed (RFC 7323); 0 without time stamps.
    pub(super) peer: Time,
    pub(super) board: Option<Box<Board>>,
    /// What bounds the window where the stack measures it.
    pub(super) inflight: Option<Box<Inflight>>,
    /// What it counted.
    pub stats: SenderStats,
    /// The RTT sample of this call, if there was one.
    pub fresh_rtt: Option<Duration>,
    pub(super) count_from: Time,
}

/// Where a sender's segments go.
pub trait Outlet {
    /// Sends a packet at `now`.
    fn send(&mut self, now: Time, packet: Packet);
}

/// What every call needs: the time, the stack's habits and where segments go.
pub struct Call<'a, O> {
    /// When.
    pub now: Time,
    /// The habits of this sender's stack.
    pub params: &'a TcpParams,
    /// Where segments go.
    pub out: O,
}

impl<O: Outlet> Call<'_, O> {
    #[inline]
    pub(super) fn send(&mut self, packet: Packet) {
        self.out.send(self.now, packet);
    }
}

impl Sender {
    /// A closed connection of `flow`; `phase` is where in its tick the clock stands at time 0. Statistics count from `count_from` on.
    pub fn new(flow: u32, incarnation: u16, phase: Duration, count_from: Time, params: &TcpParams) -> Result<Self, sojourn_cc::ParamError> {
        let window = if params.handshake == Handshake::None { params.initial_window } else { 1.0 };
        let mut cc = params.control.build(Start { window, ssthresh: params.initial_ssthresh })?;
        if params.whole_windows {
            cc.use_whole_segments();
        }
        Ok(Sender {
            cc,
            rtt: RttEstimator::new(params),
            una: 0,
            next: 0,
            max: 0,
            limit: 0,
            recover: 0,
            timed: (0, Time::ZERO),
            deadline: Time::NEVER,
            armed: None,
            state: State::Closed,
            last: Action::None,
            dupacks: 0,
            inflation: 0,
            limited: 0,
            window: u16::MAX,
            flow,
            incarnation,
            reduced: false,
            mark_backoff: false,
            waits: false,
            partial_seen: false,
            after_timeout: false,
            closing: false,
            syns: 0,
            phase,
            last_sent: Time::ZERO,
            peer: Time::ZERO,
            inflight: params.inflight_limit.then(Box::default),
            board: (params.recovery == Recovery::Sack).then(Box::default),
            stats: SenderStats::default(),
            fresh_rtt: None,
            count_from,
        })
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> f64 {
        self.cc.cwnd()
    }

    /// The slow start threshold in segments.
    pub fn ssthresh(&self) -> f64 {
        self.cc.ssthresh()
    }

    /// One past the last byte that the application has handed over.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// What its controller reads delays from now, if it reads any.
    pub fn delay_source(&self) -> Option<Source> {
        self.cc.delay_source()
    }

    /// Bytes acknowledged.
    pub fn acked(&self) -> u64 {
        self.una
    }

    /// When its timer is due.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Which use of its slot this is.
    pub fn incarnation(&self) -> u16 {
        self.incarnation
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.board.as_ref().map_or(0, |board| board.memory()) + self.cc.memory()
    }

    pub(super) fn packet(&self, seq: u64, now: Time) -> Packet {
        Packet { seq, stamp: now, peer: self.peer, flow: self.flow, extra: 0, size: 0, flags: 0, window: 0, incarnation: self.incarnation }
    }

    /// An ACK arrives with its SACK blocks.
    #[inline]
    pub fn on_ack<O: Outlet>(&mut self, ack: &Packet, blocks: Option<SackBlocks>, call: &mut Call<O>) -> Progress {
        if call.params.timestamps {
            self.peer = self.peer.max(ack.peer);
        }
        if ack.has(flag::SYN) {
            self.on_syn_ack(ack, call);
            return Progress::Going;
        }
        if !matches!(self.state, State::Open | State::Recovery) || ack.seq > self.max {
            return Progress::Going;
        }
        let echo = ack.has(flag::ECE) && call.params.ecn;
        if echo {
            self.on_echo(ack.seq, call);
        }
        let window = if ack.seq < self.una { self.window } else { std::mem::replace(&mut self.window, ack.window) };
        if window != self.window && ack.seq == self.una && blocks.is_none() {
            // Tells of the window alone: no duplicate ACK (RFC 5681 section 2).
            self.on_window_update(call);
            return Progress::Going;
        }
        match call.params.recovery {
            Recovery::Reno | Recovery::NewReno => self.recover_by_dupacks(ack, echo, call),
            Recovery::Sack => match call.params.sack_algorithm {
                SackAlgorithm::Rfc6675 => self.recover_by_board(ack, blocks, echo, call),
                SackAlgorithm::Ns2Sack1 => self.recover_by_pipe(ack, blocks, echo, call),
                SackAlgorithm::RateHalving => self.recover_by_halving(ack, blocks, echo, call),
            },
        }
        if self.closing && self.una >= self.limit {
            self.state = State::Done;
            self.deadline = Time::NEVER;
            if call.params.handshake == Handshake::ThreeWay {
                call.send(Packet { size: call.params.header as u16, flags: flag::ACK, ..self.packet(self.max, call.now) });
            }
            return Progress::Complete;
        }
        self.mind_closed_window(call);
        Progress::Going
    }

    /// A congestion mark is echoed: cut once a window (RFC 3168 section 6.1.2).
    fn on_echo<O: Outlet>(&mut self, ack: u64, call: &mut Call<O>) {
        if ack <= self.recover && self.recover != 0 && (call.params.ignore_ece_after_timeout || self.last != Action::Timeout) {
            return;
        }
        self.recover = self.max;
        self.last = Action::Mark;
        if self.cc.cwnd() <= 1.0 && call.params.ecn_backoff {
            if self.mark_backoff {
                self.rtt.back_off(call.params);
            }
            self.mark_backoff = true;
        } else {
            self.mark_backoff = false;
        }
        let window = self.window_in_use(call.params);
        // ns-2 halves any window and waits with less than a segment; RFC 3168 waits where there is one segment.
        self.waits = if call.params.ecn_cwnd_floor { self.cc.cwnd() <= 1.0 } else { window < 2.0 };
        self.cc.on_congestion(&CongestionEvent { now: call.now, window, signal: Signal::Mark });
        if self.waits && !call.params.ecn_cwnd_floor {
            self.cc.set_cwnd(window / 2.0);
        }
        self.reduced = true;
        if call.now >= self.count_from {
            self.stats.mark_cuts += 1;
        }
    }

    /// The window that a cut starts from.
    pub(super) fn window_in_use(&self, params: &TcpParams) -> f64 {
        match params.basis {
            WindowBasis::Cwnd => (self.cc.cwnd() + f64::from(self.inflation)).min(f64::from(self.receive_window(params))),
            WindowBasis::FlightSize => (self.max - self.una).saturating_sub(self.limited) as f64 / f64::from(params.mss),
        }
    }

    pub(super) fn receive_window(&self, params: &TcpParams) -> u32 {
        if self.window == u16::MAX { params.window } else { params.window.min(u32::from(self.window)) }
    }

    /// The receive window, and the stack's own limit where it has one.
    pub(super) fn bound(&self, params: &TcpParams) -> u32 {
        let window = self.receive_window(params);
        self.inflight.as_ref().map_or(window, |inflight| window.min(inflight.segments(params.mss)))
    }

    /// New data is acknowledged outside recovery: advance, sample, restart the timer.
    #[inline]
    pub(super) fn advance<O: Outlet>(&mut self, ack: &Packet, echo: bool, call: &mut Call<O>) {
        self.dupacks = 0;
        self.limited = 0;
        self.after_timeout = false;
        self.una = ack.seq;
        self.next = self.next.max(self.una);
        if call.params.timestamps {
            self.sample_rtt(call.now.since(ack.stamp), ack.stamp, call);
            if !(self.mark_backoff && echo) {
                self.rtt.end_backoff(call.params);
                self.mark_backoff = false;
            }
        } else if self.timed.0 != 0 && self.una >= self.timed.0 {
            let sent = self.timed.1;
            self.timed.0 = 0;
            if !(self.mark_backoff && echo) {
                self.rtt.end_backoff(call.params);
                self.mark_backoff = false;
            }
            self.sample_rtt(call.now.since(sent), sent, call);
        }
        if let Some(inflight) = &mut self.inflight {
            let rtt = (self.rtt.srtt(), self.rtt.variation(call.params));
            inflight.on_ack(call.now, self.una, rtt, call.params.tick, call.params.mss);
        }
        self.restart_timer(call);
    }

    /// Tells the controller of what an ACK brought; one that echoes a mark brings no growth.
    #[inline]
    pub(super) fn grow<O>(&mut self, ack: &Packet, was: u64, echo: bool, call: &Call<O>) {
        if !echo {
            self.mark_backoff = false;
            self.waits = false;
        }
        let params = call.params;
        let mss = f64::from(params.mss);
        let in_flight = (self.max - was) as i64 as f64 / mss;
        // Other ACKs echo what was echoed before (RFC 7323 section 4.1).
        let advances = self.una > was;
        let after_timeout = self.last == Action::Timeout && self.una < self.recover;
        let full = !params.growth_needs_limit || in_flight + 1.0 > self.cc.cwnd();
        self.cc.on_ack(&Ack {
            now: call.now,
            acked: (self.una - was) as i64 as f64 / mss,
            rtt: if params.timestamps { advances.then(|| call.now.since(ack.stamp)) } else { self.fresh_rtt },
            srtt: self.rtt.srtt(),
            rtt_min: self.rtt.min(),
            one_way_delay: (params.timestamps && advances).then(|| ack.peer.as_nanos() as i64 - ack.stamp.as_nanos() as i64),
            in_flight,
            cwnd_limited: full && !echo,
            in_recovery: self.state == State::Recovery,
            after_timeout,
            abc_limit: Self::abc_limit(params, after_timeout),
            snd_una: self.una,
            snd_max: self.max,
        });
    }

    /// How many segments an ACK may count for in slow start: after a timeout one, until what was sent before it has
    /// arrived (RFC 3465 section 2.3).
    fn abc_limit(params: &TcpParams, after_timeout: bool) -> f64 {
        if after_timeout { f64::from(params.abc.min(1)) } else { f64::from(params.abc) }
    }

    pub(super) fn sample_rtt<O>(&mut self, rtt: Duration, sent: Time, call: &Call<O>) {
        self.rtt.sample(rtt, sent, self.phase, call.params);
        self.fresh_rtt = Some(rtt);
        if call.now >= self.count_from {
            self.stats.rtt.add(rtt.as_secs_f64());
        }
    }

    /// Ends the timing of a segment: what is sent again can't be timed (Karn).
    pub(super) fn stop_timing(&mut self) {
        self.timed.0 = 0;
    }

    /// A partial ACK covered the timed segment: no sample, but the backoff ends (as in ns-2).
    pub(super) fn partial_covers_timed(&mut self, params: &TcpParams) {
        if self.timed.0 != 0 && self.una >= self.timed.0 {
            self.timed.0 = 0;
            self.rtt.end_backoff(params);
        }
    }

    #[inline]
    pub(super) fn restart_timer<O>(&mut self, call: &Call<O>) {
        let outstanding = self.next > self.una || self.una < self.max || self.waits;
        self.deadline = if outstanding { call.now + self.rtt.rto() } else { Time::NEVER };
    }

    pub(super) fn force_timer<O>(&mut self, call: &Call<O>) {
        self.deadline = call.now + self.rtt.rto();
    }

    pub(super) fn end_backoff(&mut self, params: &TcpParams) {
        self.rtt.end_backoff(params);
    }

    /// Sends the segment that starts at `seq`: a full one, or what is left.
    #[inline(never)]
    pub(super) fn emit<O: Outlet>(&mut self, seq: u64, call: &mut Call<O>) {
        self.output(seq, call);
    }

    /// The same, within the loop that sends a window.
    #[inline(always)]
    fn output<O: Outlet>(&mut self, seq: u64, call: &mut Call<O>) {
        let params = call.params;
        let length = u64::from(params.mss).min(self.limit - seq);
        let again = seq < self.max;
        if self.una == self.max || self.deadline == Time::NEVER {
            self.deadline = call.now + self.rtt.rto();
        }
        let end = seq + length;
        let mut flags = 0;
        if params.ecn && (!again || params.ecn_on_retransmit) {
            flags |= flag::ECT;
        }
        if self.reduced && params.ecn && (!again || params.ecn_on_retransmit) {
            flags |= flag::CWR;
            self.reduced = false;
        }
        if self.closing && end >= self.limit {
            flags |= flag::FIN;
        }
        let counts = call.now >= self.count_from;
        self.stats.sent += u64::from(counts);
        if again {
            flags |= flag::RETRANSMIT;
            self.stats.retransmitted += u64::from(counts);
        } else if self.timed.0 == 0 {
            self.timed = (end, call.now);
        }
        // What was short when first sent may have grown.
        self.max = self.max.max(end);
        self.last_sent = call.now;
        let hint = match params.rtt_hint {
            RttHint::Off => 0,
            RttHint::Smoothed => self.rtt.hint_ms(),
            RttHint::Claimed(ms) => ms,
        };
        let size = (params.header as u64 + length) as u16;
        call.send(Packet { size, flags, extra: u32::from(hint), ..self.packet(seq, call.now) });
    }

    /// Sends what the window allows from `next` on; at most `burst` segments unless 0.
    #[inline]
    pub(super) fn send_new<O: Outlet>(&mut self, burst: u32, call: &mut Call<O>) {
        if self.waits {
            return;
        }
        let mss = u64::from(call.params.mss);
        let window = (u64::from(self.cc.cwnd() as u32) + u64::from(self.inflation)).min(u64::from(self.bound(call.params)));
        let edge = self.una.saturating_add(window.saturating_mul(mss));
        let mut sent = 0;
        while self.next < self.limit {
            if let Some(board) = &self.board
                && !board.is_empty()
            {
                self.next = board.gap_from(self.next);
                if self.next >= self.limit {
                    break;
                }
            }
            if self.next + mss.min(self.limit - self.next) > edge {
                break;
            }
            self.output(self.next, call);
            self.next += mss.min(self.limit - self.next);
            sent += 1;
            if sent == burst {
                break;
            }
        }
    }

    /// One new segment on an early duplicate ACK (RFC 3042).
    pub(super) fn limited_transmit<O: Outlet>(&mut self, call: &mut Call<O>) {
        let mss = u64::from(call.params.mss);
        let allowed = (self.cc.cwnd() + f64::from(self.dupacks)) * mss as f64;
        if self.waits || (call.params.limited_transmit_new_data_only && self.next < self.max) {
            return;
        }
        let length = mss.min(self.limit.saturating_sub(self.next));
        let end = self.next + length - self.una;
        let fits = end <= u64::from(self.bound(call.params)) * mss && end as f64 <= allowed;
        if length > 0 && fits {
            self.emit(self.next, call);
            self.next += length;
            self.limited += length;
        }
    }

    /// Cuts the window for a loss and enters recovery.
    pub(super) fn enter_recovery<O: Outlet>(&mut self, call: &mut Call<O>) {
        self.recover = self.max;
        self.last = Action::FastRetransmit;
        self.state = State::Recovery;
        self.partial_seen = false;
        let window = self.window_in_use(call.params);
        self.cc.on_congestion(&CongestionEvent { now: call.now, window, signal: Signal::Loss });
        if call.params.loss_cwnd_floor {
            self.cc.set_cwnd(self.cc.cwnd().max(2.0));
        }
        self.limited = 0;
        self.reduced = true;
        if call.now >= self.count_from {
            self.stats.fast_retransmits += 1;
        }
    }

    /// Whether the loss told of by duplicate ACKs lies beyond the last window that was cut for one.
    pub(super) fn beyond_recover(&self) -> bool {
        self.una > self.recover || self.recover == 0 || self.una == 0
    }
}
