/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The queuing delay: the minimum of the last few round-trip times minus that of the last minutes (RFC 6817, section 3.4.2).
 * The kernel measures no one-way delays, so the delay of the reverse path counts too.
 */
#ifndef SOJOURN_DELAY_H
#define SOJOURN_DELAY_H

#include "law.h"

#define DELAYS 16
#define MINUTE 60000000000ULL
/* Longer delays are ignored. */
#define MAX_DELAY (1ULL << 42)

struct delay_params {
	/* Minutes for which the base delay is remembered, and latest delays whose minimum counts: 1 to 16. */
	u64 history;
	u64 filter;
};

struct delays {
	/* The minimum delay of each minute, as a ring. */
	u64 base[DELAYS];
	u64 recent[DELAYS];
	u64 minute;
	u64 least;
	u64 next;
};

/* In nanoseconds. */
struct delay_sample {
	u64 queuing;
	u64 base;
};

INLINE u64 least_of(const u64 *delays, u64 count)
{
	u64 found = NEVER;

	for (u32 i = 0; i < DELAYS; i++)
		if (i < count)
			found = least(found, delays[i]);
	return found;
}

INLINE void delays_start(struct delays *delays)
{
	for (u32 i = 0; i < DELAYS; i++) {
		delays->base[i] = NEVER;
		delays->recent[i] = NEVER;
	}
	delays->minute = 0;
	delays->least = NEVER;
	delays->next = 0;
}

/* Stores the minimum delay of each minute. Minutes without a delay count too. */
INLINE void update_base(struct delays *delays, u64 history, u64 now, u64 delay)
{
	u64 minute = now / MINUTE;
	u32 place = minute % history & (DELAYS - 1);

	if (minute <= delays->minute) {
		delays->base[place] = least(delays->base[place], delay);
		delays->least = least(delays->least, delay);
		return;
	}
	for (u32 i = 1; i <= DELAYS; i++)
		if (i <= history && delays->minute + i <= minute)
			delays->base[(delays->minute + i) % history & (DELAYS - 1)] = NEVER;
	delays->minute = minute;
	delays->base[place] = delay;
	delays->least = least_of(delays->base, history);
}

/* Processes the delay of an ACK. Returns 0 if it has none. */
INLINE int delay_of(struct delays *delays, const struct delay_params *params, const struct ack *ack, struct delay_sample *sample)
{
	u64 now;

	if (ack->rtt == 0 || ack->rtt > MAX_DELAY)
		return 0;
	update_base(delays, params->history, ack->now, ack->rtt);
	delays->recent[delays->next & (DELAYS - 1)] = ack->rtt;
	delays->next = delays->next + 1 >= params->filter ? 0 : delays->next + 1;
	now = least_of(delays->recent, params->filter);
	sample->base = delays->least;
	sample->queuing = now > delays->least ? now - delays->least : 0;
	return 1;
}

#endif
