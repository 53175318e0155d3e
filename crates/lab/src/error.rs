//! Why a checked scenario has no record.

/// Why there is no record.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run.
    #[error("{0}")]
    Build(String),
    /// The run would not end, or not before memory does: where, what is expected, and what there is.
    #[error("{0}")]
    Endless(String),
    /// Packets sent, delivered, dropped and in flight do not add up: a defect of the simulator.
    #[error("the audit failed: {0}")]
    Audit(String),
    /// The caller stopped the run.
    #[error("stopped")]
    Stopped,
}
