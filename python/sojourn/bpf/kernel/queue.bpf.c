/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * A queue law at the egress of a device, in front of its queue discipline. A timer of the kernel runs the law of the header `LAW` once per
 * interval on the discipline's backlog; the program drops or marks packets with the law's probability.
 */
#include "kernel.h"
#include LAW
#include "gate.h"

#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_ABS 1
#define TCX_NEXT -1
#define TCX_DROP 2

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader. It is not const here, because the compiler would take a constant for zero. */
struct law_params law_params SEC(".rodata.law");

struct state {
	struct bpf_timer timer;
	/* The time of the next step; 0 before the first packet. */
	u64 next;
	/* The address of the device. */
	u64 device;
	u64 probability;
	/* Packets and bytes that arrived since the start, and until the last step. */
	u64 packets;
	u64 bytes;
	u64 packets_before;
	u64 bytes_before;
	u64 drops;
	u64 marks;
	struct law law;
	struct gate gate;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} states SEC(".maps");

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

/* Packets and bytes in the device's discipline, with those of its classes. */
INLINE void backlog(u64 device, u64 *packets, u64 *bytes)
{
	struct net_device *dev = (struct net_device *)device;
	struct Qdisc *root = BPF_CORE_READ(dev, qdisc);

	*packets = BPF_CORE_READ(root, q.qlen);
	*bytes = BPF_CORE_READ(root, qstats.backlog);
}

static int step(void *map, u32 *key, struct state *state)
{
	u64 packets = state->packets, bytes = state->bytes, now = bpf_ktime_get_ns();
	struct sample sample;

	(void)map, (void)key;
	backlog(state->device, &sample.packets, &sample.bytes);
	sample.arrived_packets = packets - state->packets_before;
	sample.arrived_bytes = bytes - state->bytes_before;
	state->packets_before = packets;
	state->bytes_before = bytes;
	state->probability = law_step(&state->law, &law_params, &sample);
	/* A step that comes too late is not repeated. */
	state->next = most(state->next + law_params.queue.interval, now);
	bpf_timer_start(&state->timer, state->next, BPF_F_TIMER_ABS);
	return 0;
}

INLINE void begin(struct state *state)
{
	law_start(&state->law, &law_params);
	bpf_timer_init(&state->timer, &states, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&state->timer, step);
	state->next = bpf_ktime_get_ns() + law_params.queue.interval;
	bpf_timer_start(&state->timer, state->next, BPF_F_TIMER_ABS);
}

SEC("tc")
int queue(struct __sk_buff *context)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(context);
	u32 segments = context->gso_segs ? context->gso_segs : 1, key = 0;
	struct state *state = bpf_map_lookup_elem(&states, &key);
	struct arrival arrival;
	u64 bytes;

	if (!state)
		return TCX_NEXT;
	if (!state->device && __sync_val_compare_and_swap(&state->device, 0, (u64)skb->dev) == 0)
		begin(state);
	__sync_fetch_and_add(&state->packets, segments);
	__sync_fetch_and_add(&state->bytes, context->wire_len);
	backlog(state->device, &arrival.backlog, &bytes);
	arrival.probability = state->probability;
	arrival.size = context->wire_len;
	arrival.random = bpf_get_prandom_u32();
	if (!gate_signals(&state->gate, &law_params, &arrival))
		return TCX_NEXT;
	if (law_params.queue.ecn && bpf_skb_ecn_set_ce(context)) {
		__sync_fetch_and_add(&state->marks, 1);
		return TCX_NEXT;
	}
	__sync_fetch_and_add(&state->drops, 1);
	return TCX_DROP;
}
