// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "sim/cli/terminal.h"

namespace uvmsim::cli {
namespace {

constexpr std::uint64_t kSweepBarWidth = 30;
constexpr std::chrono::milliseconds kSweepRedrawInterval{100};
constexpr std::chrono::seconds kLineInterval{10};

}  // namespace

SweepDisplay::SweepDisplay() : terminal_(is_terminal(STDERR_FILENO)), last_(Clock::now()) {}

SweepDisplay::~SweepDisplay() { erase(); }

void SweepDisplay::update(const sweep::SweepProgress& progress) {
  const auto now = Clock::now();
  if (now - last_ < (terminal_ ? Clock::duration(kSweepRedrawInterval) : Clock::duration(kLineInterval))) return;
  last_ = now;
  const std::string failures = progress.failed == 0 ? "" : fmt::format(", {} failed", progress.failed);
  if (terminal_) {
    const std::uint64_t filled = progress.done_thousandths * kSweepBarWidth / 1000;
    fmt::print(stderr, "\r\x1b[K{}",
               fitted(STDERR_FILENO, fmt::format("[{:-<{}}] {} of {} points{}{}{}", std::string(filled, '#'),
                                                 kSweepBarWidth, progress.finished, progress.points, failures,
                                                 time_left(progress), longest(progress))));
    std::fflush(stderr);
    drawn_ = true;
  } else {
    fmt::print(stderr, "uvmsim: {} of {} points{}{}{}\n", progress.finished, progress.points, failures,
               time_left(progress), longest(progress));
  }
}

void SweepDisplay::failed(const std::string& label, const std::string& error) {
  erase();
  fmt::print(stderr, "uvmsim: failed: {}: {}\n", label, error);
}

std::string SweepDisplay::time_left(const sweep::SweepProgress& progress) {
  if (!progress.left) return "";
  const auto left = progress.left->count() / 1000;
  if (left >= 3600) return fmt::format(", about {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60);
  return fmt::format(", about {}:{:02} left", left / 60, left % 60);
}

// What it waits for.
std::string SweepDisplay::longest(const sweep::SweepProgress& progress) {
  if (progress.running.empty()) return "";
  const auto& one = progress.running.front();
  return fmt::format("; running: {} ({} s){}", one.label, one.elapsed.count() / 1000,
                     progress.running.size() == 1 ? "" : fmt::format(" and {} more", progress.running.size() - 1));
}

void SweepDisplay::erase() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace uvmsim::cli
