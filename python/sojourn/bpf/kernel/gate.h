/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The gate of laws without an own one: each packet is dropped or marked independently of the others.
 */
#ifndef OWN_GATE
struct gate {
	u64 unused;
};

INLINE int gate_signals(struct gate *gate, const struct law_params *params, const struct arrival *arrival)
{
	(void)gate, (void)params;
	return arrival->random < arrival->probability;
}
#endif
