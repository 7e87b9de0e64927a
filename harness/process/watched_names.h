// What a file is to us, by path or by descriptor, and its name below the checkpoint folder. A file
// may have several names (hard links), one that lies outside, or none any more.

#ifndef REPRISE_HARNESS_PROCESS_WATCHED_NAMES_H_
#define REPRISE_HARNESS_PROCESS_WATCHED_NAMES_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>

#include "harness/process/pending_call.h"

namespace reprise {

struct WatchedPlaces {
  std::string checkpoint;  // real paths of folders
  std::string logbook;
  std::map<FileKey, std::pair<int, int>> outputs;  // rank and stream (1, 2) of each output file
  bool record_data = true;
};

class WatchedNames {
 public:
  struct Name {
    Place place = Place::kNone;
    std::string path;  // relative to the checkpoint folder; empty: no name any more
  };

  explicit WatchedNames(const WatchedPlaces& places) : places_(places) {}

  [[nodiscard]] Place PlaceOfPath(const std::string& real_path) const;
  // Relative below the checkpoint folder, else as it is; empty for a file without a name.
  [[nodiscard]] std::string NameOfPath(const std::string& real_path) const;
  [[nodiscard]] Name NameOfDescriptor(pid_t tid, int fd, const FileFacts& facts) const;
  // Name below the checkpoint folder of a file that has another name outside; null: it has none.
  const std::string* OtherName(const FileFacts& facts);

  // `name` below the checkpoint folder means this file now.
  void Learn(const FileKey& file, const std::string& name) { known_[file] = name; }
  void FolderWasRenamed(const std::string& from, const std::string& to);

 private:
  [[nodiscard]] const std::string* KnownName(const FileKey& file) const;
  void LearnHardLinks();

  const WatchedPlaces& places_;
  std::map<FileKey, std::string> known_;  // a name may be outdated
  bool knows_hard_links_ = false;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_WATCHED_NAMES_H_
