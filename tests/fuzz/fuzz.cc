// The coverage-guided fuzzer: one program for all parsers (scripts/fuzz).
//
//   reprise_fuzz --target=NAME [options of libFuzzer] [corpus folders]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

const reprise::fuzz::FuzzTarget* chosen = nullptr;

}  // namespace

// libFuzzer leaves options with two dashes to us.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.starts_with(kOption)) {
      chosen = reprise::fuzz::FindTarget(argument.substr(kOption.size()));
    }
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "reprise_fuzz: --target=NAME is needed; there are:");
    for (const auto& target : reprise::fuzz::AllTargets()) {
      std::fprintf(stderr, " %s", target.name);
    }
    std::fprintf(stderr, "\n");
    std::exit(2);  // NOLINT(concurrency-mt-unsafe): before any thread
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool accepted = false;
  const std::string complaint =
      chosen->complain({reinterpret_cast<const char*>(data), size}, &accepted);
  if (!complaint.empty()) {
    std::fprintf(stderr, "%s: %s\n", chosen->name, complaint.c_str());
    std::abort();
  }
  return 0;
}
