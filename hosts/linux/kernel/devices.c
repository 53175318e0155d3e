// SPDX-License-Identifier: GPL-2.0
/*
 * The hosts. Each is a network namespace with one device. The device passes the host's packets to the network of the scenario, and one
 * timer delivers arriving packets. A device has no Ethernet header, no queue and no offload that would join segments, so the network
 * gets each IP packet as it would be on a wire.
 */
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/if_arp.h>
#include <linux/hrtimer.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/unaligned.h>
#include <net/dsfield.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>
#include <linux/user_namespace.h>
#include "sojourn.h"

struct host {
	struct net *net;
	struct net_device *device;
};

static struct host *hosts;
static u32 host_count;
static struct hrtimer timer;
static bool handing_over;

__be32 sojourn_address(u32 host)
{
	return htonl((10u << 24) + 1 + host);
}

struct net *sojourn_host(u32 number)
{
	return hosts[number].net;
}

struct net_device *sojourn_device(u32 host)
{
	return hosts[host].device;
}

void sojourn_set_timer(void)
{
	u64 next = sojourn_next_event(guest);

	/* Events due at the end of the run are cut off: the network would report them forever. */
	if (next < sojourn_duration(guest))
		hrtimer_start(&timer, ns_to_ktime(next - sojourn_now() + ktime_get_ns()), HRTIMER_MODE_ABS_SOFT);
}

/* The ports identify the flow of a packet, and the sending host its direction. */
static bool ports(struct sojourn_packet *packet, const struct iphdr *ip, __be16 source, __be16 destination)
{
	packet->flow = (ntohs(destination) >= FIRST_OWN_PORT ? ntohs(source) : ntohs(destination)) - FIRST_PORT;
	if (packet->flow >= flow_count)
		return false;
	packet->flags |= ip->saddr == sojourn_address(flows[packet->flow].plan.source) ? 0 : BACK;
	return true;
}

static void timestamps(struct sojourn_packet *packet, const struct tcphdr *tcp)
{
	const u8 *at = (const u8 *)(tcp + 1), *end = (const u8 *)tcp + tcp->doff * 4;

	while (at + 1 < end && *at != TCPOPT_EOL) {
		if (*at == TCPOPT_NOP) {
			at++;
			continue;
		}
		if (*at == TCPOPT_TIMESTAMP && at + TCPOLEN_TIMESTAMP <= end) {
			packet->ts_value = get_unaligned_be32(at + 2);
			packet->ts_echo = get_unaligned_be32(at + 6);
			packet->flags |= TIMESTAMPS;
			return;
		}
		at += max_t(u8, at[1], 2);
	}
}

static bool describe_udp(struct sojourn_packet *packet, const struct iphdr *ip, const struct sk_buff *skb, u32 at, u32 room)
{
	struct udphdr space;
	const struct udphdr *udp = skb_header_pointer(skb, at, sizeof(space), &space);

	if (!udp || ntohs(udp->len) < sizeof(*udp) || ntohs(udp->len) > room)
		return false;
	packet->payload = ntohs(udp->len) - sizeof(*udp);
	return ports(packet, ip, udp->source, udp->dest);
}

static bool describe_tcp(struct sojourn_packet *packet, const struct iphdr *ip, const struct sk_buff *skb, u32 at, u32 room)
{
	u8 space[15 * 4];       /* the longest header */
	const struct tcphdr *tcp = skb_header_pointer(skb, at, sizeof(*tcp), space);
	u32 length = tcp ? tcp->doff * 4 : 0;

	if (length < sizeof(*tcp) || length > room)
		return false;
	tcp = skb_header_pointer(skb, at, length, space);
	if (!tcp)
		return false;
	packet->seq = ntohl(tcp->seq);
	packet->payload = room - length;
	packet->flags |= (tcp->syn ? SYN : 0) | (tcp->fin ? FIN : 0);
	timestamps(packet, tcp);
	return ports(packet, ip, tcp->source, tcp->dest);
}

