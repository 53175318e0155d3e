//! The disciplines: a file for each kind of container.

pub(crate) mod cake;
pub(crate) mod classes;
pub(crate) mod discipline;
pub(crate) mod dual;
pub(crate) mod fifo;
pub(crate) mod flows;
pub(crate) mod host;
pub(crate) mod qdisc;
