// SPDX-License-Identifier: GPL-2.0
/* Senders and sinks: kernel threads with kernel sockets. They sleep until there is something to do, so virtual time goes on. */
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "sojourn.h"

#define CHUNK (1 << 16)
#define UNSENT (1 << 18)                   /* what waits unsent in a socket: enough for any growth of the window */

#define UDP_HEADERS (sizeof(struct iphdr) + sizeof(struct udphdr))

static u8 nothing[CHUNK];
static u8 unread[CHUNK];

static struct sockaddr_in address_of(u32 host, u32 flow)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(FIRST_PORT + flow),
		.sin_addr.s_addr = sojourn_address(host),
	};
}

/* What a sender shows after a packet came back to it: its windows, and whether all of its data is acknowledged. */
void sojourn_flow_looks(struct flow *flow)
{
	const struct tcp_sock *tp;
	u32 cwnd, ssthresh;

	if (!flow->sender || !flow->plan.tcp)
		return;
	tp = tcp_sk(flow->sender->sk);
	cwnd = tcp_snd_cwnd(tp);
	ssthresh = tp->snd_ssthresh;
	if (cwnd != flow->cwnd || ssthresh != flow->ssthresh) {
		flow->cwnd = cwnd;
		flow->ssthresh = ssthresh;
		sojourn_window(guest, sojourn_now(), flow->number, cwnd, ssthresh);
	}
	if (flow->closing && tp->bytes_acked >= flow->bytes) {
		sojourn_completed(guest, sojourn_now(), flow->number, flow->opened, flow->bytes);
		flow->closing = false;
	}
}

/* Called by the kernel's TCP where it takes a round-trip sample (the patch adds the call). */
void sojourn_on_rtt(struct sock *sk, long rtt_us)
{
	struct flow *flow = READ_ONCE(sk->sk_user_data);

	if (flow)
		sojourn_rtt(guest, sojourn_now(), flow->number, rtt_us);
}

