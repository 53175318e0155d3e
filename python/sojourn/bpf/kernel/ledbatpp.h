/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): the law of crates/cc/src/algorithms/ledbatpp.rs.
 */
#include "delay.h"
#include "slowdown.h"

struct law_params {
	struct delay_params delay;
	/* In nanoseconds. */
	u64 target;
	/* The Q32 fraction of the window that a round trip removes at twice the target. */
	u64 decrease;
	/* 1 to slow down periodically. */
	u64 slowdown;
};

struct law {
	struct delays delays;
	struct slowdown slowdown;
};

INLINE void law_start(struct law *law)
{
	delays_start(&law->delays);
	slowdown_start(&law->slowdown);
}

/* One over the segments that a round trip adds: 1 to 16, less on shorter paths. */
INLINE u64 round_trips_per_segment(u64 target, u64 base)
{
	base = most(base, 1000);
	return most(least((2 * target + base - 1) / base, 16), 1);
}

/* Advances the slowdown. Returns whether it holds the window. */
INLINE int is_held(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack)
{
	struct slowdown *slowdown = &law->slowdown;

	if (slowdown_is_due(slowdown, params->slowdown, ack->now))
		slowdown_hold(slowdown, window, ack);
	else
		slowdown_release(slowdown, ack->now);
	return slowdown->phase == HOLDING;
}

INLINE void slow_start(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack,
		       const struct delay_sample *sample)
{
	u64 growth = divide(ack->acked, round_trips_per_segment(params->target, sample->base));
	int is_late = law->slowdown.phase == FIRST_SLOW_START && 4 * sample->queuing > 3 * params->target;

	window->cwnd = least(window->cwnd + growth, MAX_WINDOW);
	if (is_late || window->cwnd >= window->ssthresh) {
		window->ssthresh = least(window->ssthresh, window->cwnd);
		slowdown_end_slow_start(&law->slowdown, ack->now, 2 * ack->srtt);
	}
}

INLINE void law_on_ack(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack)
{
	struct delay_sample sample;
	u64 step, cut, acked = least(ack->acked, 1 << 15);

	if (!delay_of(&law->delays, &params->delay, ack, &sample) || ack->in_recovery || !ack->acked)
		return;
	if (is_held(law, params, window, ack) || !ack->cwnd_limited)
		return;
	if (window->cwnd < window->ssthresh) {
		slow_start(law, params, window, ack, &sample);
		return;
	}
	step = divide(1, round_trips_per_segment(params->target, sample.base));
	cut = 0;
	if (sample.queuing > params->target) {
		/* Above this part, the cut is at its limit of half the window. */
		cut = least(divide(sample.queuing - params->target, params->target), 1ULL << 46);
		cut = least(multiply(cut, params->decrease), 2 * ONE);
		cut = least(multiply(cut, window->cwnd), window->cwnd / 2 + step);
	}
	if (cut > step)
		window->cwnd -= least(window->cwnd, divide((cut - step) * acked, window->cwnd));
	else
		window->cwnd += divide((step - cut) * acked, window->cwnd);
	window->cwnd = most(least(window->cwnd, MAX_WINDOW), MIN_WINDOW);
	/* Slow start must not undo what the delay removed. */
	window->ssthresh = least(window->ssthresh, window->cwnd);
}

INLINE void law_on_congestion(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)params;
	set_both(window, most(in_use / 2, MIN_WINDOW));
	slowdown_end_slow_start(&law->slowdown, now, 0);
}

INLINE void law_on_rto(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)params;
	window->cwnd = ONE;
	window->ssthresh = most(in_use / 2, MIN_WINDOW);
	if (law->slowdown.phase == FIRST_SLOW_START)
		slowdown_end_slow_start(&law->slowdown, now, 0);
}
