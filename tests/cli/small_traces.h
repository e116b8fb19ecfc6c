// SPDX-License-Identifier: Apache-2.0
// Small traces as JSON lines, made by hand.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace uvmsim {

// Returns a header with quanta of 4 KB, then the lines.
inline std::string trace_of(const std::vector<std::string>& lines) {
  std::string text = R"({"t":"header","major":1,"minor":0,"quantum_bytes":4096,"tool":"by hand"})"
                     "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline std::string alloc(std::uint64_t id, std::uint64_t bytes, std::uint64_t va = 0) {
  const std::string at = va == 0 ? "" : fmt::format(R"(,"va":{})", va);
  return fmt::format(R"({{"t":"object_alloc","id":{},"bytes":{}{}}})", id, bytes, at);
}
inline std::string release(std::uint64_t id) { return fmt::format(R"({{"t":"object_free","id":{}}})", id); }

// Returns one kernel that reads and writes pages [first, first + count) of an object.
inline std::string kernel(std::uint64_t object, std::uint64_t first, std::uint64_t count) {
  return fmt::format(R"({{"t":"kernel","name":"k","grid":[64,1,1],"block":[256,1,1],"duration_ns":100000,)"
                     R"("accesses":[[{},[[{},{},"rw"]]]]}})",
                     object, first, count);
}
inline std::string iteration(const char* kind, unsigned index) {
  return fmt::format(R"({{"t":"range","kind":"iteration_{}","index":{}}})", kind, index);
}

// Returns two iterations over one object of `mib` MiB.
inline std::string two_iterations(std::uint64_t mib) {
  const std::uint64_t pages = mib * 256;
  return trace_of({alloc(1, mib << 20), iteration("begin", 0), kernel(1, 0, pages), iteration("end", 0),
                   iteration("begin", 1), kernel(1, 0, pages), iteration("end", 1), release(1)});
}

}  // namespace uvmsim