/* Called by the kernel's TCP where its congestion state changes (the patch adds the call). */
void sojourn_on_state(struct sock *sk, u8 state)
{
	struct flow *flow = READ_ONCE(sk->sk_user_data);

	if (!flow)
		return;
	if (state == TCP_CA_Loss)
		sojourn_loss(guest, sojourn_now(), flow->number, true);
	else if (state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		sojourn_loss(guest, sojourn_now(), flow->number, false);
}

/* Sends so many zeros, or without end until the application acts again. */
static int send_bytes(struct flow *flow, u64 bytes)
{
	while (bytes) {
		struct kvec part = { nothing, min_t(u64, bytes, CHUNK) };
		struct msghdr message = { .msg_flags = MSG_NOSIGNAL };
		u64 due = sojourn_application_due(guest, flow->number), now = sojourn_now();
		int sent;

		if (due <= now)
			return 0;
		if (due != U64_MAX)
			flow->sender->sk->sk_sndtimeo = max_t(long, nsecs_to_jiffies(due - now), 1);
		flow->bytes += part.iov_len;
		sent = kernel_sendmsg(flow->sender, &message, &part, 1, part.iov_len);
		flow->bytes -= part.iov_len - max(sent, 0);
		if (sent < 0 && sent != -EAGAIN)
			return sent;
		bytes -= bytes == U64_MAX ? 0 : max(sent, 0);
	}
	return 0;
}

/* Sends a datagram of this size on the wire, and one byte of payload at least. */
static int send_datagram(struct flow *flow, u64 size)
{
	struct kvec part = { nothing, clamp_t(u64, size, UDP_HEADERS + 1, CHUNK - 1) - UDP_HEADERS };
	struct msghdr message = { .msg_flags = MSG_NOSIGNAL };
	int sent = kernel_sendmsg(flow->sender, &message, &part, 1, part.iov_len);

	return min(sent, 0);
}

static int open_sender(struct flow *flow)
{
	struct sockaddr_in to = address_of(flow->plan.destination, flow->number);
	bool tcp = flow->plan.tcp;
	struct sock *sk;
	int error;

	error = sock_create_kern(sojourn_host(flow->plan.source), AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0, &flow->sender);
	if (error)
		return error;
	sk = flow->sender->sk;
	flow->opened = sojourn_now();
	if (tcp) {
		lock_sock(sk);
		error = tcp_set_congestion_control(sk, flow->plan.controller, false, true);
		tcp_sk(sk)->notsent_lowat = UNSENT;
		tcp_sock_set_maxseg(sk, flow->plan.packet - sizeof(struct iphdr) - sizeof(struct tcphdr));
		sk->sk_user_data = flow;
		release_sock(sk);
		if (error)
			sojourn_stop("flow %u: congestion control %s: error %d", flow->number, flow->plan.controller, error);
	}
	return kernel_connect(flow->sender, (struct sockaddr_unsized *)&to, sizeof(to), 0);
}

static int sender(void *data)
{
	struct flow *flow = data;
	struct sojourn_written written = {};
	int error = 0;
	u64 due;

	while ((due = sojourn_application_due(guest, flow->number)) != U64_MAX) {
		sojourn_sleep_until(due);
		sojourn_application_acts(guest, flow->number, &written);
		if (!written.bytes)
			break;
		if (!flow->sender)
			error = open_sender(flow);
		if (!error)
			error = flow->plan.tcp ? send_bytes(flow, written.bytes) : send_datagram(flow, written.bytes);
		if (error || written.last)
			break;
	}
	if (flow->sender && flow->plan.tcp) {
		/* A transfer that is stopped is not completed. */
		flow->closing = written.last && written.bytes && written.bytes != U64_MAX;
		kernel_sock_shutdown(flow->sender, SHUT_WR);
	}
	return 0;
}

/* TCP gives up what it has without copying it. */
static void read_all(struct flow *flow, struct socket *socket)
{
	for (;;) {
		struct msghdr message = {};
		struct kvec room = { NULL, 1 << 20 };
		int read = kernel_recvmsg(socket, &message, &room, 1, room.iov_len, MSG_TRUNC);

		if (read <= 0)
			return;
		sojourn_read(guest, sojourn_now(), flow->number, read);
	}
}

/* Of datagrams, what is on the wire counts. */
static void read_datagrams(struct flow *flow, struct socket *socket)
{
	for (;;) {
		struct msghdr message = {};
		struct kvec room = { unread, sizeof(unread) };
		int read = kernel_recvmsg(socket, &message, &room, 1, room.iov_len, 0);

		if (read < 0)
			return;
		sojourn_read(guest, sojourn_now(), flow->number, read + UDP_HEADERS);
	}
}

static int sink(void *data)
{
	struct flow *flow = data;
	struct sockaddr_in here = address_of(flow->plan.destination, flow->number);
	bool tcp = flow->plan.tcp;
	struct socket *listener, *connection;
	int error;

	error = sock_create_kern(sojourn_host(flow->plan.destination), AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0, &listener);
	if (!error)
		error = kernel_bind(listener, (struct sockaddr_unsized *)&here, sizeof(here));
	if (!error && tcp)
		error = kernel_listen(listener, 1);
	if (error)
		sojourn_stop("flow %u: no place to listen: error %d", flow->number, error);
	if (!tcp) {
		read_datagrams(flow, listener);
		return 0;
	}
	while (!kernel_accept(listener, &connection, 0)) {
		read_all(flow, connection);
		sock_release(connection);
	}
	return 0;
}

static void set_host_options(const struct sojourn_flow *plan)
{
	u32 ends[] = { plan->source, plan->destination }, end;

	for (end = 0; end < 2; end++) {
		struct net *net = sojourn_host(ends[end]);

		net->ipv4.sysctl_tcp_ecn = plan->ecn;
		net->ipv4.sysctl_tcp_sack = plan->sack;
	}
}

int sojourn_start_flows(void)
{
	u32 number;

	for (number = 0; number < flow_count; number++) {
		struct flow *flow = &flows[number];

		if (flow->plan.tcp)
			set_host_options(&flow->plan);
		if (IS_ERR(kthread_run(sink, flow, "sink/%u", number)) || IS_ERR(kthread_run(sender, flow, "sender/%u", number)))
			return -ENOMEM;
	}
	return 0;
}
