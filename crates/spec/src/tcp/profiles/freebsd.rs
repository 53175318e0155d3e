//! FreeBSD 5.3 (`tcp_timer.h`, `tcp_input.c`, `tcp_syncache.c`).
//! It counts ACKs and not bytes: `abc` came with 8.0. `inflight_limit` is off here, although the system had it on.

use crate::tcp::{Recovery, WindowBasis};
use sojourn_units::Duration;

super::profile! {
    from rfc;
    mss = 1448, "less 12 B of timestamps (rfc7323#3.2)";
    header = 52, "with timestamps (rfc7323#3.2), in ACKs too";
    recovery = Recovery::Sack, "FreeBSD `net.inet.tcp.sack.enable`";
    initial_window = 3.0, "rfc3390#1, FreeBSD `rfc3390`";
    initial_rto = Duration::from_secs(3), "FreeBSD `TCPTV_RTOBASE`";
    min_rto = Duration::from_millis(30), "FreeBSD `TCPTV_MIN`";
    max_rto = Duration::from_secs(64), "FreeBSD `TCPTV_REXMTMAX`";
    rto_slop = Duration::from_millis(200), "FreeBSD `TCPTV_CPU_VAR`";
    tick = Duration::from_millis(10), "FreeBSD `HZ` 100";
    tick_arithmetic = true, "FreeBSD tcp_input.c, `tcp_xmit_timer`";
    delayed_ack = Some(Duration::from_millis(100)), "FreeBSD `TCPTV_DELACK`";
    basis = WindowBasis::Cwnd, "FreeBSD tcp_input.c";
    growth_needs_limit = false, "FreeBSD tcp_input.c counts every ACK";
}
