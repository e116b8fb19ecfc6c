#include "sim/conformance/isolated.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include "sim/common/error.h"

namespace uvmsim::conformance {
namespace {

constexpr char kPassed = '+';
constexpr char kFailed = '-';

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
  const rlimit limit{cpu_seconds, cpu_seconds + 1};
  setrlimit(RLIMIT_CPU, &limit);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  try {
    write_all(result, kPassed + work());
  } catch (const std::exception& error) {
    write_all(result, kFailed + std::string(error.what()));
  } catch (...) {
    write_all(result, kFailed + std::string("threw something that is no std::exception"));
  }
  _exit(0);
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

Outcome run_isolated(const std::function<std::string()>& work, unsigned cpu_seconds) {
  int ends[2];
  if (pipe(ends) != 0) {
    throw_input_error("cannot make a pipe: {}", std::strerror(errno));
  }
  const pid_t child = fork();
  if (child < 0) {
    throw_input_error("cannot start a process: {}", std::strerror(errno));
  }
  if (child == 0) {
    close(ends[0]);
    be_the_child(ends[1], work, cpu_seconds);
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
    return {false, fmt::format("does not return: stopped after {} s of processor time", cpu_seconds)};
  }
  if (WIFSIGNALED(status)) {
    return {false, fmt::format("crashed: signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))};
  }
  if (text.empty()) {
    return {false, fmt::format("ended the program with exit status {}", WEXITSTATUS(status))};
  }
  return {text[0] == kPassed, text.substr(1)};
}

}  // namespace uvmsim::conformance
