/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * What all congestion controls of the kernel share. It follows the header of the law.
 */
#ifndef SOJOURN_HOOKS_H
#define SOJOURN_HOOKS_H

#include "kernel.h"

#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4
#define TCP_CONG_NON_RESTRICTED 1

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader. It is not const here, because the compiler would take a constant for zero. */
struct law_params law_params SEC(".rodata.law");
extern int LINUX_KERNEL_VERSION __kconfig;

/* The state that the program keeps for each connection. */
#define CONNECTIONS(type_of_state) \
	struct { \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE); \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__type(key, int); \
		__type(value, type_of_state); \
	} connections SEC(".maps"); \
	INLINE type_of_state *connection_of(struct sock *sk) \
	{ \
		return bpf_sk_storage_get(&connections, sk, 0, 0); \
	}

/* Linux 6.10 added two arguments before it. The barrier keeps the compiler from computing the place of the argument. */
INLINE const struct rate_sample *sample_of(u64 *ctx)
{
	u64 rs;

	if (LINUX_KERNEL_VERSION >= KERNEL_VERSION(6, 10, 0)) {
		rs = ctx[3];
		barrier_var(rs);
	} else {
		rs = ctx[1];
	}
	return (const struct rate_sample *)rs;
}

INLINE u8 loss_state_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

/* Called before the state changes. A law that uses the threshold sets it then. */
SEC("struct_ops/ssthresh")
u32 law_ssthresh(u64 *ctx)
{
	return ((struct tcp_sock *)ctx[0])->snd_ssthresh;
}

#endif
