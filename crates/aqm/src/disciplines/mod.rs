//! The disciplines: a file for each kind of queues.

pub(crate) mod aqm;
pub(crate) mod cake;
pub(crate) mod discipline;
pub(crate) mod dual;
pub(crate) mod fifo;
pub(crate) mod flows;
pub(crate) mod host;
