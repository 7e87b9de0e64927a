#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC; NOLINT(bugprone-reserved-identifier) */
#include "probes/c/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* One thread, by the contract of the header: NOLINTBEGIN(concurrency-mt-unsafe) */

static const char kVariable[] = "REPRISE_FORK_SERVER_FD";

enum {
  kStreams = 3,
  kMaxDescriptors = 16, /* more than this many in one request are closed by the kernel */
  kFirstFreeDescriptor = 10,
  kReplyBytes = 256,
  kCannotEnterFolder = 127
};

/* One request, taken apart. All pointers lead into `bytes`. */
typedef struct Request {
  char* bytes; /* REPRISE_FORK_REQUEST_BYTES + 1 */
  size_t size;
  int descriptors[kMaxDescriptors];
  size_t descriptor_count;
  int truncated;
  char** arguments; /* argument_count strings and a null */
  int argument_count;
  char** environment;
  const char* folder;
} Request;

extern char** environ;

/* A decimal number from `min` to `max` and nothing else, or -1. */
static long ParseDecimal(const char* text, long min, long max) {
  char* end = NULL;
  if (*text < '0' || *text > '9') {
    return -1;
  }
  errno = 0;
  const long value = strtol(text, &end, 10);
  return errno == 0 && *end == '\0' && value >= min && value <= max ? value : -1;
}

