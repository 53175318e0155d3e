/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The state transitions of BBR version 3 (draft-ietf-ccwg-bbr, section 5.3), as in crates/cc/src/algorithms/bbr3/machine.rs. Functions have
 * the draft's names.
 */
#ifndef SOJOURN_BBR3_MACHINE_H
#define SOJOURN_BBR3_MACHINE_H

#include "bbr3_model.h"

#define FULL_BW_ROUNDS 3
/* BBRStartupFullLossCnt */
#define STARTUP_FULL_LOSSES 6
/* The number of rounds after which Drain ends in any case. */
#define DRAIN_ROUNDS 3
/* The maximum number of rounds between two probes. */
#define RENO_ROUNDS 63
/* The maximum exponent of the growth of inflight_longterm. */
#define MAX_UP_ROUNDS 30

INLINE u64 pacing_gain(const struct law *law, const struct law_params *params)
{
	switch (law->state) {
	case STARTUP:
		return params->startup_gain;
	case DRAIN:
		return ONE / 2;
	case PROBE_BW_DOWN:
		return 3865470566ULL; /* 0.9 */
	case PROBE_BW_UP:
		return ONE + ONE / 4;
	default:
		return ONE;
	}
}

INLINE u64 cwnd_gain(const struct law *law, const struct law_params *params)
{
	if (law->state == PROBE_BW_UP)
		return params->cwnd_gain + params->cwnd_gain / 8;
	return law->state == PROBE_RTT ? ONE / 2 : params->cwnd_gain;
}

INLINE void check_full_bw_reached(struct law *law, const struct sample *sample)
{
	if (law->full_bw_now || !law->round_start || sample->is_app_limited || !sample->delivery_rate)
		return;
	if (sample->delivery_rate >= law->full_bw + law->full_bw / 4) {
		reset_full_bw(law);
		law->full_bw = sample->delivery_rate;
		return;
	}
	law->full_bw_count++;
	law->full_bw_now = law->full_bw_count >= FULL_BW_ROUNDS;
	law->full_bw_reached |= law->full_bw_now;
}

/* Applies with SACK, at the end of a round trip of recovery. */
INLINE void check_startup_high_loss(struct law *law, const struct law_params *params, const struct sample *sample)
{
	int lossy = sample->newly_lost > 0;

	if (sample->selective_acks)
		lossy = law->loss_round_start && law->lost_ranges >= STARTUP_FULL_LOSSES &&
			is_inflight_too_high(params, sample->lost, sample->tx_in_flight, sample->selective_acks);
	if (law->state == STARTUP && !law->full_bw_reached && lossy && sample->state == LOSS_RECOVERY) {
		law->undo_state = STARTUP;
		law->full_bw_reached = law->full_bw_now = 1;
		law->inflight_longterm = most(bdp_multiple(law, law->bw, ONE), law->inflight_latest);
	}
	if (law->loss_round_start)
		law->lost_ranges = 0;
}

INLINE void check_startup_done(struct law *law, const struct law_params *params, const struct sample *sample)
{
	check_startup_high_loss(law, params, sample);
	if (law->state == STARTUP && law->full_bw_reached) {
		law->state = DRAIN;
		law->drain_start_round = law->round_count;
	}
}

INLINE void start_probe_bw_down(struct law *law, u64 now, const struct draws *draws)
{
	reset_congestion_signals(law);
	law->probe_up_acked_per_inc = NEVER;
	/* PickProbeWait */
	law->rounds_since_probe_up = draws->coin;
	law->bw_probe_wait = 2 * SECOND + draws->time;
	law->drawn++;
	law->cycle_stamp = now;
	law->ack_phase = ACKS_PROBE_STOPPING;
	start_round(law);
	law->state = PROBE_BW_DOWN;
}

INLINE void check_drain_done(struct law *law, const struct sample *sample)
{
	if (law->state == DRAIN &&
	    (law->round_count > law->drain_start_round + DRAIN_ROUNDS || whole(sample->in_flight) <= inflight(law, law->bw)))
		start_probe_bw_down(law, sample->now, &sample->draws);
}

INLINE void start_probe_bw_refill(struct law *law)
{
	reset_short_term_model(law);
	law->bw_probe_up_rounds = 0;
	law->bw_probe_up_acked = 0;
	law->prev_probe_precautionary = 0;
	law->ack_phase = ACKS_REFILLING;
	start_round(law);
	law->state = PROBE_BW_REFILL;
}

INLINE void raise_inflight_longterm_slope(struct law *law)
{
	u64 rounds = least(law->bw_probe_up_rounds, MAX_UP_ROUNDS);

	law->bw_probe_up_rounds = least(rounds + 1, MAX_UP_ROUNDS);
	law->probe_up_acked_per_inc = most(law->cwnd >> rounds, ONE);
}

INLINE void start_probe_bw_up(struct law *law, const struct sample *sample)
{
	law->ack_phase = ACKS_PROBE_STARTING;
	start_round(law);
	reset_full_bw(law);
	law->full_bw = sample->delivery_rate;
	law->state = PROBE_BW_UP;
	raise_inflight_longterm_slope(law);
}

INLINE void probe_inflight_longterm_upward(struct law *law, const struct sample *sample)
{
	u64 increments;

	if (!sample->is_cwnd_limited || law->cwnd < law->inflight_longterm)
		return;
	law->bw_probe_up_acked += whole(sample->newly_acked);
	if (law->bw_probe_up_acked >= law->probe_up_acked_per_inc && law->probe_up_acked_per_inc) {
		increments = law->bw_probe_up_acked / law->probe_up_acked_per_inc;
		law->bw_probe_up_acked -= increments * law->probe_up_acked_per_inc;
		law->inflight_longterm += whole(increments);
	}
	if (law->round_start)
		raise_inflight_longterm_slope(law);
}

