//! One file per algorithm.

pub mod avq;
pub mod blue;
pub mod choke;
pub mod choker;
pub mod codel;
pub mod cpc;
pub mod drop_tail;
pub mod external;
pub mod flc;
pub mod fq_codel;
pub mod fuzzy_red;
pub mod fuzzy_rtt;
pub mod led;
pub mod pd;
pub mod pi;
pub mod pi2;
pub mod pi_rtt;
pub mod pid;
pub mod red;
pub mod rem;

/// The link of unit tests: 10 Mbit/s, 11 ms, packets of 1000 bytes.
#[cfg(test)]
pub(crate) fn test_link() -> crate::Link {
    use sojourn_units::{Duration, Rate};
    let rate = Rate::from_bps(10_000_000).expect("above zero");
    crate::Link { rate, delay: Duration::from_millis(11), mean_packet: 1000, limit_packets: 100 }
}
