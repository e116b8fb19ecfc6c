// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "sim/cli/interrupt.h"
#include "sim/cli/terminal.h"
#include "sim/cli/work_line.h"
#include "sim/common/plain_text.h"
#include "sim/report/numbers.h"

namespace uvmsim::cli {
namespace {

constexpr std::uint64_t kBarWidth = 30;
constexpr std::chrono::milliseconds kRedrawInterval{100}, kFirstLine{2'000}, kPipeLineInterval{10'000},
    kEstimateAfter{2'000};

}  // namespace

// When standard error is not a terminal, the first line comes sooner than the following ones.
StatusLine::StatusLine()
    : terminal_(is_terminal(STDERR_FILENO)),
      last_(std::chrono::steady_clock::now() - (kPipeLineInterval - kFirstLine)) {}

bool StatusLine::is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (terminal_ ? kRedrawInterval : kPipeLineInterval)) return false;
  last_ = now;
  return true;
}

void StatusLine::show(const std::string& on_terminal, const std::string& elsewhere) {
  WorkLine::note_shown();
  if (!terminal_) {
    fmt::print(stderr, "uvmsim: {}\n", plain_line(elsewhere));
    return;
  }
  fmt::print(stderr, "\r\x1b[K{}", fitted(STDERR_FILENO, on_terminal));
  std::fflush(stderr);
  drawn_ = true;
}

void StatusLine::erase() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string StatusLine::bar(std::uint64_t done, std::uint64_t total) {
  return fmt::format("[{:-<{}}]", std::string(done * kBarWidth / total, '#'), kBarWidth);
}

void Progress::begin(std::string step, std::uint64_t total, bool at_most) {
  step_ = std::move(step);
  total_ = total;
  at_most_ = at_most;
  began_ = std::chrono::steady_clock::now();
  if (!verbose_) return;
  line_.erase();
  fmt::print(stderr, "uvmsim: {}\n", plain_line(step_));
}

void Progress::update(std::uint64_t done) {
  if (!line_.is_due()) return;
  if (total_ == 0) {
    const std::string text = fmt::format("{}: {} records", step_, report::format_count(done));
    line_.show(text, text);
    return;
  }
  done = std::min(done, total_);
  const std::uint64_t percent = done * 100 / total_;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
  std::string left;
  if (done != 0 && elapsed >= kEstimateAfter) {
    const double seconds =
        static_cast<double>(elapsed.count()) / 1000 * static_cast<double>(total_ - done) / static_cast<double>(done);
    left = fmt::format(", {}{:.0f} s left", at_most_ ? "at most " : "about ", seconds);
  }
  line_.show(fmt::format("{} {:>3}% {}{}", StatusLine::bar(done, total_), percent, step_, left),
             fmt::format("{}: {} %{}", step_, percent, left));
}

std::function<void(std::uint64_t done)> Progress::reporter() {
  return [this](std::uint64_t done) {
    throw_if_interrupted();
    update(done);
  };
}

void Progress::end() {
  line_.erase();
  if (verbose_) fmt::print(stderr, "uvmsim: {}: done\n", plain_line(step_));
}

}  // namespace uvmsim::cli
