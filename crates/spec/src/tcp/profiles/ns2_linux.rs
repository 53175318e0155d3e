//! ns-2.35's TCP-Linux agent with timestamps: a clock of 1 ms, and no SYN before data.
//! Sources: `tcp/tcp-linux.cc`, `tcp/scoreboard1.cc`.

use crate::tcp::{Handshake, Recovery, SackAlgorithm};
use sojourn_units::Duration;

super::profile! {
    from ns2;
    recovery = Recovery::Sack, "ns-2 tcp-linux.cc";
    sack_algorithm = SackAlgorithm::RateHalving, "ns-2 tcp-linux.cc, scoreboard1.cc";
    handshake = Handshake::None, "ns-2 tcp-linux.cc";
    max_rto = Duration::from_secs(120), "Linux `TCP_RTO_MAX`";
    tick = Duration::from_millis(1), "ns-2 tcp-linux.cc: Linux counts milliseconds";
    timestamps = true, "ns-2 `timestamps_`";
    limited_transmit = false, "ns-2 tcp-linux.cc";
    linux_variation = true, "Linux `tcp_rtt_estimator`, ns-2 tcp-linux.cc";
    whole_windows = true, "Linux `snd_cwnd`, tcp_cong.c";
    growth_needs_limit = true, "Linux `tcp_is_cwnd_limited`";
    abc = 1, "ns-2 tcp-linux.cc";
}
