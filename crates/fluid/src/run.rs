//! What to integrate, and the trajectory.

/// A change of the number of flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// Time in seconds.
    pub at: f64,
    /// Index of the class.
    pub class: usize,
    /// The number of flows from then on.
    pub flows: f64,
}

/// The state before time 0, which was constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start {
    /// Every flow's window in packets.
    pub window: f64,
    /// Waiting packets.
    pub queue: f64,
    /// Probability.
    pub probability: f64,
}

/// What to integrate, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Length of the trajectory in seconds.
    pub duration: f64,
    /// Longest step in seconds; a law's interval is a whole number of steps.
    pub step: f64,
    /// Every how many steps the state is recorded.
    pub every: usize,
    /// The state before time 0.
    pub start: Start,
    /// Changes in order of time.
    pub changes: Vec<Change>,
}

/// A trajectory: columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Time in seconds.
    pub t: Vec<f64>,
    /// Waiting packets.
    pub queue: Vec<f64>,
    /// The law's probability.
    pub probability: Vec<f64>,
    /// Arrivals over the capacity of the link.
    pub load: Vec<f64>,
    /// Windows in packets, a column for each class.
    pub windows: Vec<Vec<f64>>,
}
