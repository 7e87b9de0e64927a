// Runs one attempt: starts the ranks under the tracer, puts what they write into one sequence, lets
// injectors kill them at exact points, and returns only when nothing of the attempt is left.
//
// Linux, x86-64. Uses ptrace(2) and seccomp(2); see docs/architecture.md, "Process". One supervisor
// per process: waitpid(2) is called for any child. Not thread-safe.

#ifndef REPRISE_HARNESS_PROCESS_SUPERVISOR_H_
#define REPRISE_HARNESS_PROCESS_SUPERVISOR_H_

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/attempt.h"
#include "harness/process/watched_calls.h"
#include "injectors/injector.h"

namespace reprise {

struct AttemptSpec {
  // One command per rank, placeholders already replaced. commands[r][0] is looked up in PATH.
  std::vector<std::vector<std::string>> commands;
  // Added to the inherited environment of every rank, before torchrun's variables, REPRISE_LOGBOOK,
  // REPRISE_ATTEMPT and OMP_NUM_THREADS=1 (unless set).
  std::map<std::string, std::string> environment;
  int attempt = 0;
  std::filesystem::path checkpoint_folder;  // watched; must exist
  std::filesystem::path logbook_folder;     // must exist
  std::filesystem::path output_folder;      // must exist; gets rank-R.out and rank-R.err
  std::filesystem::path working_folder;     // of the ranks; empty: the current one
  std::vector<Injector*> injectors;         // not owned
  std::vector<std::string> injector_names;  // of the same positions, for FaultEvent::injector
  bool record_data = true;                  // keep the bytes of writes in Operation::data
  // Start the ranks by fork from a server that has loaded the libraries (probes/c/fork_server.h),
  // instead of exec. Only for targets that take part.
  bool use_fork_server = false;
  // Hung: no watched event and next to no CPU time of any rank for this long.
  std::chrono::milliseconds hang_after{10'000};
  std::chrono::milliseconds timeout{600'000};
  // After one rank was killed by a fault: how long its peers may run on before all are killed.
  std::chrono::milliseconds peers_grace{3'000};
  // While a rank is held: the others stand still when they have been at rest for this long, and are
  // waited for no longer than `hold_limit`.
  std::chrono::milliseconds still_after{200};
  std::chrono::milliseconds hold_limit{20'000};
};

class Supervisor {
 public:
  // Makes this process the subreaper of its descendants. Calls that are not in `watched` run free;
  // tests take some out, to see that they are missed.
  static Result<std::unique_ptr<Supervisor>> Create(
      const std::vector<CallShape>& watched = WatchedCalls());

  virtual ~Supervisor() = default;

  // Errors are ours or the machine's (kUnsupported: no ptrace; kNotFound: no such command); what
  // the target does is in the result. In either case no process of the attempt is left.
  virtual Result<AttemptResult> Run(const AttemptSpec& spec) = 0;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_SUPERVISOR_H_
