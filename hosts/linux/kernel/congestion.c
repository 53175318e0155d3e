// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion control `sojourn`: it calls the controller of the flow. The kernel performs loss recovery and spreads a
 * reduction over a round trip (PRR); the controller sets the target window and the pacing rate. A controller that
 * uses delivery rate samples controls the window alone.
 */
#include <linux/module.h>
#include <net/tcp.h>
#include "sojourn.h"

struct ours {
	u32 controller;
	u32 delivered_ce;       /* marks already reported to it */
	u32 lost;               /* losses already reported to it */
	u32 advanced;           /* segments that this ACK covers and the last one did not */
	bool open;              /* whether nothing was lost, marked or out of order when this ACK arrived */
	struct sojourn_needs needs;
};

static struct ours *ours_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* Only senders of flows use it, and their sockets reference their flow. Each connection has its own controller. */
static void start(struct sock *sk)
{
	const struct connection *connection = sk->sk_user_data;
	struct ours *ours = ours_of(sk);

	*ours = (struct ours){ .delivered_ce = tcp_sk(sk)->delivered_ce, .lost = tcp_sk(sk)->lost };
	ours->controller = sojourn_controller_starts(guest, connection->flow->number, tcp_snd_cwnd(tcp_sk(sk)));
	sojourn_controller_needs(guest, ours->controller, &ours->needs);
}

static void end(struct sock *sk)
{
	sojourn_controller_ends(guest, ours_of(sk)->controller);
}

/* A reduction starts: for a mark, for a loss, or (reported just after) for a timeout. */
static u32 reduce(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sojourn_windows windows = { tcp_snd_cwnd(tp), tp->snd_ssthresh };

	sojourn_controller_reduces(guest, sojourn_now(), ours_of(sk)->controller, !tp->lost_out, &windows);
	return max(windows.cwnd, 2u);
}

/*
 * Handles the end of a pause: halves the window for each timeout that has passed. It does what tcp_cwnd_restart does, which the
 * kernel does not call if a congestion control has cong_control.
 */
static void restart(struct sock *sk, s32 idle)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), least = min_t(u32, cwnd, TCP_INIT_CWND);
	struct sojourn_windows windows = { .ssthresh = tcp_current_ssthresh(sk) };

	while ((idle -= inet_csk(sk)->icsk_rto) > 0 && cwnd > least)
		cwnd >>= 1;
	windows.cwnd = max(cwnd, least);
	tcp_snd_cwnd_set(tp, windows.cwnd);
	WRITE_ONCE(tp->snd_ssthresh, windows.ssthresh);
	sojourn_controller_restarts(guest, ours_of(sk)->controller, &windows);
}

/* Called by the kernel before it sends while nothing is in flight. */
static void on_start(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 idle = tcp_jiffies32 - tp->lsndtime;

	if (!tp->packets_out && !ours_of(sk)->needs.owns_window && idle > inet_csk(sk)->icsk_rto)
		restart(sk, idle);
	sojourn_controller_ends_idle(guest, sojourn_now(), ours_of(sk)->controller, jiffies_to_msecs(idle));
}

static void on_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sojourn_windows windows = { tp->prior_cwnd, tp->snd_ssthresh };

	if (event != CA_EVENT_LOSS)
		return;
	sojourn_controller_times_out(guest, sojourn_now(), ours_of(sk)->controller, &windows);
	WRITE_ONCE(tp->snd_ssthresh, windows.ssthresh);
}

/*
 * Whether this state ends a reduction. A congestion control without cong_control then receives CA_EVENT_COMPLETE_CWR. A recovery
 * that is undone before its end does not count.
 */
static bool ends_reduction(const struct tcp_sock *tp, u8 state)
{
	return state == TCP_CA_CWR || (state == TCP_CA_Recovery && !before(tp->snd_una, tp->high_seq));
}

