/* The digest's kernel with AVX2: 32 x 32-bit products of even and odd words apart.
 *
 * Compiled with -mavx2; called only where the CPU has it.
 */

#include <immintrin.h>

#include "probes/c/digest_kernels.h"

enum { kVectors = REPRISE_DIGEST_BLOCK_WORDS / 8 };

/* Keys of even words are the low halves of the 64-bit lanes as they lie; those of odd words are
 * shifted down once a call. */
typedef struct Keys {
  __m256i even_a[kVectors];
  __m256i odd_a[kVectors];
  __m256i even_b[kVectors];
  __m256i odd_b[kVectors];
} Keys;

static void LoadKeys(Keys* keys) {
  for (size_t v = 0; v < kVectors; ++v) {
    keys->even_a[v] = _mm256_loadu_si256((const __m256i*)(reprise_digest_keys_a + 8 * v));
    keys->even_b[v] = _mm256_loadu_si256((const __m256i*)(reprise_digest_keys_b + 8 * v));
    keys->odd_a[v] = _mm256_srli_epi64(keys->even_a[v], 32);
    keys->odd_b[v] = _mm256_srli_epi64(keys->even_b[v], 32);
  }
}

static uint64_t SumOfLanes(__m256i lanes) {
  const __m128i two =
      _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

void reprise_digest_blocks_avx2(reprise_digest_sum* sum, const uint8_t* data, uint64_t first_block,
                                size_t block_count) {
  Keys keys;
  LoadKeys(&keys);
  for (size_t n = 0; n < block_count; ++n) {
    __m256i block_a = _mm256_setzero_si256();
    __m256i block_b = _mm256_setzero_si256();
    for (size_t v = 0; v < kVectors; ++v) {
      const __m256i even = _mm256_loadu_si256((const __m256i*)(data + 32 * v));
      const __m256i odd = _mm256_srli_epi64(even, 32);
      block_a = _mm256_add_epi64(block_a, _mm256_add_epi64(_mm256_mul_epu32(even, keys.even_a[v]),
                                                           _mm256_mul_epu32(odd, keys.odd_a[v])));
      block_b = _mm256_add_epi64(block_b, _mm256_add_epi64(_mm256_mul_epu32(even, keys.even_b[v]),
                                                           _mm256_mul_epu32(odd, keys.odd_b[v])));
    }
    sum->a += SumOfLanes(block_a) * reprise_digest_multiplier_a(first_block + n);
    sum->b += SumOfLanes(block_b) * reprise_digest_multiplier_b(first_block + n);
    data += REPRISE_DIGEST_BLOCK_BYTES;
  }
}
