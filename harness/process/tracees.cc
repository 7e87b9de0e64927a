#include "harness/process/tracees.h"

namespace reprise {

Tracee& Tracees::Add(pid_t tid, pid_t group, int rank) {
  Tracee& tracee = by_tid_[tid];
  tracee = Tracee{.tid = tid, .group = group, .rank = rank, .call = {}, .after_call = {}};
  return tracee;
}

Tracee* Tracees::Find(pid_t tid) {
  const auto found = by_tid_.find(tid);
  return found == by_tid_.end() ? nullptr : &found->second;
}

std::set<pid_t> Tracees::Groups(std::optional<int> rank) const {
  std::set<pid_t> groups;
  for (const auto& [tid, tracee] : by_tid_) {
    if (Selects(rank, tracee.rank)) {
      groups.insert(tracee.group);
    }
  }
  return groups;
}

bool Tracees::AnyInCall(std::optional<int> rank) const {
  for (const auto& [tid, tracee] : by_tid_) {
    if (Selects(rank, tracee.rank) && tracee.call) {
      return true;
    }
  }
  return false;
}

void Tracees::KeepOnlyLeader(pid_t group) {
  std::erase_if(by_tid_, [group](const auto& entry) {
    return entry.second.group == group && entry.first != group;
  });
}

}  // namespace reprise