/* Parses a packet for the network; false if it belongs to no flow. The headers are untrusted. */
bool sojourn_describe(struct sojourn_packet *packet, const struct sk_buff *skb)
{
	struct iphdr space;
	u32 at = skb_network_offset(skb), headers;
	const struct iphdr *ip = skb_header_pointer(skb, at, sizeof(space), &space);

	*packet = (struct sojourn_packet){ .handle = (unsigned long)skb, .size = min_t(u32, skb->len, U16_MAX) };
	if (!ip || ip->version != 4 || ip_is_fragment(ip))
		return false;
	headers = ip->ihl * 4;
	if (headers < sizeof(*ip) || ntohs(ip->tot_len) < headers || ntohs(ip->tot_len) > skb->len - at)
		return false;
	packet->header.length = min_t(u32, skb->len - at, sizeof(packet->header.bytes));
	skb_copy_bits(skb, at, packet->header.bytes, packet->header.length);
	if (!INET_ECN_is_not_ect(ip->tos))
		packet->flags |= ECT | (INET_ECN_is_ce(ip->tos) ? CE : 0) | ((ip->tos & INET_ECN_MASK) == INET_ECN_ECT_1 ? ECT1 : 0);
	if (ip->protocol == IPPROTO_UDP)
		return describe_udp(packet, ip, skb, at + headers, ntohs(ip->tot_len) - headers);
	if (ip->protocol == IPPROTO_TCP)
		return describe_tcp(packet, ip, skb, at + headers, ntohs(ip->tot_len) - headers);
	return false;
}

/*
 * Sends a packet of a host. The network gets a copy, and the packet is freed immediately. Otherwise TCP would assume that it still
 * waits in the host, and would not retransmit it.
 */
static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *device)
{
	struct sojourn_packet packet;
	struct sk_buff *copy = pskb_copy(skb, GFP_ATOMIC);
	const struct tcp_sock *sender = skb->sk && sk_fullsock(skb->sk) && skb->sk->sk_protocol == IPPROTO_TCP ? tcp_sk(skb->sk) : NULL;
	u32 rtt_us = sender ? sender->srtt_us >> 3 : 0, next = sender ? sender->snd_nxt : 0;
	struct sock *owner = sender ? skb->sk : NULL;
	bool scalable = sender && sojourn_congestion_is_scalable(skb->sk);

	/* The socket exists until its send is done. */
	dev_consume_skb_any(skb);
	/* The kernel itself uses ECT(1) only in the handshake. */
	if (copy && scalable && (ip_hdr(copy)->tos & INET_ECN_MASK) == INET_ECN_ECT_0)
		ipv4_change_dsfield(ip_hdr(copy), INET_ECN_MASK ^ 0xff, INET_ECN_ECT_1);
	if (!copy || !sojourn_describe(&packet, copy)) {
		kfree_skb(copy);
		return NETDEV_TX_OK;
	}
	if (sender && packet.payload && before(packet.seq, next))
		packet.flags |= AGAIN;
	if (owner && packet.payload)
		sojourn_congestion_sends(owner, packet.seq + packet.payload);
	skb_scrub_packet(copy, true);
	packet.rtt_ms = min_t(u32, DIV_ROUND_CLOSEST(rtt_us, 1000), U16_MAX);
	sojourn_send(guest, sojourn_now(), &packet);
	if (!handing_over)
		sojourn_set_timer();
	return NETDEV_TX_OK;
}

/* Copies a packet that an impairment duplicates. */
u64 sojourn_copy(u64 handle)
{
	struct sk_buff *copy = skb_copy((const struct sk_buff *)(unsigned long)handle, GFP_ATOMIC);

	if (!copy)
		sojourn_stop("no memory for a duplicate");
	return (unsigned long)copy;
}

/* Delivers a packet to its host. */
static void deliver(struct sk_buff *skb, const struct sojourn_packet *packet)
{
	struct flow *flow = &flows[packet->flow];
	u32 host = ntohl(ip_hdr(skb)->daddr) - ntohl(sojourn_address(0));

	if (host >= host_count) {
		kfree_skb(skb);
		return;
	}
	if (packet->flags & CE)
		INET_ECN_set_ce(skb);
	skb->dev = hosts[host].device;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_reset_mac_header(skb);
	netif_receive_skb(skb);
	if (packet->flags & BACK || flow->plan.requests)
		sojourn_flow_looks(flow);
}

/* Advances the network to now and delivers packets that have left it. Hosts may respond immediately, which advances it again. */
static enum hrtimer_restart hand_over(struct hrtimer *unused)
{
	struct sojourn_packet packet;
	u32 fate;

