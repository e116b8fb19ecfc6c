// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/plugin_call.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "sim/common/atomic_file.h"

namespace uvmsim::policy {
namespace {

constexpr int kBug = 3;  // the exit code of the command for a bug of a plug-in
constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction handled_before[NSIG];  // whose turn it is where no plug-in runs

thread_local const PluginCall* current = nullptr;

// A signal handler can reach nothing but globals.
int report_to = STDERR_FILENO;
const char* report_preface = "uvmsim: this is a bug in a policy plug-in: ";

// A line made without allocation, for signal handlers.
class Line {
 public:
  void add(const char* text) {
    for (; *text != '\0' && length_ < text_.size(); ++text) text_[length_++] = *text;
  }
  void add(std::uint64_t number) {
    char digits[21] = {};
    char* first = digits + 20;
    do {
      *--first = static_cast<char>('0' + number % 10);
    } while ((number /= 10) != 0);
    add(first);
  }
  void send(int descriptor) const { static_cast<void>(!::write(descriptor, text_.data(), length_)); }

 private:
  std::array<char, 2000> text_{};
  std::size_t length_ = 0;
};

template <class Say>
[[noreturn]] void end_in(const PluginCall& call, const Say& say) {
  Line line;
  line.add(report_preface);
  line.add(call.policy);
  line.add(": ");
  line.add(call.hook);
  line.add("()");
  if (call.unit != nullptr) {
    line.add(" for ");
    line.add(call.unit);
    line.add(" ");
    line.add(call.number);
  }
  say(line);
  if (report_to == STDERR_FILENO) line.add("\n");
  line.send(report_to);
  remove_temporary_files();
  ::_exit(kBug);
}

void on_crash(int signal) {
  if (current == nullptr) {
    ::sigaction(signal, &handled_before[signal], nullptr);
    static_cast<void>(std::raise(signal));
    return;
  }
  end_in(*current, [&](Line& line) {
    line.add(" crashed: signal ");
    line.add(static_cast<std::uint64_t>(signal));
    line.add(" (");
    line.add(::sigdescr_np(signal));
    line.add(")");
  });
}

void on_exit() {
  if (current == nullptr) return;
  end_in(*current, [](Line& line) { line.add(" ended the program"); });
}

}  // namespace

InPluginCall::InPluginCall(const PluginCall& call) : outer_(current) { current = &call; }
InPluginCall::~InPluginCall() { current = outer_; }

const PluginCall* current_plugin_call() { return current; }

std::string describe(const PluginCall& call) {
  std::string text = fmt::format("{}: {}()", call.policy, call.hook);
  if (call.unit != nullptr) text += fmt::format(" for {} {}", call.unit, call.number);
  return text;
}

void watch_plugin_calls() {
  static bool watching = false;
  if (watching) return;
  watching = true;
  // A stack of its own: the one in use may be what is full.
  static std::array<char, 64 * 1024> handler_stack;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int signal : kFatalSignals) ::sigaction(signal, &action, &handled_before[signal]);
  std::atexit(on_exit);
  std::at_quick_exit(on_exit);
}

void report_plugin_calls_to(int descriptor, const char* preface) {
  report_to = descriptor;
  report_preface = preface;
}

}  // namespace uvmsim::policy
