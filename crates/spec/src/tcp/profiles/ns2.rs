//! ns-2.35's one-way agents with the defaults of `tcl/lib/ns-default.tcl`.

use crate::tcp::{Handshake, SackAlgorithm, WindowBasis};
use sojourn_units::Duration;

super::profile! {
    from rfc;
    mss = 1000, "ns-2 `packetSize_`";
    sack_option = 0, "ns-2 tcp-sink.cc";
    window = 20, "ns-2 `window_`";
    sack_algorithm = SackAlgorithm::Ns2Sack1, "ns-2 tcp-sack1.cc";
    paws = false, "ns-2 tcp-sink.cc";
    handshake = Handshake::OneWay, "ns-2 `syn_`";
    initial_window = 2.0, "ns-2 `windowInit_`";
    initial_ssthresh = 20.0, "ns-2 starts with `window_`";
    initial_rto = Duration::from_secs(3), "ns-2 `rtxcur_init_`";
    min_rto = Duration::from_millis(200), "ns-2 `minrto_`";
    tick = Duration::from_millis(10), "ns-2 `tcpTick_`";
    tick_arithmetic = true, "ns-2 tcp.cc, `rtt_update`";
    timestamps = false, "ns-2 `timestamps_`";
    delayed_ack = None, "ns-2 `TCPSink`";
    ecn_on_retransmit = true, "ns-2 tcp.cc, `output`";
    basis = WindowBasis::Cwnd, "ns-2 tcp.cc, `slowdown`";
    recovery_burst = 2, "ns-2 tcp-newreno.cc";
    deflate_on_exit = false, "ns-2 tcp-newreno.cc";
    hold_ssthresh_on_repeated_rto = false, "ns-2 tcp.cc, `timeout`";
    loss_cwnd_floor = false, "ns-2 tcp.cc, `slowdown`";
    ecn_cwnd_floor = false, "ns-2 tcp.cc, `ecn`";
    ignore_ece_after_timeout = false, "ns-2 tcp.cc, `ecn`";
    update_recover_after_ecn = false, "ns-2 tcp-newreno.cc";
    limited_transmit_new_data_only = false, "ns-2 `singledup_`";
    rto_3s_after_lost_syn = false, "ns-2 tcp.cc";
    immediate_ack_of_duplicates = false, "ns-2 tcp-sink.cc, `DelAckSink`";
    growth_needs_limit = false, "ns-2 tcp.cc, `opencwnd`";
    restart_after_idle = false, "ns-2 `QOption_` is off";
}
