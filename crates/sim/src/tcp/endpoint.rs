//! The sending endpoint of a connection, as the host sees it.
//! It handles ACKs, data from the application and the expiry of the timer. [`SenderCore`] holds its state; the recovery strategy
//! ([`AnyRecovery`]) finds losses and repairs them.

use super::ack_options::AckOptions;
use super::call::{Call, SegmentSink};
use super::recovery::{AnyRecovery, LossRecovery};
use super::sender::{Before, Origin, SenderCore, SenderStats};
use crate::packet::{Packet, flag};
use sojourn_cc::{AnyController, CongestionController, LossState, ParamError, Source};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Memory, Stream, Time, memory_of};

/// The result of an ACK, for the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The connection continues.
    Going,
    /// Every byte of a finite transfer is acknowledged.
    Complete,
}

/// The sending endpoint of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    core: SenderCore,
    recovery: AnyRecovery,
    /// The time of this sender's pending timer event, or never.
    pub armed: Time,
}

impl Sender {
    /// A closed connection.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(origin: Origin, params: &TcpOptions) -> Result<Self, ParamError> {
        Ok(Sender { core: SenderCore::new(origin, params)?, recovery: AnyRecovery::new(params), armed: Time::NEVER })
    }

    /// The sender of the next connection of the same flow.
    /// It keeps the counters and the pending timer event.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub(crate) fn reopened(&self, clock_phase: Duration, params: &TcpOptions) -> Result<Self, ParamError> {
        let core = self.core.reopened(clock_phase, params)?;
        Ok(Sender { core, recovery: AnyRecovery::new(params), armed: self.armed })
    }

    /// Whether its congestion controller draws at random.
    pub fn draws(&self) -> bool {
        self.core.controller().needs().random
    }

    /// Sets the random stream of the congestion controller, if that draws at random.
    #[must_use]
    pub(crate) fn drawing(mut self, random: impl FnOnce() -> Stream) -> Self {
        if self.draws() {
            self.core.use_random(random());
        }
        self
    }

    /// The congestion window in segments.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.core.cwnd()
    }

    /// The slow-start threshold in segments.
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.core.ssthresh()
    }

    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        self.core.controller()
    }

    /// Segments in flight.
    /// If the sender takes rate samples, those known to have arrived or to be lost are not counted.
    pub fn in_flight(&self, options: &TcpOptions) -> f64 {
        self.core.in_flight(options)
    }

    /// The state of loss recovery.
    pub fn loss_state(&self) -> LossState {
        self.recovery.loss_state(&self.core)
    }

    /// The pace in segments a second; `None` without one.
    pub fn pacing_rate(&self, options: &TcpOptions) -> Option<f64> {
        self.core.pacing_rate(options)
    }

    /// The source of the congestion controller's delays at present; `None` if it uses none.
    pub fn delay_source(&self) -> Option<Source> {
        self.core.delay_source()
    }

    /// The time at which its timer expires or its pace releases a segment.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.core.deadline()
    }

    /// The offset of its clock within a tick at time 0.
    pub(crate) fn clock_phase(&self) -> Duration {
        self.core.clock_phase()
    }

    /// The number of the connection within its flow.
    pub fn incarnation(&self) -> u16 {
        self.core.incarnation()
    }

    /// Its counters.
    pub fn stats(&self) -> &SenderStats {
        self.core.stats()
    }

    /// Whether it has data to send or data that is not acknowledged.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.core.is_active()
    }

    /// The application writes `bytes` more; `None` is data without end.
    /// With `last`, these are its last.
    pub fn write<O: SegmentSink>(&mut self, bytes: Option<u64>, last: bool, call: &mut Call<O>) {
        let before = self.core.before();
        if self.core.write(bytes, last, call) {
            self.recovery.send_window(&mut self.core, call);
            self.core.start_persist_timer(call);
        }
        self.predict();
        self.check(&before, call);
    }

    /// Checks the invariants after each call, in debug builds.
    #[inline(always)]
    fn check<O>(&self, before: &Before, call: &Call<O>) {
        if cfg!(debug_assertions) {
            self.core.check_invariants(before, call.now);
            self.recovery.check_invariants(&self.core);
            if matches!(self.recovery, AnyRecovery::Reno(_) | AnyRecovery::NewReno(_) | AnyRecovery::Tahoe(_)) {
                self.core.check_window(before, self.recovery.inflation(), call.params.mss);
            }
        }
    }

    /// The application stops; what was sent is still delivered.
    pub fn stop(&mut self) {
        self.core.stop();
    }

    /// Whether this ACK may take the fast path, and the timer does not expire before `now`.
    #[inline]
    pub(crate) fn takes_fast_path(&self, now: Time, ack: &Packet) -> bool {
        self.core.is_predicted(ack) && self.core.timer() >= now
    }

    /// The expiry time of the timer of a sender without pacing.
    #[inline]
    pub fn timer(&self) -> Time {
        self.core.timer()
    }

    /// Handles an ACK on the fast path.
    /// Returns the end of the window if the caller must call [`Sender::go_on_sending`].
    #[inline]
    pub(crate) fn on_ack_fast_path<O: SegmentSink>(&mut self, ack: &Packet, call: &mut Call<O>) -> Option<u64> {
        let before = self.core.before();
        let end = self.core.on_predicted_ack(ack, call);
        self.check(&before, call);
        end
    }

    /// Sends the rest of the window after an ACK on the fast path, up to its `end`.
    #[inline(never)]
    pub(crate) fn go_on_sending<O: SegmentSink>(&mut self, end: u64, call: &mut Call<O>) {
        let before = self.core.before();
        if self.core.send_full_segments(end, call) {
            self.recovery.go_on_sending(&mut self.core, call);
        }
        self.check(&before, call);
    }

    /// Handles an ACK of any kind, with its options.
    #[inline]
    pub fn on_ack<O: SegmentSink>(&mut self, ack: &Packet, options: &AckOptions, call: &mut Call<O>) -> Progress {
        let before = self.core.before();
        let progress = self.on_ack_slow_path(ack, options, call);
        self.predict();
        self.check(&before, call);
        progress
    }

    /// Determines whether the next ACK may take the fast path.
    /// Called after everything but an ACK on the fast path.
    #[inline]
    fn predict(&mut self) {
        self.core.predict(self.recovery.is_quiet());
    }

    /// Handles an ACK of any kind on the slow path.
    #[inline(never)]
    fn on_ack_slow_path<O: SegmentSink>(&mut self, ack: &Packet, options: &AckOptions, call: &mut Call<O>) -> Progress {
        let core = &mut self.core;
        core.read_timestamp(ack, call.params);
        if ack.has(flag::CE) {
            core.on_mark();
        }
        if ack.has(flag::SYN) {
            if core.on_syn_ack(ack, options, call) {
                self.recovery.send_window(core, call);
            }
            return Progress::Going;
        }
        if !core.is_acceptable(ack) {
            return Progress::Going;
        }
        let reports_itself = self.recovery.reports_itself();
        let mut digest = core.digest(ack).with(options);
        if !reports_itself {
            digest.ece |= core.tracks() && core.track_ack(&digest, call);
            core.tell_sample(call);
            if digest.ece {
                core.on_ece(ack.seq, self.recovery.inflation(), call);
            }
        }
        if core.read_window(ack) && ack.seq == core.snd_una() && options.sack.is_none() {
            // It only changes the receive window, so it is not a duplicate ACK (rfc5681#2).
            if reports_itself && core.tracks() {
                core.track_ack(&digest, call);
            }
            core.tell_sample(call);
            self.on_window_update(call);
            return Progress::Going;
        }
        self.recovery.on_ack(core, &digest, call);
        if core.is_complete() {
            core.finish(call);
            return Progress::Complete;
        }
        if core.tracks() {
            core.tell_sample(call);
            core.track_window(call.params);
        }
        core.start_persist_timer(call);
        Progress::Going
    }

    #[cold]
    fn on_window_update<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        self.core.stop_persist_timer(call);
        self.core.restart_after_idle(call);
        self.recovery.on_window_update(&mut self.core, call);
        self.core.start_persist_timer(call);
    }

    /// The timer expires at `call.now`; a timer that was restarted since does nothing.
    pub fn on_timer<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        let before = self.core.before();
        self.on_expiry(call);
        self.check(&before, call);
    }

    fn on_expiry<O: SegmentSink>(&mut self, call: &mut Call<O>) {
        if self.core.take_pace_due(call.now) {
            self.recovery.go_on_sending(&mut self.core, call);
            self.core.track_window(call.params);
        }
        if call.now >= self.core.timer() {
            self.recovery.on_timer(&mut self.core, call);
            self.predict();
        }
    }
}

impl Memory for Sender {
    fn memory(&self) -> usize {
        memory_of([&self.recovery, &self.core])
    }
}
