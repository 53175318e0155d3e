/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * FLOWER+ over round-trip times: the law of crates/cc/src/algorithms/flower_plus.rs.
 */
#include "rounds.h"
#include "slowdown.h"

/* A second loss within this number of round trips is taken for congestion. */
#define LOSS_MEMORY 30

struct law_params {
	struct flower_params flower;
	/* 1 to slow down periodically. */
	u64 slowdown;
};

struct law {
	struct rounds rounds;
	struct slowdown slowdown;
	u64 srtt;
	/* NEVER before the first loss. */
	u64 last_loss;
};

INLINE void law_start(struct law *law)
{
	rounds_start(&law->rounds);
	slowdown_start(&law->slowdown);
	law->srtt = 0;
	law->last_loss = NEVER;
}

/* Ends the slow start of a connection or of a slowdown. */
INLINE void end_slow_start(struct law *law, u64 now)
{
	law->rounds.slow_start_over = 1;
	slowdown_end_slow_start(&law->slowdown, now, 2 * law->srtt);
}

/* Advances the slowdown. Returns whether it continues. */
INLINE int is_slowing_down(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack)
{
	struct slowdown *slowdown = &law->slowdown;

	if (slowdown->phase == GROWING) {
		if (ack->cwnd_limited && !ack->in_recovery) {
			window->cwnd += ack->acked * ONE;
			if (window->cwnd >= window->ssthresh) {
				window->cwnd = window->ssthresh;
				end_slow_start(law, ack->now);
			}
		}
	} else if (slowdown_is_due(slowdown, params->slowdown, ack->now) && window->cwnd > MIN_WINDOW) {
		slowdown_hold(slowdown, window, ack);
	} else {
		slowdown_release(slowdown, ack->now);
	}
	return slowdown->phase == HOLDING || slowdown->phase == GROWING;
}

/* Changes the window after a round trip. Above the target it shrinks at least as with LEDBAT++, but at most by half. */
INLINE void change(struct window *window, const struct answer *answer, u64 queuing, u64 target)
{
	u64 half = window->cwnd / 2, cut = 0;

	if (!answer->is_reset && answer->change >= 0 && queuing <= target) {
		window->cwnd += answer->change;
		return;
	}
	if (queuing > target)
		cut = multiply(least(divide(queuing - target, target), ONE), window->cwnd);
	if (answer->change < 0)
		cut = most(cut, -answer->change);
	window->cwnd -= answer->is_reset ? half : queuing > target ? least(cut, half) : least(cut, window->cwnd);
}

INLINE void law_on_ack(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack)
{
	u64 queuing, target = params->flower.target;
	struct delay_sample sample = { 0, 0 };
	struct answer answer;
	int has_delay, in_recovery = ack->in_recovery;

	has_delay = delay_of(&law->rounds.delays, &params->flower.delay, ack, &sample);
	law->srtt = ack->srtt;
	/* During a slowdown the law learns, but does not change the window. */
	if (law->rounds.slow_start_over && is_slowing_down(law, params, window, ack))
		in_recovery = 1;
	first_slow_start(&law->rounds, window, ack, in_recovery);
	if (has_delay)
		law->rounds.least_delay = least(law->rounds.least_delay, sample.queuing);
	queuing = law->rounds.least_delay;
	if (ends_round(&law->rounds, &params->flower, ack, in_recovery, &answer))
		change(window, &answer, queuing, target);
	window->cwnd = most(least(window->cwnd, MAX_WINDOW), MIN_WINDOW);
	if (!law->rounds.slow_start_over && has_delay && 4 * sample.queuing > 3 * target) {
		window->ssthresh = window->cwnd;
		end_slow_start(law, ack->now);
	}
}

INLINE void law_on_congestion(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)params;
	if (law->last_loss == NEVER || now - law->last_loss > law->srtt * LOSS_MEMORY)
		set_both(window, most(in_use / 2, MIN_WINDOW));
	else
		set_both(window, MIN_WINDOW);
	law->last_loss = now;
	end_slow_start(law, now);
}

INLINE void law_on_rto(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)params, (void)in_use;
	law->last_loss = now;
	window->cwnd = ONE;
	window->ssthresh = MIN_WINDOW;
	end_slow_start(law, now);
}
