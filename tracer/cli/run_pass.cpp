// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/run_pass.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "sim/common/error.h"

namespace uvmtrace {

namespace {

using uvmsim::throw_input_error;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> running_child{0};
std::atomic<int> last_forwarded{0};
std::atomic<int> pending{0};
std::array<struct sigaction, kSignals.size()> previous_actions;
off_t input_start = -1;

void on_signal(int number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const pid_t child = running_child.load();
  if (child > 0) {
    last_forwarded = number;
    // A signal from the terminal (Ctrl-C) reaches the program directly, because the terminal sends it to the whole
    // group.
    if (info->si_code != SI_KERNEL) ::kill(child, number);
  } else if (pending.exchange(number) != 0) {
    ::_exit(128 + number);  // the second signal, and no program is running
  }
  errno = saved_errno;
}

[[noreturn]] void become(const ProgramRun& pass, int report) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous_actions[i], nullptr);
  for (const auto& [name, value] : pass.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!pass.output.empty()) {
    const int file = ::open(pass.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) {
      ::dup2(file, STDOUT_FILENO);
      ::dup2(file, STDERR_FILENO);
      ::close(file);
    }
  }
  const bool wound_back = input_start >= 0 && ::lseek(STDIN_FILENO, input_start, SEEK_SET) >= 0;
  if (pass.spare_input && !wound_back) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0) {
      ::dup2(nothing, STDIN_FILENO);
      ::close(nothing);
    }
  }
  std::vector<char*> arguments;
  for (const std::string& argument : pass.program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  const auto written = ::write(report, &error, sizeof error);
  ::_exit(written == sizeof error ? 127 : 126);
}

// Waits for the program. Calls `tick` at intervals, which does not slow the program.
void wait_for(pid_t child, const std::function<void()>& tick, int& status) {
  while (child > 0) {
    const pid_t ended = ::waitpid(child, &status, tick ? WNOHANG : 0);
    if (ended > 0 || (ended < 0 && errno != EINTR)) return;
    if (tick && ended == 0) {
      tick();
      const timespec pause{0, 20'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace

PassRunner::PassRunner() {
  last_forwarded = 0;
  pending = 0;
  input_start = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kSignals[i], nullptr, &previous_actions[i]);
    if (previous_actions[i].sa_handler != SIG_IGN) {  // ignored signals (nohup) stay ignored
      ::sigaction(kSignals[i], &action, nullptr);
    }
  }
}

PassRunner::~PassRunner() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous_actions[i], nullptr);
}

int PassRunner::pending_signal() const { return pending; }

RunResult PassRunner::run(const ProgramRun& pass) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    throw_input_error("cannot start '{}': {}", pass.program.front(), std::strerror(errno));
  }
  // Signals are blocked from the start of the program until its id is known, so that none is lost.
  sigset_t ours, before;
  ::sigemptyset(&ours);
  for (const int number : kSignals) ::sigaddset(&ours, number);
  ::sigprocmask(SIG_BLOCK, &ours, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    become(pass, report[1]);
  }
  const int fork_error = errno;
  running_child = child;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(report[1]);
  int error = 0;
  if (child > 0) {
    ssize_t got = 0;
    do {
      got = ::read(report[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    error = got == sizeof error ? error : 0;
  }
  ::close(report[0]);
  int status = 0;
  wait_for(child, pass.tick, status);
  running_child = 0;
  if (child < 0 || error != 0) {
    throw_input_error("cannot start '{}': {}", pass.program.front(), std::strerror(child < 0 ? fork_error : error));
  }
  RunResult result;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(status);
  result.forwarded = last_forwarded.exchange(0);
  return result;
}

}  // namespace uvmtrace
