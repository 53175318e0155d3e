// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own queue disciplines on links of the scenario. Each has a device of its own, on which the discipline is installed
 * over rtnetlink, as `tc` does. The link of the network replaces the transmitter of the device: it dequeues the next packet when it
 * is idle. The device itself transmits only packets that a discipline held back and then releases.
 */
#include <linux/ip.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <os.h>
#include "sojourn.h"

struct queue {
	struct list_head list;
	u32 link;
	struct net_device *device;
	struct Qdisc *qdisc;
	struct sk_buff *woken;          /* packet that it released by itself, until the link dequeues it */
	/* Packets dropped by the discipline since the link's last query: a growing list, and the part already reported. */
	struct dropped *dropped;
	u32 room;
	u32 end;
	u32 first;
};

static LIST_HEAD(queues);

struct dropped {
	u32 number;
	bool full;
};

/* The network identifies a packet by a number in its mark. A discipline frees the packets that it drops. */
static void on_free(struct sk_buff *skb)
{
	struct queue *queue = skb_shinfo(skb)->destructor_arg;
	bool full = tcf_get_qdisc_drop_reason(skb) != QDISC_DROP_CONGESTED;

	if (queue->end == queue->room) {
		u32 room = max(2 * queue->room, 64u);
		struct dropped *more = krealloc_array(queue->dropped, room, sizeof(*more), GFP_ATOMIC);

		if (!more)
			sojourn_stop("no memory for %u packets that a queue discipline drops at once", room);
		queue->dropped = more;
		queue->room = room;
	}
	queue->dropped[queue->end++] = (struct dropped){ skb->mark, full };
}

bool sojourn_queue_dropped(struct queue *queue, u32 *number, u8 *full)
{
	if (queue->first == queue->end) {
		queue->first = queue->end = 0;
		return false;
	}
	*number = queue->dropped[queue->first].number;
	*full = queue->dropped[queue->first].full;
	queue->first++;
	return true;
}

static void free_all(struct sk_buff *skb)
{
	while (skb) {
		struct sk_buff *next = skb->next;

		skb_mark_not_on_list(skb);
		kfree_skb(skb);
		skb = next;
	}
}

void sojourn_queue_enqueue(struct queue *queue, const struct sojourn_offered *given)
{
	struct sk_buff *skb = (struct sk_buff *)(unsigned long)given->handle, *to_free = NULL;

	if (given->marked)
		INET_ECN_set_ce(skb);
	/* A router sees only headers, without the socket and the sender's departure time. */
	skb_clear_hash(skb);
	skb_set_delivery_time(skb, 0, SKB_CLOCK_REALTIME);
	skb->dev = queue->device;
	skb->mark = given->number;
	skb->tc_index = given->rtt_ms;
	skb->priority = 0;
	skb->protocol = htons(ETH_P_IP);
	skb_reset_mac_header(skb);
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	qdisc_skb_cb(skb)->pkt_segs = 1;
	qdisc_calculate_pkt_len(skb, queue->qdisc);
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_GENERIC);
	spin_lock(qdisc_lock(queue->qdisc));
	queue->qdisc->enqueue(skb, queue->qdisc, &to_free);
	spin_unlock(qdisc_lock(queue->qdisc));
	/* Not earlier, because `fq` uses it to classify. A discipline that rejects the packet has put it on the list. */
	skb_shinfo(skb)->destructor_arg = queue;
	skb->destructor = on_free;
	free_all(to_free);
}

void sojourn_queue_flows(struct queue *queue, u64 now, u32 active)
{
	sojourn_discipline_set_flows(queue->qdisc, now, active);
}

/* Converts a dequeued packet back to one of the network. */
static bool give(struct sk_buff *skb, u64 *handle, u32 *number, u8 *marked)
{
	*handle = (unsigned long)skb;
	*number = skb->mark;
	*marked = INET_ECN_is_ce(ip_hdr(skb)->tos);
	skb->destructor = NULL;
	skb->mark = 0;
	return true;
}

