/* Inside of the digest: whole blocks of 64 little-endian 32-bit words, one function per instruction
 * set.
 *
 * Kernels are C files of their own, compiled with the flags of their instruction set, and hold
 * nothing but static code: an inline function of a shared header, compiled there, could be picked
 * by the linker for callers on a CPU that lacks the instructions.
 */

#ifndef REPRISE_PROBES_C_DIGEST_KERNELS_H_
#define REPRISE_PROBES_C_DIGEST_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "probes/c/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { REPRISE_DIGEST_BLOCK_WORDS = 64, REPRISE_DIGEST_BLOCK_BYTES = 256 };

/* Keys of the words in a block, lane by lane: odd, and distinct within a lane, so that equal
 * changes of two words never cancel. Element l is half a SplitMix64 output; see docs/logbook.md. */
extern const uint32_t reprise_digest_keys_a[REPRISE_DIGEST_BLOCK_WORDS];
extern const uint32_t reprise_digest_keys_b[REPRISE_DIGEST_BLOCK_WORDS];

/* Adds `block_count` blocks at `data` (any alignment), the first of which is block `first_block` of
 * the whole tensor. */
typedef void reprise_digest_kernel(reprise_digest_sum* sum, const uint8_t* data,
                                   uint64_t first_block, size_t block_count);
reprise_digest_kernel reprise_digest_blocks_scalar;
reprise_digest_kernel reprise_digest_blocks_avx2;
reprise_digest_kernel reprise_digest_blocks_avx512;

/* SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t reprise_digest_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}

/* Multipliers of block j: outputs 2j + 1 and 2j + 2 of SplitMix64 with seed 0, made odd. */
static inline uint64_t reprise_digest_multiplier_a(uint64_t block) {
  return reprise_digest_mix((2 * block + 1) * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}
static inline uint64_t reprise_digest_multiplier_b(uint64_t block) {
  return reprise_digest_mix((2 * block + 2) * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}

#ifdef __cplusplus
}
#endif

#endif /* REPRISE_PROBES_C_DIGEST_KERNELS_H_ */
