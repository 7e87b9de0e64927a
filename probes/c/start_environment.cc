#include "probes/c/start_environment.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <cstring>

#include "probes/c/digest.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace reprise::probe {
namespace {

#if defined(__x86_64__)

// Brand string of the CPU: CPUID leaves 0x80000002 to 0x80000004 (AMD64 manual, volume 3, appendix
// E.4.3).
std::string CpuName() {
  unsigned registers[12] = {};
  if (__get_cpuid_max(0x80000000U, nullptr) < 0x80000004U) {
    return "unknown";
  }
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const r = registers + std::size_t{4} * leaf;
    __get_cpuid(0x80000002U + leaf, r, r + 1, r + 2, r + 3);
  }
  char text[sizeof(registers) + 1] = {};
  std::memcpy(text, registers, sizeof(registers));
  const std::string name = text;
  const std::size_t first = name.find_first_not_of(' ');
  return first == std::string::npos ? "unknown"
                                    : name.substr(first, name.find_last_not_of(' ') - first + 1);
}

// The instruction sets by which numeric libraries choose their kernels.
std::string CpuFlags() {
  std::string flags;
  const auto add = [&](bool has, const char* name) {
    if (has) {
      flags += flags.empty() ? name : std::string(" ") + name;
    }
  };
  add(__builtin_cpu_supports("sse4.2") != 0, "sse4.2");
  add(__builtin_cpu_supports("avx") != 0, "avx");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512vnni") != 0, "avx512vnni");
  return flags;
}

#else

std::string CpuName() { return "unknown"; }
std::string CpuFlags() { return ""; }

#endif

}  // namespace

std::map<std::string, std::string> StartEnvironment() {
  std::map<std::string, std::string> environment = {
      {"compiler", __VERSION__},
      {"cpu", CpuName()},
      {"cpu.flags", CpuFlags()},
      {"digest.path", reprise_digest_path_name(reprise_digest_current_path())},
      {"libc", std::string("glibc ") + gnu_get_libc_version()},
      {"probe", REPRISE_PROBE_VERSION},
  };
  struct utsname system = {};
  if (uname(&system) == 0) {
    environment["kernel"] = std::string(system.sysname) + " " + system.release;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, when the logbook is opened
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  environment["threads"] = threads == nullptr ? "default" : threads;
  return environment;
}

}  // namespace reprise::probe
