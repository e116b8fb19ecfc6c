// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>

#include "sim/cli/options.h"
#include "sim/common/atomic_file.h"
#include "sim/policy/plugin_call.h"

namespace uvmsim::cli {
namespace {

constexpr itimerval kTimeToStop{{}, {0, 800'000}};  // seconds, microseconds
constexpr itimerval kNoTimer{};

// Signal handlers can reach only globals.
volatile sig_atomic_t interrupted = 0;
std::string_view program_name;

// Writes only if standard error is ready: it may be a pipe that nobody reads.
void say(std::string_view text) {
  pollfd error{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&error, 1, 0) == 1) static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void end_now(int) {
  remove_temporary_files();
  say(program_name);
  say(": interrupted");
  if (const policy::PluginCall* call = policy::current_plugin_call()) {
    say(" in ");
    say(call->policy);
    say(": ");
    say(call->hook);
    say("()");
  }
  say(", no output is half written\n");
  ::_exit(kInterrupted);
}

void note(int signal) {
  if (interrupted != 0) end_now(signal);
  interrupted = 1;
  ::setitimer(ITIMER_REAL, &kTimeToStop, nullptr);
}

// An empty handler instead of SIG_IGN, which programs that this one starts would inherit.
void let_the_write_fail(int) {}

void end_as_usual(int signal) {
  remove_temporary_files();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

struct Handled {
  int signal;
  void (*handler)(int);
  struct sigaction before {};
};
std::array handled = {Handled{SIGINT, note},
                      Handled{SIGTERM, note},
                      Handled{SIGHUP, note},
                      Handled{SIGALRM, end_now},
                      Handled{SIGXFSZ, let_the_write_fail},
                      Handled{SIGPIPE, end_as_usual}};

}  // namespace

InterruptGuard::InterruptGuard(std::string_view program) {
  interrupted = 0;
  program_name = program;
  for (Handled& one : handled) {
    struct sigaction action {};
    action.sa_handler = one.handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(one.signal, nullptr, &one.before);
    if (one.before.sa_handler != SIG_IGN) ::sigaction(one.signal, &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  ::setitimer(ITIMER_REAL, &kNoTimer, nullptr);
  for (const Handled& one : handled) ::sigaction(one.signal, &one.before, nullptr);
}

void throw_if_interrupted() {
  if (interrupted != 0) throw Interrupted();
}

}  // namespace uvmsim::cli
