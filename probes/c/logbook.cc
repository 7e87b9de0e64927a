#include "probes/c/logbook.h"

#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "probes/c/logbook_writer.h"
#include "probes/c/record_text.h"

using reprise::probe::AppendJsonIntegers;
using reprise::probe::AppendJsonString;
using reprise::probe::BitsText;
using reprise::probe::HexText;
using reprise::probe::JsonBits;
using reprise::probe::LogbookWriter;
using reprise::probe::RecordText;

struct reprise_logbook {
  std::mutex mutex;
  std::unique_ptr<LogbookWriter> writer;  // never null once opened
};

namespace {

const char* TextOrEmpty(const char* text) { return text == nullptr ? "" : text; }

std::map<std::string, std::string> MapOf(const reprise_pair* pairs, std::size_t count) {
  std::map<std::string, std::string> map;
  for (std::size_t i = 0; i < count; ++i) {
    map[TextOrEmpty(pairs[i].key)] = TextOrEmpty(pairs[i].value);
  }
  return map;
}

std::string ContentId(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return HexText(hash.high64) + HexText(hash.low64);
}

// Runs `body` with the lock held; an exception (memory is short) ends the recording, not the
// training.
template <typename Body>
void Guarded(reprise_logbook* log, Body body) {
  if (log == nullptr) {
    return;
  }
  try {
    const std::lock_guard<std::mutex> lock(log->mutex);
    if (log->writer->IsActive()) {
      body(*log->writer);
    }
  } catch (const std::bad_alloc&) {
    const std::lock_guard<std::mutex> lock(log->mutex);
    log->writer->Abandon();
  }
}

void WriteStep(reprise_logbook* log, const char* type, int64_t step) {
  Guarded(log,
          [&](LogbookWriter& writer) { writer.Write(RecordText(type).Integer("step", step)); });
}

}  // namespace

extern "C" {

reprise_logbook* reprise_logbook_open(void) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): once, when the training begins
  const char* const folder = std::getenv("REPRISE_LOGBOOK");
  if (folder == nullptr || *folder == '\0') {
    return nullptr;
  }
  try {
    auto log = std::make_unique<reprise_logbook>();
    log->writer = LogbookWriter::Open(folder);
    return log->writer == nullptr ? nullptr : log.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void reprise_logbook_close(reprise_logbook* log) { delete log; }

int reprise_logbook_is_active(reprise_logbook* log) {
  int active = 0;
  Guarded(log, [&](LogbookWriter&) { active = 1; });
  return active;
}

void reprise_log_start(reprise_logbook* log, const reprise_pair* environment, size_t count) {
  Guarded(log, [&](LogbookWriter& writer) { writer.Start(MapOf(environment, count)); });
}

void reprise_log_restored(reprise_logbook* log, int64_t step, const char* checkpoint,
                          const char* const* refused, size_t refused_count) {
  Guarded(log, [&](LogbookWriter& writer) {
    std::string list = "[";
    for (size_t i = 0; i < refused_count; ++i) {
      list += i == 0 ? "" : ",";
      AppendJsonString(TextOrEmpty(refused[i]), &list);
    }
    writer.Write(RecordText("restored")
                     .Integer("step", step)
                     .String("checkpoint", TextOrEmpty(checkpoint))
                     .Json("refused", list + "]"));
  });
}

void reprise_log_ready(reprise_logbook* log, int64_t step) { WriteStep(log, "ready", step); }

void reprise_log_micro(reprise_logbook* log, int64_t step, int64_t micro, int64_t worker,
                       const int64_t* ids, size_t id_count, const void* content,
                       size_t content_bytes) {
  Guarded(log, [&](LogbookWriter& writer) {
    std::string list;
    AppendJsonIntegers(ids, id_count, &list);
    writer.Write(RecordText("micro")
                     .Integer("step", step)
                     .Integer("micro", micro)
                     .Integer("worker", worker)
                     .Json("ids", list)
                     .String("content", ContentId(content, content_bytes)));
  });
}

void reprise_log_optimizer(reprise_logbook* log, int64_t step) {
  WriteStep(log, "optimizer", step);
}

void reprise_log_step(reprise_logbook* log, int64_t step, float loss, const double* learning_rate,
                      size_t learning_rate_count, const double* weight_decay,
                      size_t weight_decay_count) {
  Guarded(log, [&](LogbookWriter& writer) {
    writer.Write(RecordText("step")
                     .Integer("step", step)
                     .String("loss", BitsText(loss))
                     .Json("learning_rate", JsonBits(learning_rate, learning_rate_count))
                     .Json("weight_decay", JsonBits(weight_decay, weight_decay_count)));
  });
}

void reprise_log_state(reprise_logbook* log, const char* reading, int64_t step,
                       const reprise_tensor* tensors, size_t tensor_count,
                       const reprise_pair* scalars, size_t scalar_count) {
  Guarded(log, [&](LogbookWriter& writer) {
    writer.State(TextOrEmpty(reading), step, tensors, tensor_count, MapOf(scalars, scalar_count));
  });
}

void reprise_log_save_begin(reprise_logbook* log, int64_t step) {
  WriteStep(log, "save_begin", step);
}

void reprise_log_save_ack(reprise_logbook* log, int64_t step) { WriteStep(log, "save_ack", step); }

void reprise_log_eval(reprise_logbook* log, int64_t step, float loss) {
  Guarded(log, [&](LogbookWriter& writer) {
    writer.Write(RecordText("eval").Integer("step", step).String("loss", BitsText(loss)));
  });
}

void reprise_log_epoch(reprise_logbook* log, int64_t step, int64_t epoch) {
  Guarded(log, [&](LogbookWriter& writer) {
    writer.Write(RecordText("epoch").Integer("step", step).Integer("epoch", epoch));
  });
}

void reprise_log_end(reprise_logbook* log, int64_t step) { WriteStep(log, "end", step); }

void reprise_bits_of_float(float value, char text[REPRISE_BITS_SIZE]) {
  std::snprintf(text, REPRISE_BITS_SIZE, "%s", BitsText(value).c_str());
}

void reprise_bits_of_double(double value, char text[REPRISE_BITS_SIZE]) {
  std::snprintf(text, REPRISE_BITS_SIZE, "%s", BitsText(value).c_str());
}

}  // extern "C"
