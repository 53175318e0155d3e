/* SPDX-License-Identifier: GPL-2.0 */
/* Shared declarations of the driver, and the C interface of the Rust library (hosts/linux/abi). */
#ifndef SOJOURN_H
#define SOJOURN_H

#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <net/net_namespace.h>

/* The globals of the driver have no locks: a function runs to its end before another one starts. */
#if defined(CONFIG_SMP) || defined(CONFIG_PREEMPTION)
#error "sojourn: expected a kernel for one CPU without preemption"
#endif

/* Rust objects. Each call has exclusive access: a concurrent call stops the kernel (abi/src/exclusive.rs). */
struct guest;
struct discipline;

/* Rust mirrors the structs between here and the functions: abi/src/layout.rs and layout.h check that they are the same. */
struct sojourn_header {
	u8 length;
	u8 bytes[80];
};

/* The same as Packet in crates/linux/src/packet.rs. */
struct sojourn_packet {
	u64 handle;
	u32 flow;
	u32 seq;
	u32 ts_value;
	u32 ts_echo;
	u16 size;
	u16 payload;
	u16 rtt_ms;
	u8 flags;
	struct sojourn_header header;
};

enum { SYN = 1, FIN = 2, ECT = 4, CE = 8, TIMESTAMPS = 16, BACK = 32, AGAIN = 64, ECT1 = 128 };

/* The ECN of a flow, as crates/linux/src/guest.rs numbers it. */
enum { ECN_OFF, ECN_CLASSIC, ECN_DCTCP, ECN_ACCURATE, ECN_L4S };

/* The same as GuestFlow and Written in crates/linux/src/guest.rs. */
struct sojourn_flow {
	u32 source;
	u32 destination;
	u32 packet;
	u8 dscp;
	u8 tcp;
	u8 ecn;
	u8 sack;
	u8 pacing;
	u8 echoes;
	u8 session;
	u8 requests;
	char controller[16];
};

struct sojourn_written {
	u64 bytes;
	u64 request;
	u8 last;
};

/* The same as KernelAck and Windows in crates/linux/src/controllers.rs. */
struct sojourn_ack {
	u64 snd_una;
	u64 snd_max;
	s64 rtt_us;
	s64 one_way_delay_ns;
	u64 pacing_delay_ns;
	u32 acked;
	u32 advanced;
	u32 in_flight;
	u32 srtt_us;
	u32 rtt_min_us;
	u32 marked;
	u32 newest;
	u32 unacknowledged;
	u32 delivered;
	u32 lost;
	u32 newly_lost;
	u32 prior_delivered;
	u32 delivered_since;
	u32 interval_us;
	u32 in_flight_after;
	u8 app_limited;
	u8 repairs;
	u8 sack;
	u8 has_one_way_delay;
	u8 cwnd_limited;
	u8 in_recovery;
	u8 after_timeout;
	u8 may_be_delayed;
	u8 open;
};

struct sojourn_windows {
	u32 cwnd;
	u32 ssthresh;
	u64 pace;
	u8 limits_samples;
};

/* The same as KernelNeeds there. */
struct sojourn_needs {
	u8 owns_window;
	u8 grows_on_marks;
};

/* Controllers have a number each, which the first of these gives. */
u32 sojourn_controller_starts(struct guest *guest, u32 flow, u32 window);
void sojourn_controller_needs(struct guest *guest, u32 controller, struct sojourn_needs *needs);
void sojourn_controller_sends(struct guest *guest, u64 now, u32 controller, u32 end, const struct sojourn_ack *ack);
void sojourn_controller_loses(struct guest *guest, u64 now, u32 controller, u32 end, const struct sojourn_ack *ack);
void sojourn_controller_ends(struct guest *guest, u32 controller);
void sojourn_controller_acks(struct guest *guest, u64 now, u32 controller, const struct sojourn_ack *ack, struct sojourn_windows *windows);
void sojourn_controller_reduces(struct guest *guest, u64 now, u32 controller, bool marked, struct sojourn_windows *windows);
void sojourn_controller_times_out(struct guest *guest, u64 now, u32 controller, struct sojourn_windows *windows);
void sojourn_controller_restarts_after_timeout(struct guest *guest, u64 now, u32 controller, struct sojourn_windows *windows);
void sojourn_controller_undoes(struct guest *guest, u32 controller, struct sojourn_windows *windows);
u32 sojourn_controller_loses_in_reduction(struct guest *guest, u32 controller, u32 window);
void sojourn_controller_ends_reduction(struct guest *guest, u32 controller);
void sojourn_controller_restarts(struct guest *guest, u32 controller, const struct sojourn_windows *windows);
void sojourn_controller_ends_idle(struct guest *guest, u64 now, u32 controller, u32 idle_ms);

struct guest *sojourn_guest(const u8 *plan, size_t length, char *error, size_t room);
void sojourn_wake(struct guest *guest, u64 now, u32 link);
u32 sojourn_hosts(const struct guest *guest);
u32 sojourn_flows(const struct guest *guest);
u64 sojourn_duration(const struct guest *guest);
void sojourn_flow(const struct guest *guest, u32 number, struct sojourn_flow *flow);
u64 sojourn_application_due(const struct guest *guest, u32 flow);
void sojourn_application_acts(struct guest *guest, u32 flow, struct sojourn_written *written);
void sojourn_session_completes(struct guest *guest, u64 now, u32 flow);
void sojourn_send(struct guest *guest, u64 now, const struct sojourn_packet *packet);
void sojourn_advance(struct guest *guest, u64 now);
u64 sojourn_next_event(struct guest *guest);
u32 sojourn_settled(struct guest *guest, struct sojourn_packet *packet);
void sojourn_read(struct guest *guest, u64 now, u32 flow, u64 bytes);
void sojourn_rtt(struct guest *guest, u64 now, u32 flow, u64 rtt_us);
void sojourn_window(struct guest *guest, u64 now, u32 flow, u32 cwnd, u32 ssthresh);
void sojourn_loss(struct guest *guest, u64 now, u32 flow, bool timeout);
void sojourn_completed(struct guest *guest, u64 now, u32 flow, u64 opened, u64 bytes);
void sojourn_end(struct guest *guest, u64 now);
void sojourn_store_logs(struct guest *guest, size_t least);

