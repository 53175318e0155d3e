/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * What every congestion controller of this folder receives and sets. `LAW` names the header of one algorithm, which defines:
 *
 *   struct law_params, struct law
 *   law_start(law)                            at the start of a connection
 *   law_on_ack(law, params, window, ack)      acknowledged data
 *   law_on_congestion(law, params, window, now, in_use)
 *   law_on_rto(law, params, window, now, in_use)
 */
#ifndef SOJOURN_LAW_H
#define SOJOURN_LAW_H

#include "fixed.h"

/* Windows are Q32 segments. More segments than this do not fit into the arithmetic. */
#define MAX_WINDOW (65535 * ONE)
#define MIN_WINDOW (2 * ONE)

struct window {
	u64 cwnd;
	/* NEVER before the first reduction. */
	u64 ssthresh;
};

/* An ACK. Times are in nanoseconds; 0 means none. Byte counts start anywhere and grow. */
struct ack {
	u64 now;
	u64 rtt;
	u64 srtt;
	u64 snd_una;
	u64 snd_max;
	u32 acked;
	/* Segments in flight before it. */
	u32 in_flight;
	u32 cwnd_limited;
	u32 in_recovery;
};

INLINE void set_both(struct window *window, u64 cwnd)
{
	window->cwnd = cwnd;
	window->ssthresh = cwnd;
}

#endif
