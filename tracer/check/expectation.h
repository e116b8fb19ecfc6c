// SPDX-License-Identifier: Apache-2.0
// The accesses that a launch must make, as a naive set that the host fills access by access, and the log's lines for
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace uvmtrace::check {

inline constexpr std::uint64_t kQuantum = 512;
inline constexpr std::uint64_t kPage = 65536;
inline constexpr std::uint32_t kRead = 1;
inline constexpr std::uint32_t kWrite = 2;
inline constexpr std::uint32_t kBoth = 3;

class Expectation {
 public:
  Expectation(std::string kernel, unsigned grid_x, unsigned grid_y, unsigned block) : kernel_(std::move(kernel)) {
    grid_[0] = grid_x;
    grid_[1] = grid_y;
    block_ = block;
  }

  // Adds an access to `bytes` from `address` on, by a thread of the block with this linear number.
  void access(const void* address, std::uint64_t bytes, std::uint32_t mode, std::uint64_t block_number) {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    for (std::uint64_t unit = first / kQuantum; unit <= (first + bytes - 1) / kQuantum; ++unit) quanta_[unit] |= mode;
    for (std::uint64_t unit = first / kPage; unit <= (first + bytes - 1) / kPage; ++unit) {
      pages_[block_number][unit] |= mode;
    }
  }
  // Adds accesses, by threads, to memory that the tracer does not know; no other number includes them.
  void unknown(std::uint64_t accesses) { unknown_ = accesses; }
  // Sets the sum of all pages' counters: each instruction of a warp counts once for each page that it touches.
  void counted(std::uint64_t accesses) { counted_ = accesses; }
  // Marks the launch as one of a graph.
  void from_graph() { graph_ = true; }

  // Writes one line of JSON: kernel, grid, block, the runs of quanta, and the runs of pages of each block.
  void write(std::FILE* out) const {
    std::fprintf(out, "{\"t\":\"launch\",\"name\":\"%s\",\"grid\":[%u,%u,1],\"block\":[%u,1,1],\"graph\":%s,",
                 kernel_.c_str(), grid_[0], grid_[1], block_, graph_ ? "true" : "false");
    std::fprintf(out, "\"unknown\":%llu,", static_cast<unsigned long long>(unknown_));
    if (counted_ != 0) std::fprintf(out, "\"counted\":%llu,", static_cast<unsigned long long>(counted_));
    std::fprintf(out, "\"accesses\":");
    write_runs(out, quanta_);
    std::fprintf(out, ",\"blocks\":[");
    bool first = true;
    for (const auto& [block, pages] : pages_) {
      std::fprintf(out, "%s[%llu,", first ? "" : ",", static_cast<unsigned long long>(block));
      write_runs(out, pages);
      std::fprintf(out, "]");
      first = false;
    }
    std::fprintf(out, "]}\n");
  }

 private:
  using Units = std::map<std::uint64_t, std::uint32_t>;

  static void write_runs(std::FILE* out, const Units& units) {
    std::fprintf(out, "[");
    const char* comma = "";
    for (auto at = units.begin(); at != units.end();) {
      const std::uint64_t first = at->first;
      const std::uint32_t mode = at->second;
      std::uint64_t count = 0;
      while (at != units.end() && at->first == first + count && at->second == mode) {
        ++count;
        ++at;
      }
      std::fprintf(out, "%s[%llu,%llu,%u]", comma, static_cast<unsigned long long>(first),
                   static_cast<unsigned long long>(count), mode);
      comma = ",";
    }
    std::fprintf(out, "]");
  }

  std::string kernel_;
  unsigned grid_[2] = {1, 1};
  unsigned block_ = 1;
  bool graph_ = false;
  std::uint64_t unknown_ = 0;
  std::uint64_t counted_ = 0;
  Units quanta_;
  std::map<std::uint64_t, Units> pages_;
};

}  // namespace uvmtrace::check
