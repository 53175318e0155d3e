/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * PI (Hollot, Misra, Towsley and Gong 2001): the law of crates/aqm/src/algorithms/pi.rs.
 */
#include "queue.h"

struct law_params {
	struct queue_params queue;
	/* Q60 gains on the present and on the previous error. */
	u64 a;
	u64 b;
	/* Q20 packets. */
	u64 target;
};

struct law {
	s64 probability;
	s64 previous;
};

INLINE void law_start(struct law *law, const struct law_params *params)
{
	(void)params;
	law->probability = 0;
	law->previous = 0;
}

INLINE u64 law_step(struct law *law, const struct law_params *params, const struct sample *sample)
{
	s64 queue = counted(&params->queue, sample->packets, sample->bytes), target = params->target;
	s64 moved = gained(params->a, queue - target) - gained(params->b, law->previous - target);

	law->probability = within(law->probability + moved, 0, CERTAIN);
	law->previous = queue;
	return law->probability >> (PROBABILITY - 32);
}
