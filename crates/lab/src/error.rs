//! Errors of a run.

/// The reason why a run has no record.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run.
    #[error("{0}")]
    Build(String),
    /// The run does not advance or exceeds its memory: place, limit and value.
    #[error("{0}")]
    Endless(String),
    /// The audit failed, which is a defect of the simulator.
    /// Packets sent, delivered, dropped and in flight do not add up.
    #[error("the audit failed: {0}")]
    Audit(String),
    /// The capture could not be written.
    /// It has the system's error number, if any, and its message.
    #[error("{1}")]
    Write(Option<i32>, String),
    /// The caller stopped the run.
    #[error("stopped")]
    Stopped,
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Write(error.raw_os_error(), error.to_string())
    }
}
