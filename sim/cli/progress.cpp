// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "sim/cli/terminal.h"
#include "sim/report/numbers.h"

namespace uvmsim::cli {
namespace {

constexpr std::uint64_t kBarWidth = 30;
constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr std::chrono::seconds kPipeLineInterval{10};

}  // namespace

Progress::Progress(bool verbose)
    : verbose_(verbose), terminal_(is_terminal(STDERR_FILENO)), last_drawn_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { erase(); }

void Progress::begin(std::string step, std::uint64_t total) {
  step_ = std::move(step);
  total_ = total;
  if (verbose_) {
    erase();
    fmt::print(stderr, "uvmsim: {}\n", step_);
  }
}

void Progress::update(std::uint64_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_drawn_ < (terminal_ ? std::chrono::milliseconds(kRedrawInterval) : kPipeLineInterval)) return;
  last_drawn_ = now;
  if (terminal_) {
    draw(done);
  } else {
    fmt::print(stderr, "uvmsim: {}: {}\n", step_, done_text(done));
  }
}

void Progress::end() {
  erase();
  if (verbose_) fmt::print(stderr, "uvmsim: {}: done\n", step_);
}

std::string Progress::done_text(std::uint64_t done) const {
  if (total_ == 0) return report::format_count(done) + " records";
  return fmt::format("{} %", std::min(done, total_) * 100 / total_);
}

void Progress::draw(std::uint64_t done) {
  std::string line;
  if (total_ == 0) {
    line = fmt::format("{}: {}", step_, done_text(done));
  } else {
    const std::uint64_t filled = std::min(done, total_) * kBarWidth / total_;
    line = fmt::format("[{:-<{}}] {:>3}% {}", std::string(filled, '#'), kBarWidth,
                       std::min(done, total_) * 100 / total_, step_);
  }
  fmt::print(stderr, "\r\x1b[K{}", fitted(STDERR_FILENO, std::move(line)));
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::erase() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace uvmsim::cli
