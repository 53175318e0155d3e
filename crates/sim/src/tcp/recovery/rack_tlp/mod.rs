//! Loss recovery as in Linux: RACK-TLP, PRR, F-RTO and Eifel.
//! RACK-TLP finds losses by time (rfc8985), and PRR spreads a reduction over a round trip (rfc9937). F-RTO (rfc5682) and the timestamps of
//! retransmissions (rfc3522) detect unnecessary reductions, which are then undone.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the state, and the processing of an ACK |
//! | `prediction.rs` | the fast path of ACKs while nothing is missing |
//! | `outcome.rs` | the content of an ACK |
//! | `rack.rs` | loss detection by time |
//! | `alert.rs` | the states of congestion control (Linux `tcp_fastretrans_alert`) |
//! | `states.rs` | the states: of congestion control, of the timer, of the use of the window |
//! | `undo.rs`, `spurious.rs` | the detection of unnecessary reductions, and their undo |
//! | `prr.rs` | the number of segments that an ACK releases during a reduction |
//! | `output.rs` | sending |
//! | `timers.rs` | the retransmission timer, the probe timer, the reordering timer |
//! | `writes.rs` | the ends of the application's writes |
//!
//! It follows Linux 7 (`tcp_input.c`, `tcp_output.c`, `tcp_recovery.c`, `tcp_timer.c`). The comments of functions name their models there.

mod alert;
mod outcome;
mod output;
mod prediction;
mod prr;
mod rack;
mod spurious;
mod states;
mod timers;
mod undo;
mod writes;

use super::loss_recovery::LossRecovery;
use crate::tcp::ack::{AckDigest, Delivered};
use crate::tcp::ack_options::{MAX_SACK_BLOCKS, SackBlocks};
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::clock::{micros_between, millis};
use crate::tcp::outstanding::Outstanding;
use crate::tcp::rate::Sampler;
use crate::tcp::sender::{Expiry, SenderCore};
use outcome::{AckOutcome, Taker};
use prr::{Delivery, Prr};
use rack::{Arrival, Rack};
use sojourn_cc::LossState;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Memory, memory_of};
use states::{Pending, Probe, Resend, Setting, State, Usage};
use undo::Undo;
use writes::Writes;

/// The state of this recovery.
#[derive(Clone, Debug)]
pub struct RackTlp {
    sent: Outstanding,
    rack: Rack,
    prr: Prr,
    /// The window of the controller during a reduction.
    own_window: f64,
    undo: Undo,
    usage: Usage,
    writes: Writes,
    state: State,
    /// `snd_nxt` when the state began, which ends when this byte is acknowledged.
    high_seq: u64,
    /// The last timeout may be spurious (rfc5682#3).
    frto: bool,
    /// Timeouts since the cumulative ACK advanced.
    timeouts: u32,
    /// Segments found lost in this call.
    newly_lost: u32,
    /// The probe that is outstanding.
    probe: Option<Probe>,
    /// The number of retransmissions, and of segments reported as duplicates.
    /// Linux: `total_retrans`, `dsack_dups`.
    resent: u32,
    duplicates: u32,
    /// The meaning of the pending timer.
    pending: Pending,
    setting: Setting,
}

impl RackTlp {
    /// The state at the start of a connection.
    pub fn new(params: &TcpOptions) -> Self {
        RackTlp {
            sent: Outstanding::default(),
            rack: Rack::new(params.dupack_threshold),
            prr: Prr::default(),
            own_window: 0.0,
            undo: Undo::default(),
            usage: Usage::default(),
            writes: Writes::default(),
            state: State::Open,
            high_seq: 0,
            frto: false,
            timeouts: 0,
            newly_lost: 0,
            probe: None,
            resent: 0,
            duplicates: 0,
            pending: Pending::Retransmission,
            setting: Setting::NONE,
        }
    }

