// SPDX-License-Identifier: GPL-2.0
/* Senders and sinks: kernel threads with kernel sockets. They sleep while idle, so that virtual time advances. */
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/tcp_ecn.h>
#include "sojourn.h"

#define CHUNK (1 << 16)
#define UNSENT (1 << 18)                   /* limit of unsent bytes in a socket: enough for any growth of the window */

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

/* Reports a connection after a received packet: its windows, and whether all its data is acknowledged. */
static void look(struct connection *connection)
{
	const struct tcp_sock *tp = tcp_sk(connection->socket->sk);
	struct flow *flow = connection->flow;
	u32 cwnd = tcp_snd_cwnd(tp), ssthresh = tp->snd_ssthresh;

	if (!connection->asks && (cwnd != connection->cwnd || ssthresh != connection->ssthresh)) {
		connection->cwnd = cwnd;
		connection->ssthresh = ssthresh;
		sojourn_window(guest, sojourn_now(), flow->number, cwnd, ssthresh);
	}
	if (connection->closing && tp->bytes_acked >= connection->bytes) {
		connection->closing = false;
		if (!connection->asks)
			sojourn_completed(guest, sojourn_now(), flow->number, connection->opened, connection->bytes);
		wake_up_all(&flow->changed);
	}
}

void sojourn_flow_looks(struct flow *flow)
{
	struct connection *connection;

	if (flow->plan.tcp)
		list_for_each_entry(connection, &flow->connections, list)
			look(connection);
}

/* Called by the kernel's TCP when it takes a round-trip sample (the patch adds the call). */
void sojourn_on_rtt(struct sock *sk, long rtt_us)
{
	struct connection *connection = READ_ONCE(sk->sk_user_data);

	if (connection)
		sojourn_rtt(guest, sojourn_now(), connection->flow->number, rtt_us);
}

