// SPDX-License-Identifier: Apache-2.0
// A grid of time and addresses with a fixed number of cells, for a run whose length and footprint are not known in
// advance.
//
// Both axes begin with small buckets (1 us, one VA block of 2 MB) and double their width whenever the run outgrows
// them: at the end more than half of the buckets are in use, and memory stays constant.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::report {

struct ProfileGrid {
  std::uint32_t times = 512;
  std::uint32_t addresses = 256;
};

class HeatGrid {
 public:
  struct Cell {
    std::uint64_t resident_page_ns = 0;  // resident pages, each times its duration
    std::uint64_t touched_bytes = 0;     // by kernels and copies, once per kernel that touches them
    std::uint64_t faulted_bytes = 0;
    std::uint64_t loaded_bytes = 0;   // copied to the GPU
    std::uint64_t evicted_bytes = 0;  // bytes of pages that were evicted

    bool empty() const { return *this == Cell{}; }
    bool operator==(const Cell&) const = default;
    Cell& operator+=(const Cell& other);
  };

  // At least one bucket each.
  HeatGrid(std::uint32_t time_buckets, std::uint32_t address_buckets);

  // Records that pages [first, first + count) became resident or left. If `at` is earlier than the last call's, the
  // last call's time counts.
  void change_residency(Nanoseconds at, std::uint64_t first_page, std::uint64_t count, bool came);
  // Adds bytes to a member of the cells; at most one byte per byte of [address, address + bytes).
  void add(std::uint64_t Cell::*member, Nanoseconds at, std::uint64_t address, std::uint64_t bytes);
  // The run ends; residency counts up to here. Nothing may follow.
  void finish(Nanoseconds end);

  std::uint32_t time_buckets() const { return times_; }
  std::uint32_t address_buckets() const { return addresses_; }
  Nanoseconds bucket_time() const { return Nanoseconds(bucket_ns_); }
  std::uint64_t bucket_bytes() const { return bucket_pages_ * kBasePageBytes; }
  const Cell& cell(std::uint32_t time, std::uint32_t address) const { return cells_[index(time, address)]; }

 private:
  struct Level {  // of one address bucket
    std::int64_t pages = 0;
    std::int64_t since = 0;
  };

  std::size_t index(std::uint64_t time, std::uint64_t address) const {
    return static_cast<std::size_t>(address * times_ + time);
  }
  void fold(std::uint32_t times_into_one, std::uint32_t addresses_into_one);
  std::int64_t reach(Nanoseconds at);
  void reach_page(std::uint64_t last_page);
  void settle(Level& level, std::uint64_t address, std::int64_t until);

  std::uint32_t times_, addresses_;
  std::int64_t bucket_ns_ = 1000;
  std::uint64_t bucket_pages_ = kPagesPerBlock;
  std::vector<Cell> cells_;
  std::vector<Level> levels_;
};

}  // namespace uvmsim::report
