/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The periodic slowdown of LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus, section 4.4), as in crates/cc/src/delay/slowdown.rs.
 */
#ifndef SOJOURN_SLOWDOWN_H
#define SOJOURN_SLOWDOWN_H

#include "law.h"

/* The time from one slowdown to the next, as a multiple of its duration. */
#define SLOWDOWN_INTERVAL 9

enum phase { FIRST_SLOW_START, WAITING, HOLDING, GROWING };

struct slowdown {
	u64 phase;
	/* The time at which the current slowdown started. */
	u64 since;
	/* The time at which the next one starts, or at which the window is released. */
	u64 until;
};

INLINE void slowdown_start(struct slowdown *slowdown)
{
	slowdown->phase = FIRST_SLOW_START;
	slowdown->since = 0;
	slowdown->until = 0;
}

INLINE int slowdown_is_due(const struct slowdown *slowdown, u64 wanted, u64 now)
{
	return wanted && slowdown->phase == WAITING && now >= slowdown->until;
}

/* Holds the window at its minimum for two round trips. */
INLINE void slowdown_hold(struct slowdown *slowdown, struct window *window, const struct ack *ack)
{
	window->ssthresh = most(window->cwnd, MIN_WINDOW);
	window->cwnd = MIN_WINDOW;
	slowdown->phase = HOLDING;
	slowdown->since = ack->now;
	slowdown->until = ack->now + 2 * ack->srtt;
}

/* Lets the window grow back after it has been held long enough. */
INLINE void slowdown_release(struct slowdown *slowdown, u64 now)
{
	if (slowdown->phase == HOLDING && now >= slowdown->until)
		slowdown->phase = GROWING;
}

/* Ends a slow start of the connection or of a slowdown. The first slowdown is `after` the connection's slow start. */
INLINE void slowdown_end_slow_start(struct slowdown *slowdown, u64 now, u64 after)
{
	if (slowdown->phase == FIRST_SLOW_START)
		slowdown->until = now + after;
	else if (slowdown->phase != WAITING)
		slowdown->until = now + (now - slowdown->since) * SLOWDOWN_INTERVAL;
	slowdown->phase = WAITING;
}

#endif
