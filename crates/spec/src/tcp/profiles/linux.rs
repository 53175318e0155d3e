//! Linux (`net/tcp.h`).

use crate::tcp::{AccEcnOption, Recovery, SackAlgorithm, WindowBasis};
use sojourn_units::Duration;

super::profile! {
    from rfc;
    mss = 1448, "less 12 B of timestamps (rfc7323#3.2)";
    header = 52, "with timestamps (rfc7323#3.2), in ACKs too";
    recovery = Recovery::Sack, "Linux `tcp_sack`";
    sack_algorithm = SackAlgorithm::RackTlp, "Linux tcp_recovery.c";
    dsack = true, "Linux `tcp_dsack`";
    syn_linear_timeouts = 4, "Linux `tcp_syn_linear_timeouts`";
    syn_losses_allowed = 1, "Linux `tcp_init_transfer`";
    ecn_syns = 1, "Linux `tcp_ecn_clear_syn`, with `tcp_ecn_fallback`";
    min_rto = Duration::from_millis(200), "Linux `TCP_RTO_MIN`";
    max_rto = Duration::from_secs(120), "Linux `TCP_RTO_MAX`";
    delayed_ack = Some(Duration::from_millis(40)), "Linux `TCP_DELACK_MIN`";
    quick_acks = 16, "Linux `TCP_MAX_QUICKACKS`";
    quick_start = 209, "Linux `tcp_grow_window`: while the receive window grows, with 4 MiB of buffer";
    notsent_lowat = 1 << 18, "Linux `tcp_stream_memory_free`, `tcp_mark_push`: writes without end, with 256 KiB unsent";
    adaptive_delayed_ack = true, "Linux `tcp_event_data_recv`";
    sack_compression = Duration::from_millis(1), "Linux `tcp_comp_sack_delay_ns`, `tcp_comp_sack_rtt_percent`, `TCP_SACK_BLOCKS_EXPECTED`";
    timer_wheel = true, "Linux `calc_wheel_index`";
    windowed_variation = true, "Linux `tcp_rtt_estimator`";
    accecn_option = AccEcnOption::Full, "Linux `tcp_ecn_option`";
    generalized_ecn = true, "Linux `tcp_ecn_send`";
    linux_pacing = true, "Linux `tcp_update_skb_after_send`; a network card that splits large segments (TSO) makes bursts";
    linux_growth = true, "Linux `tcp_cong_avoid_ai`, tcp_cubic.c";
    basis = WindowBasis::Cwnd, "Linux `tcp_reno_ssthresh`";
}
