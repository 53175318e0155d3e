//! The requirements of a controller on its endpoint, and its pacing.

/// The ECN feedback that a controller requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnNeed {
    /// No feedback. It reacts to reported marks.
    #[default]
    None,
    /// The number of marked segments, if the feedback counts them. It is optional.
    CountIfThere,
    /// The number of marked segments (rfc8257#3.2, rfc9768#3.2).
    Count,
    /// As `Count`, with packets that identify a scalable sender by ECT(1) (rfc9331#4.1).
    Scalable,
}

impl EcnNeed {
    /// Whether it reacts to the number of marked segments, if the feedback counts them.
    pub fn counts(self) -> bool {
        self != EcnNeed::None
    }

    /// Whether it requires feedback that counts marks.
    pub fn is_strict(self) -> bool {
        matches!(self, EcnNeed::Count | EcnNeed::Scalable)
    }
}

/// The smallest window that rate halving may reach in a recovery (Linux 2.6 `min_cwnd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Floor {
    /// The current window.
    #[default]
    Window,
    /// The slow-start threshold.
    Ssthresh,
    /// Half of the slow-start threshold, in whole segments.
    HalfSsthresh,
}

/// The measured delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Source {
    /// The one-way delay from sender to receiver, by their two clocks.
    /// If these are implausible, it is the round-trip time.
    #[default]
    OneWay,
    /// The round-trip time by the sender's clock.
    RoundTrip,
}

/// The requirements of a controller on its endpoint. A feature that is not required is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// It sets a pacing rate: [`pacing`](crate::CongestionController::pacing).
    pub pacing: bool,
    /// It requires samples: [`on_sample`](crate::CongestionController::on_sample).
    /// Its window is then its own also during loss recovery and after an idle time: the endpoint changes it only after a handshake and a
    /// timeout.
    /// ACKs need not be reported in another way.
    pub rate_samples: bool,
    /// The ECN feedback.
    pub ecn: EcnNeed,
    /// The window may grow through counted marks: only ACKs reduce it for them.
    /// Otherwise the endpoint takes a mark for the start of a reduction, in which the window does not grow for a round trip.
    pub grows_on_marks: bool,
    /// It requires a random stream: [`Event::Random`](crate::Event::Random).
    pub random: bool,
    /// The delay that it measures; `None` if it measures none.
    pub delays: Option<Source>,
    /// Samples count as application-limited, because it intentionally limits the data in flight.
    pub limits_samples: bool,
    /// The minimum window of rate halving.
    pub floor: Floor,
    /// Its start-up is exchangeable: [`Start::start_up`](crate::Start::start_up).
    pub start_up: bool,
    /// Its start-up sets a pacing rate at times.
    /// See [`start_up_pacing`](crate::CongestionController::start_up_pacing). At other times the endpoint paces by its own options.
    pub start_up_pacing: bool,
    /// It requires reports of lost segments: [`on_lost`](crate::CongestionController::on_lost).
    /// Controllers that use samples get them anyway.
    pub losses: bool,
}

impl Needs {
    /// The requirements of a window law without special ones.
    pub(crate) const OF_LAW: Needs = Needs {
        pacing: false,
        rate_samples: false,
        ecn: EcnNeed::None,
        grows_on_marks: false,
        random: false,
        delays: None,
        limits_samples: false,
        floor: Floor::Ssthresh,
        start_up: false,
        start_up_pacing: false,
        losses: false,
    };
}

/// The pacing of segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pacing {
    /// Segments per second.
    pub rate: f64,
    /// The duration in seconds, and the minimum number, of segments sent back to back.
    quantum_time: f64,
    least_quantum: f64,
}

/// The maximum size of a quantum, in segments of 1,448 bytes.
/// Sources: draft-ietf-ccwg-bbr#5.6.3, Linux `GSO_LEGACY_MAX_SIZE`.
const MAX_QUANTUM: f64 = 45.0;
/// The duration of a quantum in seconds, and its minimum in segments.
/// Source: draft-ietf-ccwg-bbr#5.6.3.
const QUANTUM_TIME: f64 = 1e-3;
const LEAST_QUANTUM: f64 = 2.0;

impl Pacing {
    /// Pacing at `rate` segments/s in quanta of `time` seconds, at least `least` segments.
    /// Sources: draft-ietf-ccwg-bbr#5.6.3, Linux `tcp_tso_autosize`.
    #[inline]
    pub fn with_quantum_of(rate: f64, time: f64, least: f64) -> Pacing {
        Pacing { rate, quantum_time: time, least_quantum: least }
    }

    /// Pacing at `rate` segments/s in the quanta of draft-ietf-ccwg-bbr#5.6.3.
    #[inline]
    pub(crate) fn as_drafted(rate: f64) -> Pacing {
        Pacing::with_quantum_of(rate, QUANTUM_TIME, LEAST_QUANTUM)
    }

    /// Pacing at `rate` segments/s in quanta of `segments` segments.
    pub fn of_quantum(rate: f64, segments: f64) -> Pacing {
        Pacing::with_quantum_of(rate, 0.0, segments)
    }

    /// The number of segments that may be sent back to back; 1 or more.
    #[inline]
    pub fn quantum(&self) -> f64 {
        // Whole segments. The conversion saturates, and the limit applies afterwards.
        f64::from((self.rate * self.quantum_time) as u32).clamp(self.least_quantum, MAX_QUANTUM)
    }
}
