// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of random bytes for a test: `sojourn_noise=N` on the kernel's command line sends N of them during a run. Hosts send half of
 * them into the network of the scenario. The others pass through queues of the simulator on devices of their own. Occasionally such a
 * device is reset, which must free every waiting packet.
 */
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include "sojourn.h"

#define LARGEST 1600

static uint noise;
core_param(sojourn_noise, noise, uint, 0);

static const char *const tasks[] = {
	"aqm = 'codel'\necn = true\nlimit = '20 packets'",
	"aqm = 'fq-codel'\necn = true\nlimit = '20 packets'",
	"aqm = 'pie'\nlimit = '20 packets'",
	"aqm = 'cake'\necn = true\nlimit = '20 packets'",
	"aqm = 'cake'\nbandwidth = '100 kbit/s'\nlimit = '20 packets'",
	"aqm = 'dualpi2'\necn = true\nlimit = '20 packets'",
	"aqm = 'droptail'\nlimit = '10 kB'",
};

static struct net_device *devices[ARRAY_SIZE(tasks)];
static u32 waiting[ARRAY_SIZE(tasks)];     /* waiting packets of each */

static void on_free(struct sk_buff *skb)
{
	waiting[skb->mark]--;
}

static void give(struct sk_buff *skb, u32 number)
{
	skb->dev = devices[number];
	skb->mark = number;
	skb->destructor = on_free;
	waiting[number]++;
	dev_queue_xmit(skb);
}

/* Resets the queue discipline of a device by taking the device down. */
static void reset(u32 number)
{
	struct net_device *device = devices[number];
	u32 before = waiting[number];
	int error;

	rtnl_lock();
	error = dev_change_flags(device, device->flags & ~IFF_UP, NULL);
	rtnl_unlock();
	if (waiting[number])
		sojourn_stop("noise: device %u: expected a reset that frees %u packets, got %u left", number, before, waiting[number]);
	if (!error)
		error = sojourn_open_device(device);
	if (error)
		sojourn_stop("noise: device %u: error %d", number, error);
}

/* Keeps the device busy until the next random packet is sent. */
static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *device)
{
	dev_consume_skb_any(skb);
	netif_stop_queue(device);
	return NETDEV_TX_OK;
}

static const struct net_device_ops operations = {
	.ndo_start_xmit = transmit,
};

static void setup(struct net_device *device)
{
	sojourn_set_up_device(device, &operations);
	device->tx_queue_len = DEFAULT_TX_QUEUE_LEN;
	device->mtu = LARGEST;
}

static int make_device(u32 number)
{
	struct { struct nlattr header; char text[256]; } task;
	struct net_device *device = alloc_netdev(0, "noise%d", NET_NAME_ENUM, setup);
	int error = device ? register_netdev(device) : -ENOMEM;

	if (!error)
		error = sojourn_open_device(device);
	if (error)
		return error;
	devices[number] = device;
	task.header.nla_type = TASK;
	task.header.nla_len = NLA_HDRLEN + scnprintf(task.text, sizeof(task.text),
		"link = 'noise'\nrate = '10 Mbit/s'\ndelay = '1 ms'\npacket = 1500\nseed = 1\n[queue]\n%s\n", tasks[number]);
	return sojourn_set_discipline(device, OUR_DISCIPLINE, (const u8 *)&task, NLA_ALIGN(task.header.nla_len));
}

/* Random bytes, some of which look like headers. */
static struct sk_buff *any_packet(void)
{
	u32 length = get_random_u32_below(LARGEST), shape = get_random_u32();
	struct sk_buff *skb = alloc_skb(LL_MAX_HEADER + LARGEST, GFP_KERNEL);
	struct iphdr *ip;

	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	get_random_bytes(skb_put(skb, length), length);
	skb->protocol = htons(ETH_P_IP);
	ip = ip_hdr(skb);
	if (shape & 1 && length > sizeof(*ip) + sizeof(struct tcphdr)) {
		struct tcphdr *tcp;

		ip->version = 4;
		ip->frag_off = 0;
		if (shape & 2)
			ip->ihl = 5;
		if (shape & 4)
			ip->tot_len = htons(length);
		ip->protocol = shape & 8 ? IPPROTO_TCP : IPPROTO_UDP;
		if (shape & 16)
			ip->saddr = sojourn_address(0);
		if (shape & 32)
			ip->daddr = sojourn_address(1);
		tcp = (struct tcphdr *)(ip + 1);
		if (shape & 64)
			tcp->dest = htons(FIRST_PORT + get_random_u32_below(flow_count));
	}
	return skb;
}

static int make(void *data)
{
	u64 gap = div_u64(sojourn_duration(guest), noise + 1);
	u32 sent;

	for (sent = 0; sent < noise; sent++) {
		struct sk_buff *skb = any_packet();

		if (!skb)
			sojourn_stop("noise: no memory for a packet");
		if (sent % 2) {
			skb->dev = sojourn_device(get_random_u32_below(sojourn_hosts(guest)));
			dev_queue_xmit(skb);
		} else {
			give(skb, sent / 2 % ARRAY_SIZE(devices));
		}
		if (sent % 64 == 0)
			netif_wake_queue(devices[sent / 64 % ARRAY_SIZE(devices)]);
		if (sent % 500 == 0)
			reset(sent / 500 % ARRAY_SIZE(devices));
		sojourn_sleep_until((sent + 1) * gap);
	}
	return 0;
}

void sojourn_make_noise(void)
{
	u32 number;
	int error = 0;

	if (!noise)
		return;
	for (number = 0; number < ARRAY_SIZE(tasks) && !error; number++)
		error = make_device(number);
	if (error)
		sojourn_stop("noise: device %u: error %d", number - 1, error);
	if (IS_ERR(kthread_run(make, NULL, "noise")))
		sojourn_stop("noise: no memory");
}
