#include "tests/binary.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace reprise::testing {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

pid_t Start(const std::vector<std::string>& arguments, const fs::path& folder, const fs::path& out,
            const fs::path& err, StandardOutput standard_output = StandardOutput::kFile) {
  std::vector<const char*> argv = {REPRISE_BINARY};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    dup2(out_fd, STDOUT_FILENO);
    dup2(err_fd, STDERR_FILENO);
    if (standard_output == StandardOutput::kClosed) {
      close(STDOUT_FILENO);
    }
    if (chdir(folder.c_str()) != 0) {
      _exit(126);
    }
    execv(argv[0], const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  return pid;
}

}  // namespace

Finished Reprise(const std::vector<std::string>& arguments, const fs::path& folder,
                 StandardOutput standard_output) {
  const fs::path out = folder / "stdout.txt";
  const fs::path err = folder / "stderr.txt";
  const pid_t pid = Start(arguments, folder, out, err, standard_output);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  Finished finished;
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.out = ReadAll(out);
  finished.err = ReadAll(err);
  return finished;
}

pid_t StartReprise(const std::vector<std::string>& arguments, const fs::path& folder) {
  return Start(arguments, folder, folder / "stdout.txt", folder / "stderr.txt");
}

nlohmann::json ReadReport(const fs::path& run_directory) {
  return nlohmann::json::parse(ReadAll(run_directory / "report.json"));
}

nlohmann::json WithoutTimes(nlohmann::json report) {
  report.erase("wall_s");
  report.erase("run_directory");
  for (nlohmann::json& entry : report["cases"]) {
    for (const char* name : {"recovery_s", "wall_s", "replay"}) {
      entry.erase(name);
    }
  }
  for (nlohmann::json& cell : report["cells"]) {
    cell.erase("recovery_s");
  }
  return report;
}

std::vector<pid_t> ProcessesWith(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || std::stoi(name) == getpid()) {
      continue;
    }
    if (ReadAll(entry.path() / "environ").find(text) != std::string::npos) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "reprise-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot create a temporary folder");
  }
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path Folder::Write(const std::string& name, const std::string& content) const {
  fs::path path = path_ / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

fs::path Source(const std::string& name) { return fs::path(REPRISE_SOURCE) / name; }

}  // namespace reprise::testing
