//! The events of a sender's log.

use sojourn_units::{Duration, Time};

/// An event and its time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// The time of the event. A time before that of the previous event counts as that.
    pub at: Time,
    /// What happened.
    pub action: Action,
}

/// What happened at the sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// An ACK acknowledged data.
    Acked(Acked),
    /// Packets were declared lost.
    Lost {
        /// When the newest of them was sent, if known.
        sent: Option<Time>,
        /// Whether they establish persistent congestion (rfc9002#7.6).
        persistent: bool,
        /// Bytes in flight without them, if known.
        in_flight: Option<u64>,
    },
    /// A congestion mark was echoed.
    Marked {
        /// When the newest acknowledged packet was sent, if known.
        sent: Option<Time>,
    },
    /// The retransmission timer of TCP expired.
    Timeout,
    /// TCP has repaired all losses.
    Recovered,
    /// The last reduction was found to be spurious.
    Spurious,
    /// The size of full packets changed.
    Mss {
        /// The new size in bytes.
        bytes: u32,
    },
    /// The sender reports its windows after the events before this one.
    Window {
        /// The congestion window in bytes.
        cwnd: u64,
        /// The slow-start threshold in bytes; `None` if it is arbitrarily high or not reported.
        ssthresh: Option<u64>,
    },
}

/// An ACK of new data.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Acked {
    /// Bytes that it acknowledges for the first time.
    pub bytes: u64,
    /// When the newest acknowledged packet was sent, if known.
    pub sent: Option<Time>,
    /// The RTT sample.
    pub rtt: Option<Duration>,
    /// The smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// The minimum RTT; zero before the first sample.
    pub rtt_min: Duration,
    /// Bytes in flight before the ACK.
    pub in_flight: u64,
    /// What limited the sender.
    pub limit: Limit,
    /// Whether TCP still repairs the losses of a timeout after the ACK.
    pub after_timeout: bool,
}

/// What limited a sender. Its window may grow only if the window did (rfc9002#7.8, rfc7661#4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Limit {
    /// The congestion window.
    Window,
    /// The application.
    Application,
    /// The log does not tell. Any growth up to that of a full window is then correct.
    #[default]
    Unknown,
}
