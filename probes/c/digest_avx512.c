/* The digest's kernel with AVX-512F: as with AVX2, twice as wide, and all keys stay in registers.
 *
 * Compiled with -mavx512f; called only where the CPU and the kernel of the system have it.
 */

#include <immintrin.h>

#include "probes/c/digest_kernels.h"

enum { kVectors = REPRISE_DIGEST_BLOCK_WORDS / 16 };

typedef struct Keys {
  __m512i even_a[kVectors];
  __m512i odd_a[kVectors];
  __m512i even_b[kVectors];
  __m512i odd_b[kVectors];
} Keys;

static void LoadKeys(Keys* keys) {
  for (size_t v = 0; v < kVectors; ++v) {
    keys->even_a[v] = _mm512_loadu_si512(reprise_digest_keys_a + 16 * v);
    keys->even_b[v] = _mm512_loadu_si512(reprise_digest_keys_b + 16 * v);
    keys->odd_a[v] = _mm512_srli_epi64(keys->even_a[v], 32);
    keys->odd_b[v] = _mm512_srli_epi64(keys->even_b[v], 32);
  }
}

void reprise_digest_blocks_avx512(reprise_digest_sum* sum, const uint8_t* data,
                                  uint64_t first_block, size_t block_count) {
  Keys keys;
  LoadKeys(&keys);
  for (size_t n = 0; n < block_count; ++n) {
    __m512i block_a = _mm512_setzero_si512();
    __m512i block_b = _mm512_setzero_si512();
    for (size_t v = 0; v < kVectors; ++v) {
      const __m512i even = _mm512_loadu_si512(data + 64 * v);
      const __m512i odd = _mm512_srli_epi64(even, 32);
      block_a = _mm512_add_epi64(block_a, _mm512_add_epi64(_mm512_mul_epu32(even, keys.even_a[v]),
                                                           _mm512_mul_epu32(odd, keys.odd_a[v])));
      block_b = _mm512_add_epi64(block_b, _mm512_add_epi64(_mm512_mul_epu32(even, keys.even_b[v]),
                                                           _mm512_mul_epu32(odd, keys.odd_b[v])));
    }
    sum->a +=
        (uint64_t)_mm512_reduce_add_epi64(block_a) * reprise_digest_multiplier_a(first_block + n);
    sum->b +=
        (uint64_t)_mm512_reduce_add_epi64(block_b) * reprise_digest_multiplier_b(first_block + n);
    data += REPRISE_DIGEST_BLOCK_BYTES;
  }
}
