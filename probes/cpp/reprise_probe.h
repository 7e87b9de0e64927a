// The probe of a C++ trainer: writes the logbook, and lets the harness fork the trainer.
//
// Header only, over the C library reprise_probe (probes/c/). Without the variable REPRISE_LOGBOOK
// every call returns at once, so the calls may stay in a production trainer. What each record means
// is specified in docs/logbook.md.
//
//   int Train(int argc, char** argv) {
//     auto logbook = reprise::probe::Logbook::FromEnvironment();
//     logbook.Start({{"torch", TORCH_VERSION}});
//     logbook.Restored(step, checkpoint_name, {});
//     if (logbook.IsActive()) logbook.State("ready", step, Views(model), Scalars());
//     logbook.Ready(step);
//     …
//   }
//   int main(int argc, char** argv) { return reprise::probe::RunMain(argc, argv, Train); }
//
// Everywhere, `step` is the number of completed optimizer steps; MicroBatch() and Optimizer() of
// the s-th update (1-based) carry s.
//
// Errors: a probe never breaks its training. A record that cannot be written is said once on
// standard error, and from then on nothing is recorded. Threads: calls may come from any thread,
// one record at a time.

#ifndef REPRISE_PROBES_CPP_REPRISE_PROBE_H_
#define REPRISE_PROBES_CPP_REPRISE_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probes/c/fork_server.h"
#include "probes/c/logbook.h"

namespace reprise::probe {

// What this rank holds of one named tensor. `kind` and `path` together are its name, unique in a
// state and equal on all ranks.
struct TensorView {
  std::string component;  // "weights", "optimizer.moments", … (docs/logbook.md, "Components")
  std::string kind;       // "weight", "exp_avg", …
  std::string path;       // "blocks.0.attn.qkv.weight"
  std::string dtype;      // as in safetensors: "F32", "BF16", "I64", "U8", …
  std::vector<std::int64_t> global_shape = {};
  std::vector<std::int64_t> offsets = {};  // of the part held here, one a dimension; empty: zeros
  std::vector<std::int64_t> extents = {};  // empty: the whole tensor
  const void* data = nullptr;  // the part alone: contiguous, row-major; null only when empty
  int replica_index = 0;       // replicas hold the same bits and are compared, not added
  int replica_count = 1;
  std::string alias_of = {};  // "kind/path" of the tensor whose storage it shares (tied weights)
};

// The logbook of this rank. Movable, not copyable; closed by the destructor.
class Logbook {
 public:
  // Inactive; what a trainer holds before it knows.
  Logbook() = default;

  // Opens $REPRISE_LOGBOOK/rank-$RANK.jsonl; inactive when REPRISE_LOGBOOK is not set. Call it in
  // the training function, not before RunMain() (a forked life has its own environment).
  static Logbook FromEnvironment() { return Logbook(reprise_logbook_open()); }

  // False when nothing is recorded; then a trainer need not gather what State() would get.
  [[nodiscard]] bool IsActive() const { return reprise_logbook_is_active(handle_.get()) != 0; }

  // First record. The library adds to `environment` what it knows itself: CPU, threads, versions. A
  // record before Start() writes the start record itself.
  void Start(const std::map<std::string, std::string>& environment) {
    const auto pairs = Pairs(environment);
    reprise_log_start(handle_.get(), pairs.data(), pairs.size());
  }

  // A checkpoint is loaded; step 0 and an empty name when none was found. `refused`: newer
  // checkpoints that were looked at and not used, each with the reason.
  void Restored(std::int64_t step, const std::string& checkpoint,
                const std::vector<std::string>& refused) {
    std::vector<const char*> texts;
    texts.reserve(refused.size());
    for (const std::string& text : refused) {
      texts.push_back(text.c_str());
    }
    reprise_log_restored(handle_.get(), step, checkpoint.c_str(), texts.data(), texts.size());
  }

  // Just before the first forward.
  void Ready(std::int64_t step) { reprise_log_ready(handle_.get(), step); }

  // Before the forward of a micro-batch. `micro`: its position in the accumulation window;
  // `worker`: the logical worker (the rank where there are none); `ids`: sample ids; `content`: the
  // bytes that the model receives, recorded as a content id.
  void MicroBatch(std::int64_t step, std::int64_t micro, std::int64_t worker,
                  std::span<const std::int64_t> ids, std::span<const std::byte> content) {
    reprise_log_micro(handle_.get(), step, micro, worker, ids.data(), ids.size(), content.data(),
                      content.size());
  }

  // All gradients are there; the update is next.
  void Optimizer(std::int64_t step) { reprise_log_optimizer(handle_.get(), step); }

  // The update and all that follows it (schedule, EMA, …) is done. Rates: one a parameter group.
  void Step(std::int64_t step, float loss, std::span<const double> learning_rate,
            std::span<const double> weight_decay) {
    reprise_log_step(handle_.get(), step, loss, learning_rate.data(), learning_rate.size(),
                     weight_decay.data(), weight_decay.size());
  }