    /// Processes SACK blocks and the cumulative ACK.
    /// Linux: `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`.
    #[inline(always)]
    fn take<O>(&mut self, sender: &mut SenderCore, ack: &AckDigest, outcome: &mut AckOutcome, call: &mut Call<O>) {
        let prior_una = outcome.prior_una;
        outcome.prior_highest = self.sent.highest_sacked(prior_una);
        outcome.prior_in_flight = self.sent.in_flight();
        outcome.one_way_delay = ack.one_way_delay(call.params.timestamps);
        let arrival = Arrival { now: call.now, min_rtt: sender.rtt().min(), srtt: sender.rtt().srtt() };
        let mut sampler = sender.begin_delivery(ack, call.params);
        let mut delivered = 0;
        if let Some(blocks) = ack.sack {
            if let Some(duplicate) = blocks.duplicate(ack.packet.seq) {
                self.take_duplicate(duplicate, outcome, call.params);
            }
            delivered = self.take_sacks(blocks, arrival, outcome, sampler.as_deref_mut());
            self.note_reordering(outcome, prior_una, call.params);
        }
        if outcome.advanced {
            self.timeouts = 0;
            self.take_cumulative(ack, arrival, outcome, call.params, sampler);
            self.note_reordering(outcome, ack.packet.seq, call.params);
            delivered += ack.packet.seq - prior_una - self.sent.forget_below(ack.packet.seq);
            self.writes.forget_below(ack.packet.seq);
        }
        outcome.ece |= sender.end_delivery(ack, delivered, call);
        if outcome.advanced {
            sender.accept_partial_ack(ack);
        }
        self.sample_rtt(sender, ack, outcome, call);
    }

    /// Records a hole filled by an original segment (Linux `tcp_check_sack_reordering`).
    #[inline]
    fn note_reordering(&mut self, outcome: &mut AckOutcome, snd_una: u64, params: &TcpOptions) {
        if let Some(from) = outcome.reordered.take()
            && (self.state != State::Loss || self.undo.is_possible())
        {
            self.rack.on_reordering(from, self.sent.highest_sacked(snd_una), params.mss);
        }
    }

    /// Processes the report of a duplicate of these bytes (Linux `tcp_check_dsack`).
    /// See also Linux `tcp_dsack_seen`. If there are more duplicates than retransmissions, the network has made copies, and the report is
    /// ignored.
    #[cold]
    fn take_duplicate(&mut self, (from, to): (u64, u64), outcome: &mut AckOutcome, params: &TcpOptions) {
        let segments = (to.saturating_sub(from)).div_ceil(u64::from(params.mss)) as u32;
        self.duplicates = self.duplicates.saturating_add(segments);
        if segments == 0 || self.duplicates > self.resent {
            return;
        }
        outcome.duplicate = true;
        outcome.duplicate_probe = segments == 1 && self.probe.is_some_and(|probe| probe.high_seq == to);
        // A probe is sent by its timer: its duplicate does not show that the reordering window is too narrow.
        if params.undo && self.rack.reordering_seen && !outcome.duplicate_probe {
            self.rack.on_duplicate();
        }
        outcome.delivered += segments;
        let again = self.sent.sack_duplicate(from, to);
        if let Some(late) = again.late {
            outcome.reordered = Some(late);
        }
        self.undo.on_duplicate(to, if to <= outcome.prior_una { segments } else { again.count });
    }

    /// Processes the SACK blocks of an ACK; returns the number of newly reported bytes.
    fn take_sacks(&mut self, blocks: &SackBlocks, arrival: Arrival, outcome: &mut AckOutcome, mut sampler: Option<&mut Sampler>) -> u64 {
        let prior_una = outcome.prior_una;
        let (mut new, mut count) = ([(0, 0); MAX_SACK_BLOCKS], 0);
        for block in blocks.iter().filter(|&block| self.sent.is_new(block, prior_una)) {
            (new[count], count) = (block, count + 1);
        }
        // Blocks are processed in order of their bytes, as in Linux, so that a segment below another counts as reordered.
        if count > 1 {
            new[..count].sort_unstable();
        }
        let mut delivered = 0;
        for &(from, to) in &new[..count] {
            let (highest, high_seq) = (self.sent.highest_sacked(prior_una), self.high_seq);
            let mut taker = Taker { rack: &mut self.rack, sampler: sampler.as_deref_mut(), outcome, arrival, highest, high_seq };
            delivered += self.sent.sack(from.max(prior_una), to, |run| taker.take(run));
        }
        delivered
    }

