// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/least_used.h"

#include <algorithm>

#include "sim/common/random.h"

namespace uvmsim::advise {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{2} << 20;
constexpr std::uint32_t kPercentPerPart = 100 / Object::kParts;

struct Candidate {
  Part part;
  std::uint64_t bytes = 0, touched_bytes = 0;
};

// True if `a` is touched less per byte.
bool is_colder(const Candidate& a, const Candidate& b) {
  const WideUnsigned left = static_cast<WideUnsigned>(a.touched_bytes) * b.bytes;
  const WideUnsigned right = static_cast<WideUnsigned>(b.touched_bytes) * a.bytes;
  if (left != right) return left < right;
  if (a.part.object->id != b.part.object->id) return a.part.object->id < b.part.object->id;
  return a.part.first_percent < b.part.first_percent;
}

}  // namespace

std::uint64_t Part::bytes() const {
  return static_cast<std::uint64_t>(static_cast<WideUnsigned>(object->bytes) * (end_percent - first_percent) / 100);
}

std::vector<Part> least_used(const Memory& memory, std::uint64_t bytes, Pieces pieces) {
  std::vector<Candidate> candidates;
  for (const Object& object : memory.objects) {
    if (object.bytes < kLeastBytes) continue;
    if (pieces == Pieces::kWholeObjects || !object.is_divided()) {
      candidates.push_back({{&object, 0, 100}, object.bytes, object.touched_bytes});
      continue;
    }
    for (std::uint32_t i = 0; i < Object::kParts; ++i) {
      const Part part{&object, i * kPercentPerPart, (i + 1) * kPercentPerPart};
      candidates.push_back({part, part.bytes(), object.touched_by_part[i]});
    }
  }
  std::ranges::sort(candidates, is_colder);
  std::uint64_t held = 0;
  std::size_t count = 0;
  while (count < candidates.size() && held < bytes) held += candidates[count++].bytes;
  candidates.resize(count);

  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.part.object->id != b.part.object->id) return a.part.object->id < b.part.object->id;
    return a.part.first_percent < b.part.first_percent;
  });
  std::vector<Part> parts;
  for (const Candidate& one : candidates) {
    if (!parts.empty() && parts.back().object == one.part.object &&
        parts.back().end_percent == one.part.first_percent) {
      parts.back().end_percent = one.part.end_percent;
    } else {
      parts.push_back(one.part);
    }
  }
  return parts;
}

}  // namespace uvmsim::advise
