// A training of a few milliseconds without libtorch: momentum descent on eight weights, one rank.
//
// For end-to-end tests of everything that does not need a real training. It takes part in the
// probe, the fork server and the format. `--trouble` plants what a target may do to its harness:
//   lose-momentum | hang | ignore-term | exit-at-once | die-in-load | hang-in-load |
//   nondeterministic | garbage-logbook | huge-logbook-line | train-on | resave-finished

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/checkpoint_format.h"
#include "probes/cpp/reprise_probe.h"

namespace {

using reprise::CheckpointFormat;
using reprise::DType;
using reprise::Slice;
using reprise::StateEntry;
using reprise::probe::TensorView;

constexpr int kSize = 8;
constexpr int kSamples = 20;
constexpr int kKeep = 2;

struct Options {
  std::string checkpoints;
  std::int64_t steps = 9;
  std::int64_t save_every = 3;
  std::string trouble;
};

struct State {
  std::array<float, kSize> weights{};
  std::array<float, kSize> momentum{};
  std::int64_t step = 0;
  std::int64_t position = 0;

  [[nodiscard]] std::map<std::string, std::string> Scalars() const {
    return {{"step", std::to_string(step)}, {"data.position", std::to_string(position)}};
  }
  [[nodiscard]] std::vector<TensorView> Views() const {
    std::vector<TensorView> views(2);
    views[0] = {.component = "weights",
                .kind = "weight",
                .path = "w",
                .dtype = "F32",
                .global_shape = {kSize},
                .data = weights.data()};
    views[1] = {.component = "optimizer.moments",
                .kind = "momentum",
                .path = "w",
                .dtype = "F32",
                .global_shape = {kSize},
                .data = momentum.data()};
    return views;
  }
};

std::array<std::pair<std::string, float*>, 2> Tensors(State* state) {
  return {{{"weight/w", state->weights.data()}, {"momentum/w", state->momentum.data()}}};
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "tiny_trainer: %s\n", message.c_str());
  return 1;
}

bool Save(const CheckpointFormat& format, const Options& options, State* state) {
  std::vector<StateEntry> entries;
  for (const auto& [key, data] : Tensors(state)) {
    entries.push_back(
        {key, DType::kF32, {kSize}, Slice::Whole({kSize}), std::as_bytes(std::span(data, kSize))});
  }
  const reprise::ShardAddress address{state->step, 0, 1};
  const auto summary = format.WriteShard(options.checkpoints, address, entries);
  if (!summary) {
    return Fail(summary.error().ToString()) == 0;
  }
  const std::array<reprise::ShardSummary, 1> summaries = {*summary};
  for (const reprise::Status& status :
       {format.Publish(options.checkpoints, address, summaries, state->Scalars()),
        format.Collect(options.checkpoints, kKeep)}) {
    if (!status) {
      return Fail(status.error().ToString()) == 0;
    }
  }
  return true;
}

reprise::Status LoadOne(const CheckpointFormat& format, const Options& options,
                        const std::string& name, State* state) {
  REPRISE_ASSIGN_OR_RETURN(const auto reader, format.Open(options.checkpoints, name));
  for (const auto& [key, data] : Tensors(state)) {
    if (key == "momentum/w" && options.trouble == "lose-momentum") {
      continue;
    }
    REPRISE_RETURN_IF_ERROR(
        reader->Read(key, Slice::Whole({kSize}), std::as_writable_bytes(std::span(data, kSize))));
  }
  REPRISE_RETURN_IF_ERROR(reader->Verify());
  state->step = std::stoll(reader->GetTrainingState().at("step"));
  state->position = std::stoll(reader->GetTrainingState().at("data.position"));
  return {};
}

// False when there are checkpoints and none can be loaded.
bool Load(const CheckpointFormat& format, const Options& options, State* state,
          reprise::probe::Logbook* logbook) {
  const auto refs = format.List(options.checkpoints);
  std::vector<std::string> refused;
  for (const auto& ref : *refs) {
    State loaded;
    const reprise::Status status = LoadOne(format, options, ref.name, &loaded);
    if (status) {
      *state = loaded;
      logbook->Restored(state->step, ref.name, refused);
      return true;
    }
    refused.push_back(ref.name + ": " + status.error().ToString());
    Fail("checkpoint " + ref.name + " refused: " + status.error().ToString());
  }
  if (refused.empty()) {
    logbook->Restored(0, "", {});
  }
  return refused.empty();
}

