#include "reference_models/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace reprise::models {
namespace {

Result<int> IntegerOfEnvironment(const char* name, int fallback, int min, int max) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  if (text == nullptr) return fallback;
  const std::string_view view(text);
  int value = 0;
  const auto [stop, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || stop != view.data() + view.size() || value < min || value > max) {
    return Fail(ErrorCode::kUsage, fmt::format("the variable {} is \"{}\", expected an integer "
                                               "from {} to {}",
                                               name, text, min, max));
  }
  return value;
}

Result<Place> ReadPlace() {
  Place place;
  REPRISE_ASSIGN_OR_RETURN(place.world, IntegerOfEnvironment("WORLD_SIZE", 1, 1, 1 << 20));
  if (place.world > kWorkerCount) {
    return Fail(ErrorCode::kUsage,
                fmt::format("world size {} is larger than the {} logical workers of this training; "
                            "start at most {} ranks",
                            place.world, kWorkerCount, kWorkerCount));
  }
  REPRISE_ASSIGN_OR_RETURN(place.rank, IntegerOfEnvironment("RANK", 0, 0, place.world - 1));
  REPRISE_ASSIGN_OR_RETURN(place.master_port, IntegerOfEnvironment("MASTER_PORT", 29500, 1, 65535));
  if (const char* address = std::getenv("MASTER_ADDR")) {  // NOLINT(concurrency-mt-unsafe)
    place.master_address = address;
  }
  return place;
}

// The corpus lies beside the program; a build folder gets a copy (CMakeLists.txt).
std::string DefaultCorpus() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "corpus.txt" : (self.parent_path() / "corpus.txt").string();
}

void AddRunOptions(CLI::App& app, Options& options) {
  app.add_option("--ckpt", options.checkpoint_folder, "Folder of the checkpoints");
  app.add_option("--steps", options.steps, "Optimizer steps in all")->check(CLI::Range(1, 1 << 24));
  app.add_option("--seed", options.seed, "Seed of everything")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62));
  app.add_option("--save-every", options.save_every, "Steps between two saves")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--keep", options.keep, "Checkpoints that are kept")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("!--no-save", options.save, "Never save");
  app.add_option("--device", options.device, "cpu or cuda[:N]");
  app.add_option("--corpus", options.corpus, "Text to train on, ASCII");
  app.add_option("--format", options.format, "Checkpoint format");
}

void AddTrainingOptions(CLI::App& app, Options& options) {
  app.add_option("--layers", options.layers, "Blocks of the transformer")->check(CLI::Range(1, 64));
  app.add_option("--width", options.width, "Width of the transformer, even")
      ->check(CLI::Range(2, 4096));
  app.add_option("--eval-every", options.eval_every, "Steps between two evaluations")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--epoch-samples", options.epoch_samples, "Samples of one epoch")
      ->check(CLI::Range(8, 1 << 16));
  app.add_option("--warmup", options.warmup_steps, "Steps of the linear warm-up")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--horizon", options.horizon_steps, "Step where the cosine ends (0: --steps)")
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--lr", options.learning_rate, "Learning rate after the warm-up")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--weight-decay", options.weight_decay, "Decoupled weight decay")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--ema-decay", options.ema_decay, "Decay of the averaged weights")
      ->check(CLI::Range(0.0, 1.0));
}

}  // namespace

Result<Options> ReadOptions(int argc, const char* const* argv, bool with_mutants) {
  Options options;
  options.corpus = DefaultCorpus();
  CLI::App app("A small transformer on bytes of text: the reference training of reprise");
  AddRunOptions(app, options);
  AddTrainingOptions(app, options);
  if (with_mutants) {
    app.add_option("--mutant", options.mutant, "The planted fault, by name");
    app.add_flag("--list-mutants", options.list_mutants, "Print the planted faults");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == 0;
    if (is_help) app.exit(error);
    return Fail(ErrorCode::kUsage, is_help ? "" : fmt::format("{}; see --help", error.what()));
  }
  if (options.width % 2 != 0) {  // two heads
    return Fail(ErrorCode::kUsage,
                fmt::format("--width {}: expected an even number", options.width));
  }
  REPRISE_ASSIGN_OR_RETURN(options.place, ReadPlace());
  if (options.horizon_steps == 0) options.horizon_steps = options.steps;
  return options;
}

}  // namespace reprise::models
