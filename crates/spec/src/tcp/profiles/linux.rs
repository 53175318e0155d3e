//! Linux (`net/tcp.h`).

use crate::tcp::{Recovery, WindowBasis};
use sojourn_units::Duration;

super::profile! {
    from rfc;
    mss = 1448, "less 12 B of timestamps (rfc7323#3.2)";
    header = 52, "with timestamps (rfc7323#3.2), in ACKs too";
    recovery = Recovery::Sack, "Linux `tcp_sack`";
    min_rto = Duration::from_millis(200), "Linux `TCP_RTO_MIN`";
    max_rto = Duration::from_secs(120), "Linux `TCP_RTO_MAX`";
    delayed_ack = Some(Duration::from_millis(40)), "Linux `TCP_DELACK_MIN`";
    basis = WindowBasis::Cwnd, "Linux `tcp_reno_ssthresh`";
}
