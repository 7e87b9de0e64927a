// Runs the reprise binary in end-to-end tests, and reads what it leaves.

#ifndef REPRISE_TESTS_BINARY_H_
#define REPRISE_TESTS_BINARY_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace reprise::testing {

struct Finished {
  int status = -1;  // exit status; 128 + signal
  std::string out;
  std::string err;
};

enum class StandardOutput { kFile, kClosed };

// Runs `build/…/reprise` with these arguments in `folder` and waits.
Finished Reprise(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                 StandardOutput standard_output = StandardOutput::kFile);

// The same without waiting. The process leads a group of its own.
pid_t StartReprise(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

// The report of a run directory.
nlohmann::json ReadReport(const std::filesystem::path& run_directory);

// The same without what differs between two equal runs: times, paths, replay commands.
nlohmann::json WithoutTimes(nlohmann::json report);

// Processes whose environment holds `text`: what a run has left behind.
std::vector<pid_t> ProcessesWith(const std::string& text);

// A fresh folder, removed at the end of the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& Path() const { return path_; }
  std::filesystem::path Write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

// The folder of the checkout, and of the scenarios in it.
std::filesystem::path Source(const std::string& name);

}  // namespace reprise::testing

#endif  // REPRISE_TESTS_BINARY_H_