bool sojourn_queue_dequeue(struct queue *queue, u64 *handle, u32 *number, u8 *marked)
{
	struct netdev_queue *transmitter = netdev_get_tx_queue(queue->device, 0);
	struct Qdisc *qdisc = queue->qdisc;
	struct sk_buff *skb = queue->woken, *to_free;

	queue->woken = NULL;
	netif_tx_stop_queue(transmitter);
	if (!skb) {
		spin_lock(qdisc_lock(qdisc));
		skb = qdisc->dequeue(qdisc);
		to_free = qdisc->to_free;
		qdisc->to_free = NULL;
		spin_unlock(qdisc_lock(qdisc));
		free_all(to_free);
	}
	if (skb)
		return give(skb, handle, number, marked);
	/* Empty, or holding packets back, which it releases later. */
	netif_tx_start_queue(transmitter);
	return false;
}

/* Handles packets that a discipline held back and now releases, while the link is idle. */
static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *device)
{
	struct queue *queue = *(struct queue **)netdev_priv(device);

	netif_stop_queue(device);
	queue->woken = skb;
	sojourn_wake(guest, sojourn_now(), queue->link);
	sojourn_set_timer();
	return NETDEV_TX_OK;
}

static const struct net_device_ops operations = {
	.ndo_start_xmit = transmit,
};

static void setup(struct net_device *device)
{
	sojourn_set_up_device(device, &operations);
	device->tx_queue_len = DEFAULT_TX_QUEUE_LEN;
}

/* Sends a request as `tc` does; stores the answer in `answer`, returns its length or an error. It answers immediately or never. */
static int ask(struct sk_buff *message, void *answer, size_t room)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct msghdr sent = { .msg_name = &to, .msg_namelen = sizeof(to) }, received = {};
	struct kvec part = { message->data, message->len };
	struct socket *socket;
	int error = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, &socket);

	if (error)
		return error;
	error = kernel_sendmsg(socket, &sent, &part, 1, message->len);
	part = (struct kvec){ answer, room };
	if (error >= 0)
		error = kernel_recvmsg(socket, &received, &part, 1, room, MSG_DONTWAIT);
	sock_release(socket);
	return error;
}

/* The first part of a message about the discipline of a device. */
static struct nlmsghdr *begin(struct sk_buff *message, int type, int flags, const struct net_device *device)
{
	struct nlmsghdr *header = nlmsg_put(message, 0, 1, type, sizeof(struct tcmsg), NLM_F_REQUEST | flags);

	*(struct tcmsg *)nlmsg_data(header) = (struct tcmsg){
		.tcm_family = AF_UNSPEC, .tcm_ifindex = device->ifindex, .tcm_parent = TC_H_ROOT,
		.tcm_handle = type == RTM_NEWQDISC ? 0x10000 : 0,
	};
	return header;
}

/* Installs the discipline as `tc qdisc replace` does. */
int sojourn_set_discipline(const struct net_device *device, const char *kind, const u8 *options, size_t length)
{
	size_t room = NLMSG_SPACE(sizeof(struct tcmsg)) + nla_total_size(IFNAMSIZ) + nla_total_size(length);
	struct { struct nlmsghdr header; struct nlmsgerr answer; u8 more[512]; } answer;
	struct sk_buff *message = nlmsg_new(room, GFP_KERNEL);
	struct nlmsghdr *header;
	int error;

	if (!message)
		return -ENOMEM;
	header = begin(message, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, device);
	error = nla_put_string(message, TCA_KIND, kind);
	if (!error && length)
		error = nla_put(message, TCA_OPTIONS | NLA_F_NESTED, length, options);
	nlmsg_end(message, header);
	if (!error)
		error = ask(message, &answer, sizeof(answer));
	nlmsg_free(message);
	if (error < 0)
		return error;
	return answer.header.nlmsg_type == NLMSG_ERROR ? answer.answer.error : -EBADMSG;
}

/* The statistics of a discipline by rtnetlink, as in `tc -s qdisc show`. */
struct told {
	struct gnet_stats_basic sent;
	struct gnet_stats_queue queue;
	struct sojourn_counted counted;        /* by a discipline `sojourn` */
	bool ours;
};

