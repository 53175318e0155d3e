/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * LED (Durresi, Barolli, Sridharan, Chellappan and Jain 2006): the law and the gate of crates/aqm/src/algorithms/led.rs.
 */
#include "queue.h"

#define OWN_GATE

struct law_params {
	struct queue_params queue;
	/* Q32 loads, and the Q32 weight of the newest interval. */
	u64 min;
	u64 max;
	u64 weight;
	/* Bytes that the link sends in an interval. */
	u64 capacity;
	/* The size in bytes at which the full probability applies. */
	u64 max_packet;
	u64 min_queue;
	u64 count_own;
	u64 forced;
};

struct law {
	/* The average load, Q32. */
	s64 load;
	u64 is_idle;
};

INLINE void law_start(struct law *law, const struct law_params *params)
{
	law->load = params->min;
	law->is_idle = 0;
}

INLINE u64 law_step(struct law *law, const struct law_params *params, const struct sample *sample)
{
	if (law->is_idle && sample->arrived_bytes)
		law->load = most(law->load, params->min);
	law->is_idle = !sample->arrived_bytes;
	law->load = towards(law->load, divide(least(sample->arrived_bytes, params->capacity << 20), params->capacity), params->weight);
	if (law->load <= (s64)params->min)
		return 0;
	return least(share(law->load - params->min, params->max - params->min), ONE);
}

struct gate {
	/* Packets since the last signal. */
	u64 count;
	/* Whether the previous packet, too, found a probability above 0 and a long enough queue. */
	u64 is_above;
};

INLINE int gate_signals(struct gate *gate, const struct law_params *params, const struct arrival *arrival)
{
	u64 p = arrival->probability, taken, corrected;

	if (p == 0 || arrival->backlog < params->min_queue) {
		gate->is_above = 0;
		gate->count = 0;
		return 0;
	}
	if (p >= ONE && (params->forced || !params->min_queue)) {
		gate->count = 0;
		return 1;
	}
	if (!gate->is_above && params->min_queue) {
		gate->is_above = 1;
		gate->count = 1;
		return 0;
	}
	gate->is_above = 1;
	gate->count += params->count_own;
	/* p / (1 - count p), at most 1, in proportion to the size. */
	taken = least(gate->count, ONE - 1) * p;
	corrected = taken >= ONE ? ONE : least(divide(p, ONE - taken), ONE);
	if (arrival->size < params->max_packet)
		corrected = multiply(corrected, divide(arrival->size, params->max_packet));
	if (p >= ONE || arrival->random < corrected) {
		gate->count = 0;
		return 1;
	}
	gate->count += !params->count_own;
	return 0;
}
