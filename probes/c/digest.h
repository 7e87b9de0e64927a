/* Digest of a tensor that adds up over any split: shards, slices inside a row, any world size.
 *
 * Each holder digests only what it holds, at its place in the whole tensor; the sums, lane by lane
 * modulo 2^64, are the sum of the whole. The exact definition, with a worked example, is in
 * docs/logbook.md. Every change of a single bit changes both lanes. Two lanes always: a change of
 * bit 31 of a word alone leaves only 33 effective bits in a lane.
 *
 * Not for use against an adversary. Threads: all functions may be called from any thread.
 */

#ifndef REPRISE_PROBES_C_DIGEST_H_
#define REPRISE_PROBES_C_DIGEST_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raw sums. Keep these for adding; they are not uniform (all-zero elements give zero), so show or
 * truncate only what reprise_digest_final() makes of them. */
typedef struct reprise_digest_sum {
  uint64_t a;
  uint64_t b;
} reprise_digest_sum;

enum { REPRISE_DIGEST_MAX_DIMENSIONS = 32, REPRISE_DIGEST_HEX_SIZE = 33 };

/* Adds `count` consecutive elements, the first of which has the row-major index `first_index` in
 * the whole tensor. `data` needs no alignment; it may be null when `count` is 0. REQUIRES:
 * element_size is 1, 2, 4 or 8 bytes; (first_index + count) * element_size < 2^64. */
void reprise_digest_range(reprise_digest_sum* sum, const void* data, size_t element_size,
                          uint64_t first_index, uint64_t count);

/* Adds the box offsets[d] <= index[d] < offsets[d] + extents[d] of a tensor of shape
 * `global_shape`; `data` holds the box alone, contiguous and row-major. A scalar has no dimension.
 * Returns 0; or -1, with `sum` as it was, for an element size other than 1, 2, 4, 8, more than 32
 * dimensions, a box outside of the shape, a tensor of 2^63 bytes or more, or null `data` of a box
 * that is not empty. */
int reprise_digest_box(reprise_digest_sum* sum, const void* data, size_t element_size,
                       size_t dimension_count, const int64_t* global_shape, const int64_t* offsets,
                       const int64_t* extents);

/* The digest to show: 32 lower-case hexadecimal digits of (sum, dtype, global shape),
 * NUL-terminated. `dtype` is the safetensors name; longer names than 31 bytes are cut. REQUIRES:
 * dimension_count <= 32. */
void reprise_digest_final(const reprise_digest_sum* sum, const char* dtype, size_t dimension_count,
                          const int64_t* global_shape, char hex[REPRISE_DIGEST_HEX_SIZE]);

/* Ways to compute it; all give equal bits. The fastest that the CPU has is taken unless one is set.
 */
typedef enum reprise_digest_path {
  REPRISE_DIGEST_SCALAR = 0,
  REPRISE_DIGEST_AVX2 = 1,
  REPRISE_DIGEST_AVX512 = 2
} reprise_digest_path;

reprise_digest_path reprise_digest_current_path(void);
const char* reprise_digest_path_name(reprise_digest_path path); /* "scalar", "avx2", "avx512" */

/* For tests and benchmarks: all later calls of the process use `path`. Returns 0, or -1 and changes
 * nothing when this CPU or this build lacks it. */
int reprise_digest_set_path(reprise_digest_path path);

#ifdef __cplusplus
}
#endif

#endif /* REPRISE_PROBES_C_DIGEST_H_ */
