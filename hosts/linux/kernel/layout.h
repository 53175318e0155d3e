/* SPDX-License-Identifier: GPL-2.0 */
/* Checks the size of each struct that Rust mirrors, and the offset of each field; abi/src/layout.rs checks the same. */
#define SIZE(type, size) static_assert(sizeof(struct type) == (size))
#define FIELD(type, field, offset) static_assert(offsetof(struct type, field) == (offset))

SIZE(sojourn_header, 81);
FIELD(sojourn_header, length, 0);
FIELD(sojourn_header, bytes, 1);

SIZE(sojourn_packet, 112);
FIELD(sojourn_packet, handle, 0);
FIELD(sojourn_packet, flow, 8);
FIELD(sojourn_packet, seq, 12);
FIELD(sojourn_packet, ts_value, 16);
FIELD(sojourn_packet, ts_echo, 20);
FIELD(sojourn_packet, size, 24);
FIELD(sojourn_packet, payload, 26);
FIELD(sojourn_packet, rtt_ms, 28);
FIELD(sojourn_packet, flags, 30);
FIELD(sojourn_packet, header, 31);

SIZE(sojourn_flow, 36);
FIELD(sojourn_flow, source, 0);
FIELD(sojourn_flow, destination, 4);
FIELD(sojourn_flow, packet, 8);
FIELD(sojourn_flow, dscp, 12);
FIELD(sojourn_flow, tcp, 13);
FIELD(sojourn_flow, ecn, 14);
FIELD(sojourn_flow, sack, 15);
FIELD(sojourn_flow, pacing, 16);
FIELD(sojourn_flow, echoes, 17);
FIELD(sojourn_flow, session, 18);
FIELD(sojourn_flow, requests, 19);
FIELD(sojourn_flow, controller, 20);

SIZE(sojourn_written, 24);
FIELD(sojourn_written, bytes, 0);
FIELD(sojourn_written, request, 8);
FIELD(sojourn_written, last, 16);

SIZE(sojourn_ack, 112);
FIELD(sojourn_ack, snd_una, 0);
FIELD(sojourn_ack, snd_max, 8);
FIELD(sojourn_ack, rtt_us, 16);
FIELD(sojourn_ack, one_way_delay_ns, 24);
FIELD(sojourn_ack, pacing_delay_ns, 32);
FIELD(sojourn_ack, acked, 40);
FIELD(sojourn_ack, advanced, 44);
FIELD(sojourn_ack, in_flight, 48);
FIELD(sojourn_ack, srtt_us, 52);
FIELD(sojourn_ack, rtt_min_us, 56);
FIELD(sojourn_ack, marked, 60);
FIELD(sojourn_ack, newest, 64);
FIELD(sojourn_ack, unacknowledged, 68);
FIELD(sojourn_ack, delivered, 72);
FIELD(sojourn_ack, lost, 76);
FIELD(sojourn_ack, newly_lost, 80);
FIELD(sojourn_ack, prior_delivered, 84);
FIELD(sojourn_ack, delivered_since, 88);
FIELD(sojourn_ack, interval_us, 92);
FIELD(sojourn_ack, in_flight_after, 96);
FIELD(sojourn_ack, app_limited, 100);
FIELD(sojourn_ack, repairs, 101);
FIELD(sojourn_ack, sack, 102);
FIELD(sojourn_ack, has_one_way_delay, 103);
FIELD(sojourn_ack, cwnd_limited, 104);
FIELD(sojourn_ack, in_recovery, 105);
FIELD(sojourn_ack, after_timeout, 106);
FIELD(sojourn_ack, may_be_delayed, 107);
FIELD(sojourn_ack, open, 108);

SIZE(sojourn_windows, 24);
FIELD(sojourn_windows, cwnd, 0);
FIELD(sojourn_windows, ssthresh, 4);
FIELD(sojourn_windows, pace, 8);
FIELD(sojourn_windows, limits_samples, 16);

SIZE(sojourn_needs, 2);
FIELD(sojourn_needs, owns_window, 0);
FIELD(sojourn_needs, grows_on_marks, 1);

SIZE(sojourn_order, 32);
FIELD(sojourn_order, kind, 0);
FIELD(sojourn_order, options, 8);
FIELD(sojourn_order, length, 16);
FIELD(sojourn_order, link, 24);
FIELD(sojourn_order, mtu, 28);

SIZE(sojourn_offered, 16);
FIELD(sojourn_offered, handle, 0);
FIELD(sojourn_offered, number, 8);
FIELD(sojourn_offered, rtt_ms, 12);
FIELD(sojourn_offered, marked, 14);

SIZE(sojourn_counted, 48);
FIELD(sojourn_counted, arrived, 0);
FIELD(sojourn_counted, marked, 8);
FIELD(sojourn_counted, early, 16);
FIELD(sojourn_counted, forced, 24);
FIELD(sojourn_counted, tail, 32);
FIELD(sojourn_counted, ack_filter, 40);

#undef SIZE
#undef FIELD
