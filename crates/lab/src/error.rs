//! What can go wrong between a checked scenario and its record.

/// Why there is no record.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// The scenario can't be run as it stands.
    #[error("{0}")]
    Build(String),
    /// The run's books don't balance: a defect of the simulator.
    #[error("the audit failed: {0}")]
    Audit(String),
    /// The caller wants no more.
    #[error("stopped")]
    Stopped,
}
