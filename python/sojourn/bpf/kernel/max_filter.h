/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The maximum in a sliding window of rounds, with three samples of memory, as in crates/cc/src/max_filter.rs.
 */
#ifndef SOJOURN_MAX_FILTER_H
#define SOJOURN_MAX_FILTER_H

#include "fixed.h"

struct timed {
	u64 time;
	u64 value;
};

/* The maximum, the maximum after it, and the maximum after both. */
struct max_filter {
	struct timed first;
	struct timed second;
	struct timed third;
};

INLINE u64 filtered_max(const struct max_filter *filter)
{
	return filter->first.value;
}

/* Adds a value at `time`, which never goes back. The window has the length `window`. */
INLINE void filtered(struct max_filter *filter, u64 window, u64 time, u64 value)
{
	struct timed added = { time, value };
	u64 age;

	if (value >= filter->first.value || time - filter->third.time > window) {
		filter->first = filter->second = filter->third = added;
		return;
	}
	if (value >= filter->second.value)
		filter->second = filter->third = added;
	else if (value >= filter->third.value)
		filter->third = added;
	age = time - filter->first.time;
	if (age > window) {
		filter->first = filter->second;
		filter->second = filter->third;
		filter->third = added;
		if (time - filter->first.time > window) {
			filter->first = filter->second;
			filter->second = filter->third;
			filter->third = added;
		}
	} else if (filter->second.time == filter->first.time && age > window / 4) {
		/* A quarter of the window has passed without a second value: take one from the second quarter. */
		filter->second = filter->third = added;
	} else if (filter->third.time == filter->second.time && age > window / 2) {
		filter->third = added;
	}
}

#endif
