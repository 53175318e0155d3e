//! One file per algorithm.

pub mod reno;
