/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * What every law of a queue receives and sets. `LAW` names the header of one algorithm, which defines:
 *
 *   struct law_params, struct law
 *   law_start(law, params)
 *   law_step(law, params, sample)     once per interval; returns the probability
 *
 * and, if its gate does not decide about each packet independently, `OWN_GATE` with struct gate and gate_signals.
 */
#ifndef SOJOURN_QUEUE_H
#define SOJOURN_QUEUE_H

#include "fixed.h"

/* Laws count in Q48 probabilities and Q20 packets, gains are Q60: a gain times packets is a probability. */
#define PROBABILITY 48
#define CERTAIN (1LL << PROBABILITY)
#define GAIN 60
#define PACKET 20
/* Longer queues, in packets, do not fit. */
#define MAX_QUEUE (1ULL << 16)

struct queue_params {
	/* In nanoseconds. */
	u64 interval;
	/* The bytes that count as a packet; 0 to count packets. */
	u64 mean_packet;
	/* 1 to mark packets with ECN instead of dropping them. */
	u64 ecn;
};

/* What a law learns once per interval. */
struct sample {
	u64 packets;
	u64 bytes;
	u64 arrived_packets;
	u64 arrived_bytes;
};

/* A packet about which a gate decides. */
struct arrival {
	/* Q32. */
	u64 probability;
	u64 size;
	/* Packets waiting. */
	u64 backlog;
	u32 random;
};

/* Packets or bytes in Q20 packets. */
INLINE s64 counted(const struct queue_params *queue, u64 packets, u64 bytes)
{
	if (!queue->mean_packet)
		return least(packets, MAX_QUEUE) << PACKET;
	return (divide(least(bytes, MAX_QUEUE * queue->mean_packet), queue->mean_packet) + (1 << (31 - PACKET))) >> (32 - PACKET);
}

/* A Q60 gain, at most 1/4, times Q20 packets. */
INLINE s64 gained(u64 gain, s64 packets)
{
	s64 product = multiply(gain, magnitude(packets));

	return packets < 0 ? -product : product;
}

INLINE s64 within(s64 value, s64 low, s64 high)
{
	return value < low ? low : value > high ? high : value;
}

#endif
