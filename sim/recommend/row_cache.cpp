// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/row_cache.h"

#include <algorithm>
#include <tuple>

#include "sim/common/check.h"

namespace uvmsim::recommend {

RowCache::RowCache(CachePolicy policy, std::uint64_t sets, std::uint32_t locked_batches)
    : policy_(policy), locked_batches_(locked_batches), heads_(sets), ways_(1) {
  UVMSIM_CHECK(sets >= 1, "{} sets", sets);
}

// FBGEMM uses the same hash.
std::uint64_t RowCache::set_of(std::uint64_t row, std::uint64_t sets) { return mixed_bits(row) % sets; }

// Returns the row's last use; null if the row is not present.
std::uint32_t* RowCache::find(std::uint64_t set, std::uint64_t row) {
  for (std::uint32_t at = heads_[set]; at != 0; at = ways_[at].next) {
    Ways& ways = ways_[at];
    for (unsigned i = 0; i < ways.rows.size(); ++i) {
      if (ways.used[i] != 0 && ways.rows[i] == row) return &ways.used[i];
    }
  }
  return nullptr;
}

bool RowCache::contains(std::uint64_t row) const {
  return const_cast<RowCache*>(this)->find(set_of(row, heads_.size()), row) != nullptr;
}

// Returns the group of four ways that contains this way, allocated if necessary.
RowCache::Ways& RowCache::ways_of(std::uint64_t set, unsigned number) {
  std::uint32_t at = heads_[set];
  if (at == 0) {
    heads_[set] = at = static_cast<std::uint32_t>(ways_.size());
    ways_.emplace_back();
  }
  for (unsigned i = 0; i < number / 4; ++i) {
    if (ways_[at].next == 0) {
      const auto fresh = static_cast<std::uint32_t>(ways_.size());
      ways_.emplace_back();
      ways_[at].next = fresh;
    }
    at = ways_[at].next;
  }
  return ways_[at];
}

void RowCache::fill_set(std::uint64_t set, const Miss* first, const Miss* last, Outcome& outcome) {
  std::array<Way, kWays> order{};
  unsigned number = 0;
  for (std::uint32_t at = heads_[set]; at != 0; at = ways_[at].next) {
    for (unsigned i = 0; i < 4; ++i, ++number) {
      const std::uint32_t used = ways_[at].used[i];
      const bool by_count = policy_ == CachePolicy::kLfu && used != 0;
      order[number] = {by_count ? uses_.find(ways_[at].rows[i]) : used, static_cast<std::uint8_t>(number), used};
    }
  }
  for (; number < kWays; ++number) order[number] = {0, static_cast<std::uint8_t>(number), 0};
  // Locked ways come last.
  const auto stays = [&](const Way& way) {
    if (way.used == 0 || (policy_ == CachePolicy::kLfu && locked_batches_ == 0)) return false;
    return way.used + locked_batches_ >= batch_;
  };
  std::sort(order.begin(), order.end(), [&](const Way& a, const Way& b) {
    return std::tuple(stays(a), a.order, a.number) < std::tuple(stays(b), b.order, b.number);
  });
  unsigned taken = 0;
  for (const Miss* miss = first; miss != last; ++miss) {
    const bool room =
        taken < kWays && !stays(order[taken]) && (policy_ == CachePolicy::kLru || order[taken].order <= miss->count);
    if (!room) {
      outcome.uncached.push_back(miss->row);
      continue;
    }
    const Way& way = order[taken++];
    Ways& ways = ways_of(set, way.number);
    std::uint64_t& row = ways.rows[way.number % 4];
    if (way.used != 0) {
      outcome.evicted.push_back(row);
      // The replaced row belongs to this batch: it was a hit, and is now accessed in place.
      if (way.used == batch_) outcome.uncached.push_back(row);
    } else {
      ++cached_;
    }
    row = miss->row;
    ways.used[way.number % 4] = batch_;
    outcome.inserted.push_back(miss->row);
  }
}

void RowCache::prefetch(const std::vector<std::uint64_t>& rows, Outcome& outcome) {
  outcome = {};
  ++batch_;
  misses_.clear();
  const std::uint64_t sets = heads_.size();
  for (const std::uint64_t row : rows) {
    std::uint32_t count = 0;
    if (policy_ == CachePolicy::kLfu) count = ++uses_[row];
    const std::uint64_t set = set_of(row, sets);
    if (std::uint32_t* const used = find(set, row)) {
      *used = batch_;
      ++outcome.hits;
    } else {
      misses_.push_back({set, row, count});
    }
  }
  std::sort(misses_.begin(), misses_.end(), [](const Miss& a, const Miss& b) {
    return std::tuple(a.set, b.count, a.row) < std::tuple(b.set, a.count, b.row);
  });
  for (std::size_t i = 0; i < misses_.size();) {
    std::size_t end = i;
    while (end < misses_.size() && misses_[end].set == misses_[i].set) ++end;
    fill_set(misses_[i].set, misses_.data() + i, misses_.data() + end, outcome);
    i = end;
  }
  for (auto* list : {&outcome.inserted, &outcome.evicted, &outcome.uncached}) std::sort(list->begin(), list->end());
}

}  // namespace uvmsim::recommend
