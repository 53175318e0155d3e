//! The input for a new controller.

use crate::{Arithmetic, Feedback, StartUpConfig};

/// The input for a new controller: state of its connection and properties of its endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The initial window in segments.
    pub window: f64,
    /// The initial slow start threshold in segments.
    pub ssthresh: f64,
    /// The numbers in which the window counts.
    pub arithmetic: Arithmetic,
    /// Whether the endpoint paces segments if the controller sets no pacing rate.
    pub pacing: bool,
    /// The ECN feedback.
    pub ecn: Feedback,
    /// The start-up; `None` is the controller's own.
    pub start_up: Option<StartUpConfig>,
}

impl Start {
    /// A start in fractions of a segment, without pacing, with feedback that counts marks.
    /// The start-up is the controller's own.
    pub const fn new(window: f64, ssthresh: f64) -> Self {
        Start { window, ssthresh, arithmetic: Arithmetic::Fractions, pacing: false, ecn: Feedback::Counts, start_up: None }
    }

    /// Switches to Linux's numbers.
    #[must_use]
    pub const fn in_linux(self) -> Self {
        Start { arithmetic: Arithmetic::Linux, ..self }
    }

    /// Switches to feedback that does not count marks.
    #[must_use]
    pub const fn echoing(self) -> Self {
        Start { ecn: Feedback::Echoes, ..self }
    }

    /// Whether the numbers are Linux's.
    pub(crate) fn is_linux(&self) -> bool {
        self.arithmetic == Arithmetic::Linux
    }
}
