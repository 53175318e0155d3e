//! The core of every sender: sequence numbers, windows, timer and congestion controller.
//!
//! The fields are private to this folder. Each file below adds the methods of one concern: `connection.rs` (handshake, writes, timer),
//! `output.rs` (sending), `congestion.rs` (windows and reductions), `timing.rs` (RTT samples), `prediction.rs` (the fast path of ACKs),
//! `strategy.rs` (for strategies that store the outstanding segments themselves), `path.rs` and `tracking.rs` (pacing, delivery-rate
//! samples, counts of marks). Recovery strategies and [`Sender`](super::Sender) use these methods alone.

mod congestion;
mod connection;
mod increase_limit;
mod inflight;
mod invariants;
mod output;
mod path;
mod prediction;
mod rto;
mod strategy;
mod timing;
mod tracking;

use crate::packet::{Packet, flag};
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use increase_limit::IncreaseLimit;
use inflight::InflightLimit;
use path::Path;
use rto::RttEstimator;
use sojourn_cc::{AnyController, Arithmetic, CongestionController, Event, ParamError, Source, Start};
use sojourn_net::Moments;
use sojourn_spec::tcp::{Ecn, Handshake, TcpOptions};
use sojourn_units::{Duration, Memory, Plain, Stream, Time, memory_of};

pub use congestion::RecoveryEntry;
pub use connection::Expiry;
pub use invariants::Before;
pub use output::SendLimits;

/// The state of a connection (rfc9293#3.3.2; recovery is a state of its own here).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    SynSent,
    Established,
    /// Established, and losses are being repaired.
    Recovery,
    /// Everything that the application wrote is acknowledged.
    Finished,
}

/// The cause of the last reduction of the congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LastReduction {
    None,
    FastRetransmit,
    Timeout,
    Ecn,
}

/// One segment per round trip whose RTT is measured without timestamps (rfc6298#3).
#[derive(Clone, Copy, Debug)]
struct TimedSegment {
    /// One past its last byte; 0 if none is being timed.
    end: u64,
    sent: Time,
}

impl TimedSegment {
    const NONE: TimedSegment = TimedSegment { end: 0, sent: Time::ZERO };
}

/// Counters of a sender, after the warm-up.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct SenderStats {
    /// Data segments sent, retransmissions too.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Fast retransmits.
    pub fast_retransmits: u32,
    /// Window reductions for ECN echoes.
    pub mark_cuts: u32,
    /// RTT samples in seconds.
    pub rtt: Moments,
}

/// Limits of a sender in addition to its windows; each is optional.
#[derive(Clone, Debug)]
struct Limits {
    /// Limits the data in flight by a measured bandwidth-delay product.
    inflight: Option<InflightLimit>,
    /// Limits the growth of the window by the data that was in flight.
    increase: Option<IncreaseLimit>,
}

impl Limits {
    fn new(cc: &AnyController, params: &TcpOptions) -> Option<Box<Limits>> {
        let limits = Limits { inflight: params.inflight_limit.then(InflightLimit::default), increase: IncreaseLimit::new(cc, params) };
        (limits.inflight.is_some() || limits.increase.is_some()).then(|| Box::new(limits))
    }
}

