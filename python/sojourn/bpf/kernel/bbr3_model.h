/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The model of the path of BBR version 3 (draft-ietf-ccwg-bbr, section 5.5), as in crates/cc/src/algorithms/bbr3/model.rs. Functions have
 * the draft's names.
 */
#ifndef SOJOURN_BBR3_MODEL_H
#define SOJOURN_BBR3_MODEL_H

#include "max_filter.h"
#include "sampled.h"

#define SECOND 1000000000ULL
#define MIN_PIPE_CWND (4 * ONE)
#define MAX_WINDOW (65535 * ONE)
/* 0.99: the pacing rate divided by the bandwidth. */
#define PACING_MARGIN 4252017623ULL
#define OFFLOAD_QUANTA 3
/* Bounds of a quantum in segments. It is what is sent in a millisecond. */
#define LEAST_QUANTUM 2
#define MAX_QUANTUM 45
/* The round-trip time assumed before the first sample. */
#define NOMINAL_RTT 1000000
/* The length of the filter of extra ACKed data, in rounds, in Startup and after it. */
#define STARTUP_EXTRA_ROUNDS 1
#define EXTRA_ACKED_ROUNDS 10

enum { STARTUP, DRAIN, PROBE_BW_DOWN, PROBE_BW_CRUISE, PROBE_BW_REFILL, PROBE_BW_UP, PROBE_RTT, NO_STATE };
enum { ACKS_INIT, ACKS_REFILLING, ACKS_PROBE_STARTING, ACKS_PROBE_FEEDBACK, ACKS_PROBE_STOPPING };

struct law_params {
	/* Q32. */
	u64 startup_gain;
	u64 cwnd_gain;
	u64 loss_threshold;
	u64 beta;
	u64 headroom;
	/* In nanoseconds. */
	u64 min_rtt_window;
	u64 probe_rtt_interval;
	u64 probe_rtt;
};

/* The draft's state. Windows and data are Q32 segments, rates Q32 segments per second, times nanoseconds. NEVER means none. */
struct law {
	u64 cwnd;
	u64 pacing_rate;
	u64 drawn;
	u64 initialized;
	u64 initial_cwnd;
	u64 prior_cwnd;
	u64 loss_state;
	u64 state;
	/* In whole segments, as `delivered` and `loss_round_delivered`. */
	u64 next_round_delivered;
	u64 delivered;
	u64 round_count;
	u64 round_start;
	u64 idle_restart;
	u64 drain_start_round;
	u64 ack_phase;
	u64 is_bw_probe_sample;
	u64 bw_probe_up_acked;
	u64 probe_up_acked_per_inc;
	u64 bw_probe_up_rounds;
	u64 rounds_since_probe_up;
	u64 bw_probe_wait;
	u64 cycle_stamp;
	u64 prev_probe_too_high;
	u64 prev_probe_precautionary;
	u64 full_bw_reached;
	u64 full_bw_now;
	u64 full_bw;
	u64 full_bw_count;
	/* The maximum delivery rates of the previous and of the current cycle. */
	u64 last_max_bw;
	u64 this_max_bw;
	u64 bw;
	u64 bw_shortterm;
	u64 bw_latest;
	u64 inflight_shortterm;
	u64 inflight_longterm;
	u64 inflight_latest;
	u64 is_loss_in_round;
	u64 loss_round_delivered;
	u64 loss_round_start;
	u64 lost_ranges;
	u64 extra_acked_interval_start;
	u64 extra_acked_delivered;
	struct max_filter extra_acked;
	u64 min_rtt;
	u64 min_rtt_stamp;
	u64 probe_rtt_min_delay;
	u64 probe_rtt_min_stamp;
	u64 probe_rtt_expired;
	u64 probe_rtt_done_stamp;
	u64 probe_rtt_round_done;
	u64 has_saved;
	u64 undo_state;
	u64 undo_bw_shortterm;
	u64 undo_inflight_shortterm;
	u64 undo_inflight_longterm;
};

/* Whole segments as Q32. */
INLINE u64 whole(u64 segments)
{
	return least(segments, FRACTION) << 32;
}

INLINE u64 initial_rate(const struct law_params *params, u64 cwnd, u64 rtt)
{
	return multiply(multiply(params->startup_gain, cwnd), divide(SECOND, rtt));
}

