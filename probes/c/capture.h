// Capture: the bytes of chosen tensors at chosen steps, as safetensors files beside the logbook.
//
// Digests find a difference; they cannot show values. A re-run with REPRISE_CAPTURE set gives them.

#ifndef REPRISE_PROBES_C_CAPTURE_H_
#define REPRISE_PROBES_C_CAPTURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probes/c/logbook.h"

namespace reprise::probe {

// Size in bytes of a safetensors element type, or 0 for a name that we do not know.
std::size_t ElementSize(std::string_view dtype);

// Number of bytes of the box that `tensor` holds. REQUIRES: a tensor that reprise_digest_box()
// accepted.
std::uint64_t HeldBytes(const reprise_tensor& tensor);

struct CaptureRequest {
  std::set<std::int64_t> steps;
  std::vector<std::string> names;  // fnmatch(3) patterns over "kind/path"; * also matches /

  // "steps=20,21;names=exp_avg/*,weight/blocks.0*"; both are needed. Nothing, and why in `problem`,
  // for any other text.
  static std::optional<CaptureRequest> Parse(std::string_view text, std::string* problem);

  [[nodiscard]] bool Wants(const reprise_tensor& tensor) const;
};

struct CapturePlace {
  std::string folder;
  std::int64_t rank = 0;
  std::string reading;
  std::int64_t step = 0;
};

// Writes those of `tensors` that `request` wants to capture-rank-R-step-S-READING.safetensors,
// under a temporary name that is then renamed; writes no file when it wants none. Returns what went
// wrong, or "".
std::string WriteCapture(const CaptureRequest& request, const CapturePlace& place,
                         const reprise_tensor* tensors, std::size_t count);

}  // namespace reprise::probe

#endif  // REPRISE_PROBES_C_CAPTURE_H_
