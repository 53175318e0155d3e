//! One file per algorithm.

pub mod drop_tail;
pub mod red;