	handing_over = true;
	sojourn_advance(guest, sojourn_now());
	while ((fate = sojourn_settled(guest, &packet))) {
		struct sk_buff *skb = (struct sk_buff *)(unsigned long)packet.handle;

		if (fate == 1)
			deliver(skb, &packet);
		else
			kfree_skb(skb);
	}
	handing_over = false;
	sojourn_set_timer();
	return HRTIMER_NORESTART;
}

static const struct net_device_ops operations = {
	.ndo_start_xmit = transmit,
};

/* Common setup of devices: no Ethernet header, single segments. */
void sojourn_set_up_device(struct net_device *device, const struct net_device_ops *operations)
{
	device->netdev_ops = operations;
	device->type = ARPHRD_NONE;
	device->flags = IFF_NOARP;
	device->features = device->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	device->min_mtu = 68;
	device->max_mtu = IP_MAX_MTU;
	netif_set_tso_max_segs(device, 1);
}

/* Brings a registered device up. */
int sojourn_open_device(struct net_device *device)
{
	int error;

	rtnl_lock();
	error = dev_change_flags(device, device->flags | IFF_UP, NULL);
	rtnl_unlock();
	return error;
}

static void setup(struct net_device *device)
{
	sojourn_set_up_device(device, &operations);
	device->priv_flags |= IFF_NO_QUEUE;
	device->priv_flags &= ~IFF_TX_SKB_SHARING;
	device->lltx = true;
}

static void set_options(struct net *net)
{
	struct netns_ipv4 *ipv4 = &net->ipv4;

	/* Buffers never limit: the scenario's network does. Nor does the memory of all sockets together: a receiver that is short of it drops
	 * what it has acknowledged by SACK, and the sender sends all of it again (tcp_prune_ofo_queue). */
	for (size_t at = 0; at < ARRAY_SIZE(sysctl_tcp_mem); at++)
		sysctl_tcp_mem[at] = totalram_pages();
	ipv4->sysctl_tcp_rmem[1] = 1 << 22;
	ipv4->sysctl_tcp_rmem[2] = 1 << 26;
	ipv4->sysctl_tcp_wmem[1] = 1 << 20;
	ipv4->sysctl_tcp_wmem[2] = 1 << 26;
	/* Disables metrics cached from earlier connections. */
	ipv4->sysctl_tcp_nometrics_save = 1;
	/* Replies copy the DSCP of the packet. */
	ipv4->sysctl_tcp_reflect_tos = 1;
	/* Sessions open many connections, so ports are reusable one second after their connection. */
	ipv4->sysctl_tcp_tw_reuse = 1;
	ipv4->ip_local_ports.range = 65535 << 16 | FIRST_OWN_PORT;
}

static int set_address(struct host *host, u32 number)
{
	struct ifreq request = {};
	struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
	int error;

	strscpy(request.ifr_name, host->device->name, IFNAMSIZ);
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = sojourn_address(number);
	error = devinet_ioctl(host->net, SIOCSIFADDR, &request);
	if (error)
		return error;
	address->sin_addr.s_addr = htonl(0xff000000);
	return devinet_ioctl(host->net, SIOCSIFNETMASK, &request);
}

static int make_host(struct host *host, u32 number, u32 mtu)
{
	int error;

	host->net = copy_net_ns(CLONE_NEWNET, &init_user_ns, &init_net);
	if (IS_ERR(host->net))
		return PTR_ERR(host->net);
	set_options(host->net);
	host->device = alloc_netdev(0, "net%d", NET_NAME_ENUM, setup);
	if (!host->device)
		return -ENOMEM;
	dev_net_set(host->device, host->net);
	host->device->mtu = mtu;
	error = register_netdev(host->device);
	if (error)
		return error;
	error = set_address(host, number);
	return error ? error : sojourn_open_device(host->device);
}

int sojourn_make_hosts(u32 count, u32 mtu)
{
	u32 number;

	hosts = kcalloc(count, sizeof(*hosts), GFP_KERNEL);
	if (!hosts)
		return -ENOMEM;
	host_count = count;
	hrtimer_setup(&timer, hand_over, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	for (number = 0; number < count; number++) {
		int error = make_host(&hosts[number], number, mtu);

		if (error)
			return error;
	}
	return 0;
}
