/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * A congestion control of the kernel with the law of the header `LAW`, under the name `NAME`.
 * The law sets the window itself, in recovery too. A mark counts as a loss, because the kernel reports one mark per window.
 */
#include LAW
#include "hooks.h"

struct connection {
	struct window window;
	/* The window before the last reduction, in case it was spurious. */
	u64 before;
	struct law law;
};

CONNECTIONS(struct connection)

/* The kernel counts whole segments. */
INLINE void publish(struct tcp_sock *tp, const struct window *window)
{
	tp->snd_cwnd = most(window->cwnd >> 32, 1);
	if (window->ssthresh != NEVER)
		tp->snd_ssthresh = window->ssthresh >> 32;
}

/* As the kernel's tcp_is_cwnd_limited. */
INLINE u32 is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

SEC("struct_ops/init")
int law_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!connection)
		return 0;
	law_start(&connection->law);
	connection->window.cwnd = least(most(tp->snd_cwnd, 1), MAX_WINDOW >> 32) << 32;
	connection->window.ssthresh = NEVER;
	connection->before = connection->window.cwnd;
	return 0;
}

SEC("struct_ops/control")
int law_control(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	const struct rate_sample *rs = sample_of(ctx);
	struct connection *connection = connection_of((struct sock *)tp);
	struct ack ack;

	if (!connection)
		return 0;
	ack.now = bpf_ktime_get_ns();
	ack.rtt = rs->rtt_us > 0 ? rs->rtt_us * 1000ULL : 0;
	ack.srtt = (tp->srtt_us >> 3) * 1000ULL;
	ack.snd_una = tp->bytes_acked;
	ack.snd_max = tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una);
	ack.acked = rs->acked_sacked;
	ack.cwnd_limited = is_cwnd_limited(tp);
	/* The kernel may defer a part of a used window, to send larger packets. */
	ack.in_flight = ack.cwnd_limited ? most(rs->prior_in_flight, tp->snd_cwnd) : rs->prior_in_flight;
	ack.in_recovery = loss_state_of(tp) >= TCP_CA_CWR;
	law_on_ack(&connection->law, &law_params, &connection->window, &ack);
	publish(tp, &connection->window);
	return 0;
}

/* The kernel enters CWR and recovery once per window, and Loss at each timeout. */
SEC("struct_ops/state")
int law_state(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct connection *connection = connection_of((struct sock *)tp);
	u8 next = ctx[1], last = loss_state_of(tp);
	struct window *window;

	if (!connection || next < TCP_CA_CWR || next == last)
		return 0;
	window = &connection->window;
	if (last < TCP_CA_CWR)
		connection->before = window->cwnd;
	if (next == TCP_CA_LOSS)
		law_on_rto(&connection->law, &law_params, window, bpf_ktime_get_ns(), window->cwnd);
	else if (last < TCP_CA_CWR)
		law_on_congestion(&connection->law, &law_params, window, bpf_ktime_get_ns(), window->cwnd);
	publish(tp, window);
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
	connection->window.cwnd = most(connection->window.cwnd, connection->before);
	return connection->window.cwnd >> 32;
}

SEC(".struct_ops")
struct tcp_congestion_ops controller = {
	.ssthresh = (void *)law_ssthresh,
	.set_state = (void *)law_state,
	.cong_control = (void *)law_control,
	.undo_cwnd = (void *)law_undo,
	.init = (void *)law_init,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
