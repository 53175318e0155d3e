//! The interface of a sender to its congestion controller: windows, ACKs and reductions.

use super::{LastReduction, Limits, SenderCore, State};
use crate::tcp::ack::{AckDigest, Delivered};
use crate::tcp::call::Call;
use sojourn_cc::{Ack, AnyController, CongestionController, CongestionEvent, Event, Signal, Window};
use sojourn_spec::tcp::{Ecn, TcpOptions, WindowBasis};
use sojourn_units::Time;

/// The start of recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryEntry {
    /// Recovery did not start: the loss belongs to a window that was reduced before.
    Refused,
    /// The window was reduced.
    Reduced,
    /// Recovery started without a second reduction, because of an earlier one for an ECN echo.
    ReducedForEcn,
}

impl SenderCore {
    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        &self.cc
    }

    /// The congestion window in segments.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.cc.cwnd()
    }

    /// The slow-start threshold in segments.
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.cc.ssthresh()
    }

    /// Handles a loss in a reduction for marks.
    /// Returns the new target of the window in segments, if the loss changes it.
    pub fn lower_target(&mut self) -> Option<f64> {
        let before = self.cc.ssthresh();
        self.cc.on_event(&Event::LossInReduction { in_use: self.cc.cwnd() });
        Some(self.cc.ssthresh()).filter(|&target| target != before)
    }

    /// The smallest window that rate halving may reach, in segments.
    pub fn min_cwnd(&self) -> f64 {
        Window { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() }.least(self.cc.needs().floor)
    }

    /// Sets the congestion window, in segments, unless the controller owns it.
    pub fn set_cwnd(&mut self, cwnd: f64) {
        if !self.owns_window() {
            self.cc.set_cwnd(cwnd);
        }
    }

    /// The window from which a reduction starts, in segments.
    /// `inflation` is that of fast recovery.
    fn window_in_use(&self, inflation: u32, params: &TcpOptions) -> f64 {
        match params.basis {
            WindowBasis::Cwnd => (self.cc.cwnd() + f64::from(inflation)).min(f64::from(self.receive_window(params))),
            WindowBasis::FlightSize => {
                let flight_size = (self.snd_max - self.snd_una).saturating_sub(u64::from(self.limited_transmit_bytes));
                (flight_size as f64 / f64::from(params.mss)).min(self.cc.cwnd())
            }
        }
    }

    #[inline]
    pub(super) fn receive_window(&self, params: &TcpOptions) -> u32 {
        if self.rwnd == u16::MAX { params.window } else { params.window.min(u32::from(self.rwnd)) }
    }

    /// The smaller of the receive window and the stack's own limit, in segments.
    #[inline]
    pub(super) fn send_limit(&self, params: &TcpOptions) -> u32 {
        let window = self.receive_window(params);
        let limit = self.limits.as_ref().and_then(|limits| limits.inflight.as_ref());
        limit.map_or(window, |limit| window.min(limit.segments(params.mss)))
    }

    /// Whether the growth of the window is limited by the data in flight.
    #[inline]
    fn limits_increase(&self) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.increase.is_some())
    }

    /// Reports an ACK to the controller.
    /// An ACK with an ECN echo does not open the window (rfc3168#6.1.2).
    #[inline(never)]
    pub fn grow<O>(&mut self, ack: &AckDigest, call: &Call<O>) {
        if !ack.ece {
            self.ecn_at_one_segment = false;
            self.wait_for_rto = false;
        }
        self.report(&self.delivered_by(ack, self.state == State::Recovery, call), call);
    }

    /// The data that an ACK delivered, by bytes, if the recovery strategy counts no segments.
    #[inline(always)]
    pub(super) fn delivered_by<O>(&self, ack: &AckDigest, in_recovery: bool, call: &Call<O>) -> Delivered {
        let params = call.params;
        let segments = |bytes: u64| bytes as i64 as f64 / f64::from(params.mss);
        let (in_flight, acked) = (segments(self.snd_max - ack.prior_una), segments(self.snd_una - ack.prior_una));
        let after_timeout = self.last_reduction == LastReduction::Timeout && self.snd_una < self.recover;
        let cwnd_limited = !params.growth_needs_limit || in_flight + 1.0 > self.cc.cwnd() || self.limits_increase();
        Delivered {
            acked,
            advanced: acked,
            in_flight,
            rtt: if params.timestamps { ack.advances().then(|| call.now.since(ack.packet.stamp)) } else { call.rtt_sample },
            one_way_delay: ack.one_way_delay(params.timestamps),
            cwnd_limited: cwnd_limited && (!ack.ece || self.grows_on_marks),
            in_recovery,
            after_timeout,
            open: !in_recovery && !after_timeout,
            abc_limit: abc_limit(params, after_timeout),
            ece: ack.ece,
        }
    }

    /// Reports the delivery of an ACK to the controller.
    pub fn report<O>(&mut self, delivered: &Delivered, call: &Call<O>) {
        if let Some(Limits { increase: Some(limit), .. }) = self.limits.as_deref_mut() {
            limit.on_flight(delivered.in_flight, &self.cc);
        }
        let ack = self.ack_for_controller(delivered, call.now);
        self.cc.on_ack(&ack);
        if let Some(Limits { increase: Some(limit), .. }) = self.limits.as_deref_mut().filter(|_| !delivered.in_recovery) {
            limit.cap(&mut self.cc, call.now);
        }
    }

    /// The delivery of an ACK as the controller sees it.
    #[inline(always)]
    pub(super) fn ack_for_controller(&self, delivered: &Delivered, now: Time) -> Ack {
        let Delivered { acked, advanced, in_flight, rtt, one_way_delay, cwnd_limited, .. } = *delivered;
        let Delivered { in_recovery, after_timeout, open, abc_limit, ece, .. } = *delivered;
        let marked = if self.ecn.counts() { self.marked_of(ece, acked) } else { 0.0 };
        let (srtt, rtt_min, snd_una, snd_max) = (self.rtt.srtt(), self.rtt.min(), self.snd_una, self.snd_max);
        Ack {
            now,
            acked,
            advanced,
            rtt,
            srtt,
            rtt_min,
            one_way_delay,
            in_flight,
            cwnd_limited,
            in_recovery,
            after_timeout,
            open,
            abc_limit,
            snd_una,
            snd_max,
            marked,
        }
    }

    /// The number of segments that an ACK reports as marked.
    /// Without a count of packets, it is all segments that the ACK acknowledges (rfc8257#3.3).
    fn marked_of(&self, ece: bool, acked: f64) -> f64 {
        match self.ecn {
            Ecn::Dctcp if ece => acked,
            Ecn::Dctcp => 0.0,
            _ => self.path.as_ref().map_or(0.0, |path| path.marked),
        }
    }

    /// Whether duplicate ACKs may reduce the window again.
    /// The lost data must have been sent after the last reduction, unless an option allows several a window.
    /// Source: rfc6582#3.2 step 1, ns-2 `bugFix_`.
    pub fn may_reduce_again(&self, params: &TcpOptions) -> bool {
        self.snd_una > self.recover || self.recover == 0 || self.snd_una == 0 || !params.avoid_multiple_fast_retransmits
    }

    /// Begins recovery after duplicate ACKs or SACK blocks that indicate a loss.
    /// With `new_window` the lost data was sent after the last reduction, so the window is reduced.
    pub fn enter_recovery<O>(&mut self, new_window: bool, call: &Call<O>) -> RecoveryEntry {
        if new_window {
            self.reduce_for_loss(call);
            RecoveryEntry::Reduced
        } else if self.last_reduction == LastReduction::Ecn {
            self.last_reduction = LastReduction::FastRetransmit;
            self.state = State::Recovery;
            self.limited_transmit_bytes = 0;
            if call.params.update_recover_after_ecn {
                self.recover = self.snd_max;
            }
            RecoveryEntry::ReducedForEcn
        } else {
            RecoveryEntry::Refused
        }
    }

    /// Reduces the window for a loss and begins recovery (rfc5681#3.2 step 2).
    fn reduce_for_loss<O>(&mut self, call: &Call<O>) {
        self.recover = self.snd_max;
        self.last_reduction = LastReduction::FastRetransmit;
        self.state = State::Recovery;
        let window = self.window_in_use(0, call.params);
        self.cc.on_congestion(&CongestionEvent { now: call.now, window, signal: Signal::Loss });
        if call.params.loss_cwnd_floor {
            self.cc.set_cwnd(self.cc.cwnd().max(2.0));
        }
        self.limited_transmit_bytes = 0;
        self.cwr_pending = true;
        if call.counts() {
            self.stats.fast_retransmits += 1;
        }
    }

    /// Ends recovery, if the sender is in recovery.
    #[inline]
    pub fn exit_recovery(&mut self) {
        if self.state == State::Recovery {
            self.cc.on_event(&Event::ReductionEnd);
        }
        self.state = State::Established;
    }

    /// Clears the recovery point of the last reduction: any later loss reduces the window.
    /// Source: ns-2 `tcp-sack1.cc`.
    pub fn forget_recover(&mut self) {
        self.recover = 0;
    }

    /// Whether sending must wait for the timer: an ECN echo left too small a window.
    /// Source: rfc3168#6.1.2.
    #[inline]
    pub(super) fn waits_for_rto(&self) -> bool {
        self.wait_for_rto || self.cc.cwnd() < 1.0
    }

    /// Handles an ECN echo in an ACK of everything before `ack`.
    /// It reduces the window, at most once a window (rfc3168#6.1.2).
    pub fn on_ece<O>(&mut self, ack: u64, inflation: u32, call: &Call<O>) {
        let params = call.params;
        let counts_timeout = params.ignore_ece_after_timeout || self.last_reduction != LastReduction::Timeout;
        if ack <= self.recover && self.recover != 0 && counts_timeout {
            return;
        }
        self.recover = self.snd_max;
        self.last_reduction = LastReduction::Ecn;
        let at_one_segment = self.cc.cwnd() <= 1.0;
        let backs_off = at_one_segment && params.ecn_backoff;
        if backs_off && self.ecn_at_one_segment {
            self.rtt.back_off(params);
        }
        self.ecn_at_one_segment = backs_off;
        let window = self.window_in_use(inflation, params);
        self.wait_for_rto = params.ecn_cwnd_floor && at_one_segment;
        self.cc.on_congestion(&CongestionEvent { now: call.now, window, signal: Signal::Mark });
        if !params.ecn_cwnd_floor && window < 2.0 {
            self.cc.set_cwnd(window / 2.0);
        }
        if self.waits_for_rto() && self.timer == Time::NEVER {
            self.start_timer(call);
        }
        self.cwr_pending = true;
        if call.counts() {
            self.stats.mark_cuts += 1;
        }
    }

    /// The retransmission timer expired: reduces the window (rfc5681#3.1 eq. 4).
    pub(super) fn reduce_for_timeout<O>(&mut self, call: &Call<O>) {
        self.lose(self.snd_una..self.snd_max, call);
        let reduced_for_ecn = self.last_reduction == LastReduction::Ecn && self.snd_una < self.recover;
        if reduced_for_ecn || (call.params.hold_ssthresh_on_repeated_rto && self.after_timeout) {
            // This window was reduced before, so ssthresh stays.
            self.cc.on_event(&Event::RepeatedRto { now: call.now });
            self.cc.on_event(&Event::RtoRestart { in_flight: 0.0 });
        } else {
            let window = self.window_in_use(0, call.params);
            self.cc.on_rto(call.now, window);
        }
        if call.counts() {
            self.stats.timeouts += 1;
        }
        self.recover = self.snd_max;
        self.last_reduction = LastReduction::Timeout;
        self.state = State::Established;
        self.after_timeout = true;
        self.cwr_pending = true;
    }
}

/// L of appropriate byte counting: the most segments an ACK counts for in slow start.
/// It is at most one after a timeout, until data that was sent before it is acknowledged (rfc3465#2.3).
#[inline]
fn abc_limit(params: &TcpOptions, after_timeout: bool) -> f64 {
    if after_timeout { f64::from(params.abc.min(1)) } else { f64::from(params.abc) }
}