/* Sends one datagram. 0, or -1 when the other end is gone or the socket fails. */
__attribute__((format(printf, 2, 3))) static int Reply(int socket, const char* format, ...) {
  char text[kReplyBytes];
  va_list arguments;
  va_start(arguments, format);
  /* The analyser does not see that va_start sets it. */
  /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  const int written = vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const size_t size =
      written < (int)sizeof(text) ? (size_t)(written < 0 ? 0 : written) : sizeof(text) - 1;
  ssize_t n = -1;
  do {
    n = send(socket, text, size, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n < 0 ? -1 : 0;
}

static void TakeDescriptors(struct msghdr* message, Request* request) {
  for (struct cmsghdr* c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && request->descriptor_count < kMaxDescriptors; ++i) {
      memcpy(&request->descriptors[request->descriptor_count++], CMSG_DATA(c) + i * sizeof(int),
             sizeof(int));
    }
  }
}

/* 1: a request; 0: the other end is gone; -1: the socket fails (errno). */
static int Receive(int socket, Request* request) {
  union {
    char bytes[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
    struct cmsghdr align;
  } control;
  struct iovec part = {request->bytes, REPRISE_FORK_REQUEST_BYTES};
  struct msghdr message;
  memset(&message, 0, sizeof(message));
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  ssize_t n = -1;
  do {
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    return errno == ECONNRESET ? 0 : -1;
  }
  TakeDescriptors(&message, request);
  request->size = (size_t)n;
  request->bytes[n] = '\0'; /* so that string functions end, whatever was sent */
  request->truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  return n == 0 ? 0 : 1;
}

/* The string at *offset, which moves behind it; or null when no whole string is left. */
static char* NextString(Request* request, size_t* offset) {
  char* const text = request->bytes + *offset;
  const size_t left = request->size - *offset;
  const size_t length = strnlen(text, left);
  if (length == left) {
    return NULL;
  }
  *offset += length + 1;
  return text;
}

/* A count and that many strings, as a null-terminated array; null for anything else. */
static char** NextList(Request* request, size_t* offset, long min, int* count) {
  const char* const text = NextString(request, offset);
  const long expected = text == NULL ? -1 : ParseDecimal(text, min, REPRISE_FORK_STRING_COUNT);
  if (expected < 0) {
    return NULL;
  }
  char** const list = calloc((size_t)expected + 1, sizeof(char*));
  if (list == NULL) {
    return NULL;
  }
  for (long i = 0; i < expected; ++i) {
    list[i] = NextString(request, offset);
    if (list[i] == NULL) {
      free(list);
      return NULL;
    }
  }
  *count = (int)expected;
  return list;
}

/* Null when the request is sound, else what is wrong with it. */
static const char* TakeApart(Request* request) {
  if (request->truncated) {
    return "the request is larger than 1 MiB, or has too many descriptors";
  }
  if (request->descriptor_count != kStreams) {
    return "expected three descriptors: standard input, output and error";
  }
  size_t offset = 0;
  int variable_count = 0;
  request->arguments = NextList(request, &offset, 1, &request->argument_count);
  if (request->arguments == NULL) {
    return "expected a decimal argc from 1 to 65536 and that many strings";
  }
  request->environment = NextList(request, &offset, 0, &variable_count);
  if (request->environment == NULL) {
    return "expected a decimal envc from 0 to 65536 and that many strings";
  }
  for (int i = 0; i < variable_count; ++i) {
    if (strchr(request->environment[i], '=') == NULL || request->environment[i][0] == '=') {
      return "expected KEY=VALUE in the environment";
    }
  }
  request->folder = NextString(request, &offset);
  if (request->folder == NULL || request->folder[0] == '\0') {
    return "expected a working folder";
  }
  return offset == request->size ? NULL : "bytes are left after the working folder";
}

/* Frees what one request holds in the server; `bytes` stay for the next. */
static void Clear(Request* request) {
  for (size_t i = 0; i < request->descriptor_count; ++i) {
    close(request->descriptors[i]);
  }
  free(request->arguments);
  free(request->environment);
  char* const bytes = request->bytes;
  memset(request, 0, sizeof(*request));
  request->bytes = bytes;
}

/* The received descriptors become 0, 1, 2. They are first moved up, since a server with closed
 * streams may have received them as numbers below 3. */
static int TakeStreams(Request* request) {
  int moved[kStreams];
  for (int i = 0; i < kStreams; ++i) {
    moved[i] = fcntl(request->descriptors[i], F_DUPFD_CLOEXEC, kFirstFreeDescriptor);
    if (moved[i] < 0) {
      return -1;
    }
  }
  for (int i = 0; i < kStreams; ++i) {
    close(request->descriptors[i]);
  }
  for (int i = 0; i < kStreams; ++i) {
    if (dup2(moved[i], i) < 0) {
      return -1;
    }
    close(moved[i]);
  }
  return 0;
}

static void ResetSignals(void) {
  static const int kSignals[] = {SIGINT, SIGCHLD, SIGTERM, SIGHUP, SIGPIPE};
  for (size_t i = 0; i < sizeof(kSignals) / sizeof(kSignals[0]); ++i) {
    signal(kSignals[i], SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void RemoveOwnVariable(char** environment) {
  char** to = environment;
  for (char** from = environment; *from != NULL; ++from) {
    const size_t length = sizeof(kVariable) - 1;
    if (strncmp(*from, kVariable, length) != 0 || (*from)[length] != '=') {
      *to++ = *from;
    }
  }
  *to = NULL;
}

_Noreturn static void RunChild(int socket, Request* request, int (*train)(int, char**)) {
  close(socket);
  setsid();
  if (TakeStreams(request) != 0) {
    _exit(kCannotEnterFolder);
  }
  ResetSignals();
  RemoveOwnVariable(request->environment);
  environ = request->environment;
  if (chdir(request->folder) != 0) {
    fprintf(stderr, "reprise fork server: cannot enter %s: %s\n", request->folder, strerror(errno));
    _exit(kCannotEnterFolder);
  }
  exit(train(request->argument_count, request->arguments));
}

/* Answers one request. 0, or -1 when the answer cannot be sent. */
static int Answer(int socket, Request* request, int (*train)(int, char**)) {
  const char* const problem = TakeApart(request);
  if (problem != NULL) {
    return Reply(socket, "error: %s", problem);
  }
  fflush(NULL); /* else each child would write the server's buffered output again */
  const pid_t pid = fork();
  if (pid == 0) {
    RunChild(socket, request, train);
  }
  if (pid < 0) {
    return Reply(socket, "error: cannot fork: %s", strerror(errno));
  }
  return Reply(socket, "%ld", (long)pid);
}

static int Serve(int socket, int (*train)(int, char**)) {
  Request request;
  memset(&request, 0, sizeof(request));
  request.bytes = malloc(REPRISE_FORK_REQUEST_BYTES + 1);
  if (request.bytes == NULL) {
    fprintf(stderr, "reprise fork server: memory is short\n");
    return 1;
  }
  int state = Reply(socket, "ready") == 0 ? 1 : 0;
  /* Bounded by the other end: recvmsg(2) returns 0 when it is gone. */
  while (state == 1) {
    state = Receive(socket, &request);
    if (state == 1 && Answer(socket, &request, train) != 0) {
      state = 0;
    }
    if (state < 0) {
      fprintf(stderr, "reprise fork server: cannot receive: %s\n", strerror(errno));
    }
    Clear(&request);
  }
  free(request.bytes);
  return state < 0 ? 1 : 0;
}

int reprise_run_main(int argc, char** argv, int (*train)(int, char**), void (*warm_up)(void)) {
  const char* const text = getenv(kVariable);
  if (text == NULL) {
    return train(argc, argv);
  }
  const int socket = (int)ParseDecimal(text, 0, 1 << 20);
  if (socket < 0 || fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
    fprintf(stderr, "reprise fork server: %s=%s is not an open descriptor\n", kVariable, text);
    return 1;
  }
  if (warm_up != NULL) {
    warm_up();
  }
  signal(SIGCHLD, SIG_IGN);
  return Serve(socket, train);
}

/* NOLINTEND(concurrency-mt-unsafe) */
