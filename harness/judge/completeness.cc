// Lays the order of the reference's records beside what an attempt recorded; see completeness.h.

#include "harness/judge/completeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <set>
#include <vector>

namespace reprise {
namespace {

enum class Kind { kWork, kStep, kState, kSaveBegin, kSaveAck, kEval, kEpoch, kEnd };

// A record without its values.
struct Landmark {
  Kind kind = Kind::kWork;
  std::int64_t step = 0;
  std::string reading;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the comparison for a null pointer
  friend auto operator<=>(const Landmark&, const Landmark&) = default;
};

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::optional<Landmark> LandmarkOf(const LogRecord& record) {
  using Found = std::optional<Landmark>;
  return std::visit(Overloaded{[](const StartRecord&) { return Found(); },
                               [](const NamesRecord&) { return Found(); },
                               [](const RestoredRecord&) { return Found(); },
                               [](const ReadyRecord&) { return Found(); },
                               [](const MicroBatchRecord& at) {
                                 return Found({Kind::kWork, at.step, {}});
                               },
                               [](const OptimizerRecord& at) {
                                 return Found({Kind::kWork, at.step, {}});
                               },
                               [](const StepRecord& at) {
                                 return Found({Kind::kStep, at.step, {}});
                               },
                               [](const StateRecord& at) {
                                 return Found({Kind::kState, at.step, at.reading});
                               },
                               [](const SaveBeginRecord& at) {
                                 return Found({Kind::kSaveBegin, at.step, {}});
                               },
                               [](const SaveAckRecord& at) {
                                 return Found({Kind::kSaveAck, at.step, {}});
                               },
                               [](const EvalRecord& at) {
                                 return Found({Kind::kEval, at.step, {}});
                               },
                               [](const EpochRecord& at) {
                                 return Found({Kind::kEpoch, at.step, {}});
                               },
                               [](const EndRecord& at) {
                                 return Found({Kind::kEnd, at.step, {}});
                               }},
                    record);
}

bool IsOfStart(const Landmark& mark) {
  return mark.kind == Kind::kState && (mark.reading == "ready" || mark.reading == "restored");
}

bool IsOfSave(const Landmark& mark) {
  return mark.kind == Kind::kSaveBegin || mark.kind == Kind::kSaveAck ||
         (mark.kind == Kind::kState && mark.reading == "request");
}

std::string Describe(const Landmark& mark) {
  switch (mark.kind) {
    case Kind::kWork:
      return fmt::format("no work towards step {}", mark.step);
    case Kind::kStep:
      return fmt::format("no step {}", mark.step);
    case Kind::kState:
      return mark.reading == "step" ? fmt::format("no state after step {}", mark.step)
                                    : fmt::format("no state of the reading \"{}\" at step {}",
                                                  mark.reading, mark.step);
    case Kind::kSaveBegin:
      return fmt::format("no beginning of the save of step {}", mark.step);
    case Kind::kSaveAck:
      return fmt::format("no acknowledgement of the save of step {}", mark.step);
    case Kind::kEval:
      return fmt::format("no evaluation after step {}", mark.step);
    case Kind::kEpoch:
      return fmt::format("no beginning of an epoch at step {}", mark.step);
    case Kind::kEnd:
      return fmt::format("no end after step {}", mark.step);
  }
  return {};
}

std::set<Landmark> SeenIn(const Logbook& book) {
  std::set<Landmark> seen;
  for (const LogRecord& record : book.records) {
    if (const auto mark = LandmarkOf(record)) {
      seen.insert(*mark);
    }
  }
  return seen;
}

const Logbook* BookOf(const AttemptEvidence& evidence, int rank) {
  const auto at = std::find_if(evidence.logbooks.begin(), evidence.logbooks.end(),
                               [rank](const Logbook& book) { return book.rank == rank; });
  return at == evidence.logbooks.end() ? nullptr : &*at;
}

// An acknowledgement that comes after work on a later step was written in the background: its
// place among the other records is a matter of time.
bool SavesInBackground(const AttemptEvidence& evidence) {
  for (const Logbook& book : evidence.logbooks) {
    std::int64_t newest_work = -1;
    for (const LogRecord& record : book.records) {
      const auto mark = LandmarkOf(record);
      if (mark && mark->kind == Kind::kWork) {
        newest_work = std::max(newest_work, mark->step);
      } else if (mark && mark->kind == Kind::kSaveAck && newest_work > mark->step) {
        return true;
      }
    }
  }
  return false;
}

class Finder {
 public:
  explicit Finder(const CompletenessSpec& spec)
      : spec_(spec),
        reference_(*spec.reference),
        run_(*spec.run),
        is_async_(spec.is_async || SavesInBackground(reference_)) {
    for (const Logbook& book : run_.logbooks) {
      seen_.push_back(SeenIn(book));
    }
  }

