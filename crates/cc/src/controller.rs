//! What a congestion controller receives and what it answers.

use crate::{EcnNeed, Floor, LostSegment, Needs, Pacing, RateSample};
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
    pub(crate) const MIN_CWND: f64 = 2.0;

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

    /// The smallest window that rate halving may reach, in segments.
    pub fn least(&self, floor: Floor) -> f64 {
        match floor {
            Floor::Window => self.cwnd,
            Floor::Ssthresh => self.ssthresh,
            Floor::HalfSsthresh => libm::floor(self.ssthresh / 2.0),
        }
    }

    /// After a timeout: one segment (rfc5681#3.1), and as the threshold so much as is kept of the window that was in use.
    pub fn after_timeout(kept: f64) -> Window {
        Window { cwnd: 1.0, ssthresh: kept.max(Window::MIN_CWND) }
    }
}

/// The numbers in which a window counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Arithmetic {
    /// Fractions of a segment.
    #[default]
    Fractions,
    /// Whole segments, as in ns-2's agents for Linux: a fraction of the next one is kept apart.
    Whole,
    /// Today's Linux: whole segments, and a count of acknowledged ones.
    Linux,
}

/// How the ECN feedback of a connection tells of marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Feedback {
    /// It counts marked segments.
    #[default]
    Counts,
    /// It counts them for controllers that do not work without.
    CountsIfAsked,
    /// It echoes a mark once a window, or tells of none (rfc3168#6.1).
    Echoes,
}

impl Feedback {
    /// Whether it counts marks for a controller with this need.
    pub(crate) fn counts_for(self, need: EcnNeed) -> bool {
        self == Feedback::Counts || (self == Feedback::CountsIfAsked && need.is_strict())
    }
}

/// What a controller is made from: the state of its connection at the start, and what its endpoint does.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The initial window in segments.
    pub window: f64,
    /// The initial slow start threshold in segments.
    pub ssthresh: f64,
    /// The numbers in which the window counts.
    pub arithmetic: Arithmetic,
    /// Whether the endpoint paces the segments of a controller that asks for no pace.
    pub pacing: bool,
    /// The ECN feedback.
    pub ecn: Feedback,
}

impl Start {
    /// A start in fractions of a segment, without a pace of the endpoint, with feedback that counts marks.
    pub const fn new(window: f64, ssthresh: f64) -> Self {
        Start { window, ssthresh, arithmetic: Arithmetic::Fractions, pacing: false, ecn: Feedback::Counts }
    }

    /// The same in Linux's numbers.
    #[must_use]
    pub const fn in_linux(self) -> Self {
        Start { arithmetic: Arithmetic::Linux, ..self }
    }

    /// The same with feedback that does not count marks.
    #[must_use]
    pub const fn echoing(self) -> Self {
        Start { ecn: Feedback::Echoes, ..self }
    }

    /// Whether the numbers are Linux's.
    pub(crate) fn is_linux(&self) -> bool {
        self.arithmetic == Arithmetic::Linux
    }
}

/// What an endpoint tells besides acknowledgments, congestion and the first timeout of a window.
#[derive(Clone, Debug)]
pub enum Event {
    /// The controller, which [needs](Needs::random) one, draws from this stream. Before it, each draws from the same one.
    Random(Stream),
    /// A segment is about to be sent while nothing is in flight, `idle` after the last one (Linux `CA_EVENT_TX_START`).
    IdleEnd {
        /// The current time.
        now: Time,
        /// The time since the last segment.
        idle: Duration,
    },
    /// The same, for controllers that take [samples](Needs::rate_samples).
    FlightStart {
        /// The current time.
        now: Time,
        /// The smoothed round-trip time, zero before the first sample.
        srtt: Duration,
        /// Whether the application had no more data before.
        app_limited: bool,
    },
    /// The window is this one after a pause (Linux `tcp_cwnd_restart`).
    IdleRestart(Window),
    /// The retransmission timer expired again, in a window that was reduced before, or while losses are repaired.
    RepeatedRto {
        /// The current time.
        now: Time,
    },
    /// Sending restarts after a timeout: one segment more than is in flight may leave (Linux `tcp_enter_loss`,
    /// draft-ietf-ccwg-bbr#5.6.4.4).
    RtoRestart {
        /// Segments in flight.
        in_flight: f64,
    },
    /// A loss is found while the window is being reduced for marks. A controller that reduces it further lowers ssthresh (Linux
    /// `dctcp_state`).
    LossInReduction {
        /// The window in use, in segments.
        in_use: f64,
    },
    /// All that was sent before a reduction for marks or a loss is acknowledged (Linux `CA_EVENT_COMPLETE_CWR`).
    ReductionEnd,
    /// The last reduction was spurious; the window before it was this one.
    Undo(Window),
    /// The losses of the last recovery were none: all arrived late. For controllers that take samples.
    SpuriousRecovery,
}

impl Event {
    /// Sets the window of a controller that has no rule of its own for this event.
    pub fn apply(&self, controller: &mut (impl CongestionController + ?Sized)) {
        match *self {
            Event::RtoRestart { in_flight } => controller.set_cwnd(in_flight + 1.0),
            Event::IdleRestart(window) => controller.set_cwnd(window.cwnd),
            Event::Undo(before) => controller.set_cwnd(controller.cwnd().max(before.cwnd)),
            _ => {}
        }
    }
}

/// The stream of a controller that was given none.
pub(crate) fn same_stream() -> Stream {
    Stream::named(0, "controller")
}

/// A congestion controller: a state machine without clock, I/O or random numbers of its own. `clone` copies all of its state, and no
/// input may make it panic.
pub trait CongestionController {
    /// Data was acknowledged. The window must not grow while `in_recovery`, nor while not `cwnd_limited`.
    fn on_ack(&mut self, ack: &Ack);

    /// An ACK delivered data or told of a loss, where it [needs](Needs::rate_samples) samples. Comes before everything else that the
    /// endpoint does with the ACK; losses that the ACK reveals are in the sample of the next.
    fn on_sample(&mut self, _sample: &RateSample) {}

    /// A segment was lost, where it needs samples.
    fn on_lost(&mut self, _lost: &LostSegment) {}

    /// Congestion was signaled.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The retransmission timer expired; `window` is the window in use, as in [`CongestionEvent`].
    fn on_rto(&mut self, now: Time, window: f64);

    /// Something else happened. A controller calls [`Event::apply`] for what it has no rule for.
    fn on_event(&mut self, event: &Event) {
        event.apply(self);
    }

    /// The congestion window in segments; the endpoint sends whole segments within it.
    fn cwnd(&self) -> f64;

    /// Sets the congestion window: the endpoint does so after a handshake, after an idle time and at the end of recovery.
    fn set_cwnd(&mut self, cwnd: f64);

    /// The slow start threshold in segments.
    fn ssthresh(&self) -> f64;

    /// The largest window in segments to which the acknowledgments of `flight` segments open it: `limit` of
    /// draft-ietf-ccwg-ratelimited-increase#3. Infinite where delays alone set the window. Controllers that take samples are not asked.
    fn limit_of_flight(&self, flight: f64, _now: Time) -> f64 {
        if self.cwnd() < self.ssthresh() { 2.0 * flight } else { flight + 1.0 }
    }

    /// The pace of its segments; `None` leaves it to the acknowledgments.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// What it asks of its endpoint now.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Bytes of memory beyond its place in an [`AnyController`](crate::AnyController).
    fn memory(&self) -> usize {
        0
    }
}
