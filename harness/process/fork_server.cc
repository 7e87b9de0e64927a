#include "harness/process/fork_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/process/launch_child.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxRequestBytes = 1U << 20U;
constexpr int kSendBufferBytes = 4 << 20;
constexpr std::int64_t kTailBytes = 2000;

void AppendTexts(const std::vector<std::string>& texts, std::string& message) {
  message += std::to_string(texts.size());
  message.push_back('\0');
  for (const std::string& text : texts) {
    message += text;
    message.push_back('\0');
  }
}

}  // namespace

Result<std::unique_ptr<ForkServer>> ForkServer::Start(const std::string& program,
                                                      const Environment& environment,
                                                      const std::vector<sock_filter>& filter) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailErrno(errno, "socketpair for the fork server");
  }
  std::unique_ptr<ForkServer> server(new ForkServer());
  server->socket_ = UniqueFd(ends[0]);
  // Above the standard streams, which are replaced in the child.
  const UniqueFd low_end(ends[1]);
  const UniqueFd theirs(fcntl(low_end.Get(), F_DUPFD_CLOEXEC, 3));
  setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
  server->output_ = UniqueFd(memfd_create("reprise-fork-server", MFD_CLOEXEC));
  const UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Environment own = environment;
  own["REPRISE_FORK_SERVER_FD"] = std::to_string(theirs.Get());
  REPRISE_ASSIGN_OR_RETURN(Child child, LaunchChild({.program = program,
                                                     .arguments = {program},
                                                     .environment = EnvironmentTexts(own),
                                                     .folder = "",
                                                     .input = nothing.Get(),
                                                     .output = server->output_.Get(),
                                                     .error = server->output_.Get(),
                                                     .inherited = theirs.Get(),
                                                     .filter = &filter}));
  server->pid_ = child.pid;
  server->exec_error_ = std::move(child.exec_error);
  return server;
}

Status ForkServer::Send(const ForkRequest& request) {
  std::string message;
  AppendTexts(request.arguments, message);
  AppendTexts(request.environment, message);
  message += request.folder;
  message.push_back('\0');
  if (message.size() > kMaxRequestBytes) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("arguments and environment of a rank have {} bytes; a fork server takes "
                    "at most {}: start it cold",
                    message.size(), kMaxRequestBytes));
  }
  const std::array<int, 3> descriptors = {request.input, request.output, request.error};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(descriptors))> control = {};
  iovec part = {message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(descriptors));
  std::memcpy(CMSG_DATA(rights), descriptors.data(), sizeof(descriptors));
  if (sendmsg(socket_.Get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    return FailErrno(errno, "sending a request to the fork server");
  }
  return {};
}

std::optional<std::string> ForkServer::Receive() {
  std::array<char, 4096> answer;
  const ssize_t length = recv(socket_.Get(), answer.data(), answer.size(), MSG_DONTWAIT);
  return length > 0 ? std::optional<std::string>(
                          std::string(answer.data(), static_cast<std::size_t>(length)))
                    : std::nullopt;
}

std::string ForkServer::OutputTail() const {
  struct stat info {};
  fstat(output_.Get(), &info);
  const std::int64_t start = std::max<std::int64_t>(0, info.st_size - kTailBytes);
  std::string tail(static_cast<std::size_t>(info.st_size - start), '\0');
  const ssize_t got = pread(output_.Get(), tail.data(), tail.size(), start);
  tail.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return tail;
}

int ForkServer::ExecError() {
  int error = 0;
  const ssize_t got = read(exec_error_.Get(), &error, sizeof(error));
  return got == sizeof(error) ? error : 0;
}

}  // namespace reprise
