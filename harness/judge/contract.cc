// The contract; see contract.h and section "Verdicts" of docs/user-guide.md.

#include "harness/judge/contract.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

std::int64_t Newest(const std::set<std::int64_t>& steps) {
  return steps.empty() ? -1 : *steps.rbegin();
}

// Messages give a file's name with or without its folder, relative or absolute: the last component
// is common to all.
bool Names(const std::string& line, const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string last = slash == std::string::npos ? file : file.substr(slash + 1);
  return !last.empty() && line.find(last) != std::string::npos;
}

ContractFinding Found(Verdict verdict, std::string why, bool announced = false) {
  ContractFinding finding;
  finding.verdict = verdict;
  finding.why = std::move(why);
  finding.announced = announced;
  return finding;
}

// An error before any step: right where nothing had to be recoverable, or where it names the
// damage.
ContractFinding CheckRefusal(const Contract& contract, const AttemptEvidence& attempt,
                             const RunView& view) {
  const std::string said = LastErrorLine(attempt.result).value_or("no error line");
  if (contract.acknowledged < 0) {
    return Found(Verdict::kRefused,
                 "the restart ended with an error; no save had been acknowledged: " + said, true);
  }
  if (contract.damaged) {
    if (const auto line = FindNaming(attempt, view, contract.damaged_files)) {
      return Found(Verdict::kRefused, "the restart named the damaged file: " + *line, true);
    }
    return Found(Verdict::kRefusedWrongly,
                 "the restart ended with an error that names no damaged file: " + said);
  }
  if (contract.stored_known && contract.sound.empty()) {
    return Found(Verdict::kCheckpointLost,
                 fmt::format("step {} was acknowledged and no readable checkpoint is left: {}",
                             contract.acknowledged, said));
  }
  return Found(Verdict::kRefusedWrongly,
               fmt::format("the restart ended with an error although {} had been {}: {}",
                           contract.stored_known ? fmt::format("a readable checkpoint of step {}",
                                                               Newest(contract.sound))
                                                 : fmt::format("step {}", contract.acknowledged),
                           contract.stored_known ? "left" : "acknowledged", said));
}

ContractFinding CheckFreshStart(const Contract& contract) {
  if (!contract.damaged && contract.stored_known && contract.sound.empty()) {
    return Found(Verdict::kCheckpointLost,
                 fmt::format("step {} was acknowledged, no readable checkpoint is left, and the "
                             "restart began from scratch",
                             contract.acknowledged));
  }
  return Found(Verdict::kSilentRestart,
               fmt::format("the restart began at step 0 without an error although step {} had been "
                           "acknowledged",
                           contract.acknowledged));
}

ContractFinding CheckOlder(const Contract& contract, std::int64_t restored,
                           const std::optional<std::string>& naming) {
  const std::int64_t newest = contract.stored_known ? Newest(contract.sound) : -1;
  if (contract.damaged && (!contract.stored_known || newest <= restored)) {
    return Found(Verdict::kExactFallback,
                 fmt::format("the newest checkpoint was damaged; step {} was used instead, {}",
                             restored, naming ? "announced: " + *naming : "unannounced"),
                 naming.has_value());
  }
  if (contract.stored_known && newest > restored) {
    return Found(Verdict::kLostProgress,
                 fmt::format("restored step {} although a readable checkpoint of step {} was there",
                             restored, newest));
  }
  return Found(Verdict::kLostProgress,
               fmt::format("restored step {} although step {} had been acknowledged{}", restored,
                           contract.acknowledged,
                           contract.stored_known ? "; its checkpoint cannot be read" : ""));
}

// A `refused` record announces a fallback, whatever it names.
std::optional<std::string> Announcement(const Contract& contract, const AttemptEvidence& attempt,
                                        const RunView& view) {
  for (const auto& [rank, record] : view.Restored()) {
    if (!record->refused.empty()) {
      return record->refused.front();
    }
  }
  return FindNaming(attempt, view, contract.damaged_files);
}

}  // namespace

