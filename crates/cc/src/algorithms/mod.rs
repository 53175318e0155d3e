//! One file per algorithm.

pub mod cubic;
pub mod reno;
