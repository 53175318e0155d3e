/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * CPC, the cascaded probability control: the law of crates/aqm/src/algorithms/cpc.rs with its inner loop over the measured window, and
 * without tuning. The loader computes the design.
 */
#include "queue.h"

struct law_params {
	struct queue_params queue;
	/* Q20 packets. */
	u64 target;
	/* The Q32 weight of the newest interval in the average load. */
	u64 share;
	/* The window of a flow over the packets of an interval: Q32 without a queue, and Q44 for each packet of queue. */
	u64 propagation;
	u64 queuing;
	/* The Q32 outer gain, in packets of window per packet, and the Q44 gain that an interval adds to the integral. */
	u64 proportional;
	u64 integral;
	/* Q60 gains on the error of the window and on the change of the error of the queue. */
	u64 inner;
	u64 derivative;
	/* Q32 set points of the window. */
	s64 initial;
	s64 min;
	s64 max;
	/* The largest probability, Q48. */
	s64 max_p;
};

struct law {
	s64 probability;
	/* Q32 packets. */
	s64 integral;
	s64 load;
	/* Q20 packets. */
	s64 error;
	u64 has_error;
};

INLINE void law_start(struct law *law, const struct law_params *params)
{
	law->probability = 0;
	law->integral = params->initial;
	law->load = 0;
	law->error = 0;
	law->has_error = 0;
}

/* A Q32 gain times Q20 packets, in Q32. */
INLINE s64 scaled(u64 gain, s64 packets)
{
	s64 product = multiply(gain, magnitude(packets) << (32 - PACKET));

	return packets < 0 ? -product : product;
}

INLINE u64 law_step(struct law *law, const struct law_params *params, const struct sample *sample)
{
	s64 queue = counted(&params->queue, sample->packets, sample->bytes);
	s64 arrived = counted(&params->queue, sample->arrived_packets, sample->arrived_bytes);
	s64 error = (s64)params->target - queue, rise = law->has_error ? error - law->error : 0;
	s64 integral, asked, window, moved, off;

	law->load = towards(law->load, arrived << (32 - PACKET), params->share);
	window = multiply(least(law->load, 1ULL << 50), params->propagation + multiply(params->queuing, queue));
	law->error = error;
	law->has_error = 1;
	integral = law->integral + gained(params->integral, error);
	asked = scaled(params->proportional, error) + integral;
	off = within(window - within(asked, params->min, params->max), -(1LL << 50), 1LL << 50);
	off = (off + (1 << (31 - PACKET))) >> (32 - PACKET);
	moved = law->probability + gained(params->inner, off) - gained(params->derivative, rise);
	if (!((moved < 0 && error > 0) || (moved > params->max_p && error < 0)) &&
	    !((asked > params->max && error > 0) || (asked < params->min && error < 0)))
		law->integral = within(integral, params->min, params->max);
	law->probability = within(moved, 0, params->max_p);
	return law->probability >> (PROBABILITY - 32);
}
