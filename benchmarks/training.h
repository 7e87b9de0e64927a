// Runs of the reference transformer for measurements: as it is, and recorded.

#ifndef REPRISE_BENCHMARKS_TRAINING_H_
#define REPRISE_BENCHMARKS_TRAINING_H_

#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/figure.h"
#include "harness/model/attempt.h"
#include "harness/process/plain_run.h"
#include "harness/process/supervisor.h"

namespace reprise::bench {

// Why the transformer cannot be run here; empty: it can.
std::string WhyNoTraining(const BenchContext& context);

// The same command for each of `world` ranks.
std::vector<std::vector<std::string>> TransformerCommands(const BenchContext& context, int world,
                                                          const std::vector<std::string>& options);

struct Recorded {
  AttemptResult result;
  double tracer_cpu_s = 0;
  std::int64_t record_count = 0;
  std::int64_t output_count = 0;

  // Of the ranks and of the tracer.
  [[nodiscard]] double CpuSeconds() const;
};

// Fails when a rank does. Works in the subfolder "recorded", which is emptied first.
Result<Recorded> RunRecorded(const BenchContext& context, Supervisor* supervisor,
                             const std::vector<std::vector<std::string>>& commands);

// The same without the tracer; `with_logbook`: the probe writes.
Result<PlainRun> RunUnrecorded(const BenchContext& context,
                               const std::vector<std::vector<std::string>>& commands,
                               bool with_logbook);

}  // namespace reprise::bench

#endif  // REPRISE_BENCHMARKS_TRAINING_H_
