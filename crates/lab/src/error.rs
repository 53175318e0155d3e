//! Errors of a run.

/// The error of a run without a record.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run.
    #[error("{0}")]
    Build(String),
    /// The run does not advance or exceeds memory: place, limit, and value.
    #[error("{0}")]
    Endless(String),
    /// Packets sent, delivered, dropped and in flight do not add up: a defect of the simulator.
    #[error("the audit failed: {0}")]
    Audit(String),
    /// The capture could not be written: the system's error number, if any, and its message.
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