/* Called after the kernel has set the window; after a timeout, each time that the timer expires. */
static void on_state(struct sock *sk, u8 state)
{
	struct sojourn_windows windows = { tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->snd_ssthresh };
	const struct ours *ours = ours_of(sk);
	u8 old = inet_csk(sk)->icsk_ca_state;

	if (state <= TCP_CA_Disorder && ends_reduction(tcp_sk(sk), old))
		sojourn_controller_ends_reduction(guest, ours->controller);
	if (state == TCP_CA_Recovery && old == TCP_CA_CWR && !ours->needs.owns_window) {
		u32 target = sojourn_controller_loses_in_reduction(guest, ours->controller, windows.cwnd);

		if (target)
			WRITE_ONCE(tcp_sk(sk)->snd_ssthresh, target);
	}
	if (state == TCP_CA_Loss)
		sojourn_controller_restarts_after_timeout(guest, sojourn_now(), ours_of(sk)->controller, &windows);
}

/* Fills in the state of a connection. */
static struct sojourn_ack standing(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	return (struct sojourn_ack){
		.snd_una = tp->bytes_acked,
		.snd_max = tp->bytes_acked + tp->snd_nxt - tp->snd_una,
		.unacknowledged = tp->snd_una,
		.rtt_us = -1,
		.in_flight = tcp_packets_in_flight(tp),
		.in_flight_after = tcp_packets_in_flight(tp),
		.srtt_us = tp->srtt_us >> 3,
		.rtt_min_us = tcp_min_rtt(tp) == ~0U ? 0 : tcp_min_rtt(tp),
		.delivered = tp->delivered,
		.lost = tp->lost,
		.app_limited = !!tp->app_limited,
		.cwnd_limited = tcp_is_cwnd_limited(sk),
		.repairs = state == TCP_CA_Recovery || state == TCP_CA_Loss,
		.after_timeout = state == TCP_CA_Loss,
		.sack = tcp_is_sack(tp),
	};
}

/* Called by the device before the kernel counts the segment. */
void sojourn_congestion_sends(struct sock *sk, u32 end)
{
	struct sojourn_ack told;

	if (inet_csk(sk)->icsk_ca_ops->cong_control == NULL || inet_csk(sk)->icsk_ca_ops->ssthresh != reduce)
		return;
	if (!ours_of(sk)->needs.owns_window)
		return;
	told = standing(sk);
	sojourn_controller_sends(guest, sojourn_now(), ours_of(sk)->controller, end, &told);
}

/* Reports each lost segment that was not retransmitted; the controller ignores repeated reports. */
static void tell_losses(struct sock *sk, const struct sojourn_ack *told)
{
	struct sk_buff *skb;

	if (tcp_sk(sk)->lost == ours_of(sk)->lost)
		return;
	ours_of(sk)->lost = tcp_sk(sk)->lost;
	skb_rbtree_walk(skb, &sk->tcp_rtx_queue) {
		const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);

		if (cb->sacked & TCPCB_LOST && !(cb->sacked & TCPCB_SACKED_RETRANS))
			sojourn_controller_loses(guest, sojourn_now(), ours_of(sk)->controller, cb->end_seq, told);
	}
}

/* Sets the pacing rate, in thousandths of a segment per second. Segments are sent one by one. */
static void set_pace(struct sock *sk, u64 pace)
{
	if (!pace)
		return;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_pacing_rate, max_t(u64, div_u64(min_t(u64, pace, U32_MAX) * tcp_sk(sk)->mss_cache, 1000), 1));
}

/* Called by the kernel before on_ack, and before it processes the ACK's losses and marks. */
static void on_acked(struct sock *sk, const struct ack_sample *sample)
{
	ours_of(sk)->advanced = sample->pkts_acked;
	ours_of(sk)->open = inet_csk(sk)->icsk_ca_state == TCP_CA_Open;
}

/* Whether an ACK may open the window (tcp_may_raise_cwnd). */
static bool is_progress(struct sock *sk, const struct sojourn_ack *told)
{
	bool reordered = tcp_sk(sk)->reordering > READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_reordering);

	return told->advanced || (reordered && told->acked);
}

