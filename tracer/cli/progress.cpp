// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace uvmtrace {

namespace {

using std::chrono::seconds;

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns the number after "key": in a line of a log; 0 if there is none.
std::uint64_t number_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  std::uint64_t out = 0;
  if (at != std::string_view::npos) {
    const std::string_view rest = line.substr(at + key.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), out);
  }
  return out;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", std::max(seconds, 0.0));
  return seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

void add_log(const std::string& path, Expected& out) {
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    if (line.starts_with(R"({"t":"launch",)")) {
      ++out.launches;
    } else if (line.starts_with(R"({"t":"kernel",)")) {
      const std::uint64_t start = number_of(line, R"("start_ns":)"), end = number_of(line, R"("end_ns":)");
      out.gpu_seconds += end > start ? static_cast<double>(end - start) * 1e-9 : 0;
    }
  }
}

Progress::Progress(std::string folder, const Expected& expected, Say say, std::chrono::seconds first)
    : folder_(std::move(folder)),
      expected_(expected),
      say_(std::move(say)),
      start_(Clock::now()),
      next_(start_ + first),
      first_launch_(start_) {}

void Progress::read_more() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("access.") || !name.ends_with(".jsonl")) continue;
    std::uint64_t& read = read_[name];
    std::ifstream file(entry.path(), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read));
    for (std::string line; std::getline(file, line) && !file.eof();) {
      read += line.size() + 1;
      launches_ += line.starts_with(R"({"t":"launch",)") ? 1 : 0;
    }
  }
}

void Progress::tick() {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const auto passed = now - start_;
  next_ = now + std::min<Clock::duration>(passed, seconds(120));
  const std::uint64_t before = launches_;
  read_more();
  if (before == 0 && launches_ == 0) {
    first_launch_ = now;
    say_(fmt::format("access pass: {}, no launch yet", duration_text(since(start_))));
    return;
  }
  const std::uint64_t all = std::max(expected_.launches, launches_);
  const double left = since(first_launch_) * static_cast<double>(all - launches_) / static_cast<double>(launches_);
  say_(fmt::format("access pass: {} of {} launches after {}, {} left", launches_, all, duration_text(since(start_)),
                   launches_ < all ? "about " + duration_text(left) : "little"));
}

}  // namespace uvmtrace
