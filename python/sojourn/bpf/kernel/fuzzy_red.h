/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * Fuzzy RED (Lehto, Koivisto, Ekola and Laurikkala 2005): crates/aqm/src/algorithms/fuzzy_red.rs.
 * The rules are a table over the queue and its change, with a value for each whole packet. The loader computes it from the engine's rules.
 */
#include "queue.h"

#ifndef MAX_TABLE
#define MAX_TABLE 65536
#endif

struct law_params {
	struct queue_params queue;
	/* The table has rows + 1 queues from 0 on, and columns + 1 changes from -fall on, in packets. */
	u64 rows;
	u64 columns;
	u64 fall;
	/* Q31 probabilities, row by row. */
	u32 table[MAX_TABLE];
};

struct law {
	s64 previous;
};

INLINE void law_start(struct law *law, const struct law_params *params)
{
	(void)params;
	law->previous = 0;
}

INLINE u64 value_at(const struct law_params *params, u64 row, u64 column)
{
	u64 at = row * (params->columns + 1) + column;

	return at < MAX_TABLE ? params->table[at] : 0;
}

/* The mean of two Q31 values with a Q20 weight of the second, in Q51. */
INLINE u64 between(u64 first, u64 second, u64 weight)
{
	return first * ((1 << PACKET) - weight) + second * weight;
}

INLINE u64 law_step(struct law *law, const struct law_params *params, const struct sample *sample)
{
	s64 queue = counted(&params->queue, sample->packets, sample->bytes);
	u64 row = within(queue, 0, params->rows << PACKET);
	u64 column = within(queue - law->previous + (s64)(params->fall << PACKET), 0, params->columns << PACKET);
	u64 i = least(row >> PACKET, params->rows - 1), j = least(column >> PACKET, params->columns - 1);
	u64 down = row - (i << PACKET), across = column - (j << PACKET);
	u64 upper = between(value_at(params, i, j), value_at(params, i, j + 1), across) >> PACKET;
	u64 lower = between(value_at(params, i + 1, j), value_at(params, i + 1, j + 1), across) >> PACKET;

	law->previous = queue;
	return between(upper, lower, down) >> (PACKET - 1);
}
