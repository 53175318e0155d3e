/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * LEDBAT (RFC 6817) over round-trip times: the law of crates/cc/src/algorithms/ledbat.rs.
 */
#include "delay.h"

struct law_params {
	struct delay_params delay;
	/* In nanoseconds. */
	u64 target;
	/* Q32 segments that an empty queue adds per round trip. */
	u64 gain;
};

struct law {
	struct delays delays;
};

INLINE void law_start(struct law *law)
{
	delays_start(&law->delays);
}

/* Changes the window in proportion to the distance from the target. */
INLINE void law_on_ack(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack)
{
	u64 before = window->cwnd, limit = (ack->in_flight + 1ULL) * ONE;
	struct delay_sample sample;
	u64 off, change;

	if (!delay_of(&law->delays, &params->delay, ack, &sample) || ack->in_recovery || !ack->acked)
		return;
	off = divide(magnitude(params->target - sample.queuing), params->target);
	/* Beyond this distance any window falls to its minimum. */
	off = multiply(least(off, 1ULL << 46), params->gain) * least(ack->acked, 1 << 16);
	change = divide(off, before);
	if (sample.queuing <= params->target)
		window->cwnd += change;
	else
		window->cwnd -= least(before, change);
	/* At most one segment more than was in flight. An ACK that must not open the window does not. */
	window->cwnd = least(window->cwnd, ack->cwnd_limited ? limit : least(limit, before));
	window->cwnd = most(window->cwnd, MIN_WINDOW);
}

INLINE void law_on_congestion(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)law, (void)params, (void)now;
	set_both(window, least(window->cwnd, most(in_use / 2, MIN_WINDOW)));
}

INLINE void law_on_rto(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)law, (void)params, (void)now;
	window->cwnd = ONE;
	window->ssthresh = most(in_use / 2 & ~FRACTION, MIN_WINDOW);
}
