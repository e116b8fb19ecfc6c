// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/pools.h"

#include <algorithm>
#include <set>
#include <utility>

namespace uvmtrace {

namespace {

// Pools leave gaps for alignment, and take memory from the driver in pieces of at least this size.
constexpr std::uint64_t kPieceBytes = std::uint64_t{2} << 20;

struct Range {
  std::uint64_t begin = 0, end = 0;
  std::int32_t device = 0;
  bool made = false;
};

const AllocEvent* pool_alloc(const Event& event) {
  const auto* alloc = std::get_if<AllocEvent>(&event.what);
  return alloc != nullptr && alloc->kind == MemoryKind::kPool && !alloc->segment && alloc->bytes != 0 ? alloc : nullptr;
}

// Returns ascending, separate ranges.
std::vector<Range> ranges_of(const std::vector<Event>& events) {
  std::vector<Range> all;
  for (const Event& event : events) {
    if (const AllocEvent* alloc = pool_alloc(event)) {
      all.push_back({alloc->va, alloc->va + alloc->bytes, alloc->device});
    }
  }
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> joined;
  for (const Range& range : all) {
    if (!joined.empty() && range.begin < joined.back().end + kPieceBytes && range.device == joined.back().device) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

bool has_tensors(const std::vector<Event>& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const Event& event) { return std::holds_alternative<TensorAllocEvent>(event.what); });
}

}  // namespace

void pools_to_tensors(PassLog& log) {
  std::vector<Range> ranges = ranges_of(log.events);
  if (ranges.empty() || has_tensors(log.events)) return;
  std::vector<Event> out;
  out.reserve(log.events.size() + ranges.size());
  std::set<std::uint64_t> live;  // addresses
  for (Event& event : log.events) {
    if (const AllocEvent* alloc = pool_alloc(event)) {
      Range& range = *std::prev(std::upper_bound(ranges.begin(), ranges.end(), alloc->va,
                                                 [](std::uint64_t va, const Range& r) { return va < r.begin; }));
      if (!std::exchange(range.made, true)) {
        Event pool = event;
        pool.end_ns = pool.begin_ns;
        pool.what = AllocEvent{MemoryKind::kPool, range.begin, range.end - range.begin, range.device};
        out.push_back(std::move(pool));
      }
      live.insert(alloc->va);
      event.what = TensorAllocEvent{alloc->va, alloc->bytes, alloc->stream};
    } else if (const auto* freed = std::get_if<FreeEvent>(&event.what);
               freed != nullptr && !freed->segment && live.erase(freed->va) != 0) {
      event.what = TensorFreeEvent{freed->va, true};
    }
    out.push_back(std::move(event));
  }
  log.events = std::move(out);
}

}  // namespace uvmtrace
