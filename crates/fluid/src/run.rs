//! The input of the integrator, and its result: the trajectory.

/// A change of the number of flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The time in seconds.
    pub at: f64,
    /// The index of the class.
    pub class: usize,
    /// The number of flows from then on.
    pub flows: f64,
}

/// The state before time 0, which was constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start {
    /// The window of every flow in packets.
    pub window: f64,
    /// The number of waiting packets.
    pub queue: f64,
    /// The probability.
    pub probability: f64,
}

/// The parameters of an integration.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The length of the trajectory in seconds.
    pub duration: f64,
    /// The longest step in seconds. A law's interval is a whole number of steps.
    pub step: f64,
    /// The number of steps from one recorded state to the next.
    pub every: usize,
    /// The state before time 0.
    pub start: Start,
    /// The changes in order of time.
    pub changes: Vec<Change>,
}

/// A trajectory: columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// The time in seconds.
    pub t: Vec<f64>,
    /// The number of waiting packets.
    pub queue: Vec<f64>,
    /// The law's probability.
    pub probability: Vec<f64>,
    /// Arrivals divided by the capacity of the link.
    pub load: Vec<f64>,
    /// The windows in packets, one column per class.
    pub windows: Vec<Vec<f64>>,
}
