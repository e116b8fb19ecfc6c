// SPDX-License-Identifier: Apache-2.0
// The least time in which the model's links move pages, both ways at once.
#pragma once

#include <cstdint>
#include <span>

#include "sim/common/units.h"
#include "sim/config/system.h"

namespace uvmsim::bounds {

class LinkTime {
 public:
  // With several GPUs, the links together, as if each could take any page.
  LinkTime(const config::SystemConfig& system, std::span<const unsigned> gpus);

  // The time from the start of the first copy to the end of the last, after link/copy_engine.h and PageCopies::push: a
  // push is of one VA block and costs its latency and, after another one, a gap; both directions share the capacity of
  // link and host.
  Nanoseconds of(std::uint64_t pages_in, std::uint64_t pages_out) const;

 private:
  struct Direction {
    std::uint64_t bytes_per_us = 0;
    std::uint64_t push_ns = 0;  // without its bytes
    std::uint64_t page_ns = 0;  // additional time of each page but the first of its push
  };
  std::uint64_t one_way(const Direction& direction, std::uint64_t pages) const;

  Direction in_, out_;
  std::uint64_t gap_ns_ = 0;
  std::uint64_t both_bytes_per_us_ = 0;  // 0: the sum of the two directions
};

}  // namespace uvmsim::bounds