/* AdaptLongTermModel. Returns whether it selected a state. */
INLINE int adapt_long_term_model(struct law *law, const struct law_params *params, const struct sample *sample)
{
	if (law->ack_phase == ACKS_PROBE_STARTING && law->round_start)
		law->ack_phase = ACKS_PROBE_FEEDBACK;
	if (law->ack_phase == ACKS_PROBE_STOPPING && law->round_start) {
		law->is_bw_probe_sample = 0;
		law->ack_phase = ACKS_INIT;
		if (is_probe_bw(law) && !sample->is_app_limited)
			advance_max_bw_filter(law);
		if (is_probe_bw(law) && law->prev_probe_precautionary && !law->prev_probe_too_high) {
			start_probe_bw_refill(law);
			return 1;
		}
	}
	if (law->inflight_longterm == NEVER || is_inflight_too_high(params, sample->lost, sample->tx_in_flight, sample->selective_acks))
		return 0;
	law->inflight_longterm = most(law->inflight_longterm, whole(sample->tx_in_flight));
	if (law->state == PROBE_BW_UP)
		probe_inflight_longterm_upward(law, sample);
	return 0;
}

/* IsTimeToProbeBW, IsRenoCoexistenceProbeTime. Returns whether it started to probe. */
INLINE int probe_if_due(struct law *law, u64 now)
{
	u64 reno_rounds = least(target_inflight(law), whole(RENO_ROUNDS));

	if (now <= law->cycle_stamp + law->bw_probe_wait && whole(law->rounds_since_probe_up) < reno_rounds)
		return 0;
	start_probe_bw_refill(law);
	return 1;
}

INLINE int is_time_to_cruise(const struct law *law, const struct law_params *params, const struct sample *sample)
{
	u64 in_flight = whole(sample->in_flight);

	return in_flight <= inflight_with_headroom(law, params) && in_flight <= inflight(law, max_bw(law));
}

INLINE int is_time_to_go_down(struct law *law, const struct sample *sample)
{
	if (law->prev_probe_too_high && whole(sample->in_flight) >= law->inflight_longterm) {
		law->prev_probe_precautionary = 1;
		return 1;
	}
	if (sample->is_cwnd_limited && law->cwnd >= law->inflight_longterm) {
		reset_full_bw(law);
		law->full_bw = sample->delivery_rate;
		return 0;
	}
	return law->full_bw_now;
}

INLINE void update_probe_bw_cycle_phase(struct law *law, const struct law_params *params, const struct sample *sample)
{
	if (!law->full_bw_reached || adapt_long_term_model(law, params, sample))
		return;
	if (law->state == PROBE_BW_DOWN) {
		if (!probe_if_due(law, sample->now) && is_time_to_cruise(law, params, sample))
			law->state = PROBE_BW_CRUISE;
	} else if (law->state == PROBE_BW_CRUISE) {
		probe_if_due(law, sample->now);
	} else if (law->state == PROBE_BW_REFILL && law->round_start) {
		law->is_bw_probe_sample = 1;
		start_probe_bw_up(law, sample);
	} else if (law->state == PROBE_BW_UP && is_time_to_go_down(law, sample)) {
		law->prev_probe_too_high = 0;
		start_probe_bw_down(law, sample->now, &sample->draws);
	}
}

/* CheckProbeRTTDone, ExitProbeRTT */
INLINE void check_probe_rtt_done(struct law *law, u64 now, const struct draws *draws)
{
	if (law->probe_rtt_done_stamp == NEVER || now <= law->probe_rtt_done_stamp)
		return;
	law->probe_rtt_min_stamp = now;
	restore_cwnd(law);
	reset_short_term_model(law);
	if (law->full_bw_reached) {
		start_probe_bw_down(law, now, draws);
		law->state = PROBE_BW_CRUISE;
	} else {
		law->state = STARTUP;
	}
}

INLINE void handle_probe_rtt(struct law *law, const struct law_params *params, const struct sample *sample)
{
	if (law->probe_rtt_done_stamp == NEVER) {
		if (whole(sample->in_flight) <= probe_rtt_cwnd(law)) {
			law->probe_rtt_done_stamp = sample->now + params->probe_rtt;
			law->probe_rtt_round_done = 0;
			start_round(law);
		}
		return;
	}
	law->probe_rtt_round_done |= law->round_start;
	if (law->probe_rtt_round_done)
		check_probe_rtt_done(law, sample->now, &sample->draws);
}

INLINE void check_probe_rtt(struct law *law, const struct law_params *params, const struct sample *sample)
{
	if (law->state != PROBE_RTT && law->probe_rtt_expired && !law->idle_restart) {
		law->state = PROBE_RTT;
		save_cwnd(law);
		law->probe_rtt_done_stamp = NEVER;
		law->ack_phase = ACKS_PROBE_STOPPING;
		start_round(law);
	}
	if (law->state == PROBE_RTT)
		handle_probe_rtt(law, params, sample);
	if (sample->delivered)
		law->idle_restart = 0;
}

INLINE void handle_inflight_too_high(struct law *law, const struct law_params *params, const struct lost *lost)
{
	law->prev_probe_too_high = 1;
	law->is_bw_probe_sample = 0;
	if (!lost->is_app_limited)
		law->inflight_longterm = most(inflight_at_loss(params, lost), multiply(target_inflight(law), params->beta));
	if (law->state == PROBE_BW_UP) {
		law->undo_state = PROBE_BW_UP;
		start_probe_bw_down(law, lost->now, &lost->draws);
	}
}

#endif
