#include "sim/cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "sim/cli/exit_codes.h"
#include "sim/common/atomic_file.h"
#include "sim/policy/plugin_call.h"

namespace uvmsim::cli {
namespace {

constexpr unsigned kSecondsToStop = 1;

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t interrupted = 0;

void say(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

// A policy that never returns comes to no safe point.
void end_now(int) {
  remove_temporary_files();
  say("uvmsim: interrupted");
  if (const policy::PluginCall* call = policy::current_plugin_call()) {
    say(" in ");
    say(call->policy);
    say(": ");
    say(call->hook);
    say("()");
  }
  say(", nothing was written\n");
  ::_exit(kInterrupted);
}

void note_interrupt(int) {
  if (interrupted != 0) end_now(0);
  interrupted = 1;
  ::alarm(kSecondsToStop);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
  std::signal(SIGALRM, end_now);
}

InterruptGuard::~InterruptGuard() {
  ::alarm(0);
  std::signal(SIGALRM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void throw_if_interrupted() {
  if (interrupted != 0) throw Interrupted();
}

}  // namespace uvmsim::cli