float Train(State* state, reprise::probe::Logbook* logbook) {
  const std::int64_t id = (state->position * 7) % kSamples;
  const std::array<std::int64_t, 1> ids = {id};
  logbook->MicroBatch(state->step + 1, 0, 0, ids, std::as_bytes(std::span(ids)));
  float loss = 0;
  std::array<float, kSize> gradient{};
  for (int i = 0; i < kSize; ++i) {
    const float error = state->weights[i] - static_cast<float>((id * (i + 3)) % 11) / 11.0F;
    gradient[i] = error;
    loss += error * error;
  }
  logbook->Optimizer(state->step + 1);
  for (int i = 0; i < kSize; ++i) {
    state->momentum[i] = state->momentum[i] * 0.9F + gradient[i];
    state->weights[i] -= state->momentum[i] * 0.05F;
  }
  ++state->position;
  ++state->step;
  return loss;
}

void MakeTrouble(const Options& options, State* state) {
  if (options.trouble == "hang") {
    pause();
  }
  if (options.trouble == "nondeterministic") {
    state->weights[0] += static_cast<float>(getpid()) * 1e-9F;
  }
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr ? value : "";
}

int Run(const Options& options) {
  if (options.trouble == "exit-at-once") {
    return Fail("this target ends at once");
  }
  if (options.trouble == "ignore-term") {
    std::signal(SIGTERM, SIG_IGN);
  }
  const std::unique_ptr<CheckpointFormat> format =
      reprise::FindFormat("sharded-safetensors")->make();
  if (options.trouble == "garbage-logbook") {
    std::ofstream(Environment("REPRISE_LOGBOOK") + "/rank-0.jsonl") << "garbage\n{}\n";
    return 0;
  }
  if (options.trouble == "huge-logbook-line") {
    std::ofstream(Environment("REPRISE_LOGBOOK") + "/rank-0.jsonl")
        << std::string(std::size_t{64} << 20, 'x') << "\n";
    return 0;
  }
  auto logbook = reprise::probe::Logbook::FromEnvironment();
  logbook.Start({});
  State state;
  if (!Load(*format, options, &state, &logbook)) {
    return Fail("no checkpoint can be loaded");
  }
  if (state.step > 0 && options.trouble == "die-in-load") {
    std::abort();
  }
  if (state.step > 0 && options.trouble == "hang-in-load") {
    pause();
  }
  const bool was_finished = state.step >= options.steps;
  std::int64_t last = options.steps;
  if (state.step > 0 && options.trouble == "train-on") {
    last = std::max(last, state.step + 1);
  }
  logbook.State("restored", state.step, state.Views(), state.Scalars());
  logbook.Ready(state.step);
  logbook.State("ready", state.step, state.Views(), state.Scalars());
  while (state.step < last) {
    const float loss = Train(&state, &logbook);
    MakeTrouble(options, &state);
    const std::array<double, 1> rate = {0.05};
    logbook.Step(state.step, loss, rate, std::array<double, 1>{0.0});
    logbook.State("step", state.step, state.Views(), state.Scalars());
    if (state.step % options.save_every == 0) {
      logbook.SaveBegin(state.step);
      if (!Save(*format, options, &state)) {
        return 1;
      }
      logbook.SaveAck(state.step);
    }
  }
  if (options.trouble == "resave-finished" && was_finished) {
    ++state.position;  // the samples fetched ahead, which are counted as seen
    if (!Save(*format, options, &state)) {
      return 1;
    }
  }
  logbook.End(state.step);
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--ckpt") {
      options.checkpoints = argv[i + 1];
    } else if (name == "--steps") {
      options.steps = std::atoll(argv[i + 1]);
    } else if (name == "--trouble") {
      options.trouble = argv[i + 1];
    } else {
      return Fail("unknown option " + name);
    }
  }
  if (const std::string world = Environment("WORLD_SIZE"); !world.empty() && world != "1") {
    return Fail("this training knows one rank only");
  }
  return Run(options);
}

}  // namespace

int main(int argc, char** argv) { return reprise::probe::RunMain(argc, argv, Main); }