/// The core of every sender, under any recovery strategy.
/// Sequence numbers count bytes (rfc9293#3.3.1).
#[derive(Clone, Debug)]
pub struct SenderCore {
    /// The first unacknowledged byte.
    snd_una: u64,
    /// The next byte to send; below `snd_max` after a timeout.
    snd_nxt: u64,
    /// One past the highest byte sent.
    snd_max: u64,
    /// One past the last byte that the application has written.
    write_end: u64,
    /// The receive window in segments as last advertised; `u16::MAX` is unlimited.
    rwnd: u16,
    /// Whether the application has written its last byte.
    write_closed: bool,
    state: State,
    /// Whether the next ACK of new data may take the fast path (`prediction.rs`).
    /// `shortcuts` is whether there are fast paths at all.
    predictable: bool,
    shortcuts: bool,
    last_reduction: LastReduction,
    /// `snd_max` at the last reduction: data below was sent before it (rfc6582#3.2).
    recover: u64,
    cc: AnyController,
    rtt: RttEstimator,
    limits: Option<Box<Limits>>,
    /// Bytes sent by limited transmit since new data was acknowledged.
    /// They do not count as in flight (rfc5681#3.2).
    limited_transmit_bytes: u32,
    /// No new data was acknowledged since the last timeout.
    after_timeout: bool,
    /// The next data segment carries CWR (rfc3168#6.1.2).
    cwr_pending: bool,
    /// The last ECN echo arrived at a window of one segment.
    ecn_at_one_segment: bool,
    /// An ECN echo arrived at a window too small to halve.
    /// Nothing is sent until the timer expires (rfc3168#6.1.2).
    wait_for_rto: bool,
    /// The segment whose RTT is being measured, if timestamps are off.
    timed: TimedSegment,
    /// The time at which the retransmission or persist timer expires.
    timer: Time,
    last_sent: Time,
    /// The receiver's latest timestamp, which data segments echo (rfc7323#4.3 TS.Recent).
    /// 0 without timestamps.
    ts_recent: Time,
    /// The offset of the sender's clock within a tick at time 0.
    clock_phase: Duration,
    /// Present if the sender paces, samples the delivery rate or counts marks.
    path: Option<Box<Path>>,
    /// The ECN mode that both hosts agreed on.
    ecn: Ecn,
    /// Whether the unmarked part of an ACK with marks opens the window.
    /// The controller decides.
    grows_on_marks: bool,
    syns_sent: u8,
    flow: u32,
    incarnation: u16,
    stats: SenderStats,
}

/// The configuration of a new sender.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Its flow.
    pub flow: u32,
    /// The number of the connection within its flow.
    pub incarnation: u16,
    /// The offset of its clock within a tick at time 0.
    pub clock_phase: Duration,
    /// Whether plain ACKs take a fast path, which changes only the speed.
    pub predicts: bool,
}