  [[nodiscard]] std::optional<std::string> Take() const {
    if (!spec_.is_cut) {
      if (auto torn = FindTorn()) {
        return torn;
      }
    }
    return reference_.world == run_.world ? FindByRank() : FindInAll();
  }

 private:
  [[nodiscard]] std::optional<std::string> FindTorn() const {
    for (const Logbook& book : run_.logbooks) {
      if (book.torn_tail) {
        return fmt::format(
            "no whole last line in the logbook of rank {} although it ended with exit status 0",
            book.rank);
      }
    }
    return std::nullopt;
  }

  // What one logbook of the reference asks of a run that begins at the first step, in order.
  [[nodiscard]] std::vector<Landmark> ExpectedOf(const Logbook& book) const {
    std::vector<Landmark> expected;
    for (const LogRecord& record : book.records) {
      auto mark = LandmarkOf(record);
      if (!mark) {
        continue;
      }
      if (IsOfStart(*mark)) {
        mark->step = spec_.first_step;
        expected.push_back(*mark);
      } else if (mark->kind == Kind::kEnd || (mark->step > spec_.first_step && spec_.trajectory)) {
        expected.push_back(*mark);
      }
    }
    return expected;
  }

  // Micro-batches of a step that was done are compared one by one elsewhere.
  [[nodiscard]] bool IsOwed(const Landmark& mark) const {
    return mark.kind != Kind::kWork && !(is_async_ && spec_.is_cut && IsOfSave(mark));
  }

  [[nodiscard]] static std::string Say(const Landmark& mark) {
    return Describe(mark) + "; the reference did";
  }

  [[nodiscard]] std::optional<std::string> FindByRank() const {
    for (const Logbook& book : reference_.logbooks) {
      const Logbook* mine = BookOf(run_, book.rank);
      const std::set<Landmark> seen = mine == nullptr ? std::set<Landmark>() : SeenIn(*mine);
      const std::vector<Landmark> expected = ExpectedOf(book);
      auto end = expected.end();
      if (spec_.is_cut) {
        const auto last =
            std::find_if(expected.rbegin(), expected.rend(), [&](const Landmark& mark) {
              return seen.contains(mark) && !(is_async_ && IsOfSave(mark));
            });
        end = last.base();
      }
      const auto missing = std::find_if(expected.begin(), end, [&](const Landmark& mark) {
        return IsOwed(mark) && !seen.contains(mark);
      });
      if (missing != end) {
        return reference_.world > 1 ? fmt::format("{} (rank {})", Say(*missing), book.rank)
                                    : Say(*missing);
      }
    }
    return std::nullopt;
  }

  // At another world size any rank may have written what any rank of the reference wrote.
  [[nodiscard]] std::optional<std::string> FindInAll() const {
    std::set<Landmark> seen;
    std::int64_t newest = -1;
    for (const std::set<Landmark>& of_rank : seen_) {
      seen.insert(of_rank.begin(), of_rank.end());
    }
    for (const Landmark& mark : seen) {
      newest = std::max(newest, mark.step);
    }
    for (const Logbook& book : reference_.logbooks) {
      for (const Landmark& mark : ExpectedOf(book)) {
        // Ranks may be apart by one step when a kill comes.
        const bool is_due = !spec_.is_cut || mark.step + 1 < newest;
        if (!is_due || !IsOwed(mark)) {
          continue;
        }
        // Where the trajectory differs, so may its length.
        const bool is_there = mark.kind == Kind::kEnd ? HasEnd(seen) : seen.contains(mark);
        if (!is_there) {
          return Say(mark);
        }
        if (!spec_.is_cut) {
          if (auto gap = FindGap(mark)) {
            return gap;
          }
        }
      }
    }
    return std::nullopt;
  }

  static bool HasEnd(const std::set<Landmark>& seen) {
    return std::any_of(seen.begin(), seen.end(),
                       [](const Landmark& mark) { return mark.kind == Kind::kEnd; });
  }

  // A rank that records such things at all must record this one too.
  [[nodiscard]] std::optional<std::string> FindGap(const Landmark& mark) const {
    const bool is_of_each_step =
        mark.kind == Kind::kStep || (mark.kind == Kind::kState && mark.reading == "step");
    if (!is_of_each_step) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const std::set<Landmark>& seen = seen_[i];
      const bool records_such = std::any_of(seen.begin(), seen.end(), [&](const Landmark& other) {
        return other.kind == mark.kind && other.reading == mark.reading;
      });
      if (records_such && !seen.contains(mark)) {
        return fmt::format("{} (rank {})", Say(mark), run_.logbooks[i].rank);
      }
    }
    return std::nullopt;
  }

  const CompletenessSpec& spec_;
  const AttemptEvidence& reference_;
  const AttemptEvidence& run_;
  std::vector<std::set<Landmark>> seen_;  // by logbook of the run
  bool is_async_;
};

}  // namespace

std::optional<std::string> FirstMissing(const CompletenessSpec& spec) {
  return Finder(spec).Take();
}

}  // namespace reprise
