//! The input and output of congestion controllers.

use crate::{EcnNeed, Floor, LostSegment, Needs, Pacing, RateSample};
use sojourn_units::{Duration, Stream, Time};

/// An ACK of new data, or of data above a hole during loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The arrival time.
    pub now: Time,
    /// Segments that it acknowledges for the first time.
    pub acked: f64,
    /// Segments below its number and not below that of the last ACK.
    /// They count whether known to have arrived before or not (Linux `pkts_acked`).
    pub advanced: f64,
    /// The RTT of the newest acknowledged segment, if the ACK provides a sample.
    pub rtt: Option<Duration>,
    /// The smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// The minimum RTT; zero before the first sample.
    pub rtt_min: Duration,
    /// The delay from sender to receiver in nanoseconds, by their two clocks.
    /// It contains the offset between them, so only differences are meaningful.
    pub one_way_delay: Option<i64>,
    /// Segments in flight before this ACK.
    pub in_flight: f64,
    /// Whether the congestion window limited the sender (rfc7661#4.1).
    /// Otherwise the application or the receive window did.
    pub cwnd_limited: bool,
    /// Whether losses are being repaired. Samples then count, but the window must not grow.
    pub in_recovery: bool,
    /// Whether data sent before the last timeout is unacknowledged (Linux's state `Loss`).
    pub after_timeout: bool,
    /// Whether nothing was lost, marked or out of order when it arrived (Linux's state `Open`).
    pub open: bool,
    /// L of appropriate byte counting, in segments (rfc3465#2.2).
    /// It limits the growth per ACK in slow start. With 0, ACKs are counted instead of bytes.
    pub abc_limit: f64,
    /// The first unacknowledged byte after this ACK.
    pub snd_una: u64,
    /// The byte after the highest one sent.
    pub snd_max: u64,
    /// Segments that it reports as marked for the first time; 0 without counting feedback.
    /// Sources: rfc8257#3.2, rfc9768#3.2.
    pub marked: f64,
}

impl Ack {
    /// The growth of the window in slow start in segments (rfc5681#3.1 eq. 2, rfc3465#2.2).
    pub fn slow_start_growth(&self) -> f64 {
        self.acked.min(if self.abc_limit > 0.0 { self.abc_limit } else { 1.0 })
    }

    /// The segments that count in congestion avoidance (rfc3465#2.1).
    /// They are the acknowledged ones if bytes are counted, else one.
    pub fn avoidance_count(&self) -> f64 {
        if self.abc_limit > 0.0 { self.acked } else { 1.0 }
    }
}

impl Ack {
    /// An ACK of one segment at time 0 within a full window, without measurements.
    pub const ONE: Ack = Ack {
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

/// The kind of congestion signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A segment was lost.
    Loss,
    /// A congestion mark was echoed (rfc3168#6.1.2).
    Mark,
}

/// Congestion, reported at most once per window of data.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// The current time.
    pub now: Time,
    /// The window in use in segments.
    /// Depending on the endpoint's options it is the congestion window, limited by the receive window, or the data in flight (rfc5681#3.1
    /// eq. 4).
    pub window: f64,
    /// The kind of signal.
    pub signal: Signal,
}

/// The windows that a controller sets, in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
}

/// The pacing rate in windows per round trip, in slow start and above half of ssthresh.
/// Source: Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`.
const SLOW_START_PACE: f64 = 2.0;
const AVOIDANCE_PACE: f64 = 1.2;

impl Window {
    /// The minimum window of most controllers in segments (rfc5681#3.1).
    pub(crate) const MIN_CWND: f64 = 2.0;

    /// The windows after a reduction to `kept` segments.
    pub fn reduced(kept: f64) -> Window {
        Window { cwnd: kept.max(Window::MIN_CWND), ssthresh: kept.max(Window::MIN_CWND) }
    }

    /// The slow-start threshold, or three quarters of the window if that is more.
    /// Linux assumes this about the path (`tcp_current_ssthresh`, outside of a reduction).
    pub fn ssthresh_of_window(&self) -> f64 {
        self.ssthresh.max(libm::floor(self.cwnd / 2.0) + libm::floor(self.cwnd / 4.0))
    }

    /// The pacing rate in segments/s for these windows, segments in flight and smoothed RTT.
    /// Source: Linux `tcp_update_pacing_rate`.
    #[inline]
    pub fn pace(&self, in_flight: f64, srtt: Duration) -> f64 {
        let factor = if self.cwnd < self.ssthresh / 2.0 { SLOW_START_PACE } else { AVOIDANCE_PACE };
        factor * self.cwnd.max(in_flight) / srtt.as_secs_f64()
    }

    /// The minimum window that rate halving may reach, in segments.
    pub fn least(&self, floor: Floor) -> f64 {
        match floor {
            Floor::Window => self.cwnd,
            Floor::Ssthresh => self.ssthresh,
            Floor::HalfSsthresh => libm::floor(self.ssthresh / 2.0),
        }
    }

    /// The windows after a timeout: one segment (rfc5681#3.1).
    /// The threshold is `kept`, a part of the window that was in use.
    pub fn after_timeout(kept: f64) -> Window {
        Window { cwnd: 1.0, ssthresh: kept.max(Window::MIN_CWND) }
    }
}

/// The numbers in which a window is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Arithmetic {
    /// Fractions of a segment.
    #[default]
    Fractions,
    /// Whole segments, as in ns-2's agents for Linux. A fraction of the next one is separate.
    Whole,
    /// Today's Linux: whole segments, and a count of acknowledged ones.
    Linux,
}

