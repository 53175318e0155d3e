// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own queue disciplines on links of the scenario. Each has a device of its own, on which the discipline is set as `tc`
 * does it, over rtnetlink. The link of the network takes the place of the device's transmitter: it takes the next packet whenever
 * it is free. The device itself transmits only what a discipline had held back and now gives by itself.
 */
#include <linux/ip.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "sojourn.h"

struct queue {
	u32 link;
	struct net_device *device;
	struct Qdisc *qdisc;
	struct sk_buff *woken;          /* what it gives by itself, until the link takes it */
};

/* What disciplines have dropped since the link asked last. */
struct dropped {
	u32 number;
	bool full;
};

#define MOST_DROPPED 65536
static struct dropped dropped[MOST_DROPPED];
static u32 dropped_first, dropped_end;

/* The network knows a packet by a number, which travels as its mark. A discipline that drops a packet frees it. */
static void on_free(struct sk_buff *skb)
{
	bool full = tcf_get_qdisc_drop_reason(skb) != QDISC_DROP_CONGESTED;

	if (dropped_end - dropped_first == MOST_DROPPED)
		sojourn_stop("a queue discipline dropped more than %u packets at once", MOST_DROPPED);
	dropped[dropped_end++ % MOST_DROPPED] = (struct dropped){ skb->mark, full };
}

bool sojourn_queue_dropped(u32 *number, u8 *full)
{
	if (dropped_first == dropped_end)
		return false;
	*number = dropped[dropped_first % MOST_DROPPED].number;
	*full = dropped[dropped_first % MOST_DROPPED].full;
	dropped_first++;
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

void sojourn_queue_enqueue(struct queue *queue, const struct sojourn_given *given)
{
	struct sk_buff *skb = (struct sk_buff *)(unsigned long)given->handle, *to_free = NULL;

	if (given->marked)
		INET_ECN_set_ce(skb);
	/* A router knows a flow by its headers alone, and no time at which the sender wants its packet to leave. */
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
	/* Not before: `fq` calls it where it classifies. A discipline that does not take the packet has put it on the list. */
	skb->destructor = on_free;
	free_all(to_free);
}

void sojourn_queue_flows(struct queue *queue, u64 now, u32 active)
{
	sojourn_discipline_set_flows(queue->qdisc, now, active);
}

/* What leaves a discipline is a packet of the network again. */
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
	/* Empty, or holding back: then it gives by itself later. */
	netif_tx_start_queue(transmitter);
	return false;
}

/* A discipline gives by itself what it had held back; the link is idle. */
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

/* Asks for the discipline as `tc qdisc replace` does. */
static int set_discipline(const struct net_device *device, const char *kind, const u8 *options, size_t length)
{
	size_t room = NLMSG_SPACE(sizeof(struct tcmsg)) + nla_total_size(IFNAMSIZ) + nla_total_size(length);
	struct sk_buff *message = nlmsg_new(room, GFP_KERNEL);
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct { struct nlmsghdr header; struct nlmsgerr answer; u8 more[512]; } answer;
	struct socket *socket;
	struct nlmsghdr *header;
	struct kvec part;
	struct msghdr sent = { .msg_name = &to, .msg_namelen = sizeof(to) }, received = {};
	int error = -ENOMEM;

	if (!message)
		return error;
	header = nlmsg_put(message, 0, 1, RTM_NEWQDISC, sizeof(struct tcmsg), NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	*(struct tcmsg *)nlmsg_data(header) = (struct tcmsg){ .tcm_family = AF_UNSPEC, .tcm_ifindex = device->ifindex, .tcm_parent = TC_H_ROOT, .tcm_handle = 0x10000 };
	error = nla_put_string(message, TCA_KIND, kind);
	if (!error && length)
		error = nla_put(message, TCA_OPTIONS | NLA_F_NESTED, length, options);
	nlmsg_end(message, header);
	if (!error)
		error = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, &socket);
	if (error)
		goto out;
	part = (struct kvec){ message->data, message->len };
	error = kernel_sendmsg(socket, &sent, &part, 1, message->len);
	part = (struct kvec){ &answer, sizeof(answer) };
	if (error >= 0)
		error = kernel_recvmsg(socket, &received, &part, 1, sizeof(answer), 0);
	if (error >= 0)
		error = answer.header.nlmsg_type == NLMSG_ERROR ? answer.answer.error : -EBADMSG;
	sock_release(socket);
out:
	nlmsg_free(message);
	return error;
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

/* Makes the queue of a link. NULL, and the reason in `error`, where the kernel refuses the discipline. */
struct queue *sojourn_queue_make(const struct sojourn_order *order, int *error)
{
	struct queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	*error = -ENOMEM;
	if (!queue)
		return NULL;
	queue->link = order->link;
	*error = make_device(queue, order->mtu);
	if (!*error)
		*error = set_discipline(queue->device, order->kind, order->options, order->length);
	if (*error)
		return NULL;
	queue->qdisc = rtnl_dereference(netdev_get_tx_queue(queue->device, 0)->qdisc_sleeping);
	return queue;
}
