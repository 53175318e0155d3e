/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * Fixed-point arithmetic of the algorithms, for BPF and for ordinary C. BPF has neither floats nor products of 128 bits, and divides only
 * unsigned numbers. A Q32 number has 32 bits after the point.
 */
#ifndef SOJOURN_FIXED_H
#define SOJOURN_FIXED_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define INLINE static inline __attribute__((always_inline))
#define ONE (1ULL << 32)
#define FRACTION (ONE - 1)
/* Lets neither compiler nor verifier remember values of memory, so that the paths through a long program meet here. */
#define FORGET() __asm__ volatile("" ::: "memory")
/* The largest u64. As a time or a window, it means none. */
#define NEVER (~0ULL)

INLINE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 magnitude(s64 a)
{
	return a < 0 ? -(u64)a : (u64)a;
}

/* a * b / 2^32, rounded to the nearest. The result must fit into 64 bits. */
INLINE u64 multiply(u64 a, u64 b)
{
	u64 high = a >> 32, low = a & FRACTION;

	return high * b + low * (b >> 32) + ((low * (b & FRACTION) + (1U << 31)) >> 32);
}

/* As multiply, but at most a quarter of the numbers' range. */
INLINE u64 bounded(u64 a, u64 b)
{
	u64 high = a >> 32;

	b = least(b, NEVER >> 2);
	return high && b > (NEVER >> 2) / high ? NEVER >> 2 : least(multiply(a, b), NEVER >> 2);
}

/* a / b as a Q32 number, rounded to the nearest. b is above 0 and below 2^48. a / b must be below 2^32. */
INLINE u64 divide(u64 a, u64 b)
{
	u64 whole = a / b, rest = (a % b) << 16;

	return (whole << 32) + (rest / b << 16) + (((rest % b) << 16) + b / 2) / b;
}

/* a / b as a Q32 number, for larger numbers with fewer digits. b is below 2^60, and a / b below 2^32. */
INLINE u64 share(u64 a, u64 b)
{
	int shift = b >> 47 ? 12 : 0;

	return divide(a >> shift, b >> shift);
}

/* a moved towards b by a Q32 part of the distance. Both are below 2^62. */
INLINE s64 towards(s64 a, s64 b, u64 part)
{
	return b >= a ? a + (s64)multiply(b - a, part) : a - (s64)multiply(a - b, part);
}

#endif
