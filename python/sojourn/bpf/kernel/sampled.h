/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * What every congestion controller over delivery-rate samples receives. `LAW` names the header of one algorithm, which defines:
 *
 *   struct law_params
 *   struct law, which begins with its results: `cwnd` in Q32 segments, `pacing_rate` in Q32 segments per second, and `drawn`,
 *   the number of events whose random numbers it used
 *   law_start(law, params, cwnd)                  at the start of a connection
 *   law_on_sample(law, params, sample)            an ACK that delivered data or reported a loss
 *   law_on_lost(law, params, lost)                lost segments
 *   law_on_congestion(law, is_loss)               the start of a recovery, or a mark
 *   law_on_rto(law, cwnd)                         a retransmission timeout, after which the kernel has set this window
 *   law_on_restart(law, params, restart)          data is sent while nothing is in flight
 *   law_on_spurious(law)                          all losses of a recovery were spurious
 */
#ifndef SOJOURN_SAMPLED_H
#define SOJOURN_SAMPLED_H

#include "fixed.h"

/* The state of loss recovery. */
enum { LOSS_OPEN, LOSS_RECOVERY, LOSS_TIMEOUT };

/* Random numbers of an event. */
struct draws {
	/* 0 or 1. */
	u64 coin;
	/* Nanoseconds, below a second. */
	u64 time;
};

/* A sample of the delivery rate. Times are in nanoseconds; 0 means none. Data is in whole segments. */
struct sample {
	u64 now;
	u64 rtt;
	u64 srtt;
	/* Q32 segments per second; 0 without a reliable sample. */
	u64 delivery_rate;
	/* Segments delivered since the start, and when the newest delivered segment was sent. NEVER if the ACK delivered none. */
	u64 delivered_total;
	u64 prior_delivered;
	/* Segments delivered and lost since then, and in flight then. */
	u64 delivered;
	u64 lost;
	u64 tx_in_flight;
	u64 newly_acked;
	u64 newly_lost;
	/* Segments in flight after the ACK. */
	u64 in_flight;
	u64 is_app_limited;
	u64 is_cwnd_limited;
	u64 selective_acks;
	u64 state;
	struct draws draws;
};

/* Lost segments. */
struct lost {
	u64 now;
	u64 size;
	/* Segments in flight when they were sent, and lost since then, with themselves. */
	u64 tx_in_flight;
	u64 lost;
	u64 is_app_limited;
	u64 delivered_total;
	/* 1 if they directly follow the previous lost segment. */
	u64 contiguous;
	u64 selective_acks;
	struct draws draws;
};

struct restart {
	u64 now;
	u64 srtt;
	u64 app_limited;
	struct draws draws;
};

#endif
