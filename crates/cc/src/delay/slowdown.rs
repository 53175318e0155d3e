//! The periodic slowdown of LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus#4.4).
//! The window is two segments for two round trips, so that all flows see the empty queue, and then grows back as in slow start.

use crate::{Ack, Window};
use sojourn_units::{Duration, Time};

/// The time from one slowdown to the next, as a multiple of its duration.
/// Source: draft-irtf-iccrg-ledbat-plus-plus#4.4.
const INTERVAL: u64 = 9;
/// The time after a mark for which the queue is known to be short.
/// A slowdown is then not needed.
const SHORT_AFTER_MARK: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// The first slow start has not ended.
    FirstSlowStart,
    /// The next slowdown starts at this time.
    Next { at: Time },
    /// The window is held at its minimum.
    Holding { since: Time, until: Time },
    /// The window grows back after a slowdown that started at `since`.
    Growing { since: Time },
}

/// The state of a connection's slowdowns.
#[derive(Clone, Debug)]
pub struct Slowdown {
    /// Whether slowdowns are enabled.
    wanted: bool,
    phase: Phase,
}

impl Slowdown {
    /// At the start of a connection.
    pub fn new(wanted: bool) -> Slowdown {
        Slowdown { wanted, phase: Phase::FirstSlowStart }
    }

    /// Whether the first slow start has not ended.
    pub fn in_first_slow_start(&self) -> bool {
        self.phase == Phase::FirstSlowStart
    }

    /// Whether the window is held at its minimum.
    pub fn is_holding(&self) -> bool {
        matches!(self.phase, Phase::Holding { .. })
    }

    /// Whether the window grows back.
    pub fn is_growing(&self) -> bool {
        matches!(self.phase, Phase::Growing { .. })
    }

    /// Whether a slowdown is due.
    pub fn is_due(&self, now: Time) -> bool {
        self.wanted && matches!(self.phase, Phase::Next { at } if now >= at)
    }

    /// Starts a slowdown, which holds the window for two round trips.
    pub fn start(&mut self, window: &mut Window, ack: &Ack) {
        *window = Window { cwnd: Window::MIN_CWND, ssthresh: window.cwnd.max(Window::MIN_CWND) };
        self.phase = Phase::Holding { since: ack.now, until: ack.now + ack.srtt * 2 };
    }

    /// Lets the window grow back after it has been held long enough.
    pub fn release(&mut self, now: Time) {
        match self.phase {
            Phase::Holding { since, until } if now >= until => self.phase = Phase::Growing { since },
            _ => {}
        }
    }

    /// Ends a slow start of the connection or of a slowdown.
    /// The first slowdown is `after` the connection's slow start.
    pub fn end_slow_start(&mut self, now: Time, after: Duration) {
        self.phase = match self.phase {
            Phase::FirstSlowStart => Phase::Next { at: now + after },
            Phase::Holding { since, .. } | Phase::Growing { since } => Phase::Next { at: now + now.since(since) * INTERVAL },
            next @ Phase::Next { .. } => next,
        };
    }

    /// Handles counted marks: they end a slow start and postpone slowdowns.
    /// Returns whether they reduce the window.
    pub fn on_marks(&mut self, now: Time, after: Duration) -> bool {
        if self.is_holding() {
            return false;
        }
        self.end_slow_start(now, after);
        if let Phase::Next { at } = &mut self.phase {
            *at = (*at).max(now + SHORT_AFTER_MARK);
        }
        true
    }
}