/* Called by the kernel's TCP when its congestion state changes (the patch adds the call). */
void sojourn_on_state(struct sock *sk, u8 state)
{
	struct connection *connection = READ_ONCE(sk->sk_user_data);

	if (!connection)
		return;
	if (state == TCP_CA_Loss)
		sojourn_loss(guest, sojourn_now(), connection->flow->number, true);
	else if (state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		sojourn_loss(guest, sojourn_now(), connection->flow->number, false);
}

/* Writes pending zeros until `due` at the latest; the rest stays pending. */
static int write_until(struct connection *connection, u64 due)
{
	while (connection->unwritten) {
		struct kvec part = { nothing, min_t(u64, connection->unwritten, CHUNK) };
		struct msghdr message = { .msg_flags = MSG_NOSIGNAL };
		u64 now = sojourn_now();
		int sent;

		/* A full socket accepts more data after half of its buffer has been sent. */
		if (due <= now || (due - now < NSEC_PER_MSEC && test_bit(SOCK_NOSPACE, &connection->socket->flags)))
			return 0;
		if (due != U64_MAX)
			connection->socket->sk->sk_sndtimeo = max_t(long, nsecs_to_jiffies(due - now), 1);
		connection->bytes += part.iov_len;
		sent = kernel_sendmsg(connection->socket, &message, &part, 1, part.iov_len);
		connection->bytes -= part.iov_len - max(sent, 0);
		if (sent < 0 && sent != -EAGAIN)
			return sent;
		connection->unwritten -= connection->unwritten == U64_MAX ? 0 : max(sent, 0);
	}
	return 0;
}

/* Sends a datagram of this size on the wire, with at least one byte of payload. A returned one contains its send time. */
static int send_datagram(struct connection *connection, u64 size)
{
	u64 now = sojourn_now();
	size_t payload = clamp_t(u64, size, UDP_HEADERS + 1, CHUNK - 1) - UDP_HEADERS;
	size_t first = connection->flow->plan.echoes ? min(payload, sizeof(now)) : 0;
	struct kvec parts[] = { { &now, first }, { nothing, payload - first } };
	struct msghdr message = { .msg_flags = MSG_NOSIGNAL };
	int sent = kernel_sendmsg(connection->socket, &message, parts, 2, payload);

	return min(sent, 0);
}

/* The ECN requested by the first segment of a connection, and the ECN accepted by servers. */
static void set_options(struct net *net, u8 ecn, bool sack)
{
	static const u8 modes[] = {
		[ECN_OFF] = TCP_ECN_IN_NOECN_OUT_NOECN,
		[ECN_CLASSIC] = TCP_ECN_IN_ECN_OUT_ECN,
		[ECN_DCTCP] = TCP_ECN_IN_ECN_OUT_ECN,
		[ECN_ACCURATE] = TCP_ECN_IN_ACCECN_OUT_ACCECN,
		[ECN_L4S] = TCP_ECN_IN_ACCECN_OUT_ACCECN,
	};

	net->ipv4.sysctl_tcp_ecn = modes[ecn];
	net->ipv4.sysctl_tcp_sack = sack;
}

static const char *sender_control(const struct flow *flow)
{
	if (strcmp(flow->plan.controller, OUR_CONTROL))
		return flow->plan.controller;
	if (flow->plan.ecn == ECN_L4S)
		return OUR_SCALABLE;
	return flow->plan.ecn == ECN_DCTCP ? OUR_MARKED : OUR_CONTROL;
}

/* Both hosts use a congestion control of the kernel, because only DCTCP's receiver echoes each mark. `sojourn` is for senders. */
static const char *receiver_control(const struct flow *flow)
{
	if (strcmp(flow->plan.controller, OUR_CONTROL))
		return flow->plan.controller;
	return flow->plan.ecn == ECN_DCTCP ? "dctcp" : NULL;
}

/* Opens a connection of a flow, or a socket for its datagrams. */
static int open_connection(struct connection *connection)
{
	struct flow *flow = connection->flow;
	u32 from = connection->asks ? flow->plan.destination : flow->plan.source;
	struct sockaddr_in to = address_of(connection->asks ? flow->plan.source : flow->plan.destination, flow->number);
	bool tcp = flow->plan.tcp;
	struct sock *sk;
	struct net *net;
	int error;

	error = sock_create_kern(sojourn_host(from), AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0, &connection->socket);
	if (error)
		return error;
	sk = connection->socket->sk;
	if (flow->plan.dscp)
		ip_sock_set_tos(sk, flow->plan.dscp << 2);
	if (!connection->opened)
		connection->opened = sojourn_now();
	if (tcp) {
		lock_sock(sk);
		sk->sk_user_data = connection;
		error = tcp_set_congestion_control(sk, sender_control(flow), false, true);
		tcp_sk(sk)->notsent_lowat = UNSENT;
		if (flow->plan.pacing)
			sk->sk_pacing_status = SK_PACING_NEEDED;
		tcp_sock_set_maxseg(sk, flow->plan.packet - sizeof(struct iphdr) - sizeof(struct tcphdr));
		release_sock(sk);
		if (error)
			sojourn_stop("flow %u: congestion control %s: error %d", flow->number, flow->plan.controller, error);
	}
	local_bh_disable();
	list_add_tail(&connection->list, &flow->connections);
	local_bh_enable();
	net = sojourn_host(from);
	if (!tcp)
		return kernel_connect(connection->socket, (struct sockaddr_unsized *)&to, sizeof(to), 0);
	/* These options of the whole host affect the first segment. Data is sent after the handshake. */
	set_options(net, flow->plan.ecn, flow->plan.sack);
	error = kernel_connect(connection->socket, (struct sockaddr_unsized *)&to, sizeof(to), O_NONBLOCK);
	set_options(net, ECN_ACCURATE, true);
	return error == -EINPROGRESS ? 0 : error;
}

static struct connection *new_connection(struct flow *flow)
{
	struct connection *connection = kzalloc(sizeof(*connection), GFP_KERNEL);

	if (!connection)
		sojourn_stop("flow %u: no memory for a connection", flow->number);
	connection->flow = flow;
	return connection;
}

/* Returns datagrams to their sender. */
static int echo_reader(void *data)
{
	struct connection *connection = data;
	u64 sent;

	for (;;) {
		struct msghdr message = {};
		struct kvec room = { &sent, sizeof(sent) };

		if (kernel_recvmsg(connection->socket, &message, &room, 1, sizeof(sent), 0) < (int)sizeof(sent))
			return 0;
		sojourn_rtt(guest, sojourn_now(), connection->flow->number, div_u64(sojourn_now() - sent, NSEC_PER_USEC));
	}
}

/* Writes data of the application. Pending data is written first, but endless data is discarded. */
static int write_more(struct connection *connection, const struct sojourn_written *written)
{
	bool endless = written->bytes == U64_MAX || connection->unwritten == U64_MAX;

	if (!connection->flow->plan.tcp)
		return send_datagram(connection, written->bytes);
	/* As in the simulator, no segment waits until it is full. */
	if (written->bytes != U64_MAX)
		tcp_sock_set_nodelay(connection->socket->sk);
	connection->unwritten = endless ? written->bytes : connection->unwritten + written->bytes;
	return write_until(connection, sojourn_application_due(guest, connection->flow->number));
}

static int sender(void *data)
{
	struct flow *flow = data;
	struct connection *connection = new_connection(flow);
	struct sojourn_written written = {};
	int error = 0;
	u64 due;

	while (!error && !written.last && (due = sojourn_application_due(guest, flow->number)) != U64_MAX) {
		sojourn_sleep_until(due);
		sojourn_application_acts(guest, flow->number, &written);
		if (!written.bytes)
			break;
		if (!connection->socket) {
			error = open_connection(connection);
			if (!error && flow->plan.echoes && IS_ERR(kthread_run(echo_reader, connection, "echo/%u", flow->number)))
				error = -ENOMEM;
		}
		if (!error)
			error = write_more(connection, &written);
	}
	if (connection->socket && flow->plan.tcp) {
		/* A transfer that is stopped is not completed. */
		connection->closing = written.last && written.bytes && written.bytes != U64_MAX && !connection->unwritten;
		kernel_sock_shutdown(connection->socket, SHUT_WR);
	}
	return 0;
}

/* One connection of a session, until the ACK of its last byte. */
static void carry(struct connection *connection)
{
	struct flow *flow = connection->flow;

	connection->unwritten = connection->size;
	if (!open_connection(connection) && !write_until(connection, U64_MAX)) {
		connection->closing = true;
		kernel_sock_shutdown(connection->socket, SHUT_WR);
		wait_event_idle(flow->changed, !connection->closing);
	}
	local_bh_disable();
	if (!list_empty(&connection->list))
		list_del(&connection->list);
	local_bh_enable();
	if (connection->socket) {
		WRITE_ONCE(connection->socket->sk->sk_user_data, NULL);
		sock_release(connection->socket);
	}
	kfree(connection);
}

/* One transfer of a session, timed from its request. */
static int transfer(void *data)
{
	struct connection *connection = data;
	struct flow *flow = connection->flow;

	connection->opened = sojourn_now();
	if (connection->request) {
		struct connection *first = new_connection(flow);

		INIT_LIST_HEAD(&first->list);
		first->asks = true;
		first->size = connection->request;
		carry(first);
	}
	carry(connection);
	sojourn_session_completes(guest, sojourn_now(), flow->number);
	wake_up_all(&flow->changed);
	return 0;
}

static int session(void *data)
{
	struct flow *flow = data;

	for (;;) {
		struct sojourn_written written = {};
		struct connection *connection;

		wait_event_idle(flow->changed, sojourn_application_due(guest, flow->number) != U64_MAX);
		sojourn_sleep_until(sojourn_application_due(guest, flow->number));
		sojourn_application_acts(guest, flow->number, &written);
		if (!written.bytes)
			continue;
		connection = new_connection(flow);
		INIT_LIST_HEAD(&connection->list);
		connection->size = written.bytes;
		connection->request = written.request;
		if (IS_ERR(kthread_run(transfer, connection, "transfer/%u", flow->number)))
			sojourn_stop("flow %u: no memory for a connection", flow->number);
	}
}

/* TCP data is discarded without copying. */
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

/* Datagrams count with their size on the wire. */
static void read_datagrams(struct flow *flow, struct socket *socket)
{
	for (;;) {
		struct sockaddr_in from;
		struct msghdr message = { .msg_name = &from, .msg_namelen = sizeof(from) };
		struct kvec room = { unread, sizeof(unread) };
		int read = kernel_recvmsg(socket, &message, &room, 1, room.iov_len, 0);

		if (read < 0)
			return;
		sojourn_read(guest, sojourn_now(), flow->number, read + UDP_HEADERS);
		if (flow->plan.echoes) {
			message = (struct msghdr){ .msg_name = &from, .msg_namelen = sizeof(from), .msg_flags = MSG_NOSIGNAL };
			room = (struct kvec){ unread, read };
			kernel_sendmsg(socket, &message, &room, 1, read);
		}
	}
}

struct accepted {
	struct flow *flow;
	struct socket *socket;
};

static int reader(void *data)
{
	struct accepted *accepted = data;

	read_all(accepted->flow, accepted->socket);
	sock_release(accepted->socket);
	kfree(accepted);
	return 0;
}

/* Connections of a session overlap, so each has a reading thread. */
static void read_beside(struct flow *flow, struct socket *socket)
{
	struct accepted *accepted = kzalloc(sizeof(*accepted), GFP_KERNEL);

	if (!accepted)
		sojourn_stop("flow %u: no memory for a connection", flow->number);
	*accepted = (struct accepted){ flow, socket };
	if (IS_ERR(kthread_run(reader, accepted, "reader/%u", flow->number)))
		sojourn_stop("flow %u: no memory for a connection", flow->number);
}

/* Reads all data of a flow at a host. */
static int listen_at(u32 host, struct flow *flow)
{
	struct sockaddr_in here = address_of(host, flow->number);
	bool tcp = flow->plan.tcp;
	struct socket *listener, *connection;
	int error;

	error = sock_create_kern(sojourn_host(host), AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0, &listener);
	if (!error)
		error = kernel_bind(listener, (struct sockaddr_unsized *)&here, sizeof(here));
	if (!error && tcp && receiver_control(flow)) {
		lock_sock(listener->sk);
		error = tcp_set_congestion_control(listener->sk, receiver_control(flow), false, true);
		release_sock(listener->sk);
	}
	if (!error && tcp)
		error = kernel_listen(listener, flow->plan.session ? SOMAXCONN : 1);
	if (error)
		sojourn_stop("flow %u: no place to listen: error %d", flow->number, error);
	if (!tcp) {
		read_datagrams(flow, listener);
		return 0;
	}
	while (!kernel_accept(listener, &connection, 0)) {
		if (flow->plan.session) {
			read_beside(flow, connection);
			continue;
		}
		read_all(flow, connection);
		sock_release(connection);
	}
	return 0;
}

static int sink(void *data)
{
	struct flow *flow = data;

	return listen_at(flow->plan.destination, flow);
}

static int request_sink(void *data)
{
	struct flow *flow = data;

	return listen_at(flow->plan.source, flow);
}

int sojourn_start_flows(void)
{
	u32 number;

	for (number = 0; number < flow_count; number++) {
		struct flow *flow = &flows[number];

		set_options(sojourn_host(flow->plan.source), ECN_ACCURATE, true);
		set_options(sojourn_host(flow->plan.destination), ECN_ACCURATE, true);
		if (IS_ERR(kthread_run(sink, flow, "sink/%u", number)) ||
		    IS_ERR(kthread_run(flow->plan.session ? session : sender, flow, "sender/%u", number)))
			return -ENOMEM;
		if (flow->plan.requests && IS_ERR(kthread_run(request_sink, flow, "requests/%u", number)))
			return -ENOMEM;
	}
	return 0;
}
