/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * FLOWER (Trang and Lochin 2016) over round-trip times: the law of crates/cc/src/algorithms/flower.rs.
 */
#include "rounds.h"

struct law_params {
	struct flower_params flower;
};

struct law {
	struct rounds rounds;
};

INLINE void law_start(struct law *law)
{
	rounds_start(&law->rounds);
}

INLINE void law_on_ack(struct law *law, const struct law_params *params, struct window *window, const struct ack *ack)
{
	struct delay_sample sample;
	struct answer answer;
	s64 next;

	if (delay_of(&law->rounds.delays, &params->flower.delay, ack, &sample))
		law->rounds.least_delay = least(law->rounds.least_delay, sample.queuing);
	first_slow_start(&law->rounds, window, ack, ack->in_recovery);
	if (!ends_round(&law->rounds, &params->flower, ack, ack->in_recovery, &answer))
		return;
	next = window->cwnd + answer.change;
	if (answer.is_reset || next < (s64)ONE)
		next = ONE;
	window->cwnd = least(next, MAX_WINDOW);
}

INLINE void law_on_congestion(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	(void)params, (void)now, (void)in_use;
	law->rounds.slow_start_over = 1;
	set_both(window, ONE);
}

INLINE void law_on_rto(struct law *law, const struct law_params *params, struct window *window, u64 now, u64 in_use)
{
	law_on_congestion(law, params, window, now, in_use);
}
