// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/host_speed.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <vector>

namespace uvmtrace::ground_truth {

namespace {

constexpr int kRuns = 5;
constexpr std::uint64_t kPicosecondsPerNanosecond = 1000;

template <class F>
std::uint64_t least_ps_per_item(std::uint64_t items, F&& f) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t least = UINT64_MAX;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = Clock::now();
    f();
    const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    least = std::min(least, static_cast<std::uint64_t>(taken) * kPicosecondsPerNanosecond / items);
  }
  return least;
}

// A volatile sink keeps the compiler from removing the computation.
volatile std::uint64_t sink;

std::uint64_t step_ps() {
  constexpr std::uint64_t kSteps = 4'000'000;
  return least_ps_per_item(kSteps, [] {
    std::uint64_t x = 1;
    for (std::uint64_t i = 0; i < kSteps; ++i) {
      x *= 0xbf58476d1ce4e5b9ULL;
      x ^= x >> 31;
    }
    sink = x;
  });
}

std::uint64_t chase_ps() {
  constexpr std::uint64_t kLineBytes = 64, kBytes = std::uint64_t{256} << 20, kLoads = 200'000;
  constexpr std::uint64_t kWords = kLineBytes / sizeof(std::uint64_t), kLines = kBytes / kLineBytes;
  // One cycle through all lines: an odd step of a power of two, scrambled by a multiplicative permutation.
  std::vector<std::uint64_t> lines(kLines * kWords);
  const auto place = [](std::uint64_t i) { return (i * 0x9e3779b1ULL) & (kLines - 1); };
  for (std::uint64_t i = 0; i < kLines; ++i) lines[place(i) * kWords] = place((i + 1) & (kLines - 1)) * kWords;
  std::uint64_t at = 0;
  return least_ps_per_item(kLoads, [&] {
    for (std::uint64_t i = 0; i < kLoads; ++i) at = lines[at];
    sink = at;
  });
}

std::uint64_t page_touch_ps() {
  constexpr std::uint64_t kPageBytes = 4096, kPages = 4096;
  return least_ps_per_item(kPages, [] {
    void* memory = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
    for (std::uint64_t page = 0; page < kPages; ++page) static_cast<volatile char*>(memory)[page * kPageBytes] = 1;
    munmap(memory, kPages * kPageBytes);
  });
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

HostSpeed measure_host_speed() { return {cpu_name(), step_ps(), chase_ps(), page_touch_ps()}; }

std::string to_json(const HostSpeed& speed) {
  std::string cpu;
  for (const char c : speed.cpu) {
    if (c >= ' ' && c != '"' && c != '\\') cpu += c;
  }
  return "{\"cpu\":\"" + cpu + "\",\"step_ps\":" + std::to_string(speed.step_ps) +
         ",\"chase_ps\":" + std::to_string(speed.chase_ps) +
         ",\"page_touch_ps\":" + std::to_string(speed.page_touch_ps) + "}";
}

}  // namespace uvmtrace::ground_truth
