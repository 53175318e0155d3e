//! The simulator's congestion controllers under the kernel's TCP.
//! The kernel performs loss recovery.

mod sampler;

use alloc::string::{String, ToString};
use sampler::Sampler;
use sojourn_cc::{Ack, AnyController, CcConfig, CongestionController, CongestionEvent, Event, Feedback, Needs, Signal, Start, Window};
use sojourn_units::{Duration, Stream, Time};

/// The kernel's report of an ACK; declared in C too.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct KernelAck {
    /// The first unacknowledged byte of the connection.
    pub snd_una: u64,
    /// The byte after the highest byte sent.
    pub snd_max: u64,
    /// The round-trip time of the newest acknowledged segment in us; negative without a sample.
    pub rtt_us: i64,
    /// The receiver's timestamp minus the one that it echoes, in ns.
    pub one_way_delay_ns: i64,
    /// The pacing delay of the next segment in ns (`tcp_sock.tcp_wstamp_ns`).
    pub pacing_delay_ns: u64,
    /// Newly acknowledged segments.
    pub acked: u32,
    /// Segments acknowledged cumulatively, including SACKed ones (`ack_sample.pkts_acked`).
    pub advanced: u32,
    /// Segments in flight before the ACK.
    pub in_flight: u32,
    /// The smoothed round-trip time in us.
    pub srtt_us: u32,
    /// The smallest round-trip time in us.
    pub rtt_min_us: u32,
    /// Newly reported marked segments, if the feedback counts them.
    pub marked: u32,
    /// The byte after the newest acknowledged one, as a sequence number.
    /// Source: `rate_sample.last_end_seq`.
    pub newest: u32,
    /// The first unacknowledged byte, as a sequence number (`tcp_sock.snd_una`).
    pub unacknowledged: u32,
    /// Segments delivered since the connection opened (`tcp_sock.delivered`).
    pub delivered: u32,
    /// Segments declared lost since the connection opened (`tcp_sock.lost`).
    pub lost: u32,
    /// Segments declared lost on this ACK (`rate_sample.losses`).
    pub newly_lost: u32,
    /// `delivered` when the newest segment was sent (`rate_sample.prior_delivered`).
    pub prior_delivered: u32,
    /// Segments delivered since `prior_delivered`; 0 without a sample (`rate_sample.delivered`).
    pub delivered_since: u32,
    /// The time for `delivered_since` in us (`rate_sample.interval_us`).
    pub interval_us: u32,
    /// Segments in flight after the ACK.
    pub in_flight_after: u32,
    /// 1 if the application limited the sender when the newest segment was sent.
    pub app_limited: u8,
    /// 1 during loss recovery, after a fast retransmit or a timeout.
    pub repairs: u8,
    /// 1 if SACK is in use.
    pub sack: u8,
    /// 1 if `one_way_delay_ns` is known.
    pub has_one_way_delay: u8,
    /// 1 if the congestion window limited the sender.
    pub cwnd_limited: u8,
    /// 1 during fast recovery, or a window reduction for marks.
    pub in_recovery: u8,
    /// 1 until data sent before the last timeout is acknowledged.
    pub after_timeout: u8,
    /// Whether the receiver may have delayed the ACK.
    pub may_be_delayed: u8,
    /// 1 if nothing was lost, marked or out of order when the ACK arrived (`TCP_CA_Open`).
    pub open: u8,
}

/// A controller's decision in segments; declared in C too.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Windows {
    /// The congestion window, 1 or more.
    pub cwnd: u32,
    /// The slow start threshold, 2 or more.
    pub ssthresh: u32,
    /// The pacing rate in thousandths of a segment per second; 0 without pacing.
    pub pace: u64,
    /// 1 if it intentionally limits the data in flight.
    pub limits_samples: u8,
}

/// A controller's requirements on the kernel; declared in C too.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct KernelNeeds {
    /// 1 if it sets the window also during loss recovery.
    pub owns_window: u8,
    /// 1 if marks do not stop its growth.
    pub grows_on_marks: u8,
}

/// The value of Linux's `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// The kernel's services for a connection.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Whether the kernel paces the sender.
    pub pacing: bool,
    /// Whether the hosts agreed on an ECN feedback that counts marks.
    pub counts_marks: bool,
}

/// A controller for one connection.
/// The kernel requests a reduction before it reports a timeout as its cause, and may undo the reduction, so the previous state is kept.
#[derive(Clone, Debug)]
pub struct KernelController {
    running: AnyController,
    before: Option<AnyController>,
    sampler: Option<Sampler>,
    /// Whether it already handled the timeout that the kernel is about to report.
    /// Only the first timeout of a window is handled early.
    told_of_timeout: bool,
}

impl KernelController {
    /// A controller at the start of a connection.
    ///
    /// # Errors
    /// A parameter is out of range. The error is a text.
    pub fn new(config: &CcConfig, initial_window: u32, connection: Connection) -> Result<Self, String> {
        let Connection { pacing, counts_marks } = connection;
        // The driver requests counts if the controller does.
        let ecn = if counts_marks { Feedback::CountsIfAsked } else { Feedback::Echoes };
        // The kernel's window is a whole number, as in the simulator's profile `linux`.
        let start = Start { pacing, ecn, ..Start::new(f64::from(initial_window), f64::from(INFINITE)).in_linux() };
        let running = config.build(start).map_err(|error| error.to_string())?;
        let sampler = running.needs().rate_samples.then(Sampler::default);
        Ok(KernelController { running, before: None, sampler, told_of_timeout: false })
    }