INLINE int is_probe_bw(const struct law *law)
{
	return law->state >= PROBE_BW_DOWN && law->state <= PROBE_BW_UP;
}

INLINE int is_probing(const struct law *law)
{
	return law->state == STARTUP || law->state == PROBE_BW_REFILL || law->state == PROBE_BW_UP;
}

INLINE u64 max_bw(const struct law *law)
{
	return most(law->last_max_bw, law->this_max_bw);
}

/* BDPMultiple */
INLINE u64 bdp_multiple(const struct law *law, u64 bw, u64 gain)
{
	if (law->min_rtt == NEVER)
		return law->initial_cwnd;
	return bounded(multiply(gain, bw), divide(law->min_rtt, SECOND));
}

INLINE u64 quantization_budget(const struct law *law, u64 inflight_cap)
{
	u64 quantum = least(most(law->pacing_rate / 1000 >> 32, LEAST_QUANTUM), MAX_QUANTUM);
	u64 cap = most(most(inflight_cap, whole(OFFLOAD_QUANTA * quantum)), MIN_PIPE_CWND);

	return law->state == PROBE_BW_UP ? cap + whole(2) : cap;
}

INLINE u64 inflight(const struct law *law, u64 bw)
{
	return quantization_budget(law, bdp_multiple(law, bw, ONE));
}

INLINE u64 target_inflight(const struct law *law)
{
	return least(bdp_multiple(law, law->bw, ONE), law->cwnd);
}

INLINE u64 inflight_with_headroom(const struct law *law, const struct law_params *params)
{
	u64 headroom;

	if (law->inflight_longterm == NEVER)
		return NEVER;
	headroom = most(multiply(params->headroom, law->inflight_longterm), ONE);
	return law->inflight_longterm > headroom + MIN_PIPE_CWND ? law->inflight_longterm - headroom : MIN_PIPE_CWND;
}

INLINE u64 probe_rtt_cwnd(const struct law *law)
{
	return most(bdp_multiple(law, law->bw, ONE / 2), MIN_PIPE_CWND);
}

INLINE void save_cwnd(struct law *law)
{
	int good = law->loss_state == LOSS_OPEN && law->state != PROBE_RTT;

	law->prior_cwnd = good ? law->cwnd : most(law->prior_cwnd, law->cwnd);
}

INLINE void restore_cwnd(struct law *law)
{
	law->cwnd = most(law->cwnd, law->prior_cwnd);
}

INLINE void start_round(struct law *law)
{
	law->next_round_delivered = law->delivered;
}

INLINE void reset_full_bw(struct law *law)
{
	law->full_bw = 0;
	law->full_bw_count = 0;
	law->full_bw_now = 0;
}

INLINE void reset_short_term_model(struct law *law)
{
	law->bw_shortterm = NEVER;
	law->inflight_shortterm = NEVER;
}

/* AdvanceMaxBwFilter; a cycle without a sample does not count. */
INLINE void advance_max_bw_filter(struct law *law)
{
	if (!law->this_max_bw)
		return;
	law->last_max_bw = law->this_max_bw;
	law->this_max_bw = 0;
}

INLINE int has_passed(const struct sample *sample, u64 delivered)
{
	return sample->prior_delivered != NEVER && sample->prior_delivered >= delivered;
}

INLINE void update_max_bw(struct law *law, const struct sample *sample)
{
	law->round_start = has_passed(sample, law->next_round_delivered);
	if (law->round_start) {
		start_round(law);
		law->round_count++;
		law->rounds_since_probe_up++;
	}
	if (sample->delivery_rate && (sample->delivery_rate >= max_bw(law) || !sample->is_app_limited))
		law->this_max_bw = most(law->this_max_bw, sample->delivery_rate);
}

INLINE void update_latest_delivery_signals(struct law *law, const struct sample *sample)
{
	law->bw_latest = most(law->bw_latest, sample->delivery_rate);
	law->inflight_latest = most(law->inflight_latest, whole(sample->delivered));
	law->loss_round_start = has_passed(sample, law->loss_round_delivered);
	if (law->loss_round_start)
		law->loss_round_delivered = law->delivered;
}

