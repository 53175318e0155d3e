//! What a congestion controller receives and what it answers.

use crate::{LostSegment, Needs, Pacing, RateSample};
use sojourn_units::{Duration, Stream, Time};

/// An acknowledgment of new data, or of data above a hole while losses are repaired.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Segments it acknowledges for the first time.
    pub acked: f64,
    /// Segments that lie below its number and not below that of the last one, whether known to have arrived or not (Linux `pkts_acked`).
    pub advanced: f64,
    /// The round-trip time of the newest acknowledged segment, if the acknowledgment gives a sample.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, zero before the first sample.
    pub srtt: Duration,
    /// The smallest round-trip time seen, zero before the first sample.
    pub rtt_min: Duration,
    /// The delay from sender to receiver in nanoseconds, by their two clocks: it contains the offset between them, so only
    /// differences have a meaning.
    pub one_way_delay: Option<i64>,
    /// Segments in flight before this acknowledgment.
    pub in_flight: f64,
    /// Whether the congestion window limited the sender, and not the application or the receive window (rfc7661#4.1).
    pub cwnd_limited: bool,
    /// Whether losses are being repaired: samples count, but the window must not grow.
    pub in_recovery: bool,
    /// Whether data sent before the last timeout is not acknowledged yet (Linux's state `Loss`).
    pub after_timeout: bool,
    /// Whether nothing was lost, marked or out of order when it arrived (Linux's state `Open`).
    pub open: bool,
    /// L of appropriate byte counting: segments that it counts for at most in slow start (rfc3465#2.2); 0 counts
    /// acknowledgments instead of bytes.
    pub abc_limit: f64,
    /// The first unacknowledged byte, after this acknowledgment.
    pub snd_una: u64,
    /// One past the highest byte sent.
    pub snd_max: u64,
    /// Segments that it reports as marked for the first time, where the feedback counts them (rfc8257#3.2, rfc9768#3.2); else 0.
    pub marked: f64,
}

impl Ack {
    /// Segments by which slow start opens the window (rfc5681#3.1 eq. 2, rfc3465#2.2).
    pub fn slow_start_growth(&self) -> f64 {
        self.acked.min(if self.abc_limit > 0.0 { self.abc_limit } else { 1.0 })
    }

    /// Segments that it counts for in congestion avoidance: the acknowledged ones where bytes are counted, else one
    /// (rfc3465#2.1).
    pub fn avoidance_count(&self) -> f64 {
        if self.abc_limit > 0.0 { self.acked } else { 1.0 }
    }
}

#[cfg(test)]
impl Ack {
    /// One segment acknowledged at time 0 within a full window. Tests change what they need.
    pub(crate) const ONE: Ack = Ack {
        now: Time::ZERO,
        acked: 1.0,
        advanced: 1.0,
        rtt: None,
        srtt: Duration::ZERO,
        rtt_min: Duration::ZERO,
        one_way_delay: None,
        in_flight: 1.0,
        cwnd_limited: true,
        in_recovery: false,
        after_timeout: false,
        open: true,
        abc_limit: 0.0,
        snd_una: 0,
        snd_max: 0,
        marked: 0.0,
    };
}

/// How the network signaled congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A segment was lost.
    Loss,
    /// A congestion mark was echoed (rfc3168#6.1.2).
    Mark,
}

/// Congestion, reported at most once a window of data.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// The current time.
    pub now: Time,
    /// The window in use, in segments. Depending on the endpoint's options this is the congestion window, limited by the
    /// receive window, or the data in flight (rfc5681#3.1 eq. 4).
    pub window: f64,
    /// How it was signaled.
    pub signal: Signal,
}

/// What a controller sets, in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
}

/// The pace in windows a round trip, in slow start and above half of ssthresh (Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_PACE: f64 = 2.0;
const AVOIDANCE_PACE: f64 = 1.2;

impl Window {
    /// The least that most controllers keep, in segments (rfc5681#3.1).
    pub const MIN_CWND: f64 = 2.0;

    /// After a reduction that keeps so much of the window.
    pub fn reduced(kept: f64) -> Window {
        Window { cwnd: kept.max(Window::MIN_CWND), ssthresh: kept.max(Window::MIN_CWND) }
    }

    /// The slow-start threshold, and at least three quarters of the window: what Linux knows of the path (`tcp_current_ssthresh`, outside of a
    /// reduction).
    pub fn ssthresh_of_window(&self) -> f64 {
        self.ssthresh.max(libm::floor(self.cwnd / 2.0) + libm::floor(self.cwnd / 4.0))
    }

    /// The pace in segments a second that the windows, the segments in flight and the smoothed round-trip time give (Linux
    /// `tcp_update_pacing_rate`).
    #[inline]
    pub fn pace(&self, in_flight: f64, srtt: Duration) -> f64 {
        let factor = if self.cwnd < self.ssthresh / 2.0 { SLOW_START_PACE } else { AVOIDANCE_PACE };
        factor * self.cwnd.max(in_flight) / srtt.as_secs_f64()
    }

    /// After a timeout: one segment (rfc5681#3.1), and as the threshold so much as is kept of the window that was in use.
    pub fn after_timeout(kept: f64) -> Window {
        Window { cwnd: 1.0, ssthresh: kept.max(Window::MIN_CWND) }
    }
}

/// What a connection begins with.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The initial window in segments.
    pub window: f64,
    /// The initial slow start threshold in segments.
    pub ssthresh: f64,
}

/// What delays are measured from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Source {
    /// The one-way delay from sender to receiver, by their two clocks; the round-trip time once these are implausible.
    #[default]
    OneWay,
    /// The round-trip time, by the sender's clock.
    RoundTrip,
}