    /// The controller's requirements on the kernel.
    pub fn needs(&self) -> KernelNeeds {
        let Needs { rate_samples, grows_on_marks, .. } = self.running.needs();
        KernelNeeds { owns_window: u8::from(rate_samples), grows_on_marks: u8::from(grows_on_marks) }
    }

    /// Draws random choices from this stream instead of the kernel's generator.
    /// The kernel's own BBR and CDG use the kernel's generator (`get_random_u32_below`).
    pub fn use_random(&mut self, random: Stream) {
        self.running.on_event(&Event::Random(random));
    }

    /// Handles a segment that is about to be sent and ends at byte `end`.
    pub fn on_sent(&mut self, now: Time, end: u32, ack: &KernelAck) {
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(now, end, ack, &mut self.running);
        }
    }

    /// Handles the loss of the segment that ends at byte `end`.
    pub fn on_lost(&mut self, now: Time, end: u32, ack: &KernelAck) {
        if let Some(sampler) = &mut self.sampler {
            sampler.on_lost(now, end, ack, &mut self.running);
        }
    }

    /// The current decision.
    pub fn windows(&self) -> Windows {
        let whole = |segments: f64, least: u32| (segments.min(f64::from(INFINITE)) as u32).max(least);
        let pace = self.running.pacing().map_or(0, |pacing| (pacing.rate * 1000.0).max(1.0) as u64);
        let limits_samples = u8::from(self.running.needs().limits_samples);
        Windows { cwnd: whole(self.running.cwnd(), 1), ssthresh: whole(self.running.ssthresh(), 2), limits_samples, pace }
    }

    /// Handles an ACK.
    pub fn on_ack(&mut self, now: Time, ack: &KernelAck) -> Windows {
        if let Some(sampler) = &mut self.sampler {
            let sample = sampler.on_ack(now, ack);
            self.running.on_sample(&sample);
        }
        self.running.on_ack(&Ack {
            now,
            acked: f64::from(ack.acked),
            advanced: f64::from(ack.advanced),
            rtt: u64::try_from(ack.rtt_us).ok().map(Duration::from_micros),
            srtt: Duration::from_micros(u64::from(ack.srtt_us)),
            rtt_min: Duration::from_micros(u64::from(ack.rtt_min_us)),
            one_way_delay: (ack.has_one_way_delay != 0).then_some(ack.one_way_delay_ns),
            in_flight: f64::from(ack.in_flight),
            cwnd_limited: ack.cwnd_limited != 0,
            in_recovery: ack.in_recovery != 0,
            after_timeout: ack.after_timeout != 0,
            open: ack.open != 0,
            // Linux counts every acknowledged segment.
            abc_limit: f64::from(INFINITE),
            snd_una: ack.snd_una,
            snd_max: ack.snd_max,
            marked: f64::from(ack.marked),
        });
        self.windows()
    }

    /// Handles a congestion signal while this window was in use.
    pub fn on_congestion(&mut self, now: Time, window: u32, marked: bool) -> Windows {
        self.before = Some(self.running.clone());
        let signal = if marked { Signal::Mark } else { Signal::Loss };
        self.running.on_congestion(&CongestionEvent { now, window: f64::from(window), signal });
        self.windows()
    }

    /// Handles the report that the reduction just requested was for a timeout.
    pub fn on_rto(&mut self, now: Time, window: u32) -> Windows {
        // The reduction was handled as one for a loss.
        let before = self.before.take().unwrap_or_else(|| self.running.clone());
        self.running = before.clone();
        self.before = Some(before);
        self.running.on_rto(now, f64::from(window));
        self.told_of_timeout = true;
        self.windows()
    }

    /// Handles a retransmission timeout, after which the kernel has set this window.
    pub fn restart_after_timeout(&mut self, now: Time, window: u32) -> Windows {
        if !core::mem::take(&mut self.told_of_timeout) {
            self.running.on_event(&Event::RepeatedRto { now });
        }
        if self.sampler.is_some() {
            self.running.on_event(&Event::RtoRestart { in_flight: f64::from(window) - 1.0 });
        }
        self.windows()
    }

    /// Handles the end of a reduction for marks or a loss.
    pub fn end_reduction(&mut self) {
        self.running.on_event(&Event::ReductionEnd);
    }

    /// Handles a loss while `window` is being reduced for marks.
    /// Returns the new target of the reduction, if it changes.
    pub fn lose_in_reduction(&mut self, window: u32) -> Option<u32> {
        let before = self.running.ssthresh();
        self.running.on_event(&Event::LossInReduction { in_use: f64::from(window) });
        let target = self.running.ssthresh();
        (target != before).then(|| {
            self.running.set_cwnd(target);
            self.windows().cwnd
        })
    }

    /// Handles the kernel's restart after an idle time, with these windows.
    pub fn restart(&mut self, windows: &Windows) {
        if self.sampler.is_none() {
            let window = Window { cwnd: f64::from(windows.cwnd), ssthresh: f64::from(windows.ssthresh) };
            self.running.on_event(&Event::IdleRestart(window));
        }
    }

    /// Handles the end of an idle time in milliseconds: a segment is about to be sent.
    pub fn end_idle(&mut self, now: Time, idle_ms: u32) {
        self.running.on_event(&Event::IdleEnd { now, idle: Duration::from_millis(u64::from(idle_ms)), srtt: Duration::ZERO });
    }

    /// Handles the opening of the connection with this window.
    pub fn start(&mut self, window: u32) {
        self.running.set_cwnd(f64::from(window));
    }

    /// Undoes the last reduction, which was spurious.
    pub fn undo(&mut self) -> Windows {
        match self.before.take() {
            Some(_) if self.sampler.is_some() => self.running.on_event(&Event::SpuriousRecovery),
            Some(before) => self.running = before,
            None => {}
        }
        self.windows()
    }
}
