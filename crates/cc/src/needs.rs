//! What a controller asks of its endpoint, and the pace that it sets.

/// The ECN feedback that a controller asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnNeed {
    /// None: it reacts to marks where they are reported.
    #[default]
    None,
    /// How many segments were marked, where the feedback counts them; it works without.
    CountIfThere,
    /// How many segments were marked (rfc8257#3.2, rfc9768#3.2).
    Count,
    /// The same, and packets that say that their sender is scalable: ECT(1) (rfc9331#4.1).
    Scalable,
}

impl EcnNeed {
    /// Whether it reacts to how many segments were marked, where the feedback counts them.
    pub fn counts(self) -> bool {
        self != EcnNeed::None
    }

    /// Whether it does not work with feedback that doesn't count marks.
    pub fn is_strict(self) -> bool {
        matches!(self, EcnNeed::Count | EcnNeed::Scalable)
    }
}

/// The smallest window that rate halving may reach in a recovery (Linux 2.6 `min_cwnd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Floor {
    /// The window as it is.
    #[default]
    Window,
    /// The slow-start threshold.
    Ssthresh,
    /// Half of it, in whole segments.
    HalfSsthresh,
}

/// The delay that is measured.
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

/// What a controller asks of its endpoint. What it does not ask for costs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Its own pace of sending, [`CongestionController::pacing`](crate::CongestionController::pacing).
    pub pacing: bool,
    /// Delivery-rate samples, [`CongestionController::on_sample`](crate::CongestionController::on_sample). Its window is then its
    /// own also while losses are repaired and after an idle time: the endpoint changes it only after a handshake and a timeout. It need
    /// not be told of ACKs in another way.
    pub rate_samples: bool,
    /// ECN feedback.
    pub ecn: EcnNeed,
    /// The window through marks that are counted: acknowledgments alone reduce it for them, and it goes on to grow. Else the endpoint
    /// takes a mark for the beginning of a reduction, in which the window does not grow for a round trip.
    pub grows_on_marks: bool,
    /// A random stream of its own, [`Event::Random`](crate::Event::Random).
    pub random: bool,
    /// What it measures delays from; `None` if it measures none.
    pub delays: Option<Source>,
    /// Samples that count as limited by the application, because it limits the data in flight on purpose now.
    pub limits_samples: bool,
    /// The least window of rate halving.
    pub floor: Floor,
}

impl Needs {
    /// Those of a window law that asks for nothing.
    pub(crate) const OF_LAW: Needs = Needs {
        pacing: false,
        rate_samples: false,
        ecn: EcnNeed::None,
        grows_on_marks: false,
        random: false,
        delays: None,
        limits_samples: false,
        floor: Floor::Ssthresh,
    };
}

/// How fast segments are sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pacing {
    /// Segments per second.
    pub rate: f64,
    /// The time of the segments that may leave back to back, in seconds, and their least number.
    quantum_time: f64,
    least_quantum: f64,
}

/// The bytes of a quantum at most (draft-ietf-ccwg-bbr#5.6.3, Linux `GSO_LEGACY_MAX_SIZE`), in segments of 1,448 bytes.
const MAX_QUANTUM: f64 = 45.0;
/// The time of a quantum in seconds, and its least segments (draft-ietf-ccwg-bbr#5.6.3).
const QUANTUM_TIME: f64 = 1e-3;
const LEAST_QUANTUM: f64 = 2.0;

impl Pacing {
    /// A pace of `rate` segments per second in quanta of `time` seconds, of `least` segments or more (draft-ietf-ccwg-bbr#5.6.3,
    /// Linux `tcp_tso_autosize`).
    #[inline]
    pub fn with_quantum_of(rate: f64, time: f64, least: f64) -> Pacing {
        Pacing { rate, quantum_time: time, least_quantum: least }
    }

    /// A pace of `rate` segments per second in the quanta of draft-ietf-ccwg-bbr#5.6.3.
    #[inline]
    pub(crate) fn as_drafted(rate: f64) -> Pacing {
        Pacing::with_quantum_of(rate, QUANTUM_TIME, LEAST_QUANTUM)
    }

    /// A pace of `rate` segments per second in quanta of so many segments.
    pub fn of_quantum(rate: f64, segments: f64) -> Pacing {
        Pacing::with_quantum_of(rate, 0.0, segments)
    }

    /// Segments that may leave back to back; 1 or more.
    #[inline]
    pub fn quantum(&self) -> f64 {
        // Whole segments; what exceeds the limit does so as the largest integer too.
        f64::from((self.rate * self.quantum_time) as u32).clamp(self.least_quantum, MAX_QUANTUM)
    }
}