/// The stream of a controller that was given none.
pub(crate) fn same_stream() -> Stream {
    Stream::named(0, "controller")
}

/// A congestion controller: a state machine without clock or I/O; what it draws at random comes from the stream that it is given. `clone` copies all of its state, and no input may
/// make it panic.
pub trait CongestionController {
    /// Data was acknowledged. The window must not grow while `in_recovery`, nor while not `cwnd_limited`.
    fn on_ack(&mut self, ack: &Ack);

    /// The same for an acknowledgment that is made here: what the controller does not read need not be computed.
    #[inline(always)]
    fn on_ack_of(&mut self, ack: impl Fn() -> Ack)
    where
        Self: Sized,
    {
        self.on_ack(&ack());
    }

    /// Congestion was signaled.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The retransmission timer expired; `window` is the window in use, as in [`CongestionEvent`].
    fn on_rto(&mut self, now: Time, window: f64);

    /// The congestion window in segments; the endpoint sends whole segments within it.
    fn cwnd(&self) -> f64;

    /// Sets the congestion window: the endpoint does so after a handshake, after an idle time and at the end of recovery.
    fn set_cwnd(&mut self, cwnd: f64);

    /// The slow start threshold in segments.
    fn ssthresh(&self) -> f64;

    /// The largest window in segments that it would come to by the acknowledgments of `flight` segments: `limit` of
    /// draft-ietf-ccwg-ratelimited-increase#3. Infinite where delays alone set the window. Controllers that take rate samples are not asked.
    fn limit_of_flight(&self, flight: f64, _now: Time) -> f64 {
        if self.cwnd() < self.ssthresh() { 2.0 * flight } else { flight + 1.0 }
    }

    /// What it measures delays from; `None` if it measures none.
    fn delay_source(&self) -> Option<Source> {
        None
    }

    /// The smallest window that rate halving may reach in recovery (Linux 2.6 `min_cwnd`).
    fn min_cwnd(&self) -> f64 {
        self.cwnd()
    }

    /// Bytes of memory beyond its place in an [`AnyController`](crate::AnyController).
    fn memory(&self) -> usize {
        0
    }

    /// The retransmission timer expired again, in a window that was reduced before, or while losses are repaired.
    fn on_repeated_rto(&mut self, _now: Time) {}

    /// The retransmission timer expired, and so many segments are still in flight: one more may leave (Linux `tcp_enter_loss`,
    /// draft-ietf-ccwg-bbr#5.6.4.4).
    fn restart_after_timeout(&mut self, in_flight: f64) {
        self.set_cwnd(in_flight + 1.0);
    }

    /// The window is another after a pause in which nothing was sent (Linux `tcp_cwnd_restart`).
    fn restart_after_idle(&mut self, window: Window) {
        self.set_cwnd(window.cwnd);
    }

    /// A segment is about to be sent while nothing is in flight; the last one was sent so long ago (Linux `CA_EVENT_TX_START`).
    fn on_idle_end(&mut self, _now: Time, _idle: Duration) {}

    /// A reduction for marks or a loss is over: all that was sent before it is acknowledged (Linux `CA_EVENT_COMPLETE_CWR`).
    fn on_reduction_end(&mut self) {}

    /// A loss is found while the window, now `in_use`, is being reduced for marks; gives the window that the reduction goes on to, if that
    /// changes it (Linux `dctcp_state`).
    fn on_loss_in_reduction(&mut self, _in_use: f64) -> Option<f64> {
        None
    }

    /// The last reduction was made for nothing: the window is at least `before` again, as it was then.
    fn undo(&mut self, before: Window) {
        self.set_cwnd(self.cwnd().max(before.cwnd));
    }

    /// What it asks of its endpoint.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// An ACK delivered data or told of a loss, where it [needs](Needs::rate_samples) samples. Comes before everything else that the
    /// endpoint does with the ACK; losses that the ACK reveals are in the sample of the next.
    fn on_sample(&mut self, _sample: &RateSample) {}

    /// A segment was lost, where it needs samples.
    fn on_lost(&mut self, _lost: &LostSegment) {}

    /// A segment is about to be sent while nothing is in flight, where it needs samples. `srtt` is the smoothed round-trip time,
    /// zero before the first sample; `app_limited` says whether the application had no more data before.
    fn on_restart(&mut self, _now: Time, _srtt: Duration, _app_limited: bool) {}

    /// The losses of the last recovery were none, where it needs samples: all arrived, late.
    fn on_spurious_recovery(&mut self) {}

    /// Whether it limits the data in flight on purpose, so that samples count as limited by the application.
    fn limits_samples(&self) -> bool {
        false
    }

    /// How fast it wants its segments to be sent; `None` leaves the pace to the acknowledgments.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// The rate of it alone, which is asked for with each segment.
    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        self.pacing().map(|pacing| pacing.rate)
    }

    /// Its feedback does not count marks: the hosts agreed on classic ECN or on none.
    fn use_classic_ecn(&mut self) {}

    /// Draws its random choices from this stream from now on, where it [needs](Needs::random) one. Until then it draws from one that
    /// is the same for every connection.
    fn use_random(&mut self, _random: Stream) {}

    /// Makes the window a whole number of segments from now on, as in Linux. Controllers whose window is whole anyway do
    /// nothing.
    fn use_whole_segments(&mut self) {}

    /// Its endpoint paces the segments, though it asks for no pace.
    fn use_pacing(&mut self) {}

    /// Makes the window grow as in today's Linux from now on: in whole segments, by acknowledged segments. Only controllers with
    /// slow start and a window law have a difference.
    fn use_linux_growth(&mut self) {}
}
