/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * A congestion control of the kernel with the law over delivery-rate samples of the header `LAW`, under the name `NAME`.
 * The kernel reports no single lost segments, nor what was in flight and lost when a segment was sent. Both come from a ring of what the
 * connection knew at its last ACKs. All losses that an ACK reports count as one range, sent together with its newest segment.
 */
#include LAW
#include "hooks.h"

/* ACKs in the ring. With more segments in flight, losses count from the last ACK. */
#define ACKS 1024
/* Q32 segments per second. Higher rates do not fit into the arithmetic. */
#define MAX_RATE (1ULL << 58)
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define CA_EVENT_TX_START 0

/* What a connection knew at an ACK. */
struct ack {
	u32 delivered;
	u32 lost;
	/* Segments in flight when the next ACK arrived. */
	u32 in_flight;
};

struct connection {
	struct law law;
	struct ack acks[ACKS];
	u32 last;
};

CONNECTIONS(struct connection)

INLINE u64 in_flight_of(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

INLINE struct draws drawn(void)
{
	struct draws draws;

	draws.coin = bpf_get_prandom_u32() & 1;
	draws.time = bpf_get_prandom_u32() % SECOND;
	return draws;
}

INLINE void publish(struct tcp_sock *tp, const struct law *law)
{
	struct sock *sk = (struct sock *)tp;

	tp->snd_cwnd = most(law->cwnd >> 32, 1);
	sk->sk_pacing_rate = least(most(bounded(law->pacing_rate, tp->mss_cache), 1), sk->sk_max_pacing_rate);
}

SEC("struct_ops/init")
int law_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!connection)
		return 0;
	law_start(&connection->law, &law_params, least(most(tp->snd_cwnd, 1), MAX_WINDOW >> 32) << 32);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	publish(tp, &connection->law);
	return 0;
}

/* Fills in what was lost since the newest delivered segment was sent, and in flight then. */
INLINE void look_back(struct connection *connection, const struct tcp_sock *tp, const struct rate_sample *rs, struct sample *sample)
{
	const struct ack *then = &connection->acks[rs->prior_delivered & (ACKS - 1)];
	struct ack *now = &connection->acks[tp->delivered & (ACKS - 1)];

	connection->acks[connection->last & (ACKS - 1)].in_flight = rs->prior_in_flight;
	sample->lost = rs->losses;
	sample->tx_in_flight = rs->prior_in_flight;
	/* Otherwise the compiler makes one load of both sources, which the kernel refuses. */
	FORGET();
	if (then->delivered == rs->prior_delivered) {
		sample->lost = tp->lost - then->lost;
		sample->tx_in_flight = then->in_flight;
	}
	now->delivered = tp->delivered;
	now->lost = tp->lost;
	now->in_flight = in_flight_of(tp);
	connection->last = tp->delivered;
}

INLINE void measure(struct connection *connection, const struct tcp_sock *tp, const struct rate_sample *rs, struct sample *sample)
{
	u8 state = loss_state_of(tp);

	sample->now = bpf_ktime_get_ns();
	sample->rtt = rs->rtt_us > 0 ? rs->rtt_us * 1000ULL : 0;
	sample->srtt = (tp->srtt_us >> 3) * 1000ULL;
	sample->delivery_rate = 0;
	if (rs->delivered > 0 && rs->interval_us > 0)
		sample->delivery_rate = least(divide(least(rs->delivered * 1000000ULL, rs->interval_us * FRACTION), rs->interval_us), MAX_RATE);
	sample->delivered_total = tp->delivered;
	sample->prior_delivered = rs->prior_mstamp ? rs->prior_delivered : NEVER;
	sample->delivered = rs->delivered > 0 ? rs->delivered : 0;
	sample->newly_acked = rs->acked_sacked;
	sample->newly_lost = rs->losses > 0 ? rs->losses : 0;
	sample->in_flight = in_flight_of(tp);
	sample->is_app_limited = rs->is_app_limited;
	sample->is_cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	sample->selective_acks = BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok) != 0;
	sample->state = state == TCP_CA_LOSS ? LOSS_TIMEOUT : state == TCP_CA_RECOVERY ? LOSS_RECOVERY : LOSS_OPEN;
	sample->draws = drawn();
	look_back(connection, tp, rs, sample);
}

INLINE void report_losses(struct law *law, const struct sample *sample)
{
	struct lost lost;

	lost.now = sample->now;
	lost.size = sample->newly_lost;
	lost.tx_in_flight = most(sample->tx_in_flight, lost.size);
	lost.lost = most(sample->lost, lost.size);
	lost.is_app_limited = sample->is_app_limited;
	lost.delivered_total = sample->delivered_total;
	lost.contiguous = 0;
	lost.selective_acks = sample->selective_acks;
	lost.draws = sample->draws;
	law_on_lost(law, &law_params, &lost);
}

SEC("struct_ops/control")
int law_control(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	const struct rate_sample *rs = sample_of(ctx);
	struct connection *connection = connection_of((struct sock *)tp);
	struct sample sample;

	if (!connection)
		return 0;
	measure(connection, tp, rs, &sample);
	law_on_sample(&connection->law, &law_params, &sample);
	if (sample.newly_lost)
		report_losses(&connection->law, &sample);
	/* ProbeRTT limits the data in flight, so its samples must not count as the path's rate. */
	if (connection->law.state == PROBE_RTT)
		tp->app_limited = most((u32)(tp->delivered + sample.in_flight), 1);
	publish(tp, &connection->law);
	return 0;
}

/* The kernel enters CWR and recovery once per window, and Loss at each timeout, after setting the window. */
SEC("struct_ops/state")
int law_state(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct connection *connection = connection_of((struct sock *)tp);
	u8 next = ctx[1], last = loss_state_of(tp);

	if (!connection)
		return 0;
	if (next == TCP_CA_LOSS)
		law_on_rto(&connection->law, (u64)tp->snd_cwnd << 32);
	else if (next >= TCP_CA_CWR && next != last)
		law_on_congestion(&connection->law, next == TCP_CA_RECOVERY);
	return 0;
}

SEC("struct_ops/event")
int law_event(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct connection *connection = connection_of((struct sock *)tp);
	struct restart restart;

	if (!connection || ctx[1] != CA_EVENT_TX_START)
		return 0;
	restart.now = bpf_ktime_get_ns();
	restart.srtt = (tp->srtt_us >> 3) * 1000ULL;
	restart.app_limited = tp->app_limited != 0;
	restart.draws = drawn();
	law_on_restart(&connection->law, &law_params, &restart);
	publish(tp, &connection->law);
	return 0;
}

/* The reduction was spurious. */
SEC("struct_ops/undo")
u32 law_undo(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct connection *connection = connection_of((struct sock *)tp);

	if (!connection)
		return tp->snd_cwnd;
	law_on_spurious(&connection->law);
	return connection->law.cwnd >> 32;
}

SEC(".struct_ops")
struct tcp_congestion_ops controller = {
	.ssthresh = (void *)law_ssthresh,
	.set_state = (void *)law_state,
	.cwnd_event = (void *)law_event,
	.cong_control = (void *)law_control,
	.undo_cwnd = (void *)law_undo,
	.init = (void *)law_init,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
