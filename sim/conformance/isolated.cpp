// SPDX-License-Identifier: Apache-2.0
#include "sim/conformance/isolated.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>

#include "sim/common/error.h"
#include "sim/policy/plugin_call.h"
#include "sim/policy/plugin_time.h"

namespace uvmsim::conformance {
namespace {

constexpr char kPassed = '+';
constexpr char kFailed = '-';
constexpr char kEndless = '!';  // precedes the name of the call that was running at the limit
constexpr const char* kEndlessPreface = "!";
constexpr std::chrono::seconds kTimeToTell{1};  // for the child to report its current call

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written <= 0) {
      return;  // the parent is gone
    }
    done += static_cast<std::size_t>(written);
  }
}

[[noreturn]] void be_the_child(int result, const std::function<std::string()>& work, unsigned cpu_seconds) {
  policy::end_plugin_calls_at(SIGXCPU, kEndlessPreface);
  const rlimit limit{cpu_seconds, cpu_seconds + 1};
  setrlimit(RLIMIT_CPU, &limit);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  policy::report_plugin_calls_to(result, "-");
  try {
    write_all(result, kPassed + work());
  } catch (const std::exception& error) {
    write_all(result, kFailed + std::string(error.what()));
  } catch (...) {
    write_all(result, kFailed + std::string("threw something that is no std::exception"));
  }
  _exit(0);
}

using Clock = std::chrono::steady_clock;

// Reads until the other side closes; returns nothing if it has not done so at the deadline.
std::optional<std::string> read_all(int file, Clock::time_point deadline) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd wanted{file, POLLIN, 0};
    if (poll(&wanted, 1, static_cast<int>(std::min<long>(left, 1000))) <= 0) continue;
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

double cpu_seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Outcome run_isolated(const std::function<std::string()>& work, TimeLimits limits) {
  int ends[2];
  if (pipe(ends) != 0) throw_input_error("cannot make a pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) throw_input_error("cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[0]);
    be_the_child(ends[1], work, limits.cpu_seconds);
  }
  close(ends[1]);
  auto text = read_all(ends[0], Clock::now() + std::chrono::seconds(limits.wall_seconds));
  const bool late = !text;
  if (late) {
    kill(child, SIGXCPU);
    text = read_all(ends[0], Clock::now() + kTimeToTell);
    kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const bool told = text && !text->empty() && text->front() == kEndless;
  const std::string call = told ? text->substr(1) + " " : "";
  if (late) return {false, fmt::format("{}does not return: stopped after {} s", call, limits.wall_seconds), true};
  const std::string too_long =
      fmt::format("{}does not return: stopped after {} s of processor time", call, limits.cpu_seconds);
  if (told) return {false, too_long, true};
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // SIGKILL follows if SIGXCPU is ignored.
  if (signal == SIGXCPU || (signal == SIGKILL && cpu_seconds_of(usage) >= limits.cpu_seconds)) {
    return {false, too_long, true};
  }
  if (signal == SIGKILL) return {false, "killed from outside (out of memory?): whether it returns is not known"};
  if (signal != 0) return {false, fmt::format("crashed: signal {} ({})", signal, strsignal(signal))};
  if (text->empty()) return {false, fmt::format("ended the program with exit status {}", WEXITSTATUS(status))};
  return {text->front() == kPassed, text->substr(1)};
}

}  // namespace uvmsim::conformance
