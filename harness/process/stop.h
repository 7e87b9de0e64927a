// The process-wide request to stop: SIGINT, SIGTERM and SIGHUP set it, every wait of ours looks at
// it.

#ifndef REPRISE_HARNESS_PROCESS_STOP_H_
#define REPRISE_HARNESS_PROCESS_STOP_H_

namespace reprise {

// SIGINT, SIGTERM and SIGHUP become a stop request and interrupt blocking calls (no SA_RESTART).
// Inherited by forked workers.
void InstallStopHandlers();

// Async-signal-safe.
void RequestStop();
bool StopRequested();

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_STOP_H_
