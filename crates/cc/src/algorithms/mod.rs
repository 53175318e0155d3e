//! One file per algorithm.

pub mod cubic;
pub mod fledbat;
pub mod flower;
pub mod ledbat;
pub mod ledbatpp;
pub mod reno;
pub mod rledbat;
pub mod tcp_lp;
