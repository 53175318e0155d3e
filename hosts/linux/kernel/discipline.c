// SPDX-License-Identifier: GPL-2.0
/*
 * The queue discipline `sojourn`: any queue of the simulator for any device of the kernel. Its option is a text that selects the
 * queue (Task in crates/linux/src/discipline.rs). The queue stores the fields of a packet that it needs; the kernel owns the packet.
 */
#include <linux/ip.h>
#include <linux/module.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "sojourn.h"

struct state {
	struct discipline *discipline;
	u8 *task;
	u32 length;
	struct qdisc_watchdog watchdog;
};

static const struct nla_policy policy[] = {
	[TASK] = { .type = NLA_BINARY, .len = U16_MAX },
};

static struct sk_buff *packet_of(const struct sojourn_packet *packet)
{
	return (struct sk_buff *)(unsigned long)packet->handle;
}

/* Removes a dropped packet, which is passed to the device on the list of packets to free. */
static void forget(struct Qdisc *sch, struct sk_buff *skb, bool full)
{
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, full ? QDISC_DROP_OVERLIMIT : QDISC_DROP_CONGESTED);
}

static int enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct state *state = qdisc_priv(sch);
	struct sojourn_packet packet;
	u32 others = 0, bytes = 0;
	int answer = NET_XMIT_SUCCESS;
	u8 full;

	/* A packet outside the scenario's flows gets a flow by its headers. */
	if (!sojourn_describe(&packet, skb))
		packet.flow = skb_get_hash(skb);
	packet.rtt_ms = skb->tc_index;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	sojourn_discipline_enqueue(state->discipline, sojourn_now(), &packet);
	while (sojourn_discipline_dropped(state->discipline, &packet, &full)) {
		struct sk_buff *dropped = packet_of(&packet);

		forget(sch, dropped, full);
		if (dropped == skb) {
			answer = NET_XMIT_DROP;
		} else {
			others++;
			bytes += qdisc_pkt_len(dropped);
		}
		__qdisc_drop(dropped, to_free);
	}
	if (others)
		qdisc_tree_reduce_backlog(sch, others, bytes);
	return answer;
}

/* Schedules a dequeue for packets that a shaper holds back. */
static void wait_until_ready(struct Qdisc *sch)
{
	struct state *state = qdisc_priv(sch);
	u64 ready = sojourn_discipline_ready(state->discipline);

	if (sch->q.qlen && ready != U64_MAX)
		qdisc_watchdog_schedule_ns(&state->watchdog, ready - sojourn_now() + ktime_get_ns());
}

static struct sk_buff *dequeue(struct Qdisc *sch)
{
	struct state *state = qdisc_priv(sch);
	struct sojourn_packet packet, dropped;
	bool found = sojourn_discipline_dequeue(state->discipline, sojourn_now(), &packet);
	struct sk_buff *skb = found ? packet_of(&packet) : NULL;
	u32 others = 0, bytes = 0;
	u8 full;

	while (sojourn_discipline_dropped(state->discipline, &dropped, &full)) {
		forget(sch, packet_of(&dropped), full);
		others++;
		bytes += qdisc_pkt_len(packet_of(&dropped));
		qdisc_dequeue_drop(sch, packet_of(&dropped), full ? QDISC_DROP_OVERLIMIT : QDISC_DROP_CONGESTED);
	}
	if (others)
		qdisc_tree_reduce_backlog(sch, others, bytes);
	if (!skb) {
		wait_until_ready(sch);
		return NULL;
	}
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	if (packet.flags & CE)
		INET_ECN_set_ce(skb);
	return skb;
}

static void reset(struct Qdisc *sch)
{
	struct state *state = qdisc_priv(sch);
	struct sojourn_packet packet;
	u8 full;

	if (!state->discipline)
		return;
	qdisc_watchdog_cancel(&state->watchdog);
	sojourn_discipline_reset(state->discipline, sojourn_now());
	while (sojourn_discipline_dropped(state->discipline, &packet, &full))
		rtnl_kfree_skbs(packet_of(&packet), packet_of(&packet));
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

static int init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct state *state = qdisc_priv(sch);
	struct nlattr *parts[TASK + 1];
	char error[128] = "";
	int wrong = options ? nla_parse_nested(parts, TASK, options, policy, extack) : -EINVAL;

	/* The kernel calls destroy even if this fails. */
	qdisc_watchdog_init(&state->watchdog, sch);
	if (wrong)
		return wrong;
	if (!parts[TASK])
		return -EINVAL;
	sch->flags |= TCQ_F_DEQUEUE_DROPS;
	state->length = nla_len(parts[TASK]);
	state->task = kmemdup(nla_data(parts[TASK]), state->length, GFP_KERNEL);
	if (!state->task)
		return -ENOMEM;
	state->discipline = sojourn_discipline(state->task, state->length, error, sizeof(error));
	if (state->discipline)
		return 0;
	NL_SET_ERR_MSG_FMT(extack, "%s", error);
	return -EINVAL;
}

/* Called by the kernel even if `init` has failed. */
static void destroy(struct Qdisc *sch)
{
	struct state *state = qdisc_priv(sch);

	qdisc_watchdog_cancel(&state->watchdog);
	sojourn_discipline_free(state->discipline);
	kfree(state->task);
}

static int dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct state *state = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);

	if (!nest || nla_put(skb, TASK, state->length, state->task)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int dump_statistics(struct Qdisc *sch, struct gnet_dump *dump)
{
	const struct state *state = qdisc_priv(sch);
	struct sojourn_counted counted;

	sojourn_discipline_counted(state->discipline, &counted);
	return gnet_stats_copy_app(dump, &counted, sizeof(counted));
}

static struct Qdisc_ops operations __read_mostly = {
	.id = OUR_DISCIPLINE,
	.priv_size = sizeof(struct state),
	.enqueue = enqueue,
	.dequeue = dequeue,
	.peek = qdisc_peek_dequeued,
	.init = init,
	.reset = reset,
	.destroy = destroy,
	.dump = dump,
	.dump_stats = dump_statistics,
	.owner = THIS_MODULE,
};

/* The network supplies the number of active flows, which packets do not carry. */
void sojourn_discipline_set_flows(struct Qdisc *qdisc, u64 now, u32 active)
{
	if (qdisc->ops == &operations)
		sojourn_discipline_flows(((struct state *)qdisc_priv(qdisc))->discipline, now, active);
}

static int __init register_discipline(void)
{
	return register_qdisc(&operations);
}
device_initcall(register_discipline);
