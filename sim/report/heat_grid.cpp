// SPDX-License-Identifier: Apache-2.0
#include "sim/report/heat_grid.h"

#include <algorithm>
#include <utility>

namespace uvmsim::report {

HeatGrid::Cell& HeatGrid::Cell::operator+=(const Cell& other) {
  resident_page_ns += other.resident_page_ns;
  touched_bytes += other.touched_bytes;
  faulted_bytes += other.faulted_bytes;
  loaded_bytes += other.loaded_bytes;
  evicted_bytes += other.evicted_bytes;
  return *this;
}

HeatGrid::HeatGrid(std::uint32_t time_buckets, std::uint32_t address_buckets)
    : times_(time_buckets),
      addresses_(address_buckets),
      cells_(std::size_t{time_buckets} * address_buckets),
      levels_(address_buckets) {}

// Merges the given numbers of cells of each axis into one; the freed cells are at the end.
void HeatGrid::fold(std::uint32_t times_into_one, std::uint32_t addresses_into_one) {
  for (std::uint32_t a = 0; a < addresses_; ++a) {
    for (std::uint32_t t = 0; t < times_; ++t) {
      const Cell cell = std::exchange(cells_[index(t, a)], {});
      cells_[index(t / times_into_one, a / addresses_into_one)] += cell;
    }
  }
}

// Extends the time axis if necessary; returns the time, at least 0.
std::int64_t HeatGrid::reach(Nanoseconds at) {
  const std::int64_t time = std::max<std::int64_t>(at.value, 0);
  while (time / bucket_ns_ >= times_) {
    fold(2, 1);
    bucket_ns_ *= 2;
  }
  return time;
}

void HeatGrid::reach_page(std::uint64_t last_page) {
  while (last_page / bucket_pages_ >= addresses_) {
    fold(1, 2);
    // The residency of both halves is added up to the same moment before they are merged.
    std::vector<Level> merged(addresses_);
    const std::uint32_t old = addresses_;
    bucket_pages_ *= 2;
    for (std::uint32_t a = 0; a < old; a += 2) {
      Level& level = merged[a / 2];
      level = levels_[a];
      if (a + 1 == old) continue;
      Level other = levels_[a + 1];
      const std::int64_t until = std::max(level.since, other.since);
      for (Level* half : {&level, &other}) settle(*half, a / 2, until);
      level.pages += other.pages;
    }
    levels_ = std::move(merged);
  }
}

// Adds the residency since the level's last change up to `until`.
void HeatGrid::settle(Level& level, std::uint64_t address, std::int64_t until) {
  if (until <= level.since) return;
  if (level.pages != 0) {
    for (std::int64_t at = level.since; at < until;) {
      const std::int64_t bucket = at / bucket_ns_;
      const std::int64_t end = std::min(until, (bucket + 1) * bucket_ns_);
      cells_[index(static_cast<std::uint64_t>(bucket), address)].resident_page_ns +=
          static_cast<std::uint64_t>(level.pages) * static_cast<std::uint64_t>(end - at);
      at = end;
    }
  }
  level.since = until;
}

void HeatGrid::change_residency(Nanoseconds at, std::uint64_t first_page, std::uint64_t count, bool came) {
  if (count == 0) return;
  const std::int64_t time = reach(at);
  reach_page(first_page + count - 1);
  for (std::uint64_t page = first_page; page < first_page + count;) {
    const std::uint64_t bucket = page / bucket_pages_;
    const std::uint64_t end = std::min(first_page + count, (bucket + 1) * bucket_pages_);
    settle(levels_[bucket], bucket, time);
    const auto pages = static_cast<std::int64_t>(end - page);
    levels_[bucket].pages += came ? pages : -pages;
    page = end;
  }
}

void HeatGrid::add(std::uint64_t Cell::*member, Nanoseconds at, std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  const auto time = static_cast<std::uint64_t>(reach(at) / bucket_ns_);
  reach_page((address + bytes - 1) / kBasePageBytes);
  for (std::uint64_t from = address; from < address + bytes;) {
    const std::uint64_t bucket = from / bucket_bytes();
    const std::uint64_t end = std::min(address + bytes, (bucket + 1) * bucket_bytes());
    cells_[index(time, bucket)].*member += end - from;
    from = end;
  }
}

void HeatGrid::finish(Nanoseconds end) {
  const std::int64_t time = reach(Nanoseconds(std::max<std::int64_t>(end.value - 1, 0))) + 1;
  for (std::uint32_t a = 0; a < addresses_; ++a) settle(levels_[a], a, std::min(time, end.value));
}

}  // namespace uvmsim::report