impl SenderCore {
    /// A closed connection.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(origin: Origin, params: &TcpOptions) -> Result<Self, ParamError> {
        let window = if params.handshake == Handshake::None { params.initial_window } else { 1.0 };
        let arithmetic = match params {
            TcpOptions { linux_growth: true, .. } => Arithmetic::Linux,
            TcpOptions { whole_windows: true, .. } => Arithmetic::Whole,
            _ => Arithmetic::Fractions,
        };
        let ecn = params.agreed_ecn();
        let (ssthresh, pacing, start_up) = (params.initial_ssthresh, params.pacing, params.start_up);
        let cc = params.control.build(Start { window, ssthresh, arithmetic, pacing, ecn: ecn.feedback(), start_up })?;
        let path = Path::new(&cc, params, ecn);
        let limits = Limits::new(&cc, params);
        Ok(SenderCore {
            shortcuts: origin.predicts,
            limits,
            path,
            ecn,
            grows_on_marks: ecn.counts() && cc.needs().grows_on_marks,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            write_end: 0,
            rwnd: u16::MAX,
            write_closed: false,
            state: State::Closed,
            predictable: false,
            last_reduction: LastReduction::None,
            recover: 0,
            cc,
            rtt: RttEstimator::new(params),
            limited_transmit_bytes: 0,
            after_timeout: false,
            cwr_pending: false,
            ecn_at_one_segment: false,
            wait_for_rto: false,
            timed: TimedSegment::NONE,
            timer: Time::NEVER,
            last_sent: Time::ZERO,
            ts_recent: Time::ZERO,
            clock_phase: origin.clock_phase,
            syns_sent: 0,
            flow: origin.flow,
            incarnation: origin.incarnation,
            stats: SenderStats::default(),
        })
    }

    /// The core of the next connection of the same flow, which keeps the counters.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn reopened(&self, clock_phase: Duration, params: &TcpOptions) -> Result<Self, ParamError> {
        let incarnation = self.incarnation.wrapping_add(1);
        let origin = Origin { flow: self.flow, incarnation, clock_phase, predicts: self.shortcuts };
        Ok(SenderCore { stats: self.stats, ..SenderCore::new(origin, params)? })
    }

    /// Gives the congestion controller its random stream.
    pub fn use_random(&mut self, random: Stream) {
        self.cc.on_event(&Event::Random(random));
    }

    /// The offset of its clock within a tick at time 0.
    pub fn clock_phase(&self) -> Duration {
        self.clock_phase
    }

    /// The time at which its timer expires.
    #[inline]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// The time at which its timer expires or pacing releases the next segment.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.path.as_ref().map_or(self.timer, |path| self.timer.min(path.pace_due))
    }

    /// Whether it paces, samples the delivery rate or counts marks.
    #[inline]
    pub fn tracks(&self) -> bool {
        self.path.is_some()
    }

    /// The number of the connection within its flow.
    #[inline]
    pub fn incarnation(&self) -> u16 {
        self.incarnation
    }

    /// Its counters.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The source of the congestion controller's delays at present; `None` if it uses none.
    pub fn delay_source(&self) -> Option<Source> {
        self.cc.needs().delays
    }

    /// Whether it has data to send or data that is not acknowledged.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.snd_una < self.write_end && self.state != State::Finished
    }

    /// The first unacknowledged byte.
    #[inline]
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// The next byte to send.
    #[inline]
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// One past the highest byte sent.
    #[inline]
    pub fn snd_max(&self) -> u64 {
        self.snd_max
    }

    /// The recovery point: `snd_max` at the last reduction; 0 before the first one.
    #[inline]
    pub fn recover(&self) -> u64 {
        self.recover
    }

    /// Whether losses are being repaired.
    #[inline]
    pub fn in_recovery(&self) -> bool {
        self.state == State::Recovery
    }

    /// Whether no new data was acknowledged since the last timeout.
    #[inline]
    pub fn after_timeout(&self) -> bool {
        self.after_timeout
    }

    /// Records the receiver's timestamp of an ACK (rfc7323#4.3).
    #[inline]
    pub fn read_timestamp(&mut self, ack: &Packet, params: &TcpOptions) {
        if params.timestamps {
            self.ts_recent = self.ts_recent.max(ack.peer);
        }
    }

    /// Records the receive window of an ACK that is not old (rfc9293#3.10.7.4).
    /// Returns whether it changed.
    #[inline]
    pub fn read_window(&mut self, ack: &Packet) -> bool {
        ack.seq >= self.snd_una && std::mem::replace(&mut self.rwnd, ack.window) != ack.window
    }

    /// Whether the connection is established and the ACK acknowledges only sent data.
    /// Source: rfc9293#3.10.7.4.
    #[inline]
    pub fn is_acceptable(&self, ack: &Packet) -> bool {
        matches!(self.state, State::Established | State::Recovery) && ack.seq <= self.snd_max
    }

    /// The content of this ACK for this sender, except its options.
    #[inline]
    pub fn digest<'a>(&self, ack: &'a Packet) -> AckDigest<'a> {
        let (ece, full) = (ack.has(flag::ECE) && self.ecn.is_on(), ack.seq >= self.recover);
        AckDigest { outstanding: self.snd_una < self.snd_max, ece, full, ..AckDigest::plain(ack, self.snd_una) }
    }

    /// Whether the application has closed and all its data is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.write_closed && self.snd_una >= self.write_end
    }

    /// Processes an ACK of new data outside recovery: samples the RTT and restarts the timer.
    #[inline]
    pub fn accept_ack<O: SegmentSink>(&mut self, ack: &AckDigest, call: &mut Call<O>) {
        self.limited_transmit_bytes = 0;
        self.after_timeout = false;
        self.accept_partial_ack(ack);
        self.sample_rtt_of_new_data(ack, call);
        if let Some(Limits { inflight: Some(limit), .. }) = self.limits.as_deref_mut() {
            limit.on_ack(call.now, self.snd_una, &self.rtt, call.params);
        }
        self.restart_timer(call);
    }

    /// Processes an ACK of new data within recovery: only moves `snd_una`.
    #[inline]
    pub fn accept_partial_ack(&mut self, ack: &AckDigest) {
        debug_assert!((self.snd_una..=self.snd_max).contains(&ack.packet.seq), "an old ACK, or one of what was not sent");
        self.snd_una = ack.packet.seq;
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
    }
}

impl Memory for SenderCore {
    fn memory(&self) -> usize {
        self.cc.memory() + memory_of([&Plain(&self.limits), &self.path])
    }
}
