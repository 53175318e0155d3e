/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The law and the gate of the header `LAW` as a library for ordinary programs, for tests. Its functions begin with `PREFIX`.
 */
#include LAW
#include "gate.h"

#define JOINED(prefix, name) prefix##_##name
#define NAMED(prefix, name) JOINED(prefix, name)
#define FUNCTION(name) NAMED(PREFIX, name)

struct queue {
	struct law law;
	struct gate gate;
};

u64 FUNCTION(size)(void)
{
	return sizeof(struct queue);
}

u64 FUNCTION(params_size)(void)
{
	return sizeof(struct law_params);
}

void FUNCTION(start)(struct queue *queue, const struct law_params *params)
{
	law_start(&queue->law, params);
	__builtin_memset(&queue->gate, 0, sizeof(queue->gate));
}

u64 FUNCTION(step)(struct queue *queue, const struct law_params *params, const struct sample *sample)
{
	return law_step(&queue->law, params, sample);
}

int FUNCTION(signals)(struct queue *queue, const struct law_params *params, const struct arrival *arrival)
{
	return gate_signals(&queue->gate, params, arrival);
}
