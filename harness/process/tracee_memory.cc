#include "harness/process/tracee_memory.h"

#include <climits>
#include <cstring>

namespace reprise {
namespace {

constexpr std::size_t kPageBytes = 4096;

iovec Remote(std::uint64_t address, std::size_t length_bytes) {
  return {reinterpret_cast<void*>(address), length_bytes};  // NOLINT: an address over there
}

}  // namespace

std::string ReadMemory(pid_t tid, std::uint64_t address, std::size_t length_bytes) {
  std::string bytes(length_bytes, '\0');
  std::size_t done = 0;
  while (done < length_bytes) {
    const iovec local = {bytes.data() + done, length_bytes - done};
    const iovec remote = Remote(address + done, length_bytes - done);
    const ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

std::optional<std::string> ReadPath(pid_t tid, std::uint64_t address) {
  std::string path;
  while (path.size() < PATH_MAX) {
    // Up to the end of a page: the next one may not be mapped.
    const std::uint64_t at = address + path.size();
    const std::string part = ReadMemory(tid, at, kPageBytes - at % kPageBytes);
    if (part.empty()) {
      return std::nullopt;
    }
    if (const std::size_t end = part.find('\0'); end != std::string::npos) {
      return path + part.substr(0, end);
    }
    path += part;
  }
  return std::nullopt;
}

std::vector<iovec> ReadVectors(pid_t tid, std::uint64_t address, std::uint64_t count) {
  if (count > IOV_MAX) {
    return {};
  }
  const std::string bytes = ReadMemory(tid, address, count * sizeof(iovec));
  std::vector<iovec> vectors(bytes.size() / sizeof(iovec));
  if (!vectors.empty()) {
    std::memcpy(vectors.data(), bytes.data(), vectors.size() * sizeof(iovec));
  }
  return vectors;
}

std::string GatherMemory(pid_t tid, const std::vector<iovec>& vectors, std::size_t length_bytes) {
  std::string bytes;
  for (const iovec& part : vectors) {
    const std::size_t wanted = std::min(part.iov_len, length_bytes - bytes.size());
    if (wanted > 0) {
      bytes += ReadMemory(tid, reinterpret_cast<std::uint64_t>(part.iov_base), wanted);
    }
  }
  return bytes;
}

bool WriteMemory(pid_t tid, std::uint64_t address, std::string_view bytes) {
  const iovec local = {const_cast<char*>(bytes.data()), bytes.size()};
  const iovec remote = Remote(address, bytes.size());
  return process_vm_writev(tid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace reprise
