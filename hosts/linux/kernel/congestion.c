// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion control `sojourn`: it asks the controller of the flow. The kernel finds losses, repairs them, and spreads a
 * reduction over a round trip (PRR); the controller says where the window goes.
 */
#include <linux/module.h>
#include <net/tcp.h>
#include "sojourn.h"

static u32 controller_of(const struct sock *sk)
{
	return *(const u32 *)inet_csk_ca(sk);
}

/* Only the senders of flows have it, and their sockets know their flow. Each connection has a controller of its own. */
static void start(struct sock *sk)
{
	const struct connection *connection = sk->sk_user_data;

	*(u32 *)inet_csk_ca(sk) = sojourn_controller_starts(guest, connection->flow->number, tcp_snd_cwnd(tcp_sk(sk)));
}

static void end(struct sock *sk)
{
	sojourn_controller_ends(guest, controller_of(sk));
}

/* A reduction begins: for a mark, for a loss, or (told just after) for a timeout. */
static u32 reduce(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sojourn_windows windows = { tcp_snd_cwnd(tp), tp->snd_ssthresh };

	sojourn_controller_reduces(guest, sojourn_now(), controller_of(sk), !tp->lost_out, &windows);
	return max(windows.cwnd, 2u);
}

static void on_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sojourn_windows windows = { tp->prior_cwnd, tp->snd_ssthresh };

	if (event == CA_EVENT_CWND_RESTART)
		sojourn_controller_restarts(guest, controller_of(sk), min_t(u32, tcp_snd_cwnd(tp), TCP_INIT_CWND));
	if (event != CA_EVENT_LOSS)
		return;
	sojourn_controller_times_out(guest, sojourn_now(), controller_of(sk), &windows);
	WRITE_ONCE(tp->snd_ssthresh, windows.ssthresh);
}

static void on_ack(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool reducing = tcp_in_cwnd_reduction(sk);
	struct sojourn_windows windows = { tcp_snd_cwnd(tp), tp->snd_ssthresh };
	struct sojourn_ack told = {
		.snd_una = tp->bytes_acked,
		.snd_max = tp->bytes_acked + tp->snd_nxt - tp->snd_una,
		.rtt_us = sample->rtt_us,
		.acked = sample->acked_sacked,
		.in_flight = sample->prior_in_flight,
		.srtt_us = tp->srtt_us >> 3,
		.rtt_min_us = tcp_min_rtt(tp) == ~0U ? 0 : tcp_min_rtt(tp),
		.cwnd_limited = tcp_is_cwnd_limited(sk),
		.in_recovery = reducing,
		.after_timeout = inet_csk(sk)->icsk_ca_state == TCP_CA_Loss,
	};

	if (tp->rx_opt.saw_tstamp && tp->rx_opt.rcv_tsecr) {
		told.one_way_delay_ns = (s64)(s32)(tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr) *
					(tp->tcp_usec_ts ? NSEC_PER_USEC : NSEC_PER_MSEC);
		told.has_one_way_delay = 1;
	}
	if (told.acked)
		sojourn_controller_acks(guest, sojourn_now(), controller_of(sk), &told, &windows);
	if (reducing) {
		tcp_cwnd_reduction(sk, sample->acked_sacked, sample->losses, flag);
	} else if (told.acked) {
		tcp_snd_cwnd_set(tp, min(windows.cwnd, tp->snd_cwnd_clamp));
		WRITE_ONCE(tp->snd_ssthresh, windows.ssthresh);
	}
}

/* The reason of the last reduction was none. */
static u32 undo(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sojourn_windows windows = { tcp_snd_cwnd(tp), tp->snd_ssthresh };

	sojourn_controller_undoes(guest, controller_of(sk), &windows);
	return max(windows.cwnd, tp->prior_cwnd);
}

static struct tcp_congestion_ops operations __read_mostly = {
	.name = OUR_CONTROL,
	.owner = THIS_MODULE,
	.init = start,
	.release = end,
	.ssthresh = reduce,
	.cwnd_event = on_event,
	.cong_control = on_ack,
	.undo_cwnd = undo,
};

static int __init register_control(void)
{
	return tcp_register_congestion_control(&operations);
}
device_initcall(register_control);
