//! Pacing, delivery-rate samples and counts of marks at a sender that has any.
//! Other senders have `tracks` off and pay for one test a segment.

use super::path::{PaceSource, Path};
use super::{LastReduction, SenderCore, State};
use crate::tcp::ack::AckDigest;
use crate::tcp::call::Call;
use crate::tcp::ecn::{NewlyAcked, ONE_MARK};
use crate::tcp::outstanding::{Segment, Sending};
use crate::tcp::rate::{Sampler, SentSegments, Standing};
use sojourn_cc::{CongestionController, Event, LossState, Pacing, Window};
use sojourn_spec::tcp::{Recovery, TcpOptions};
use sojourn_units::{Duration, Time};
use std::ops::Range;

/// The duration of a quantum in seconds, and its smallest number of segments.
/// Linux: `sk_pacing_shift` 10, a 1,024th of a second; `tcp_min_tso_segs`.
const QUANTUM_TIME: f64 = 1.0 / 1024.0;
const LEAST_QUANTUM: f64 = 2.0;

impl SenderCore {
    /// Whether the controller sets the window in loss recovery and after an idle time.
    #[inline]
    pub fn owns_window(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.samples)
    }

    /// The AccECN flags of a packet that is sent now.
    /// They are the ACE field, and whether data has AccECN's option; 0 without AccECN.
    #[inline]
    pub(super) fn accecn_flags(&self) -> u16 {
        self.path.as_ref().map_or(0, |path| path.accecn_flags)
    }

    /// A packet with a mark arrives, which the next packets report (rfc9768#3.2.2.2).
    #[cold]
    pub fn on_mark(&mut self) {
        let counting = self.path.as_mut().filter(|path| path.marks.is_some());
        counting.into_iter().for_each(|path| path.accecn_flags = path.accecn_flags.wrapping_add(ONE_MARK));
    }

    /// Whether unmarked data opens the window while it is reduced for marks.
    pub fn grows_on_marks(&self) -> bool {
        self.grows_on_marks
    }

    /// Segments in flight, without those that samples know to have arrived or to be lost.
    pub fn in_flight(&self, params: &TcpOptions) -> f64 {
        let sampled = self.path.as_ref().filter(|path| path.samples).and_then(|path| path.sampler.as_ref()).map(Sampler::in_flight);
        sampled.unwrap_or(self.snd_max - self.snd_una) as f64 / f64::from(params.mss)
    }

    /// The pacing rate in segments a second; `None` without pacing.
    pub fn pacing_rate(&self, params: &TcpOptions) -> Option<f64> {
        self.path.as_ref()?.pacer.as_ref()?;
        self.pace_rate(params)
    }

    /// The pacing rate and quantum now; `None` without pacing.
    fn pace(&self, params: &TcpOptions) -> Option<Pacing> {
        let of_window = || self.pace_of_window(params).map(|rate| Pacing::with_quantum_of(rate, QUANTUM_TIME, LEAST_QUANTUM));
        match self.path.as_ref()?.pace_source {
            PaceSource::Controller => self.cc.pacing().or_else(of_window),
            PaceSource::Window => of_window(),
            PaceSource::StartUp { then_window } => self.cc.start_up_pacing().or_else(|| of_window().filter(|_| then_window)),
        }
    }

    /// The pacing rate of [`SenderCore::pace`], in segments a second.
    #[inline]
    fn pace_rate(&self, params: &TcpOptions) -> Option<f64> {
        match self.path.as_ref()?.pace_source {
            PaceSource::StartUp { .. } => self.pace_rate_with_start_up(params),
            PaceSource::Window => self.pace_of_window(params),
            PaceSource::Controller => self.cc.pacing().map(|pacing| pacing.rate).or_else(|| self.pace_of_window(params)),
        }
    }

    #[cold]
    fn pace_rate_with_start_up(&self, params: &TcpOptions) -> Option<f64> {
        self.pace(params).map(|pacing| pacing.rate)
    }

    /// The pacing rate of the window, in segments a second; `None` before the first sample.
    #[inline]
    fn pace_of_window(&self, params: &TcpOptions) -> Option<f64> {
        if params.linux_pacing { self.path.as_ref()?.pace_of_window } else { self.new_pace_of_window(params) }
    }

    /// Updates the pacing rate of the window after an ACK (Linux `tcp_update_pacing_rate`).
    #[inline]
    pub fn update_pace(&mut self, params: &TcpOptions) {
        if self.path.as_ref().is_some_and(|path| path.pacer.is_some() && path.pace_source.follows_window()) {
            let pace = self.new_pace_of_window(params);
            self.path.iter_mut().for_each(|path| path.pace_of_window = pace);
        }
    }

    #[inline]
    fn new_pace_of_window(&self, params: &TcpOptions) -> Option<f64> {
        let srtt = self.rtt.srtt();
        if srtt == Duration::ZERO {
            return None;
        }
        let in_flight = (self.snd_max - self.snd_una) as f64 / f64::from(params.mss);
        let window = Window { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        Some(window.pace(in_flight, srtt))
    }

    /// The time for which pacing holds the next segment back.
    pub fn pacing_delay(&self, now: Time) -> Duration {
        self.path.as_ref().and_then(|path| path.pacer.as_ref()).map_or(Duration::ZERO, |pacer| pacer.delay(now))
    }

    /// Whether pacing holds the next segment back; the timer then continues with it.
    #[inline]
    pub fn pacing_waits<O>(&mut self, call: &Call<O>) -> bool {
        let Some(Path { pacer: Some(pacer), pace_due, .. }) = self.path.as_deref_mut() else { return false };
        if let Some(until) = pacer.waits_until(call.now) {
            *pace_due = until;
            return true;
        }
        *pace_due = Time::NEVER;
        if pacer.needs_quantum(call.now) {
            self.start_quantum(call);
        }
        false
    }

    /// Waits within this call until pacing releases the next segment; returns whether it did.
    /// It does so if nothing else reaches this sender before.
    #[inline]
    pub fn waits_for_pace<O>(&mut self, call: &mut Call<O>) -> bool {
        let Some(path) = self.path.as_mut().filter(|path| path.pace_due < call.until.min(self.timer)) else { return false };
        call.now = std::mem::replace(&mut path.pace_due, Time::NEVER);
        true
    }

    /// Starts a quantum of segments.
    #[cold]
    fn start_quantum<O>(&mut self, call: &Call<O>) {
        let quantum = self.pace(call.params).map_or(0.0, |pace| pace.quantum());
        self.path.iter_mut().filter_map(|path| path.pacer.as_mut()).for_each(|pacer| pacer.start_quantum(call.now, quantum));
    }

    /// Whether pacing releases more segments at `now`; the caller sends them.
    #[inline]
    pub fn take_pace_due(&mut self, now: Time) -> bool {
        let due = self.path.as_ref().is_some_and(|path| path.pace_due <= now);
        if due {
            self.set_pace_due(Time::NEVER);
        }
        due
    }

    /// Sets the time at which pacing releases the next segment, if segments are paced.
    pub(super) fn set_pace_due(&mut self, due: Time) {
        if let Some(path) = &mut self.path {
            path.pace_due = due;
        }
    }

    /// Records a transmission of a recovery strategy that stores no segments.
    #[inline(never)]
    pub(super) fn track_transmission<O>(&mut self, bytes: Range<u64>, call: &Call<O>) {
        let size = bytes.end - bytes.start;
        self.track(size, call, |sampler, segments| segments.on_sent(bytes.start, bytes.end, call.now, sampler));
    }

    /// Records a new segment of `size` bytes that the recovery strategy stores.
    /// Returns the data of samples to store with it.
    #[inline]
    pub fn track_new<O>(&mut self, size: u64, call: &Call<O>) -> Sending {
        if self.path.is_none() { Sending::default() } else { self.track(size, call, |sampler, _| sampler.on_sent(size, call.now)) }
    }

    /// Records the retransmission of a segment that the recovery strategy stores.
    pub fn track_again<O>(&mut self, segment: &mut Segment, call: &Call<O>) {
        self.track(segment.size(), call, |sampler, _| sampler.on_sent_again(segment, call.now));
    }

    /// Records a transmission of `size` bytes for pacing, and by `sample` for samples.
    #[inline(always)]
    fn track<O, T: Default>(&mut self, size: u64, call: &Call<O>, sample: impl FnOnce(&mut Sampler, &mut SentSegments) -> T) -> T {
        let rate = self.pace_rate(call.params);
        let Some(path) = &mut self.path else { return T::default() };
        let mut sampled = T::default();
        if let Some(sampler) = &mut path.sampler {
            if sampler.in_flight() == 0 && path.samples {
                let (srtt, app_limited) = (self.rtt.srtt(), sampler.is_app_limited());
                self.cc.on_event(&Event::FlightStart { now: call.now, srtt, app_limited });
            }
            sampled = sample(sampler, &mut path.segments);
        }
        if let Some(pacer) = &mut path.pacer {
            let mss = u64::from(call.params.mss);
            pacer.on_sent(call.now, if size == mss { 1.0 } else { size as f64 / mss as f64 }, rate);
        }
        sampled
    }

    /// The state of loss recovery, for a recovery strategy without its own states.
    pub fn loss_state(&self) -> LossState {
        match (self.state, self.last_reduction) {
            (_, LastReduction::Timeout) if self.snd_una < self.recover => LossState::Timeout,
            (State::Recovery, _) => LossState::Recovery,
            _ => LossState::Open,
        }
    }

    #[inline]
    fn standing(&self, now: Time, params: &TcpOptions) -> Standing {
        let accecn_flags = self.path.as_ref().and_then(|path| path.state);
        let state = accecn_flags.unwrap_or_else(|| self.loss_state());
        let selective_acks = params.recovery == Recovery::Sack;
        let marked = self.path.as_ref().map_or(0.0, |path| path.marked);
        let pacing_delay = self.pacing_delay(now);
        Standing { srtt: self.rtt.srtt(), rtt_min: self.rtt.min(), state, selective_acks, mss: params.mss, pacing_delay, marked }
    }

    /// Sets the state of a recovery strategy with its own states.
    #[inline]
    pub fn set_loss_state(&mut self, state: LossState) {
        if let Some(path) = &mut self.path {
            path.state = Some(state);
        }
    }

    /// Marks the segments that start in these bytes as lost, including retransmissions.
    pub fn lose<O>(&mut self, bytes: Range<u64>, call: &Call<O>) {
        if self.path.is_none() {
            return;
        }
        let standing = self.standing(call.now, call.params);
        let SenderCore { path: Some(path), cc, .. } = self else { return };
        if let Some(sampler) = &mut path.sampler {
            path.segments.lose(bytes, call.now, standing, &mut |lost| cc.on_lost(lost), sampler);
        }
    }

    /// Marks a segment that the recovery strategy stores as lost, even a retransmission.
    pub fn lose_segment<O>(&mut self, segment: &mut Segment, call: &Call<O>) {
        if self.path.is_none() {
            return;
        }
        let standing = self.standing(call.now, call.params);
        let SenderCore { path: Some(path), cc, .. } = self else { return };
        if let Some(sampler) = &mut path.sampler {
            sampler.lose(segment, call.now, standing, &mut |lost| cc.on_lost(lost));
        }
    }

    /// Marks everything below this byte as lost that is not SACKed, after the scoreboard did.
    #[inline]
    pub fn lose_below<O>(&mut self, end: u64, call: &Call<O>) {
        if self.path.is_none() {
            return;
        }
        let standing = self.standing(call.now, call.params);
        let SenderCore { path: Some(path), cc, .. } = self else { return };
        if let Some(sampler) = &mut path.sampler {
            path.segments.lose_below(end, call.now, standing, &mut |lost| cc.on_lost(lost), sampler);
        }
    }

    /// Counts segments as in flight again that seemed lost but were late.
    /// The recovery strategy stores the segments.
    pub fn unmark_lost(&mut self) {
        if let Some(sampler) = self.path.as_mut().and_then(|path| path.sampler.as_mut()) {
            sampler.unmark_lost();
        }
    }

    /// Measures the delivery of an ACK and reads its count of marks.
    /// Returns whether it reports marks.
    #[inline(never)]
    pub fn track_ack<O>(&mut self, ack: &AckDigest, call: &Call<O>) -> bool {
        self.check_app_limited(call.params);
        let Some(path) = &mut self.path else { return false };
        let Some(sampler) = &mut path.sampler else { return false };
        let newly_acked = path.segments.on_ack(ack, call.now, call.params, sampler);
        self.read_marks(ack, newly_acked, call.params)
    }

    /// Reads the count of marks in an ACK of `newly_acked` segments.
    /// `snd_una` moves later. Returns whether the ACK reports marks.
    fn read_marks(&mut self, ack: &AckDigest, newly_acked: f64, params: &TcpOptions) -> bool {
        let packet = ack.packet;
        let in_order = if params.timestamps { packet.peer >= self.ts_recent } else { packet.seq > self.snd_una || ack.sack.is_some() };
        let is_known = params.recovery == Recovery::Sack || self.loss_state() == LossState::Open;
        let Some(path) = &mut self.path else { return false };
        let marks = path.marks.as_mut().filter(|_| in_order);
        let newly = NewlyAcked { segments: newly_acked, is_known };
        path.marked = marks.map_or(0.0, |marks| f64::from(marks.read(packet, ack.byte_counts, newly)));
        path.marked > 0.0
    }

    /// Begins the delivery of an ACK, for a recovery strategy that stores the segments.
    /// The strategy reports each delivered segment to the returned sampler, until [`SenderCore::end_delivery`].
    #[inline]
    pub fn begin_delivery(&mut self, ack: &AckDigest, params: &TcpOptions) -> Option<&mut Sampler> {
        self.path.as_ref()?;
        self.check_app_limited(params);
        let sampler = self.path.as_mut()?.sampler.as_mut()?;
        sampler.begin_ack(ack.packet.seq, false);
        Some(sampler)
    }

    /// Ends the delivery of an ACK of `bytes` new bytes.
    /// `snd_una` moves later. Returns whether the ACK reports marks.
    #[inline]
    pub fn end_delivery<O>(&mut self, ack: &AckDigest, bytes: u64, call: &Call<O>) -> bool {
        let Some(path) = &mut self.path else { return false };
        if let Some(sampler) = &mut path.sampler {
            sampler.end_ack(call.params.mss);
        }
        let newly_acked = bytes as f64 / f64::from(call.params.mss);
        path.marks.is_some() && self.read_marks(ack, newly_acked, call.params)
    }

    /// Passes the sample of the last ACK to the controller, once, if the controller uses samples.
    /// It follows the losses that the ACK reveals, if the recovery strategy finds them this early (Linux `tcp_rate_gen`).
    #[inline]
    pub fn tell_sample<O>(&mut self, call: &Call<O>) {
        let sampler = self.path.as_ref().filter(|path| path.samples).and_then(|path| path.sampler.as_ref());
        if sampler.is_some_and(Sampler::has_sample) {
            self.tell_sample_now(call);
        }
    }

    #[inline(never)]
    fn tell_sample_now<O>(&mut self, call: &Call<O>) {
        let standing = self.standing(call.now, call.params);
        let SenderCore { path: Some(path), cc, .. } = self else { return };
        let Some(sampler) = &mut path.sampler else { return };
        cc.on_sample(&sampler.sample(call.now, standing));
        if cc.needs().limits_samples {
            sampler.limit();
        }
    }

    /// Records whether the congestion window was the limit.
    /// Everything that the windows and pacing allow was sent before.
    #[inline(never)]
    pub fn track_window(&mut self, params: &TcpOptions) {
        let Some(sampler) = self.path.as_mut().and_then(|path| path.sampler.as_mut()) else { return };
        let mss = u64::from(params.mss);
        if sampler.in_flight() + mss > u64::from(self.cc.cwnd() as u32) * mss {
            sampler.on_window_full(self.snd_max);
        }
    }

    /// Marks the connection as application-limited if nothing is left to send.
    /// Source: draft-ietf-ccwg-bbr#4.1.2.4.
    #[inline]
    pub fn check_app_limited(&mut self, params: &TcpOptions) {
        if self.snd_max < self.write_end {
            return;
        }
        let cwnd = (self.cc.cwnd() * f64::from(params.mss)) as u64;
        if let Some(sampler) = self.path.as_mut().and_then(|path| path.sampler.as_mut()) {
            sampler.check_app_limited(cwnd);
        }
    }
}
