/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The round trips of FLOWER and FLOWER+, and what the rules answer after each.
 */
#ifndef SOJOURN_ROUNDS_H
#define SOJOURN_ROUNDS_H

#include "fuzzy.h"

struct rounds {
	struct delays delays;
	struct rules rules;
	u64 slow_start_over;
	/* The round trip ends when more than this byte is acknowledged. */
	u64 end;
	/* The least queuing delay of this round trip, and of the previous one; NEVER without a delay. */
	u64 least_delay;
	u64 last_delay;
	/* Whether the window limited the sender in this round trip. */
	u64 cwnd_limited;
};

INLINE void rounds_start(struct rounds *rounds)
{
	delays_start(&rounds->delays);
	rules_start(&rounds->rules);
	rounds->slow_start_over = 0;
	rounds->end = 0;
	rounds->least_delay = NEVER;
	rounds->last_delay = NEVER;
	rounds->cwnd_limited = 0;
}

/* Grows the window in the first slow start. */
INLINE void first_slow_start(const struct rounds *rounds, struct window *window, const struct ack *ack, int in_recovery)
{
	if (!rounds->slow_start_over && ack->cwnd_limited && !in_recovery)
		window->cwnd = least(window->cwnd + ack->acked * ONE, MAX_WINDOW);
}

/* Processes an ACK with a least queuing delay of `queuing`. Returns whether it ends a round trip after which the window may change. */
INLINE int ends_round(struct rounds *rounds, const struct flower_params *params, const struct ack *ack, int in_recovery,
		      struct answer *answer)
{
	u64 queuing = rounds->least_delay, may_change, last = rounds->last_delay;
	s64 trend;

	rounds->cwnd_limited |= ack->cwnd_limited;
	if (ack->snd_una <= rounds->end)
		return 0;
	rounds->end = ack->snd_max;
	may_change = rounds->cwnd_limited && !in_recovery && rounds->slow_start_over;
	rounds->cwnd_limited = 0;
	rounds->least_delay = NEVER;
	if (queuing == NEVER)
		return 0;
	rounds->last_delay = queuing;
	if (last == NEVER)
		return 0;
	trend = last - queuing;
	if (may_change)
		*answer = infer(&rounds->rules, queuing, params->target, trend);
	peaks_push(&rounds->rules.peaks, params, queuing);
	learn(&rounds->rules, params, trend);
	return may_change;
}

#endif
