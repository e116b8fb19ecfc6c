// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/work_line.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "sim/cli/say.h"

namespace uvmsim::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstSilence{2'300}, kNextSilence{15'000};

std::atomic<Clock::rep> last_shown{0};

}  // namespace

// Starts the watcher. If no thread can be started, there is no line.
WorkLine::WorkLine(std::string command) : command_(std::move(command)) {
  note_shown();
  // Signals are for the thread that works (interrupt.h).
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkLine::~WorkLine() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

void WorkLine::note_shown() { last_shown = Clock::now().time_since_epoch().count(); }

void WorkLine::watch() {
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(mutex_);
  for (Clock::duration silence = kFirstSilence;;) {
    const Clock::time_point due = Clock::time_point(Clock::duration(last_shown)) + silence;
    if (ended_.wait_until(lock, due, [this] { return over_; })) return;
    if (Clock::now() < Clock::time_point(Clock::duration(last_shown)) + silence) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    say("{}: at work for {} s", command_, seconds);
    std::fflush(stderr);
    note_shown();
    silence = kNextSilence;
  }
}

}  // namespace uvmsim::cli