INLINE void advance_latest_delivery_signals(struct law *law, const struct sample *sample)
{
	if (!law->loss_round_start)
		return;
	law->bw_latest = sample->delivery_rate;
	law->inflight_latest = whole(sample->delivered);
}

INLINE void reset_congestion_signals(struct law *law)
{
	law->is_loss_in_round = 0;
	law->bw_latest = 0;
	law->inflight_latest = 0;
}

/* InitLowerBounds, LossLowerBounds */
INLINE void lower_short_term_model(struct law *law, const struct law_params *params)
{
	if (law->bw_shortterm == NEVER)
		law->bw_shortterm = max_bw(law);
	if (law->inflight_shortterm == NEVER)
		law->inflight_shortterm = law->cwnd;
	law->bw_shortterm = most(law->bw_latest, multiply(params->beta, law->bw_shortterm));
	law->inflight_shortterm = most(law->inflight_latest, multiply(params->beta, law->inflight_shortterm));
}

/* UpdateCongestionSignals, AdaptLowerBoundsFromCongestion */
INLINE void update_congestion_signals(struct law *law, const struct law_params *params, const struct sample *sample)
{
	update_max_bw(law, sample);
	if (!law->loss_round_start)
		return;
	if (law->is_loss_in_round && !is_probing(law))
		lower_short_term_model(law, params);
	law->is_loss_in_round = 0;
}

INLINE void update_ack_aggregation(struct law *law, const struct sample *sample)
{
	u64 rounds = law->full_bw_reached ? EXTRA_ACKED_ROUNDS : STARTUP_EXTRA_ROUNDS;
	u64 expected = bounded(law->bw, divide(sample->now - law->extra_acked_interval_start, SECOND));

	if (law->extra_acked_delivered <= expected) {
		law->extra_acked_delivered = 0;
		law->extra_acked_interval_start = sample->now;
		expected = 0;
	}
	law->extra_acked_delivered += whole(sample->newly_acked);
	filtered(&law->extra_acked, rounds, law->round_count, least(law->extra_acked_delivered - expected, law->cwnd));
}

INLINE void update_min_rtt(struct law *law, const struct law_params *params, const struct sample *sample)
{
	law->probe_rtt_expired = sample->now > law->probe_rtt_min_stamp + params->probe_rtt_interval;
	if (sample->rtt && (sample->rtt < law->probe_rtt_min_delay || law->probe_rtt_expired)) {
		law->probe_rtt_min_delay = sample->rtt;
		law->probe_rtt_min_stamp = sample->now;
	}
	if (law->probe_rtt_min_delay < law->min_rtt || sample->now > law->min_rtt_stamp + params->min_rtt_window) {
		law->min_rtt = law->probe_rtt_min_delay;
		law->min_rtt_stamp = law->probe_rtt_min_stamp;
	}
}

INLINE int is_inflight_too_high(const struct law_params *params, u64 lost, u64 tx_in_flight, u64 selective_acks)
{
	return whole(lost) > multiply(whole(tx_in_flight), params->loss_threshold) || (lost && !selective_acks);
}

INLINE void save_state_upon_loss(struct law *law)
{
	save_cwnd(law);
	if (law->has_saved)
		return;
	law->has_saved = 1;
	law->undo_state = NO_STATE;
	law->undo_bw_shortterm = law->bw_shortterm;
	law->undo_inflight_shortterm = law->inflight_shortterm;
	law->undo_inflight_longterm = law->inflight_longterm;
}

INLINE void note_loss(struct law *law)
{
	if (!law->is_loss_in_round) {
		law->loss_round_delivered = law->delivered;
		save_state_upon_loss(law);
	}
	law->is_loss_in_round = 1;
}

/* InflightAtLoss: the data in flight at which the losses exceeded the threshold; 0 if that is negative. */
INLINE u64 inflight_at_loss(const struct law_params *params, const struct lost *lost)
{
	s64 before = whole(lost->tx_in_flight) - whole(lost->size), lost_before = whole(lost->lost) - whole(lost->size);
	s64 room, prefix;

	if (before < 0)
		before = 0;
	room = (s64)multiply(params->loss_threshold, before) - lost_before;
	prefix = divide(magnitude(room), ONE - params->loss_threshold);
	before += room < 0 ? -prefix : prefix;
	return before < 0 ? 0 : before;
}

#endif
