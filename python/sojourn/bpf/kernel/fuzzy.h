/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * FLOWER's fuzzy rules (Trang and Lochin 2016) over the error and the trend of the queuing delay, and what they learn of a path:
 * crates/cc/src/algorithms/flower.rs.
 */
#ifndef SOJOURN_FUZZY_H
#define SOJOURN_FUZZY_H

#include "delay.h"

#define MILLISECOND 1000000LL
/* The least half-width of the outer breakpoints of the trend, and the least peak. */
#define MIN_TREND (4 * MILLISECOND)
#define MIN_PEAK (5 * MILLISECOND)
#define NEIGHBORS 32
/* The breakpoints of the trend. */
#define TERMS 11
/* Averages are in 2^-16 ns. */
#define AVERAGE 16

struct flower_params {
	struct delay_params delay;
	/* In nanoseconds. */
	u64 target;
	/* Later round trips that a peak must exceed: 1 to 32. */
	u64 neighbors;
	/* Q32 weights of a new peak and a new trend. */
	u64 peak_weight;
	u64 trend_weight;
	/* 1 if trends of at most 4 ms enter the averages. */
	u64 small_trends;
};

/* Peaks and valleys of the queuing delay. */
struct peaks {
	u64 recent[NEIGHBORS + 1];
	u64 count;
	u64 is_searching_valley;
	/* The average of peaks. */
	u64 threshold;
	/* The last peak that counted, in nanoseconds. */
	u64 peak;
};

struct rules {
	struct peaks peaks;
	/* The averages of positive and of negative trends. */
	s64 rising;
	s64 falling;
};

/* The result of the rules for a round trip. */
struct answer {
	/* Q32 segments. */
	s64 change;
	/* Whether the window is reset to one segment instead. */
	int is_reset;
};

INLINE void rules_start(struct rules *rules)
{
	rules->peaks.count = 0;
	rules->peaks.is_searching_valley = 0;
	rules->peaks.threshold = 0;
	rules->peaks.peak = MIN_PEAK;
	rules->rising = MIN_TREND << AVERAGE;
	rules->falling = -(MIN_TREND << AVERAGE);
}

/* The error between the terms 0 and 10, as a Q32 number: 10 at an empty queue, 5 at the target, 0 at the peak. */
INLINE u64 error_term(u64 queuing, u64 target, u64 peak)
{
	if (queuing <= target)
		return 10 * ONE - 5 * divide(queuing, target);
	if (peak <= target || queuing >= peak)
		return 0;
	return 5 * ONE - 5 * divide(queuing - target, peak - target);
}

/* The trend between the terms 0 and 10, as a Q32 number, and whether it is beyond the normal ones. Both are in 2^-16 ns. */
INLINE u64 trend_term(const struct rules *rules, s64 trend, int *is_reset)
{
	s64 low = rules->falling < -(MIN_TREND << AVERAGE) ? rules->falling : -(MIN_TREND << AVERAGE);
	s64 high = rules->rising > MIN_TREND << AVERAGE ? rules->rising : MIN_TREND << AVERAGE;
	s64 lowest = -(s64)rules->peaks.peak << AVERAGE;
	s64 inner = 3 * MILLISECOND << AVERAGE;

	*is_reset = trend > high;
	if (*is_reset)
		return 0;
	if (trend <= low) {
		/* One nanosecond, so that the breakpoints increase. */
		if (lowest > low - (1 << AVERAGE))
			lowest = low - (1 << AVERAGE);
		if (trend <= lowest)
			return 0;
		return share(trend - lowest, low - lowest);
	}
	if (trend >= inner)
		return 8 * ONE + share(trend - inner, high - inner);
	if (trend < -inner)
		return ONE + share(trend - low, -inner - low);
	/* The breakpoints between are a millisecond apart. */
	return 2 * ONE + divide(trend + inner, MILLISECOND << AVERAGE);
}

/* The consequent of two terms, -5 to 5. */
INLINE s64 rule(u64 error, u64 trend)
{
	s64 sum = (s64)(error + trend) - 10;

	return sum > 5 ? 5 : sum < -5 ? -5 : sum;
}

/* The mean of the consequents, weighted by the strengths of their rules. */
INLINE struct answer infer(const struct rules *rules, u64 queuing, u64 target, s64 trend)
{
	struct answer answer = { 0, 0 };
	u64 error = error_term(queuing, target, rules->peaks.peak);
	u64 change = trend_term(rules, trend * (1 << AVERAGE), &answer.is_reset);
	u64 e = error & FRACTION, t = change & FRACTION, weights = 0;
	s64 sum = 0;

	for (u32 i = 0; i < 2; i++) {
		for (u32 j = 0; j < 2; j++) {
			u64 strength = least(i ? e : ONE - e, j ? t : ONE - t);

			sum += (s64)strength * rule((error >> 32) + i, (change >> 32) + j);
			weights += strength;
		}
	}
	answer.change = divide(magnitude(sum), 5 * weights);
	if (sum < 0)
		answer.change = -answer.change;
	return answer;
}

/* Processes the least queuing delay of a round trip. */
INLINE void peaks_push(struct peaks *peaks, const struct flower_params *params, u64 queuing)
{
	u64 size = least(params->neighbors, NEIGHBORS) + 1, oldest, above = 1, below = 1;

	if (peaks->count == size) {
		for (u32 i = 0; i < NEIGHBORS; i++)
			peaks->recent[i] = peaks->recent[i + 1];
		peaks->count--;
	}
	if (peaks->count <= NEIGHBORS)
		peaks->recent[peaks->count] = queuing;
	peaks->count++;
	if (peaks->count < size)
		return;
	oldest = peaks->recent[0];
	for (u32 i = 1; i <= NEIGHBORS; i++) {
		if (i < size && peaks->recent[i] >= oldest)
			above = 0;
		if (i < size && peaks->recent[i] <= oldest)
			below = 0;
	}
	if (peaks->is_searching_valley) {
		peaks->is_searching_valley = !below;
	} else if (above) {
		peaks->is_searching_valley = 1;
		peaks->threshold = towards(peaks->threshold, oldest << AVERAGE, params->peak_weight);
		if (oldest << AVERAGE > peaks->threshold)
			peaks->peak = most(oldest, MIN_PEAK);
	}
}

/* Updates the averages of positive and of negative trends. */
INLINE void learn(struct rules *rules, const struct flower_params *params, s64 trend)
{
	if (magnitude(trend) <= (params->small_trends ? 0 : MIN_TREND))
		return;
	if (trend > 0)
		rules->rising = towards(rules->rising, trend * (1 << AVERAGE), params->trend_weight);
	else
		rules->falling = towards(rules->falling, trend * (1 << AVERAGE), params->trend_weight);
}

#endif