Contract MakeContract(const JudgeInput& input, const std::vector<const RunView*>& before,
                      bool is_last_restart) {
  Contract contract;
  std::set<std::int64_t> begun;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const RunView& view = *before[i];
    if (!contract.damaged_files.empty() && !view.Restored().empty()) {
      // This life has coped with the damage; what it began from is what was left.
      contract.acknowledged = view.Restored().front().second->step;
      contract.damaged_files.clear();
      begun.clear();
    }
    contract.acknowledged = std::max(contract.acknowledged, Newest(view.SavesAcknowledged()));
    begun.insert(view.SavesBegun().begin(), view.SavesBegun().end());
    if (i < input.damaged_files_after.size()) {
      const std::vector<std::string>& files = input.damaged_files_after[i];
      contract.damaged_files.insert(contract.damaged_files.end(), files.begin(), files.end());
    }
  }
  contract.damaged = !contract.damaged_files.empty();
  contract.unacknowledged.insert(begun.upper_bound(contract.acknowledged), begun.end());
  if (!is_last_restart) {
    return contract;
  }
  contract.stored_known = input.format_known;
  for (const StoredCheckpoint& stored : input.stored) {
    if (stored.IsSound()) {
      contract.sound.insert(stored.step);
    }
  }
  return contract;
}

Ending EndingOf(const AttemptResult& result) {
  Ending ending;
  ending.hung = result.end == AttemptEnd::kHung || result.end == AttemptEnd::kTimeout;
  ending.by_fault = result.end == AttemptEnd::kFault;
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const RankResult& seen = result.ranks[rank];
    if (seen.end == RankEnd::kSignalled && !ending.signal_rank) {
      ending.signal_rank = static_cast<int>(rank);
      ending.status = seen.status;
    }
  }
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const RankResult& seen = result.ranks[rank];
    if (seen.end == RankEnd::kExited && seen.status != 0 && !ending.error_rank) {
      ending.error_rank = static_cast<int>(rank);
      ending.status = ending.signal_rank ? ending.status : seen.status;
    }
  }
  return ending;
}

std::optional<std::string> FindNaming(const AttemptEvidence& attempt, const RunView& view,
                                      const std::vector<std::string>& files) {
  const auto names_any = [&](const std::string& line) {
    return std::any_of(files.begin(), files.end(),
                       [&](const std::string& file) { return Names(line, file); });
  };
  for (const auto& [rank, record] : view.Restored()) {
    for (const std::string& line : record->refused) {
      if (names_any(line)) {
        return line;
      }
    }
  }
  for (const AttemptEvent& event : attempt.result.events) {
    if (const auto* output = std::get_if<OutputEvent>(&event); output && names_any(output->line)) {
      return output->line;
    }
  }
  return std::nullopt;
}

std::optional<std::string> LastErrorLine(const AttemptResult& result) {
  for (auto at = result.events.rbegin(); at != result.events.rend(); ++at) {
    const auto* output = std::get_if<OutputEvent>(&*at);
    if (output != nullptr && output->stream == 2 && !output->line.empty()) {
      return output->line;
    }
  }
  return std::nullopt;
}

ContractFinding CheckContract(const Contract& contract, const AttemptEvidence& attempt,
                              const RunView& view) {
  const Ending ending = EndingOf(attempt.result);
  ContractFinding finding;
  const bool is_error = ending.error_rank.has_value();
  if (view.Restored().empty()) {
    if (is_error && !ending.hung && !ending.signal_rank) {
      finding = CheckRefusal(contract, attempt, view);
    }
    finding.expected_step = contract.acknowledged;
    return finding;
  }
  const std::int64_t restored = view.Restored().front().second->step;
  if (is_error && !view.IsReady() && view.LastStep() < 0 && !ending.signal_rank) {
    finding = CheckRefusal(contract, attempt, view);
  } else if (contract.acknowledged > 0 && restored == 0) {
    finding = CheckFreshStart(contract);
  } else if (restored < contract.acknowledged) {
    finding = CheckOlder(contract, restored, Announcement(contract, attempt, view));
  }
  finding.restored_step = restored;
  finding.expected_step = contract.unacknowledged.contains(restored)
                              ? restored
                              : std::max<std::int64_t>(contract.acknowledged, 0);
  return finding;
}

Divergence DivergenceOf(const ContractFinding& found) {
  Divergence where;
  where.step = std::max<std::int64_t>(found.expected_step, 0);
  if (found.restored_step >= 0) {
    where.name = "restored step";
    where.expected = std::to_string(found.expected_step);
    where.actual = std::to_string(found.restored_step);
  } else {
    where.name = "exit status";
    where.expected = fmt::format("a restart from step {}", found.expected_step);
    where.actual = "an error";
  }
  where.detail = found.why;
  return where;
}

}  // namespace reprise