static void on_ack(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ours *ours = ours_of(sk);
	bool for_marks = inet_csk(sk)->icsk_ca_state == TCP_CA_CWR;
	bool reducing = tcp_in_cwnd_reduction(sk) && !ours->needs.owns_window && !(for_marks && ours->needs.grows_on_marks);
	struct sojourn_windows windows = { tcp_snd_cwnd(tp), tp->snd_ssthresh };
	struct sojourn_ack told = standing(sk);

	told.rtt_us = sample->rtt_us;
	told.acked = sample->acked_sacked;
	told.advanced = ours->advanced;
	ours->advanced = 0;
	told.cwnd_limited &= ours->needs.owns_window || is_progress(sk, &told);
	told.in_flight = sample->prior_in_flight;
	told.in_recovery = reducing;
	told.open = ours->open;
	told.pacing_delay_ns = max_t(s64, tp->tcp_wstamp_ns - tp->tcp_clock_cache, 0);
	told.marked = tp->delivered_ce - ours->delivered_ce;
	ours->delivered_ce = tp->delivered_ce;
	told.newest = sample->last_end_seq;
	told.newly_lost = sample->losses;
	told.prior_delivered = sample->prior_delivered;
	told.app_limited = sample->is_app_limited;
	told.may_be_delayed = sample->is_ack_delayed;
	if (sample->delivered > 0 && sample->interval_us > 0) {
		told.delivered_since = sample->delivered;
		told.interval_us = sample->interval_us;
	}
	if (tp->rx_opt.saw_tstamp && tp->rx_opt.rcv_tsecr) {
		told.one_way_delay_ns = (s64)(s32)(tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr) *
					(tp->tcp_usec_ts ? NSEC_PER_USEC : NSEC_PER_MSEC);
		told.has_one_way_delay = 1;
	}
	if (ours->needs.owns_window)
		tell_losses(sk, &told);
	sojourn_controller_acks(guest, sojourn_now(), ours->controller, &told, &windows);
	if (reducing) {
		tcp_cwnd_reduction(sk, sample->acked_sacked, sample->losses, flag);
	} else {
		tcp_snd_cwnd_set(tp, min(windows.cwnd, tp->snd_cwnd_clamp));
		WRITE_ONCE(tp->snd_ssthresh, windows.ssthresh);
	}
	set_pace(sk, windows.pace);
	if (windows.limits_samples)
		tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ? : 1;
}

/* The last reduction was spurious. */
static u32 undo(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sojourn_windows windows = { tcp_snd_cwnd(tp), tp->snd_ssthresh };

	sojourn_controller_undoes(guest, ours_of(sk)->controller, &windows);
	return ours_of(sk)->needs.owns_window ? windows.cwnd : max(windows.cwnd, tp->prior_cwnd);
}

#define OPERATIONS(control, wanted) { \
	.name = control, \
	.owner = THIS_MODULE, \
	.flags = wanted, \
	.init = start, \
	.release = end, \
	.ssthresh = reduce, \
	.cwnd_event = on_event, \
	.cwnd_event_tx_start = on_start, \
	.set_state = on_state, \
	.pkts_acked = on_acked, \
	.cong_control = on_ack, \
	.undo_cwnd = undo, \
}

static struct tcp_congestion_ops operations __read_mostly = OPERATIONS(OUR_CONTROL, 0);
/* Packets that are not ECN-capable are dropped instead of marked: the first of a connection, and retransmissions. */
static struct tcp_congestion_ops marked __read_mostly = OPERATIONS(OUR_MARKED, TCP_CONG_NEEDS_ECN);
static struct tcp_congestion_ops scalable __read_mostly =
	OPERATIONS(OUR_SCALABLE, TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION);

/* Whether a socket is a scalable sender. */
bool sojourn_congestion_is_scalable(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops == &scalable;
}

static int __init register_control(void)
{
	int error = tcp_register_congestion_control(&operations);

	BUILD_BUG_ON(sizeof(struct ours) > ICSK_CA_PRIV_SIZE);
	if (!error)
		error = tcp_register_congestion_control(&marked);
	return error ? error : tcp_register_congestion_control(&scalable);
}
device_initcall(register_control);