    /// Processes the segments that an ACK acknowledges cumulatively.
    #[inline]
    fn take_cumulative(
        &mut self,
        ack: &AckDigest,
        arrival: Arrival,
        outcome: &mut AckOutcome,
        params: &TcpOptions,
        mut sampler: Option<&mut Sampler>,
    ) {
        let RackTlp { sent, rack, high_seq, .. } = self;
        sent.acknowledge(ack.packet.seq, |run| {
            outcome.acked = true;
            outcome.covered += run.count;
            if run.first.is_sacked_only() {
                return;
            }
            if let Some(sampler) = &mut sampler {
                sampler.take_acknowledged(run, arrival.now);
            }
            if run.first.is_untagged() {
                outcome.take_run(run, *high_seq);
                rack.advance(&run.last, arrival);
            } else {
                let echo = params.timestamps.then_some(ack.packet.stamp);
                outcome.take_tagged(run, echo, *high_seq, |segment| rack.advance(segment, arrival));
            }
        });
    }

    /// Samples the RTT of segments that were sent once (Linux `tcp_ack_update_rtt`).
    /// It uses a clock of whole microseconds, or else the timestamp, in whole milliseconds.
    fn sample_rtt<O>(&mut self, sender: &mut SenderCore, ack: &AckDigest, outcome: &mut AckOutcome, call: &mut Call<O>) {
        let acked = outcome.acked_sent.filter(|_| !outcome.retransmitted);
        outcome.set_timer = outcome.acked;
        let (first, newest) = match (acked.or(outcome.sacked_sent), outcome.sacked_sent.or(acked)) {
            (Some((first, _)), Some((_, newest))) => (micros_between(first, call.now), micros_between(newest, call.now)),
            _ if call.params.timestamps && outcome.acked => {
                let ticks = millis(call.now).saturating_sub(millis(ack.packet.stamp)).max(1);
                (Duration::from_millis(ticks), Duration::from_millis(ticks))
            }
            _ => return,
        };
        outcome.rtt = Some(newest);
        sender.sample_rtts(first, newest, call);
        // Data that left before the last transmission of the head has arrived: the head may still be in flight.
        outcome.set_timer |= outcome.sacked_sent.is_some_and(|(first, _)| self.sent.head().is_some_and(|head| first < head.sent));
    }

    /// Reports an ACK to the controller (Linux `tcp_cong_control`, `pkts_acked`).
    /// `may_grow` is false in a reduction.
    fn report<O>(&self, sender: &mut SenderCore, outcome: &mut AckOutcome, may_grow: bool, call: &Call<O>) {
        if std::mem::replace(&mut outcome.reported, true) {
            return;
        }
        let forward = if self.rack.reordering > call.params.dupack_threshold { outcome.acked || outcome.sacked } else { outcome.acked };
        let delivered = Delivered {
            acked: f64::from(outcome.delivered),
            advanced: f64::from(outcome.covered),
            in_flight: f64::from(outcome.prior_in_flight),
            rtt: outcome.rtt,
            one_way_delay: outcome.one_way_delay,
            cwnd_limited: may_grow && forward && self.may_grow(sender, call.params),
            in_recovery: !may_grow,
            after_timeout: self.state == State::Loss,
            open: outcome.open,
            abc_limit: f64::from(call.params.abc),
            ece: outcome.ece,
        };
        sender.report(&delivered, call);
    }

    /// Whether the window may grow: the congestion window is in use, or need not be.
    #[inline]
    fn may_grow(&self, sender: &SenderCore, params: &TcpOptions) -> bool {
        !params.growth_needs_limit || params.rate_limited_increase || self.usage.is_cwnd_limited(sender)
    }

    /// Whether the window is that of a reduction.
    /// It is not if the controller owns the window, or after marks if the controller may still grow it.
    fn is_reducing(&self, sender: &SenderCore) -> bool {
        let marks = self.state == State::Cwr;
        self.state.is_reduction() && !sender.owns_window() && !(marks && sender.grows_on_marks())
    }

