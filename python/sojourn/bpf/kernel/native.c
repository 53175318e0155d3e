/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The law of the header `LAW` as a library for ordinary programs, for tests. Its functions begin with `PREFIX`.
 */
#include LAW

#define JOINED(prefix, name) prefix##_##name
#define NAMED(prefix, name) JOINED(prefix, name)
#define FUNCTION(name) NAMED(PREFIX, name)

struct connection {
	struct window window;
	struct law law;
};

u64 FUNCTION(size)(void)
{
	return sizeof(struct connection);
}

u64 FUNCTION(params_size)(void)
{
	return sizeof(struct law_params);
}

void FUNCTION(start)(struct connection *connection, u64 cwnd)
{
	law_start(&connection->law);
	connection->window.cwnd = cwnd;
	connection->window.ssthresh = NEVER;
}

void FUNCTION(on_ack)(struct connection *connection, const struct law_params *params, const struct ack *ack)
{
	law_on_ack(&connection->law, params, &connection->window, ack);
}

void FUNCTION(on_congestion)(struct connection *connection, const struct law_params *params, u64 now, u64 in_use)
{
	law_on_congestion(&connection->law, params, &connection->window, now, in_use);
}

void FUNCTION(on_rto)(struct connection *connection, const struct law_params *params, u64 now, u64 in_use)
{
	law_on_rto(&connection->law, params, &connection->window, now, in_use);
}
