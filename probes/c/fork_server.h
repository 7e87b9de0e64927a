/* The target's side of the fork server: libraries are loaded once, and each life is one fork.
 *
 * Protocol "reprise.fork/1"
 *
 * The harness starts the target with the variable REPRISE_FORK_SERVER_FD=N, where N is the decimal
 * number of an inherited, connected AF_UNIX SOCK_SEQPACKET descriptor. The target warms up and then
 * sends the datagram
 *
 *     ready
 *
 * From then on each request of the harness is answered by exactly one datagram. All texts are ASCII
 * without a terminating NUL.
 *
 * Request: one datagram of at most 1 MiB (1,048,576 bytes), with exactly three descriptors attached
 * by SCM_RIGHTS: standard input, output and error of the child, in this order. Its bytes are a
 * sequence of NUL-terminated strings:
 *
 *     argc            decimal, 1 to 65536
 *     argv[0] ...     argc strings
 *     envc            decimal, 0 to 65536
 *     "KEY=VALUE" ... envc strings: the complete environment of the child, nothing is inherited
 *     folder          the child's working folder; absolute or relative to the server's
 *
 * and nothing after them. The sender's SO_SNDBUF must be large enough for the datagram.
 *
 * Reply: the child's process id in decimal, or "error: " and a sentence (a malformed request, a
 * wrong number of descriptors, a fork that failed). After an error the server goes on serving.
 *
 * The child closes the socket, becomes the leader of a new session (setsid), has no blocked signal
 * and default actions for SIGINT, SIGCHLD, SIGTERM, SIGHUP and SIGPIPE, the three descriptors as
 * its 0, 1, 2, the environment of the request without REPRISE_FORK_SERVER_FD, and the folder. It
 * then runs the training function and exits with its result through exit(), so streams are flushed
 * and destructors of statics run. A folder that cannot be entered ends it with status 127 and a
 * message on its standard error.
 *
 * The server ignores SIGCHLD, so children that the harness does not adopt are reaped by the kernel.
 * A child's parent is the server: a harness that needs the exit status traces it, or makes itself
 * the subreaper and ends the server. The server ends with status 0 when the harness closes the
 * socket, with 1 when the socket fails.
 *
 * REQUIRES of a target: one thread while it serves (a started OpenMP pool hangs the children).
 */

#ifndef REPRISE_PROBES_C_FORK_SERVER_H_
#define REPRISE_PROBES_C_FORK_SERVER_H_

#ifdef __cplusplus
extern "C" {
#endif

enum { REPRISE_FORK_REQUEST_BYTES = 1 << 20, REPRISE_FORK_STRING_COUNT = 65536 };

/* Body of main(). Without REPRISE_FORK_SERVER_FD: returns train(argc, argv); `warm_up` is not
 * called. With it: calls `warm_up` (may be null), serves until the socket is closed, and returns
 * the server's exit status; children never return from it. */
int reprise_run_main(int argc, char** argv, int (*train)(int, char**), void (*warm_up)(void));

#ifdef __cplusplus
}
#endif

#endif /* REPRISE_PROBES_C_FORK_SERVER_H_ */
