#include "harness/process/filter.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "harness/base/unique_fd.h"
#include "harness/process/watched_calls.h"

namespace reprise {
namespace {

using Context = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;
using Tests = std::vector<scmp_arg_cmp>;

scmp_arg_cmp Equals(int argument, std::uint64_t value) {
  return {static_cast<unsigned>(argument), SCMP_CMP_EQ, value, 0};
}
scmp_arg_cmp AtLeast(int argument, std::uint64_t value) {
  return {static_cast<unsigned>(argument), SCMP_CMP_GE, value, 0};
}
scmp_arg_cmp Masked(int argument, std::uint64_t mask, std::uint64_t value) {
  return {static_cast<unsigned>(argument), SCMP_CMP_MASKED_EQ, mask, value};
}

// Descriptors from `first` on, then the other tests that must hold with it.
struct DescriptorRange {
  std::uint64_t first;
  bool standard_streams;  // 1 and 2 too, for writes
};

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

std::vector<Tests> WriteTests(const CallShape& shape, DescriptorRange range) {
  std::vector<Tests> any = {{AtLeast(shape.fd, range.first)}};
  if (range.standard_streams) {
    any.push_back({Equals(shape.fd, 1)});
    any.push_back({Equals(shape.fd, 2)});
  }
  return any;
}

// The same further test for each of `values`, on a descriptor of the range.
std::vector<Tests> WithDescriptor(const CallShape& shape, DescriptorRange range,
                                  const std::vector<scmp_arg_cmp>& alternatives) {
  std::vector<Tests> any;
  for (const scmp_arg_cmp& test : alternatives) {
    any.push_back({AtLeast(shape.fd, range.first), test});
  }
  return any;
}

std::vector<Tests> MapTests(const CallShape& shape, DescriptorRange range) {
  std::vector<Tests> any = WithDescriptor(shape, range,
                                          {Masked(shape.flags, MAP_TYPE, MAP_SHARED),
                                           Masked(shape.flags, MAP_TYPE, MAP_SHARED_VALIDATE)});
  for (Tests& tests : any) {
    tests.push_back(Masked(2, PROT_WRITE, PROT_WRITE));
  }
  return any;
}

// The alternatives under which a call is stopped; an empty list: this filter does not look at it.
std::vector<Tests> TestsOf(const CallShape& shape, DescriptorRange range) {
  const bool all_numbers = range.standard_streams;
  switch (shape.role) {
    case CallRole::kOpen:
      return all_numbers ? OpenTests(shape) : std::vector<Tests>{};
    case CallRole::kWrite:
    case CallRole::kWriteVector:
    case CallRole::kCopy:
    case CallRole::kDescriptor:
      return WriteTests(shape, {range.first, all_numbers && shape.role != CallRole::kDescriptor});
    case CallRole::kSync:
    case CallRole::kPath:
    case CallRole::kDenied:
      return all_numbers ? std::vector<Tests>{{}} : std::vector<Tests>{};
    case CallRole::kMap:
      return MapTests(shape, range);
    case CallRole::kClone:
      return WithDescriptor(shape, range,
                            {Equals(shape.flags, FICLONE), Equals(shape.flags, FICLONERANGE)});
    case CallRole::kDuplicate:
      return shape.number == SCMP_SYS(fcntl)
                 ? WithDescriptor(
                       shape, range,
                       {Equals(shape.flags, F_DUPFD), Equals(shape.flags, F_DUPFD_CLOEXEC)})
                 : std::vector<Tests>{{AtLeast(shape.fd, range.first)}};
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

Result<std::vector<sock_filter>> Build(DescriptorRange range) {
  const Context context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (!context) {
    return Fail(ErrorCode::kUnsupported, "libseccomp cannot make a filter on this machine");
  }
  seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  // A binary tree over call numbers instead of a chain: every call of the target walks it.
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const CallShape& shape : WatchedCalls()) {
    for (const Tests& tests : TestsOf(shape, range)) {
      const int error =
          seccomp_rule_add_array(context.get(), SCMP_ACT_TRACE(1), static_cast<int>(shape.number),
                                 static_cast<unsigned>(tests.size()), tests.data());
      if (error < 0) {
        return FailErrno(-error, std::string("seccomp rule for ") + shape.name);
      }
    }
  }
  return Export(context.get());
}

}  // namespace

Result<std::vector<sock_filter>> BuildFilter() { return Build({kFirstWatchedDescriptor, true}); }

Result<std::vector<sock_filter>> BuildLowDescriptorFilter() { return Build({3, false}); }

}  // namespace reprise
