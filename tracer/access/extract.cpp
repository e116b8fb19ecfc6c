// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/extract.h"

#include <bit>

namespace uvmtrace::access {

namespace {

void append(std::uint64_t first, std::uint64_t count, std::uint32_t mode, std::vector<Run>& out) {
  if (!out.empty() && out.back().mode == mode && out.back().first + out.back().count == first) {
    out.back().count += count;
  } else {
    out.push_back({first, count, mode});
  }
}

// Appends `bits` units of one word.
void append_word(std::uint64_t read, std::uint64_t write, std::uint64_t first, unsigned bits, std::vector<Run>& out) {
  unsigned at = 0;
  while (at < bits && ((read | write) >> at) != 0) {
    at += static_cast<unsigned>(std::countr_zero((read | write) >> at));
    const std::uint64_t r = read >> at;
    const std::uint64_t w = write >> at;
    const auto mode = static_cast<std::uint32_t>((r & 1) | (w & 1) << 1);
    // Bits that differ from those of the first unit, in either word.
    const std::uint64_t differs = ((r & 1) != 0 ? ~r : r) | ((w & 1) != 0 ? ~w : w);
    const auto length = static_cast<unsigned>(std::countr_zero(differs));
    const unsigned count = length < bits - at ? length : bits - at;
    append(first + at, count, mode, out);
    at += count;
  }
}

}  // namespace

void append_runs(std::span<const std::uint64_t> read, std::span<const std::uint64_t> write, std::uint64_t first,
                 std::vector<Run>& out) {
  for (std::size_t i = 0; i < read.size(); ++i) {
    if ((read[i] | write[i]) != 0) append_word(read[i], write[i], first + i * 64, 64, out);
  }
}

void append_runs(std::uint32_t read, std::uint32_t write, std::uint64_t first, std::vector<Run>& out) {
  append_word(read, write, first, 32, out);
}

}  // namespace uvmtrace::access
