// Reads and writes the memory of a stopped tracee. All reads are bounded; what is unmapped or
// foreign is no error of ours: the kernel would answer the call with EFAULT.

#ifndef REPRISE_HARNESS_PROCESS_TRACEE_MEMORY_H_
#define REPRISE_HARNESS_PROCESS_TRACEE_MEMORY_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// As many of the bytes as can be read.
std::string ReadMemory(pid_t tid, std::uint64_t address, std::size_t length_bytes);

// A NUL-terminated path of at most PATH_MAX bytes; nothing when it cannot be read.
std::optional<std::string> ReadPath(pid_t tid, std::uint64_t address);

// At most IOV_MAX (1024) entries; empty when they cannot be read.
std::vector<iovec> ReadVectors(pid_t tid, std::uint64_t address, std::uint64_t count);

// The first `length_bytes` of what the vectors hold.
std::string GatherMemory(pid_t tid, const std::vector<iovec>& vectors, std::size_t length_bytes);

bool WriteMemory(pid_t tid, std::uint64_t address, std::string_view bytes);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_TRACEE_MEMORY_H_