  // A reading of the state: "request" (a save begins), "restored" (right after the load), "ready"
  // (just before the first forward) or "step". Digests the tensors and describes those it has not
  // seen. With REPRISE_CAPTURE the matching tensors' bytes are written as well. `scalars`: values
  // by name, as text: integers in decimal, floats by Bits(), anything else verbatim. REQUIRES: each
  // view's data stays unchanged during the call. A view that contradicts itself (box outside of the
  // shape, unknown dtype) ends the recording, with a message.
  void State(const std::string& reading, std::int64_t step, const std::vector<TensorView>& tensors,
             const std::map<std::string, std::string>& scalars) {
    if (!IsActive()) {
      return;
    }
    std::vector<std::int64_t> zeros(MaxDimensions(tensors), 0);
    std::vector<reprise_tensor> views;
    views.reserve(tensors.size());
    for (const TensorView& tensor : tensors) {
      views.push_back(CView(tensor, zeros.data()));
    }
    const auto pairs = Pairs(scalars);
    reprise_log_state(handle_.get(), reading.c_str(), step, views.data(), views.size(),
                      pairs.data(), pairs.size());
  }

  // A save begins, before its first file operation; the target announces that the save is done.
  void SaveBegin(std::int64_t step) { reprise_log_save_begin(handle_.get(), step); }
  void SaveAck(std::int64_t step) { reprise_log_save_ack(handle_.get(), step); }

  void Eval(std::int64_t step, float loss) { reprise_log_eval(handle_.get(), step, loss); }

  // A new epoch begins after `step` completed steps; epochs count from 0.
  void Epoch(std::int64_t step, std::int64_t epoch) {
    reprise_log_epoch(handle_.get(), step, epoch);
  }

  // The training is over, all its files are written.
  void End(std::int64_t step) { reprise_log_end(handle_.get(), step); }

 private:
  struct Closer {
    void operator()(reprise_logbook* handle) const { reprise_logbook_close(handle); }
  };

  explicit Logbook(reprise_logbook* handle) : handle_(handle) {}

  static std::vector<reprise_pair> Pairs(const std::map<std::string, std::string>& map) {
    std::vector<reprise_pair> pairs;
    pairs.reserve(map.size());
    for (const auto& [key, value] : map) {
      pairs.push_back({key.c_str(), value.c_str()});
    }
    return pairs;
  }

  static std::size_t MaxDimensions(const std::vector<TensorView>& tensors) {
    std::size_t most = 0;
    for (const TensorView& tensor : tensors) {
      most = tensor.global_shape.size() > most ? tensor.global_shape.size() : most;
    }
    return most;
  }

  // A box whose number of dimensions is not that of the shape is handed on as dimension_count 0
  // offsets, which the library refuses by name.
  static reprise_tensor CView(const TensorView& tensor, const std::int64_t* zeros) {
    const std::size_t dimensions = tensor.global_shape.size();
    const bool fits = (tensor.offsets.empty() || tensor.offsets.size() == dimensions) &&
                      (tensor.extents.empty() || tensor.extents.size() == dimensions);
    reprise_tensor view = {};
    view.component = tensor.component.c_str();
    view.kind = tensor.kind.c_str();
    view.path = tensor.path.c_str();
    view.dtype = tensor.dtype.c_str();
    view.dimension_count = dimensions;
    view.global_shape = tensor.global_shape.data();
    view.offsets = tensor.offsets.empty() ? zeros : tensor.offsets.data();
    view.extents = tensor.extents.empty() ? view.global_shape : tensor.extents.data();
    if (!fits) {
      view.offsets = nullptr;
    }
    view.data = tensor.data;
    view.replica_index = tensor.replica_index;
    view.replica_count = tensor.replica_count;
    view.alias_of = tensor.alias_of.c_str();
    return view;
  }

  std::unique_ptr<reprise_logbook, Closer> handle_;
};

// A float as the text of a scalar: "f32:3f800000", "f64:3ff0000000000000".
inline std::string Bits(float value) {
  char text[REPRISE_BITS_SIZE];
  reprise_bits_of_float(value, text);
  return text;
}
inline std::string Bits(double value) {
  char text[REPRISE_BITS_SIZE];
  reprise_bits_of_double(value, text);
  return text;
}

// The body of main(). Runs `train` with the arguments; or, when the harness started the program as
// a fork server (REPRISE_FORK_SERVER_FD), runs `warm_up` once and then `train` in one forked child
// for each life that the harness asks for (probes/c/fork_server.h). REQUIRES: `warm_up` starts no
// thread and no OpenMP pool: a child that forks off them hangs.
inline int RunMain(int argc, char** argv, int (*train)(int, char**), void (*warm_up)() = nullptr) {
  return reprise_run_main(argc, argv, train, warm_up);
}

}  // namespace reprise::probe

#endif  // REPRISE_PROBES_CPP_REPRISE_PROBE_H_
