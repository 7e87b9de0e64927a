// The interface of a fault, and the list of all of them.
//
// An injector has four kinds of hook (at launch, on a record, on an operation, on the folder
// between two attempts) and implements those that it needs. It reports how often it fired; a fault
// that never fired makes its case not-exercised, never a pass. One injector is one file and one
// line in injectors.inc.

#ifndef REPRISE_INJECTORS_INJECTOR_H_
#define REPRISE_INJECTORS_INJECTOR_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/random.h"
#include "harness/base/result.h"
#include "harness/model/fault.h"
#include "harness/model/layout.h"
#include "harness/model/log_record.h"
#include "harness/model/operation.h"

namespace reprise {

// Where the operation at which a kill takes effect is cut.
struct CutPoint {
  enum class Kind { kBefore, kAfter, kBytes };
  Kind kind = Kind::kBefore;
  std::int64_t bytes = 0;  // kBytes: this many bytes of the write reach the file

  static Result<CutPoint> Parse(std::string_view text);  // "before" | "after" | "bytes:N"
  [[nodiscard]] std::string ToText() const;
};

// What the supervisor does before it lets the stopped rank go on.
struct Action {
  enum class Kind { kContinue, kKillAllRanks, kKillOneRank, kHoldRank };
  Kind kind = Kind::kContinue;
  int rank = -1;  // of kKillOneRank
  CutPoint cut;   // of a kill at an operation

  static Action Continue() { return {}; }
  static Action KillAllRanks(CutPoint cut = {}) { return {Kind::kKillAllRanks, -1, cut}; }
  static Action KillOneRank(int rank, CutPoint cut = {}) { return {Kind::kKillOneRank, rank, cut}; }
  // The rank that makes the operation stays before it, and so does its next file operation of any
  // thread, until OnStandstill() has decided. Of OnOperation() only.
  static Action HoldRank() { return {Kind::kHoldRank, -1, {}}; }
};

// What the other ranks did while one was held.
struct Standstill {
  enum class Reason { kStill, kAllEnded, kLimit };  // kLimit: they never came to rest
  Reason reason = Reason::kStill;
  std::int64_t operation_count = 0;  // their file operations since the hold began
};

struct LaunchContext {
  int world = 1;
  std::map<std::string, std::string>* environment = nullptr;  // added to what every rank gets
};

// The checkpoint folder between two attempts: no process of the target is left.
struct FolderContext {
  std::filesystem::path folder;
  std::vector<Layout> checkpoints = {};  // complete ones, newest first, as the format lists them
  Layout folder_layout = {};             // regions that belong to no single checkpoint: the pointer
  // What the pointer holds when it names this checkpoint, which need not exist; null or an empty
  // text: the format has no pointer.
  std::function<std::string(const std::string& checkpoint)> pointer_to = {};
  Random random{0};  // seeded by the case
};

class Injector {
 public:
  Injector() = default;
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;
  virtual ~Injector() = default;

  virtual void AtLaunch(const LaunchContext& /*context*/) {}

  // Called while the writing thread is stopped, after the record has reached the logbook.
  virtual Action OnRecord(int /*rank*/, const LogRecord& /*record*/) { return Action::Continue(); }

  // Called while the calling thread is stopped at the entry of the operation; `length_bytes` is
  // what the call asks for, `result` and `data` are not known yet.
  virtual Action OnOperation(const Operation& /*operation*/) { return Action::Continue(); }

  // Called once after HoldRank(), when the other ranks have come to rest. A kill is done with the
  // rank still before its operation; Continue() lets it go on.
  virtual Action OnStandstill(const Standstill& /*others*/) { return Action::Continue(); }

  // Called between the killed attempt and the restart. Fails with kSystem only: an aim that hits
  // nothing is a fault that did not fire.
  virtual Status OnFolder(const FolderContext& /*context*/) { return {}; }

  // What was done, in words, once per firing.
  [[nodiscard]] const std::vector<std::string>& Firings() const { return firings_; }

  // Why nothing was done, where it is known: "no tensor \"weight/x\" in checkpoint step-00000008".
  [[nodiscard]] const std::string& WhyNot() const { return why_not_; }

  // Files that were changed or made unreadable, relative to the checkpoint folder.
  [[nodiscard]] const std::vector<std::string>& DamagedFiles() const { return damaged_files_; }

 protected:
  void CountFired(std::string what) { firings_.push_back(std::move(what)); }
  void CountDamaged(std::string file) { damaged_files_.push_back(std::move(file)); }
  void Decline(std::string why) { why_not_ = std::move(why); }

 private:
  std::vector<std::string> firings_;
  std::vector<std::string> damaged_files_;
  std::string why_not_;
};

// Parameters of one fault, validated against its ParamSpecs, defaults filled in.
class Params {
 public:
  explicit Params(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  // REQUIRES: `name` is a parameter of the injector, of that type (checked).
  [[nodiscard]] std::int64_t Integer(const std::string& name) const;
  [[nodiscard]] const std::string& Text(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

enum class InjectorStage { kLive, kFolder };  // needs a running target / works between attempts

struct InjectorInfo {
  std::string name;  // "kill.operation"
  std::string help;  // one line
  InjectorStage stage = InjectorStage::kLive;
  std::vector<ParamSpec> params;
  // Fails with kInvalidInput where single parameters are right and their combination is not.
  Result<std::unique_ptr<Injector>> (*make)(const Params& params) = nullptr;
};

const std::vector<InjectorInfo>& AllInjectors();

// Null when there is none of that name.
const InjectorInfo* FindInjector(std::string_view name);

// `text` as a value of the parameter, in its one spelling ("007" is "7"). Errors say what would be
// right; `where` of the error is empty.
Result<std::string> CanonicalValue(const ParamSpec& spec, std::string_view text);

// The same fault with defaults filled in and values in their one spelling; the combination is
// checked too. `where` of an error is the kind and the parameter: "kill.step: when".
Result<Fault> ValidateFault(const Fault& fault);

// REQUIRES nothing of `fault`: it is validated first.
Result<std::unique_ptr<Injector>> MakeInjector(const Fault& fault);

}  // namespace reprise

#endif  // REPRISE_INJECTORS_INJECTOR_H_
