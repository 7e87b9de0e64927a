/* Writes the logbook of one rank: what the training did, for the harness to compare.
 *
 * Any trainer that can call C can use it. Every call accepts a null handle and then does nothing,
 * so that the calls may stay in a production trainer: reprise_logbook_open() returns null when the
 * variable REPRISE_LOGBOOK is not set. The format is specified in docs/logbook.md.
 *
 * Each record is one write(2) to an O_APPEND descriptor, so a kill loses at most the record in
 * flight.
 *
 * Errors: a probe never breaks its training. A record that cannot be written, or does not make
 * sense, is said once on standard error; from then on nothing is recorded, since a gap in the
 * middle would read as a loss of the target. Threads: calls are serialised by a lock in the handle.
 * Strings are NUL-terminated and read before the call returns; bytes that are not UTF-8 are
 * recorded as the four characters \xNN.
 *
 * `step` is the number of completed optimizer steps; records that work towards the s-th update
 * (1-based) carry s.
 */

#ifndef REPRISE_PROBES_C_LOGBOOK_H_
#define REPRISE_PROBES_C_LOGBOOK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reprise_logbook reprise_logbook;

typedef struct reprise_pair {
  const char* key;
  const char* value;
} reprise_pair;

/* What this rank holds of one named tensor; see docs/logbook.md, record "names". */
typedef struct reprise_tensor {
  const char* component; /* "weights", "optimizer.moments", ... */
  const char* kind;      /* "weight", "exp_avg", ... */
  const char* path;      /* name inside its kind; "kind/path" is unique in a state */
  const char* dtype;     /* as in safetensors: "F32", "BF16", "I64", ... */
  size_t dimension_count;
  const int64_t* global_shape; /* dimension_count numbers each */
  const int64_t* offsets;
  const int64_t* extents;
  const void* data; /* the box alone: contiguous, row-major; may be null when the box is empty */
  int replica_index;
  int replica_count;
  const char* alias_of; /* "kind/path" of the tensor whose storage it shares; null or "" for none */
} reprise_tensor;

/* Opens $REPRISE_LOGBOOK/rank-$RANK.jsonl (RANK: 0 when unset). Null when REPRISE_LOGBOOK is not
 * set, and, with a message on standard error, when the file cannot be opened or already holds
 * records (each attempt needs a folder of its own). Also reads WORLD_SIZE, REPRISE_ATTEMPT and
 * REPRISE_CAPTURE. */
reprise_logbook* reprise_logbook_open(void);

void reprise_logbook_close(reprise_logbook* log);

/* 1 while records are written, else 0. */
int reprise_logbook_is_active(reprise_logbook* log);

/* The first record. The library adds what it knows itself: CPU, digest path, threads, versions. Any
 * other record before it makes the library write a start record with that alone. */
void reprise_log_start(reprise_logbook* log, const reprise_pair* environment, size_t count);

/* A checkpoint is loaded; step 0 and "" when none was found. `refused`: newer ones that were looked
 * at and not used, each with the reason. */
void reprise_log_restored(reprise_logbook* log, int64_t step, const char* checkpoint,
                          const char* const* refused, size_t refused_count);

/* Just before the first forward. */
void reprise_log_ready(reprise_logbook* log, int64_t step);

/* Before the forward of a micro-batch; `content` are the bytes that the model receives. */
void reprise_log_micro(reprise_logbook* log, int64_t step, int64_t micro, int64_t worker,
                       const int64_t* ids, size_t id_count, const void* content,
                       size_t content_bytes);

/* All gradients are there; the update is next. */
void reprise_log_optimizer(reprise_logbook* log, int64_t step);

/* The update and all that follows it is done. Rates: one a parameter group. */
void reprise_log_step(reprise_logbook* log, int64_t step, float loss, const double* learning_rate,
                      size_t learning_rate_count, const double* weight_decay,
                      size_t weight_decay_count);

/* A reading of the state: "request", "restored", "ready" or "step". Describes the tensors that are
 * new or changed in a names record, digests all, and writes one state record, or several of the
 * same reading and step when one would exceed 16 MiB. With REPRISE_CAPTURE (docs/logbook.md,
 * "Capture") the bytes of the chosen tensors go to a safetensors file as well. REQUIRES: no tensor
 * changes during the call. */
void reprise_log_state(reprise_logbook* log, const char* reading, int64_t step,
                       const reprise_tensor* tensors, size_t tensor_count,
                       const reprise_pair* scalars, size_t scalar_count);

void reprise_log_save_begin(reprise_logbook* log, int64_t step);
void reprise_log_save_ack(reprise_logbook* log, int64_t step);
void reprise_log_eval(reprise_logbook* log, int64_t step, float loss);
void reprise_log_epoch(reprise_logbook* log, int64_t step, int64_t epoch);
void reprise_log_end(reprise_logbook* log, int64_t step);

/* Text of a float's bits, as scalars hold them: "f32:3f800000", "f64:3ff0000000000000". */
enum { REPRISE_BITS_SIZE = 24 };
void reprise_bits_of_float(float value, char text[REPRISE_BITS_SIZE]);
void reprise_bits_of_double(double value, char text[REPRISE_BITS_SIZE]);

#ifdef __cplusplus
}
#endif

#endif /* REPRISE_PROBES_C_LOGBOOK_H_ */
