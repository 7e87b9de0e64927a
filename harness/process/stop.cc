#include "harness/process/stop.h"

#include <csignal>
#include <initializer_list>

namespace reprise {
namespace {

volatile std::sig_atomic_t g_stop_requested = 0;

void HandleStopSignal(int /*signal*/) { g_stop_requested = 1; }

}  // namespace

void InstallStopHandlers() {
  struct sigaction action = {};
  action.sa_handler = HandleStopSignal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
}

void RequestStop() { g_stop_requested = 1; }
bool StopRequested() { return g_stop_requested != 0; }

}  // namespace reprise
