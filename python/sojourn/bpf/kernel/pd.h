/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The linear PD (Lehto, Koivisto, Ekola and Laurikkala 2005): the law of crates/aqm/src/algorithms/pd.rs.
 */
#include "queue.h"

struct law_params {
	struct queue_params queue;
	/* Q60 gains on the error and on its change. */
	u64 k1;
	u64 k2;
	/* The Q48 probability at the target. */
	s64 k3;
	/* Q20 packets. */
	u64 target;
};

struct law {
	s64 previous;
};

INLINE void law_start(struct law *law, const struct law_params *params)
{
	(void)params;
	law->previous = 0;
}

INLINE u64 law_step(struct law *law, const struct law_params *params, const struct sample *sample)
{
	s64 queue = counted(&params->queue, sample->packets, sample->bytes);
	s64 error = gained(params->k1, queue - (s64)params->target), change = gained(params->k2, queue - law->previous);

	law->previous = queue;
	return within(error + change + params->k3, 0, CERTAIN) >> (PROBABILITY - 32);
}
