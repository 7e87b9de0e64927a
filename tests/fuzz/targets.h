// Parsers of foreign bytes as functions of one input, for the fuzzer and for the committed corpus.
//
// A parser may refuse an input, never crash, hang or grow; and its error must say where: the file,
// and inside it a line, a byte, a field or a tensor. What it accepts must survive being used: a
// logbook is judged, a scenario is planned, a checkpoint is loaded, a run is reported.

#ifndef REPRISE_TESTS_FUZZ_TARGETS_H_
#define REPRISE_TESTS_FUZZ_TARGETS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace reprise::fuzz {

struct FuzzTarget {
  const char* name;  // also the folder of its corpus
  // What is wrong with how the parser took `input`; empty: nothing. `accepted` is set to true when
  // it was read, and left as it is when it was refused.
  std::string (*complain)(std::string_view input, bool* accepted);
};

// Each may be called any number of times. They share a folder in memory: not thread-safe.
const std::vector<FuzzTarget>& AllTargets();

// Null when there is none of that name.
const FuzzTarget* FindTarget(std::string_view name);

// Why `error`, of the text file `path` with that content, does not say where it is; empty: it does.
std::string ComplainOfPlace(const Error& error, const std::filesystem::path& path,
                            std::string_view content);

}  // namespace reprise::fuzz

#endif  // REPRISE_TESTS_FUZZ_TARGETS_H_