    /// Sets the window after an ACK (Linux `tcp_cong_control`).
    /// The controller's own window during a reduction is used after its end.
    fn control<O>(&mut self, sender: &mut SenderCore, outcome: &mut AckOutcome, call: &Call<O>) {
        sender.tell_sample(call);
        if sender.owns_window() {
            return;
        }
        if !self.is_reducing(sender) {
            self.report(sender, outcome, true, call);
            return;
        }
        // The controller sees its own window, without PRR's, so that it may go on computing during a reduction.
        let (in_use, target) = (sender.cwnd(), sender.ssthresh());
        sender.set_cwnd(self.own_window);
        self.report(sender, outcome, false, call);
        self.own_window = sender.cwnd();
        if sender.ssthresh() != target {
            // A start-up may still move the target (Linux reads `snd_ssthresh` on each ACK).
            self.prr.target = sender.ssthresh() as u32;
        }
        sender.set_cwnd(in_use);
        if outcome.delivered > 0 {
            self.reduce(sender, outcome.delivered, outcome.advanced, call.params);
        }
    }

    /// Computes the window in a reduction (Linux `tcp_cwnd_reduction`).
    fn reduce(&mut self, sender: &mut SenderCore, delivered: u32, advanced: bool, params: &TcpOptions) {
        let in_flight = self.sent.in_flight();
        let spread = self.prr.on_ack(Delivery { in_flight, delivered, safe: advanced && self.newly_lost == 0 });
        // Without PRR the window falls at once, but never below the data in flight; the first retransmission has room for one segment.
        let whole = self.prr.target.max(in_flight + u32::from(self.prr.out == 0));
        sender.set_cwnd(f64::from(if params.proportional_reduction { spread } else { whole }));
    }
}

impl RackTlp {
    /// Acts on an ACK whose content is known.
    /// Finds losses, sets the window and the timer, and sends.
    fn finish_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, outcome: &mut AckOutcome, call: &mut Call<O>) {
        self.undo.see(ack, call.params.timestamps);
        let dubious = !outcome.acked || outcome.sacked || outcome.ece || outcome.duplicate || self.state != State::Open;
        let alarmed = dubious && (ack.outstanding || outcome.duplicate);
        let resend = if alarmed { self.alert(sender, outcome, call) } else { Resend::Nothing };
        self.tell_state(sender);
        if ack.outstanding {
            if outcome.set_timer {
                self.set_timer(sender, call);
            }
            self.control(sender, outcome, call);
            sender.update_pace(call.params);
            self.resend(resend, sender, call);
        }
        self.send_window(sender, call);
    }
}

impl LossRecovery for RackTlp {
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        if self.is_predicted(sender, ack) {
            return self.on_predicted_ack(sender, ack, call);
        }
        self.newly_lost = 0;
        let mut outcome = AckOutcome {
            prior_una: ack.prior_una,
            advanced: ack.advances(),
            ece: ack.ece,
            open: self.state == State::Open,
            ..AckOutcome::default()
        };
        self.take(sender, ack, &mut outcome, call);
        if outcome.acked || outcome.sacked {
            self.rack.update_reo_wnd(call.now);
        }
        self.on_probe_acked(sender, ack.packet.seq, &mut outcome, call);
        self.finish_ack(sender, ack, &mut outcome, call);
    }

    /// While data is outstanding the strategy owns the timer.
    fn on_timer<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        let was_its_own = self.timer_expired(sender, call);
        self.tell_state(sender);
        if !was_its_own && sender.on_timer(call) == Expiry::EndsWait {
            self.send_window(sender, call);
        }
    }

    #[inline]
    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        let (end, lowat) = (sender.write_end(), call.params.notsent_lowat);
        // The application writes data that the socket does not accept later, when there is room.
        let fits = end.saturating_sub(sender.snd_max()) < u64::from(lowat);
        if fits {
            self.writes.note(end);
        }
        self.send_new(sender, call);
        if !fits {
            self.writes.fill(sender.snd_max(), lowat, call.params.mss);
        }
    }

    /// Sends after pacing or the receive window allows it (Linux `tcp_tsq_write`).
    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.send_lost(sender, call);
        self.send_new(sender, call);
    }

    fn on_window_update<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        self.send_lost(sender, call);
        self.send_window(sender, call);
    }

    fn loss_state(&self, _sender: &SenderCore) -> LossState {
        self.state.of_losses()
    }

    fn reports_itself(&self) -> bool {
        true
    }

    fn check_invariants(&self, sender: &SenderCore) {
        self.sent.check_invariants(sender.snd_una(), sender.snd_max());
        self.sent.check_plain();
        sender.check_samples(&self.sent);
    }
}

impl Memory for RackTlp {
    fn memory(&self) -> usize {
        memory_of([&self.sent, &self.writes])
    }
}
