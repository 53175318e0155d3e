//! Errors of a run.

/// The reason why a run ended early.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run.
    #[error("{0}")]
    Scenario(String),
    /// An endpoint broke a rule: its flow and side, the simulated time, and the rule.
    #[error("{endpoint} at {seconds:.6} s: {rule}")]
    Endpoint {
        /// The flow and the side, such as `web/0 sender (quinn)`.
        endpoint: String,
        /// The simulated time in seconds.
        seconds: f64,
        /// What was expected, and what was got.
        rule: String,
    },
    /// The engine ended the run.
    #[error("{0}")]
    Engine(#[from] sojourn_lab::Error),
}
