#include "harness/process/watched_names.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "harness/process/path_resolver.h"

namespace reprise {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

}  // namespace

Place WatchedNames::PlaceOfPath(const std::string& real_path) const {
  if (IsBelow(real_path, places_.checkpoint)) {
    return Place::kCheckpoint;
  }
  return IsBelow(real_path, places_.logbook) ? Place::kLogbook : Place::kNone;
}

std::string WatchedNames::NameOfPath(const std::string& real_path) const {
  if (!IsBelow(real_path, places_.checkpoint)) {
    return real_path;
  }
  return real_path.ends_with(kDeleted) && !FactsOfPath(real_path, false)
             ? std::string()
             : RelativeTo(real_path, places_.checkpoint);
}

WatchedNames::Name WatchedNames::NameOfDescriptor(pid_t tid, int fd, const FileFacts& facts) const {
  const std::string path = ReadLink(DescriptorLink(tid, fd)).value_or("");
  const bool nameless = path.ends_with(kDeleted) && !FactsOfPath(path, false);
  const Place place = PlaceOfPath(path);
  if (place != Place::kNone && !nameless) {
    return {place, place == Place::kCheckpoint ? RelativeTo(path, places_.checkpoint) : path};
  }
  const std::string* const known = KnownName(facts.key);
  return known != nullptr ? Name{Place::kCheckpoint, *known} : Name{place, ""};
}

const std::string* WatchedNames::OtherName(const FileFacts& facts) {
  if (!facts.is_regular || facts.link_count < 2) {
    return nullptr;
  }
  LearnHardLinks();
  return KnownName(facts.key);
}

// Null also when the file of that number is gone: it may belong to another one by now.
const std::string* WatchedNames::KnownName(const FileKey& file) const {
  const auto known = known_.find(file);
  if (known == known_.end()) {
    return nullptr;
  }
  const auto there = FactsOfPath(places_.checkpoint + "/" + known->second, false);
  return there && there->key == file ? &known->second : nullptr;
}

// Those that were made before this attempt, once.
void WatchedNames::LearnHardLinks() {
  if (std::exchange(knows_hard_links_, true)) {
    return;
  }
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(places_.checkpoint, error), end;
       !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    const FileFacts facts = FactsOfPath(path, false).value_or(FileFacts{});
    if (facts.is_regular && facts.link_count > 1) {
      known_[facts.key] = RelativeTo(path, places_.checkpoint);
    }
  }
}

void WatchedNames::FolderWasRenamed(const std::string& from, const std::string& to) {
  for (auto& [file, name] : known_) {
    if (name.starts_with(from + "/")) {
      name.replace(0, from.size(), to);
    }
  }
}

}  // namespace reprise
