//! The structs that C mirrors.
//! `hosts/linux/kernel/layout.h` checks the same sizes and offsets in C.

use crate::discipline::Counted;
use crate::queues::{Offered, Order};
use core::mem::offset_of;
use sojourn_linux::{GuestFlow, Header, KernelAck, KernelNeeds, Packet, Windows, Written};

/// Checks the size of a struct and the offset of each field at compile time.
/// The first name is that of C.
macro_rules! layout {
    ($name:ident: $type:ty, $size:literal { $($field:ident: $offset:literal,)* }) => {
        const _: () = {
            assert!(size_of::<$type>() == $size, concat!(stringify!($name), ": another size than in C"));
            $(assert!(offset_of!($type, $field) == $offset, concat!(stringify!($name), ".", stringify!($field), ": another place than in C"));)*
        };
    };
}

layout!(sojourn_header: Header, 81 {});
layout!(sojourn_packet: Packet, 112 {
    handle: 0, flow: 8, seq: 12, ts_value: 16, ts_echo: 20, size: 24, payload: 26, rtt_ms: 28, flags: 30, header: 31,
});
layout!(sojourn_flow: GuestFlow, 36 {
    source: 0, destination: 4, packet: 8, dscp: 12, tcp: 13, ecn: 14, sack: 15, pacing: 16, echoes: 17, session: 18, requests: 19,
    controller: 20,
});
layout!(sojourn_written: Written, 24 { bytes: 0, request: 8, last: 16, });
layout!(sojourn_ack: KernelAck, 112 {
    snd_una: 0, snd_max: 8, rtt_us: 16, one_way_delay_ns: 24, pacing_delay_ns: 32, acked: 40, advanced: 44, in_flight: 48, srtt_us: 52,
    rtt_min_us: 56, marked: 60, newest: 64, unacknowledged: 68, delivered: 72, lost: 76, newly_lost: 80, prior_delivered: 84,
    delivered_since: 88, interval_us: 92, in_flight_after: 96, app_limited: 100, repairs: 101, sack: 102, has_one_way_delay: 103,
    cwnd_limited: 104, in_recovery: 105, after_timeout: 106, may_be_delayed: 107, open: 108,
});
layout!(sojourn_windows: Windows, 24 { cwnd: 0, ssthresh: 4, pace: 8, limits_samples: 16, });
layout!(sojourn_needs: KernelNeeds, 2 { owns_window: 0, grows_on_marks: 1, });
layout!(sojourn_order: Order, 32 { kind: 0, options: 8, length: 16, link: 24, mtu: 28, });
layout!(sojourn_offered: Offered, 16 { handle: 0, number: 8, rtt_ms: 12, marked: 14, });
layout!(sojourn_counted: Counted, 48 { arrived: 0, marked: 8, early: 16, forced: 24, tail: 32, ack_filter: 40, });
