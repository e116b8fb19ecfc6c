// SPDX-License-Identifier: Apache-2.0
// The memory that stays on the host with the least harm, so that the rest fits: what kernels touch least per byte.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/advise/objects.h"

namespace uvmsim::advise {

// A part of an object. Its ends are in percent of the object.
struct Part {
  const Object* object = nullptr;
  std::uint32_t first_percent = 0, end_percent = 100;

  bool is_whole() const { return first_percent == 0 && end_percent == 100; }
  std::uint64_t bytes() const;
  friend bool operator==(const Part&, const Part&) = default;
};

enum class Pieces : std::uint8_t { kWholeObjects, kParts };

// Returns what kernels touch least per byte, in the order of the program's objects: as much as holds at least `bytes`,
// or all. Of what is touched equally, the object that was allocated first comes first. Objects of less than 2 MiB are
// left out: the driver moves them with their neighbours. `kParts` takes parts of large objects.
std::vector<Part> least_used(const Memory& memory, std::uint64_t bytes, Pieces pieces);

}  // namespace uvmsim::advise
