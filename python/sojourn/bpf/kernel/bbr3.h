/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * BBR version 3 (draft-ietf-ccwg-bbr): the law of crates/cc/src/algorithms/bbr3.rs.
 */
#include "bbr3_machine.h"

/* SetPacingRateWithGain */
INLINE void set_pacing_rate(struct law *law, u64 gain)
{
	u64 rate = multiply(multiply(gain, law->bw), PACING_MARGIN);

	if (law->bw && (law->full_bw_reached || rate > law->pacing_rate))
		law->pacing_rate = rate;
}

/* BoundCwndForModel */
INLINE void bound_cwnd_for_model(struct law *law, const struct law_params *params)
{
	u64 cap = NEVER;

	if (law->state == PROBE_RTT || law->state == PROBE_BW_CRUISE)
		cap = inflight_with_headroom(law, params);
	else if (is_probe_bw(law))
		cap = law->inflight_longterm;
	law->cwnd = least(law->cwnd, most(least(cap, law->inflight_shortterm), MIN_PIPE_CWND));
}

/* SetCwnd */
INLINE void set_cwnd(struct law *law, const struct law_params *params, const struct sample *sample)
{
	u64 max_inflight = quantization_budget(law, bdp_multiple(law, law->bw, cwnd_gain(law, params)) + filtered_max(&law->extra_acked));

	if (law->full_bw_reached)
		law->cwnd = least(law->cwnd + whole(sample->newly_acked), max_inflight);
	else if (law->cwnd < max_inflight || whole(sample->delivered_total) < law->initial_cwnd)
		law->cwnd += whole(sample->newly_acked);
	law->cwnd = least(most(law->cwnd, MIN_PIPE_CWND), MAX_WINDOW);
	if (law->state == PROBE_RTT)
		law->cwnd = least(law->cwnd, probe_rtt_cwnd(law));
	bound_cwnd_for_model(law, params);
}

/* The part of OnInit that requires the time and the round-trip time. */
INLINE void initialize(struct law *law, const struct law_params *params, u64 now, u64 srtt)
{
	if (law->initialized)
		return;
	law->initialized = 1;
	law->min_rtt_stamp = law->probe_rtt_min_stamp = law->extra_acked_interval_start = now;
	if (srtt)
		law->min_rtt = law->probe_rtt_min_delay = srtt;
	law->pacing_rate = initial_rate(params, law->initial_cwnd, srtt ? srtt : NOMINAL_RTT);
}

INLINE void law_start(struct law *law, const struct law_params *params, u64 cwnd)
{
	*law = (struct law){
		.cwnd = cwnd,
		.initial_cwnd = cwnd,
		.pacing_rate = initial_rate(params, cwnd, NOMINAL_RTT),
		.probe_up_acked_per_inc = NEVER,
		.bw_shortterm = NEVER,
		.inflight_shortterm = NEVER,
		.inflight_longterm = NEVER,
		.min_rtt = NEVER,
		.probe_rtt_min_delay = NEVER,
		.probe_rtt_done_stamp = NEVER,
		.undo_state = NO_STATE,
	};
}

/* UpdateOnACK */
INLINE void law_on_sample(struct law *law, const struct law_params *params, const struct sample *sample)
{
	u64 before = law->loss_state;

	initialize(law, params, sample->now, sample->srtt);
	law->delivered = sample->delivered_total;
	law->loss_state = sample->state;
	if (sample->state == LOSS_OPEN) {
		law->has_saved = 0;
		if (before != LOSS_OPEN)
			restore_cwnd(law);
	}
	update_latest_delivery_signals(law, sample);
	update_congestion_signals(law, params, sample);
	FORGET();
	update_ack_aggregation(law, sample);
	FORGET();
	check_full_bw_reached(law, sample);
	FORGET();
	check_startup_done(law, params, sample);
	FORGET();
	check_drain_done(law, sample);
	FORGET();
	update_probe_bw_cycle_phase(law, params, sample);
	FORGET();
	update_min_rtt(law, params, sample);
	FORGET();
	check_probe_rtt(law, params, sample);
	FORGET();
	advance_latest_delivery_signals(law, sample);
	law->bw = least(max_bw(law), law->bw_shortterm);
	FORGET();
	set_pacing_rate(law, pacing_gain(law, params));
	FORGET();
	set_cwnd(law, params, sample);
}

/* HandleLostPacket */
INLINE void law_on_lost(struct law *law, const struct law_params *params, const struct lost *lost)
{
	law->delivered = lost->delivered_total;
	law->lost_ranges += !lost->contiguous || !law->lost_ranges;
	note_loss(law);
	if (law->is_bw_probe_sample && is_inflight_too_high(params, lost->lost, lost->tx_in_flight, lost->selective_acks))
		handle_inflight_too_high(law, params, lost);
}

/* OnEnterFastRecovery, or a mark. */
INLINE void law_on_congestion(struct law *law, int is_loss)
{
	if (is_loss)
		save_state_upon_loss(law);
	note_loss(law);
}

/* OnEnterRTO. The kernel sets the window to one segment more than is in flight. */
INLINE void law_on_rto(struct law *law, u64 cwnd)
{
	save_state_upon_loss(law);
	law->loss_state = LOSS_TIMEOUT;
	law->cwnd = cwnd;
}

/* HandleRestartFromIdle */
INLINE void law_on_restart(struct law *law, const struct law_params *params, const struct restart *restart)
{
	initialize(law, params, restart->now, restart->srtt);
	if (!restart->app_limited)
		return;
	law->idle_restart = 1;
	law->extra_acked_interval_start = restart->now;
	if (is_probe_bw(law))
		set_pacing_rate(law, ONE);
	else if (law->state == PROBE_RTT)
		check_probe_rtt_done(law, restart->now, &restart->draws);
}

/* HandleSpuriousLossDetection */
INLINE void law_on_spurious(struct law *law)
{
	u64 undo = law->undo_state;

	law->undo_state = NO_STATE;
	restore_cwnd(law);
	law->is_loss_in_round = 0;
	reset_full_bw(law);
	law->bw_shortterm = most(law->bw_shortterm, law->undo_bw_shortterm);
	law->inflight_shortterm = most(law->inflight_shortterm, law->undo_inflight_shortterm);
	law->inflight_longterm = most(law->inflight_longterm, law->undo_inflight_longterm);
	if (undo == STARTUP && law->state != STARTUP) {
		law->full_bw_reached = 0;
		if (law->state != PROBE_RTT)
			law->state = STARTUP;
	} else if (undo == PROBE_BW_UP && law->state != PROBE_BW_UP && law->state != PROBE_RTT) {
		start_probe_bw_refill(law);
	}
}
