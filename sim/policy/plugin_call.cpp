// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/plugin_call.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "sim/common/atomic_file.h"
#include "sim/policy/plugin_time.h"

namespace uvmsim::policy {
namespace {

constexpr int kBug = 3;  // the exit code of the command for a bug of a plug-in
constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction handled_before[NSIG];  // handlers to call when no plug-in runs

thread_local const PluginCall* current = nullptr;

// A signal handler can use only globals.
int report_to = STDERR_FILENO;
const char* report_preface = "uvmsim: this is a bug in a policy plug-in: ";

// The names of plug-in policies that were called, each once, as far as there is room.
std::array<char, 1000> called{};
std::size_t called_length = 0;
const char* noted = nullptr;  // the last of them

void note(const char* policy) {
  noted = policy;
  const std::size_t length = std::strlen(policy), separated = called_length == 0 ? 0 : 2;
  if (std::string_view(called.data(), called_length).find(policy) != std::string_view::npos) return;
  if (called_length + separated + length >= called.size()) return;
  std::memcpy(called.data() + called_length, ", ", separated);
  std::memcpy(called.data() + called_length + separated, policy, length);
  called_length += separated + length;
}

// A line that is built without allocation, for signal handlers.
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

void send(Line& line) {
  if (report_to == STDERR_FILENO) line.add("\n");
  line.send(report_to);
}

template <class Say>
[[noreturn]] void end_in(const PluginCall& call, const char* preface, const Say& say) {
  Line line;
  line.add(preface);
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
  send(line);
  remove_temporary_files();
  ::_exit(kBug);
}

void add_crash(Line& line, int signal) {
  line.add(" crashed: signal ");
  line.add(static_cast<std::uint64_t>(signal));
  line.add(" (");
  line.add(::sigdescr_np(signal));
  line.add(")");
}

// Handles a crash outside of a call: the program has run out of memory, or a called policy has corrupted it, or uvmsim
// has a bug.
void on_crash_elsewhere(int signal) {
  const struct sigaction& before = handled_before[signal];
  const bool plain_handler =
      (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
  if (plain_handler) before.sa_handler(signal);  // it returns if it knows no other reason for the signal
  if (called_length != 0) {
    Line line;
    line.add(report_preface);
    line.add("the program");
    add_crash(line, signal);
    line.add(" outside of a policy, after calls of ");
    called[called_length] = '\0';
    line.add(called.data());
    line.add(
        "; a plug-in that writes beyond its memory ends so: build it and uvmsim with -fsanitize=address to see where");
    send(line);
    if (plain_handler || before.sa_handler == SIG_DFL) {
      remove_temporary_files();
      ::_exit(kBug);
    }
  }
  ::sigaction(signal, &before, nullptr);
  static_cast<void>(std::raise(signal));
}

void on_crash(int signal) {
  if (current == nullptr) return on_crash_elsewhere(signal);
  end_in(*current, report_preface, [&](Line& line) { add_crash(line, signal); });
}

const char* time_preface = "";

void on_end_of_time(int signal) {
  if (current == nullptr) {
    ::signal(signal, SIG_DFL);
    static_cast<void>(std::raise(signal));
    return;
  }
  end_in(*current, time_preface, [](Line&) {});
}

void on_exit() {
  if (current == nullptr) return;
  end_in(*current, report_preface, [](Line& line) { line.add(" ended the program"); });
}

}  // namespace

InPluginCall::InPluginCall(const PluginCall& call) : outer_(current) {
  current = &call;
  if (call.policy != noted) note(call.policy);
}
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
  // The handler has a stack of its own, because the current one may be full.
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

void end_plugin_calls_at(int signal, const char* preface) {
  time_preface = preface;
  struct sigaction action {};
  action.sa_handler = on_end_of_time;
  action.sa_flags = SA_NODEFER;
  ::sigaction(signal, &action, nullptr);
}

void report_plugin_calls_to(int descriptor, const char* preface) {
  report_to = descriptor;
  report_preface = preface;
}

}  // namespace uvmsim::policy
