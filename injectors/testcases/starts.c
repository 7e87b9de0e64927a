/* Writes into its folder from processes that it starts in the way that argv[2] names: "fork",
 * "vfork", "clone", "exec", "exec of a thread" and "socket", where the file is handed over. Each
 * writes through a descriptor that was opened before. */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "victim.h"

static const char* program;
static const char* folder;
static int file;

static void Await(pid_t child) {
  int status = 0;
  Must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child");
}

/* The same program again, which finds its way by its arguments. */
static void* Execute(void* unused) {
  char number[16];
  snprintf(number, sizeof(number), "%d", file);
  execl(program, program, folder, "continue", number, (char*)NULL);
  perror("execl");
  _exit(98);
  return unused;
}

static int WriteFromClone(void* text) {
  Write(file, text);
  _exit(0);
}

static void Clone(void) {
  static char stack[1 << 16];
  Await(clone(WriteFromClone, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, "clone"));
}

static void ExecuteFromThread(void) {
  pthread_t thread;
  Must(pthread_create(&thread, NULL, Execute, NULL) == 0, "pthread_create");
  pthread_join(thread, NULL);
}

struct Parcel {
  struct msghdr message;
  struct iovec part;
  char byte;
  char control[CMSG_SPACE(sizeof(int))];
};

static struct Parcel* Prepare(struct Parcel* parcel) {
  memset(parcel, 0, sizeof(*parcel));
  parcel->part = (struct iovec){&parcel->byte, 1};
  parcel->message = (struct msghdr){.msg_iov = &parcel->part,
                                    .msg_iovlen = 1,
                                    .msg_control = parcel->control,
                                    .msg_controllen = sizeof(parcel->control)};
  return parcel;
}

static void Send(int socket, int descriptor) {
  struct Parcel parcel;
  struct cmsghdr* const header = CMSG_FIRSTHDR(&Prepare(&parcel)->message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  Must(sendmsg(socket, &parcel.message, 0) == 1, "sendmsg");
}

static int Receive(int socket) {
  struct Parcel parcel;
  int descriptor = -1;
  Must(recvmsg(socket, &Prepare(&parcel)->message, 0) == 1, "recvmsg");
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&parcel.message)), sizeof(int));
  return descriptor;
}

static void HandOver(void) {
  int ends[2];
  Must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  Send(ends[0], file);
  close(file);
  const int received = Receive(ends[1]);
  Write(received, "socket");
  close(received);
}

static void Start(const char* how) {
  if (strcmp(how, "clone") == 0) {
    Clone();
  } else if (strcmp(how, "exec") == 0) {
    Execute(NULL);
  } else if (strcmp(how, "exec of a thread") == 0) {
    ExecuteFromThread();
  } else if (strcmp(how, "socket") == 0) {
    HandOver();
  } else {
    const int is_fork = strcmp(how, "fork") == 0;
    const pid_t child = is_fork ? fork() : vfork();
    if (child == 0 && !is_fork) {
      Execute(NULL);
    } else if (child == 0) {
      Write(file, how);
      _exit(0);
    }
    Await(child);
  }
}

int main(int argc, char** argv) {
  Must(argc == 3 || argc == 4, "usage: starts FOLDER HOW [DESCRIPTOR]");
  program = argv[0];
  folder = argv[1];
  if (argc == 4) {
    file = atoi(argv[3]);
    Write(file, "continued");
    return 0;
  }
  file = Create(folder, "file");
  Start(argv[2]);
  return 0;
}
