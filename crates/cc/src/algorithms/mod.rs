//! One file per algorithm.

pub mod cubic;
pub mod flower;
pub mod ledbat;
pub mod reno;