static int read_told(const struct nlmsghdr *header, int length, struct told *told)
{
	struct nlattr *parts[TCA_MAX + 1], *statistics[TCA_STATS_MAX + 1];
	int error;

	if (length < 0)
		return length;
	if (!nlmsg_ok(header, length) || header->nlmsg_type != RTM_NEWQDISC)
		return -EBADMSG;
	error = nlmsg_parse(header, sizeof(struct tcmsg), parts, TCA_MAX, NULL, NULL);
	if (!error && (!parts[TCA_KIND] || !parts[TCA_STATS2]))
		error = -ENODATA;
	if (!error)
		error = nla_parse_nested_deprecated(statistics, TCA_STATS_MAX, parts[TCA_STATS2], NULL, NULL);
	if (error)
		return error;
	if (!statistics[TCA_STATS_BASIC] || !statistics[TCA_STATS_QUEUE])
		return -ENODATA;
	*told = (struct told){ .ours = !nla_strcmp(parts[TCA_KIND], OUR_DISCIPLINE) };
	nla_memcpy(&told->sent, statistics[TCA_STATS_BASIC], sizeof(told->sent));
	nla_memcpy(&told->queue, statistics[TCA_STATS_QUEUE], sizeof(told->queue));
	if (told->ours && (!statistics[TCA_STATS_APP] || !parts[TCA_OPTIONS]))
		return -ENODATA;
	if (told->ours)
		nla_memcpy(&told->counted, statistics[TCA_STATS_APP], sizeof(told->counted));
	return 0;
}

#define TOLD (1 << 18)                     /* the longest answer: the options of `sojourn` are a text */

static int ask_statistics(const struct net_device *device, struct told *told)
{
	struct sk_buff *message = nlmsg_new(NLMSG_SPACE(sizeof(struct tcmsg)), GFP_KERNEL);
	void *answer = kvmalloc(TOLD, GFP_KERNEL);
	int error = -ENOMEM;

	if (message && answer) {
		nlmsg_end(message, begin(message, RTM_GETQDISC, NLM_F_ECHO, device));
		error = read_told(answer, ask(message, answer, TOLD), told);
	}
	nlmsg_free(message);
	kvfree(answer);
	return error;
}

/*
 * Writes the output of `tc -s qdisc show` for each queue at the end of a run, one line each, to the file `qdiscs`. A queue whose
 * options exceed a message has no line.
 */
void sojourn_queues_told(void)
{
	int file = list_empty(&queues) ? -1 : os_open_file("qdiscs", of_trunc(of_create(of_write(OPENFLAGS()))), 0644);
	struct queue *queue;
	char line[256];

	list_for_each_entry(queue, &queues, list) {
		struct told told = {};
		const struct sojourn_counted *counted = &told.counted;
		int length;

		if (ask_statistics(queue->device, &told))
			continue;
		length = scnprintf(line, sizeof(line), "%u %llu %u %u %u %u %u", queue->link, told.sent.bytes, told.sent.packets,
				   told.queue.drops, told.queue.qlen, told.queue.backlog, told.queue.overlimits);
		if (told.ours)
			length += scnprintf(line + length, sizeof(line) - length, " %llu %llu %llu %llu %llu %llu", counted->arrived,
					    counted->marked, counted->early, counted->forced, counted->tail, counted->ack_filter);
		line[length++] = '\n';
		if (os_write_file(file, line, length) != length)
			sojourn_stop("qdiscs: expected room on the disk");
	}
	if (file >= 0)
		os_close_file(file);
}

static int make_device(struct queue *queue, u32 mtu)
{
	int error;

	queue->device = alloc_netdev(sizeof(queue), "link%d", NET_NAME_ENUM, setup);
	if (!queue->device)
		return -ENOMEM;
	*(struct queue **)netdev_priv(queue->device) = queue;
	queue->device->mtu = mtu;
	error = register_netdev(queue->device);
	return error ? error : sojourn_open_device(queue->device);
}

/* Creates the queue of a link. If the kernel rejects the discipline, returns NULL and writes the reason to `error`. */
struct queue *sojourn_queue_make(const struct sojourn_order *order, int *error)
{
	struct queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	*error = -ENOMEM;
	if (!queue)
		return NULL;
	queue->link = order->link;
	*error = make_device(queue, order->mtu);
	if (!*error)
		*error = sojourn_set_discipline(queue->device, order->kind, order->options, order->length);
	if (*error)
		return NULL;
	queue->qdisc = rtnl_dereference(netdev_get_tx_queue(queue->device, 0)->qdisc_sleeping);
	list_add_tail(&queue->list, &queues);
	return queue;
}
