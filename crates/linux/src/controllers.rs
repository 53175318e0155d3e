//! Our congestion controllers under the kernel's TCP: it finds and repairs losses, they set the window.

use alloc::string::{String, ToString};
use sojourn_cc::{Ack, AnyController, CcConfig, CongestionController, CongestionEvent, Signal, Start};
use sojourn_units::{Duration, Time};

/// What the kernel's TCP says about an acknowledgment. C declares the same.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct KernelAck {
    /// The first unacknowledged byte of the connection.
    pub snd_una: u64,
    /// One past the highest byte sent.
    pub snd_max: u64,
    /// The round-trip time of the newest acknowledged segment in us; negative without a sample.
    pub rtt_us: i64,
    /// The receiver's timestamp less the one that it echoes, in ns.
    pub one_way_delay_ns: i64,
    /// Segments acknowledged for the first time.
    pub acked: u32,
    /// Segments in flight before.
    pub in_flight: u32,
    /// The smoothed round-trip time in us.
    pub srtt_us: u32,
    /// The smallest round-trip time in us.
    pub rtt_min_us: u32,
    /// 1 if `one_way_delay_ns` is known.
    pub has_one_way_delay: u8,
    /// 1 if the congestion window limited the sender.
    pub cwnd_limited: u8,
    /// 1 while losses are repaired after a fast retransmit, or a window is reduced for marks.
    pub in_recovery: u8,
    /// 1 until what was sent before the last timeout is acknowledged.
    pub after_timeout: u8,
}

/// What a controller wants, in segments. C declares the same.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Windows {
    /// The congestion window, 1 or more.
    pub cwnd: u32,
    /// The slow start threshold, 2 or more.
    pub ssthresh: u32,
}

/// Linux's `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// A controller of ours for one connection. The kernel asks for a reduction before it says whether that is for a timeout, and may
/// take it back. So the state from before is kept.
#[derive(Clone, Debug)]
pub struct KernelController {
    running: AnyController,
    before: Option<AnyController>,
}

impl KernelController {
    /// A controller at the start of a connection.
    ///
    /// # Errors
    /// A parameter that is out of range, in words.
    pub fn new(config: &CcConfig, initial_window: u32) -> Result<Self, String> {
        let start = Start { window: f64::from(initial_window), ssthresh: f64::from(INFINITE) };
        Ok(KernelController { running: config.build(start).map_err(|error| error.to_string())?, before: None })
    }

    /// What it wants now.
    pub fn windows(&self) -> Windows {
        let whole = |segments: f64, least: u32| (segments.min(f64::from(INFINITE)) as u32).max(least);
        Windows { cwnd: whole(self.running.cwnd(), 1), ssthresh: whole(self.running.ssthresh(), 2) }
    }

    /// Data was acknowledged.
    pub fn on_ack(&mut self, now: Time, ack: &KernelAck) -> Windows {
        self.running.on_ack(&Ack {
            now,
            acked: f64::from(ack.acked),
            rtt: u64::try_from(ack.rtt_us).ok().map(Duration::from_micros),
            srtt: Duration::from_micros(u64::from(ack.srtt_us)),
            rtt_min: Duration::from_micros(u64::from(ack.rtt_min_us)),
            one_way_delay: (ack.has_one_way_delay != 0).then_some(ack.one_way_delay_ns),
            in_flight: f64::from(ack.in_flight),
            cwnd_limited: ack.cwnd_limited != 0,
            in_recovery: ack.in_recovery != 0,
            after_timeout: ack.after_timeout != 0,
            // Linux counts every acknowledged segment.
            abc_limit: f64::from(INFINITE),
            snd_una: ack.snd_una,
            snd_max: ack.snd_max,
            marked: 0.0,
        });
        self.windows()
    }

    /// The network signaled congestion while this window was in use.
    pub fn on_congestion(&mut self, now: Time, window: u32, marked: bool) -> Windows {
        self.before = Some(self.running.clone());
        let signal = if marked { Signal::Mark } else { Signal::Loss };
        self.running.on_congestion(&CongestionEvent { now, window: f64::from(window), signal });
        self.windows()
    }

    /// The reduction just asked for was for a timeout.
    pub fn on_rto(&mut self, now: Time, window: u32) -> Windows {
        self.undo();
        self.before = Some(self.running.clone());
        self.running.on_rto(now, f64::from(window));
        self.windows()
    }

    /// The kernel restarts after an idle time, with this window.
    pub fn restart(&mut self, window: u32) {
        self.running.set_cwnd(f64::from(window));
    }

    /// The last reduction is taken back: its reason was none.
    pub fn undo(&mut self) -> Windows {
        if let Some(before) = self.before.take() {
            self.running = before;
        }
        self.windows()
    }
}