/// The ECN feedback of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Feedback {
    /// Counts marked segments.
    #[default]
    Counts,
    /// Counts marked segments, but only for controllers that require it.
    CountsIfAsked,
    /// Echoes one mark per window, or none (rfc3168#6.1).
    Echoes,
}

impl Feedback {
    /// Whether it counts marks for a controller with this requirement.
    pub(crate) fn counts_for(self, need: EcnNeed) -> bool {
        self == Feedback::Counts || (self == Feedback::CountsIfAsked && need.is_strict())
    }
}

/// An event other than an ACK, congestion, and the first timeout of a window.
#[derive(Clone, Debug)]
pub enum Event {
    /// Supplies a random stream to a controller that [needs](Needs::random) one.
    /// Before it, every controller draws from the same stream.
    Random(Stream),
    /// A segment is about to be sent while nothing is in flight, `idle` after the last one.
    /// Source: Linux `CA_EVENT_TX_START`.
    IdleEnd {
        /// The current time.
        now: Time,
        /// The time since the last segment.
        idle: Duration,
        /// The smoothed RTT; zero before the first sample.
        srtt: Duration,
    },
    /// The same, for controllers that use [samples](Needs::rate_samples).
    FlightStart {
        /// The current time.
        now: Time,
        /// The smoothed RTT; zero before the first sample.
        srtt: Duration,
        /// Whether the application had no more data before.
        app_limited: bool,
    },
    /// The window after a pause (Linux `tcp_cwnd_restart`).
    IdleRestart(Window),
    /// The retransmission timer expired again.
    /// The window was reduced before, or losses are being repaired.
    RepeatedRto {
        /// The current time.
        now: Time,
    },
    /// Sending restarts after a timeout, with one segment more than is in flight.
    /// Sources: Linux `tcp_enter_loss`, draft-ietf-ccwg-bbr#5.6.4.4.
    RtoRestart {
        /// Segments in flight.
        in_flight: f64,
    },
    /// A loss is detected while the window is being reduced for marks.
    /// A controller that reduces it further lowers ssthresh (Linux `dctcp_state`).
    LossInReduction {
        /// The window in use in segments.
        in_use: f64,
    },
    /// All data sent before a reduction is acknowledged (Linux `CA_EVENT_COMPLETE_CWR`).
    /// The reduction was for marks or a loss.
    ReductionEnd,
    /// The last reduction was spurious. The window before it is given.
    Undo(Window),
    /// All losses of the last recovery were spurious: the segments arrived late.
    /// For controllers that use samples.
    SpuriousRecovery,
}

impl Event {
    /// Applies this event to a controller that does not handle it itself.
    pub fn apply(&self, controller: &mut (impl CongestionController + ?Sized)) {
        match *self {
            Event::RtoRestart { in_flight } => controller.set_cwnd(in_flight + 1.0),
            Event::IdleRestart(window) => controller.set_cwnd(window.cwnd),
            Event::Undo(before) => controller.set_cwnd(controller.cwnd().max(before.cwnd)),
            _ => {}
        }
    }
}

/// The stream of a controller that got none.
pub(crate) fn same_stream() -> Stream {
    Stream::named(0, "controller")
}

/// A congestion controller: a state machine without clock, I/O or random numbers of its own.
/// `clone` copies all of its state. No input may make it panic.
pub trait CongestionController {
    /// Handles acknowledged data.
    /// The window must not grow if `in_recovery`, or if not `cwnd_limited`.
    fn on_ack(&mut self, ack: &Ack);

    /// Handles an ACK that delivered data or reported a loss.
    /// Called only if it [needs](Needs::rate_samples) samples, and before anything else that the endpoint does with the ACK. Losses that
    /// the ACK reveals are in the sample of the next one.
    fn on_sample(&mut self, _sample: &RateSample) {}

    /// Handles a lost segment, if it needs samples or [losses](Needs::losses).
    fn on_lost(&mut self, _lost: &LostSegment) {}

    /// Handles a congestion signal.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// Handles a retransmission timeout.
    /// `window` is the window in use, as in [`CongestionEvent`].
    fn on_rto(&mut self, now: Time, window: f64);

    /// Handles other events. A controller calls [`Event::apply`] for events without a rule.
    fn on_event(&mut self, event: &Event) {
        event.apply(self);
    }

    /// The congestion window and the slow start threshold.
    fn window(&self) -> Window;

    /// The congestion window in segments. The endpoint sends whole segments within it.
    #[inline]
    fn cwnd(&self) -> f64 {
        self.window().cwnd
    }

    /// Sets the congestion window.
    /// The endpoint does so after a handshake, after an idle time and at the end of recovery.
    fn set_cwnd(&mut self, cwnd: f64);

    /// The slow start threshold in segments.
    #[inline]
    fn ssthresh(&self) -> f64 {
        self.window().ssthresh
    }

    /// The maximum window in segments that ACKs of `flight` segments allow.
    /// It is `limit` of draft-ietf-ccwg-ratelimited-increase#3. Infinite if only delays set the window. Not called for controllers that use
    /// samples.
    fn limit_of_flight(&self, flight: f64, _now: Time) -> f64 {
        if self.cwnd() < self.ssthresh() { 2.0 * flight } else { flight + 1.0 }
    }

    /// The pacing of its segments; `None` leaves it to ACKs.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// The pacing that its start-up [sets](Needs::start_up_pacing); `None` at other times.
    /// It is separate from [`pacing`](CongestionController::pacing), which is asked for each segment.
    fn start_up_pacing(&self) -> Option<Pacing> {
        None
    }

    /// The current requirements on its endpoint.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Bytes of memory in addition to its size in an [`AnyController`](crate::AnyController).
    fn memory(&self) -> usize {
        0
    }
}