/* Functions that the Rust library requires of the kernel. */
enum { LOG, HEADERS };
void sojourn_store(u32 file, const u8 *bytes, size_t length);
void *sojourn_alloc(size_t size, size_t align);
void sojourn_free(void *memory);
__noreturn void sojourn_panic(const char *text, size_t length);
void rust_eh_personality(void);
u64 sojourn_copy(u64 handle);

/* queues.c: a queue discipline of the kernel on a link. */
struct queue;
struct sojourn_order {
	const char *kind;
	const u8 *options;
	size_t length;
	u32 link;
	u32 mtu;
};

/* The same as Offered in abi/src/queues.rs. */
struct sojourn_offered {
	u64 handle;
	u32 number;
	u16 rtt_ms;
	u8 marked;
};

int sojourn_set_discipline(const struct net_device *device, const char *kind, const u8 *options, size_t length);
struct queue *sojourn_queue_make(const struct sojourn_order *order, int *error);
void sojourn_queue_enqueue(struct queue *queue, const struct sojourn_offered *given);
void sojourn_queue_flows(struct queue *queue, u64 now, u32 active);
bool sojourn_queue_dequeue(struct queue *queue, u64 *handle, u32 *number, u8 *marked);
bool sojourn_queue_dropped(struct queue *queue, u32 *number, u8 *full);
void sojourn_queues_told(void);

/* discipline.c: our queues as a queue discipline of the kernel. Its option is the task. */
enum { TASK = 1 };
#define OUR_DISCIPLINE "sojourn"
struct Qdisc;
void sojourn_discipline_set_flows(struct Qdisc *qdisc, u64 now, u32 active);

/* The same as Counted in abi/src/discipline.rs. */
struct sojourn_counted {
	u64 arrived;
	u64 marked;
	u64 early;
	u64 forced;
	u64 tail;
	u64 ack_filter;
};

struct discipline *sojourn_discipline(const u8 *task, size_t length, char *error, size_t room);
void sojourn_discipline_free(struct discipline *discipline);
void sojourn_discipline_enqueue(struct discipline *discipline, u64 now, const struct sojourn_packet *packet);
bool sojourn_discipline_dequeue(struct discipline *discipline, u64 now, struct sojourn_packet *packet);
u64 sojourn_discipline_ready(const struct discipline *discipline);
bool sojourn_discipline_dropped(struct discipline *discipline, struct sojourn_packet *packet, u8 *full);
void sojourn_discipline_flows(struct discipline *discipline, u64 now, u32 active);
void sojourn_discipline_reset(struct discipline *discipline, u64 now);
void sojourn_discipline_counted(const struct discipline *discipline, struct sojourn_counted *counted);

#include "layout.h"

/* Functions that the kernel's TCP calls. */
void sojourn_on_rtt(struct sock *sk, long rtt_us);
void sojourn_on_state(struct sock *sk, u8 state);

/* A flow of the plan. */
struct flow {
	u32 number;
	struct sojourn_flow plan;
	struct list_head connections;
	wait_queue_head_t changed;      /* a connection of a session is complete */
};

/* A connection of a flow, at its sender. */
struct connection {
	struct list_head list;
	struct flow *flow;
	struct socket *socket;
	u64 opened;     /* when */
	u64 size;       /* of a session's transfer */
	u64 request;    /* the size of what goes ahead of it, the other way */
	bool asks;      /* it carries a request */
	u64 bytes;      /* what it has been given to send so far */
	u64 unwritten;  /* what the application has to send and the socket has not taken; U64_MAX is without end */
	bool closing;   /* nothing follows */
	u32 cwnd;       /* as logged last */
	u32 ssthresh;
};

extern struct guest *guest;
extern struct flow *flows;
extern u32 flow_count;

u64 sojourn_now(void);                     /* ns since the start of the run */
void sojourn_sleep_until(u64 time);
__noreturn void sojourn_stop(const char *format, ...);

/* devices.c */
void sojourn_set_up_device(struct net_device *device, const struct net_device_ops *operations);
int sojourn_open_device(struct net_device *device);
int sojourn_make_hosts(u32 count, u32 mtu);
bool sojourn_describe(struct sojourn_packet *packet, const struct sk_buff *skb);
void sojourn_set_timer(void);
struct net *sojourn_host(u32 number);
struct net_device *sojourn_device(u32 host);
__be32 sojourn_address(u32 host);
#define OUR_CONTROL "sojourn"             /* the congestion control that asks our controllers */
#define OUR_MARKED "sojourn-ecn"          /* the same, where all packets can carry marks, as Linux's DCTCP has it */
#define OUR_SCALABLE "sojourn-l4s"         /* the same with ECT(1) and counted marks */
#define FIRST_PORT 1024
#define FIRST_OWN_PORT 61000               /* ports of senders begin here, those of flows end */

/* congestion.c: the sender of a socket sends these bytes. */
void sojourn_congestion_sends(struct sock *sk, u32 end);
bool sojourn_congestion_is_scalable(const struct sock *sk);

/* noise.c */
void sojourn_make_noise(void);

/* flows.c */
int sojourn_start_flows(void);
void sojourn_flow_looks(struct flow *flow);

#endif
