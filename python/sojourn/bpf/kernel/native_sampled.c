/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The law over samples of the header `LAW` as a library for ordinary programs, for tests. Its functions begin with `PREFIX`.
 */
#include LAW

#define JOINED(prefix, name) prefix##_##name
#define NAMED(prefix, name) JOINED(prefix, name)
#define FUNCTION(name) NAMED(PREFIX, name)

u64 FUNCTION(size)(void)
{
	return sizeof(struct law);
}

u64 FUNCTION(params_size)(void)
{
	return sizeof(struct law_params);
}

void FUNCTION(start)(struct law *law, const struct law_params *params, u64 cwnd)
{
	law_start(law, params, cwnd);
}

void FUNCTION(on_sample)(struct law *law, const struct law_params *params, const struct sample *sample)
{
	law_on_sample(law, params, sample);
}

void FUNCTION(on_lost)(struct law *law, const struct law_params *params, const struct lost *lost)
{
	law_on_lost(law, params, lost);
}

void FUNCTION(on_congestion)(struct law *law, u64 is_loss)
{
	law_on_congestion(law, is_loss);
}

void FUNCTION(on_rto)(struct law *law, u64 cwnd)
{
	law_on_rto(law, cwnd);
}

void FUNCTION(on_restart)(struct law *law, const struct law_params *params, const struct restart *restart)
{
	law_on_restart(law, params, restart);
}

void FUNCTION(on_spurious)(struct law *law)
{
	law_on_spurious(law);
}
