#include "harness/process/filter.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "harness/base/unique_fd.h"

namespace reprise {
namespace {

using Context = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;
using Tests = std::vector<scmp_arg_cmp>;

scmp_arg_cmp Equals(int argument, std::uint64_t value) {
  return {static_cast<unsigned>(argument), SCMP_CMP_EQ, value, 0};
}
scmp_arg_cmp Masked(int argument, std::uint64_t mask, std::uint64_t value) {
  return {static_cast<unsigned>(argument), SCMP_CMP_MASKED_EQ, mask, value};
}

// The numbers that a filter looks at.
enum class DescriptorRange { kWatched, kFromThree, kStandard };

scmp_arg_cmp IsIn(DescriptorRange range, int argument) {
  switch (range) {
    case DescriptorRange::kWatched:
      return {static_cast<unsigned>(argument), SCMP_CMP_GE, kFirstWatchedDescriptor, 0};
    case DescriptorRange::kFromThree:
      return {static_cast<unsigned>(argument), SCMP_CMP_GE, 3, 0};
    case DescriptorRange::kStandard:
      return {static_cast<unsigned>(argument), SCMP_CMP_LE, 2, 0};
  }
  return {};
}

std::vector<Tests> OpenTests(const CallShape& shape) {
  if (shape.flags < 0) {
    return {{}};
  }
  std::vector<Tests> any;
  for (const int flag : {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC}) {
    const auto bit = static_cast<std::uint64_t>(flag);
    any.push_back({Masked(shape.flags, bit, bit)});
  }
  return any;
}

// Standard output and error are always watched.
std::vector<Tests> WriteTests(const CallShape& shape, DescriptorRange range) {
  std::vector<Tests> any = {{IsIn(range, shape.fd)}};
  if (range == DescriptorRange::kWatched) {
    any.push_back({Equals(shape.fd, 1)});
    any.push_back({Equals(shape.fd, 2)});
  }
  return any;
}

// Each of `alternatives`, on a descriptor of the range.
std::vector<Tests> WithDescriptor(const CallShape& shape, DescriptorRange range,
                                  const std::vector<scmp_arg_cmp>& alternatives) {
  std::vector<Tests> any;
  for (const scmp_arg_cmp& test : alternatives) {
    any.push_back({IsIn(range, shape.fd), test});
  }
  return any;
}

std::vector<Tests> DuplicateTests(const CallShape& shape, DescriptorRange range) {
  if (shape.number == SCMP_SYS(fcntl)) {
    return WithDescriptor(shape, range,
                          {Equals(shape.flags, F_DUPFD), Equals(shape.flags, F_DUPFD_CLOEXEC)});
  }
  return {{IsIn(range, shape.fd)}};
}

std::vector<Tests> ToldTests(const CallShape& shape) {
  return shape.flags < 0 ? std::vector<Tests>{{}}
                         : std::vector<Tests>{{Masked(shape.flags, CLONE_NEWNS, CLONE_NEWNS)}};
}

// The alternatives under which a call is stopped; an empty list: this filter does not look at it.
std::vector<Tests> TestsOf(const CallShape& shape, DescriptorRange range) {
  // What does not depend on a descriptor's number is stopped by the filter that every rank has.
  const bool is_main = range == DescriptorRange::kWatched;
  switch (shape.role) {
    case CallRole::kOpen:
      return is_main ? OpenTests(shape) : std::vector<Tests>{};
    case CallRole::kWrite:
    case CallRole::kWriteVector:
    case CallRole::kCopy:
      return WriteTests(shape, range);
    case CallRole::kDescriptor:
      return {{IsIn(range, shape.fd)}};
    case CallRole::kSync:
    case CallRole::kPath:
    case CallRole::kDenied:
      return is_main ? std::vector<Tests>{{}} : std::vector<Tests>{};
    case CallRole::kTold:
      return is_main ? ToldTests(shape) : std::vector<Tests>{};
    case CallRole::kMap:
      return WithDescriptor(shape, range,
                            {Masked(shape.flags, MAP_TYPE, MAP_SHARED),
                             Masked(shape.flags, MAP_TYPE, MAP_SHARED_VALIDATE)});
    case CallRole::kClone:
      return WithDescriptor(shape, range,
                            {Equals(shape.flags, FICLONE), Equals(shape.flags, FICLONERANGE)});
    case CallRole::kDuplicate:
      return DuplicateTests(shape, range);
  }
  return {};
}

Result<std::vector<sock_filter>> Export(scmp_filter_ctx context) {
  const UniqueFd file(memfd_create("reprise-filter", MFD_CLOEXEC));
  if (!file.IsValid()) {
    return FailErrno(errno, "memfd_create for the seccomp filter");
  }
  if (const int error = seccomp_export_bpf(context, file.Get()); error < 0) {
    return FailErrno(-error, "seccomp_export_bpf");
  }
  struct stat info {};
  fstat(file.Get(), &info);
  std::vector<sock_filter> program(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
  const std::size_t size_bytes = program.size() * sizeof(sock_filter);
  if (pread(file.Get(), program.data(), size_bytes, 0) != static_cast<ssize_t>(size_bytes)) {
    return FailErrno(errno, "reading the seccomp filter back");
  }
  return program;
}

Result<std::vector<sock_filter>> Build(const std::vector<CallShape>& calls, DescriptorRange range) {
  const Context context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (!context) {
    return Fail(ErrorCode::kUnsupported, "libseccomp cannot make a filter on this machine");
  }
  seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRACE(kForeignCallStop));
  // A binary tree over call numbers instead of a chain: every call of the target walks it.
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const CallShape& shape : calls) {
    for (const Tests& tests : TestsOf(shape, range)) {
      const int error = seccomp_rule_add_array(context.get(), SCMP_ACT_TRACE(kWatchedCallStop),
                                               static_cast<int>(shape.number),
                                               static_cast<unsigned>(tests.size()), tests.data());
      if (error < 0) {
        return FailErrno(-error, std::string("seccomp rule for ") + shape.name);
      }
    }
  }
  return Export(context.get());
}

}  // namespace

Result<std::vector<sock_filter>> BuildFilter(const std::vector<CallShape>& calls) {
  return Build(calls, DescriptorRange::kWatched);
}

Result<std::vector<sock_filter>> BuildLowDescriptorFilter(const std::vector<CallShape>& calls) {
  return Build(calls, DescriptorRange::kFromThree);
}

Result<std::vector<sock_filter>> BuildStandardDescriptorFilter(
    const std::vector<CallShape>& calls) {
  return Build(calls, DescriptorRange::kStandard);
}

}  // namespace reprise
