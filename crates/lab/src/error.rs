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
    /// What is captured of the run could not be written: the number of the system's error, if it has one, and what it says.
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
