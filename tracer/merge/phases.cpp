// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/phases.h"

#include <algorithm>

#include "sim/common/random.h"

namespace uvmtrace {

namespace {

using uvmsim::WideUnsigned;

constexpr std::array kModes = {trace::AccessMode::kRead, trace::AccessMode::kWrite};

bool has(trace::AccessMode mode, trace::AccessMode wanted) {
  return (static_cast<unsigned>(mode) & static_cast<unsigned>(wanted)) != 0;
}

// Returns the quanta of one mode, ascending and joined.
std::vector<trace::Extent> only(const std::vector<trace::Extent>& extents, trace::AccessMode mode) {
  std::vector<trace::Extent> out;
  for (const trace::Extent& extent : extents) {
    if (!has(extent.mode, mode)) continue;
    if (!out.empty() && out.back().first + out.back().count == extent.first) {
      out.back().count += extent.count;
    } else {
      out.push_back({extent.first, extent.count, mode});
    }
  }
  return out;
}

// Appends the part of `whole` that is not in `part`; both have one mode and ascend.
void subtract(const std::vector<trace::Extent>& whole, const std::vector<trace::Extent>& part,
              std::vector<trace::Extent>& out) {
  auto next = part.begin();
  for (const trace::Extent& extent : whole) {
    std::uint64_t at = extent.first;
    const std::uint64_t end = extent.first + extent.count;
    while (next != part.end() && next->first + next->count <= at) ++next;
    for (auto inner = next; inner != part.end() && inner->first < end; ++inner) {
      if (inner->first > at) out.push_back({at, inner->first - at, extent.mode});
      at = std::max(at, inner->first + inner->count);
    }
    if (at < end) out.push_back({at, end - at, extent.mode});
  }
}

void cover_grid(std::uint64_t blocks, std::vector<SlotPhase>& phases) {
  std::vector<SlotPhase> out;
  std::uint64_t end = 0;
  for (SlotPhase& phase : phases) {
    if (phase.first_block > end) out.push_back({end, phase.first_block - end, {}});
    end = phase.first_block + phase.block_count;
    out.push_back(std::move(phase));
  }
  if (end < blocks) out.push_back({end, blocks - end, {}});
  phases = std::move(out);
}

void cover_accesses(ResolvedLaunch& launch) {
  std::vector<std::vector<trace::Extent>> covered(launch.slots.size());
  for (const SlotPhase& phase : launch.phases) {
    for (const trace::PhaseAccess& access : phase.accesses) {
      covered[access.slot] = unite(covered[access.slot], access.extents);
    }
  }
  auto& first = launch.phases.front().accesses;
  for (std::uint32_t slot = 0; slot < launch.slots.size(); ++slot) {
    std::vector<trace::Extent> missing;
    for (const trace::AccessMode mode : kModes) {
      std::vector<trace::Extent> of_mode;
      subtract(only(launch.slots[slot].extents, mode), only(covered[slot], mode), of_mode);
      missing = unite(missing, of_mode);
    }
    if (missing.empty()) continue;
    const auto place =
        std::lower_bound(first.begin(), first.end(), slot,
                         [](const trace::PhaseAccess& a, std::uint32_t wanted) { return a.slot < wanted; });
    auto& access = place != first.end() && place->slot == slot ? *place : *first.insert(place, {slot, {}});
    access.extents = unite(access.extents, missing);
  }
}

// The 64 KB pages of one thing that are touched in one mode, numbered in ascending order.
class Ordinals {
 public:
  Ordinals(const std::vector<trace::Extent>& quanta, std::uint64_t va) : va_(va) {
    for (const trace::Extent& extent : quanta) {
      std::uint64_t first = page(extent.first);
      const std::uint64_t end = page(extent.first + extent.count - 1) + 1;
      if (!runs_.empty()) first = std::max(first, runs_.back().first + runs_.back().count);
      if (first >= end) continue;
      runs_.push_back({first, end - first, total_});
      total_ += end - first;
    }
  }

  std::uint64_t total() const { return total_; }
  // Returns the ordinal of the page that contains a quantum, which must be one of those given to the constructor.
  std::uint64_t of(std::uint64_t quantum) const {
    const std::uint64_t wanted = page(quantum);
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), wanted,
                                        [](std::uint64_t number, const Run& run) { return number < run.first; });
    const Run& run = *std::prev(after);
    return run.ordinal + (wanted - run.first);
  }

 private:
  struct Run {
    std::uint64_t first, count, ordinal;
  };
  std::uint64_t page(std::uint64_t quantum) const { return (va_ + quantum * kQuantumBytes) / kPageBytes; }

  std::uint64_t va_;
  std::uint64_t total_ = 0;
  std::vector<Run> runs_;
};

std::uint64_t share(std::uint64_t pages, std::uint64_t block, std::uint64_t blocks, bool round_up) {
  const WideUnsigned product = static_cast<WideUnsigned>(pages) * block;
  return static_cast<std::uint64_t>((product + (round_up ? blocks - 1 : 0)) / blocks);
}

bool near(std::uint64_t a, std::uint64_t b) { return (a > b ? a - b : b - a) <= 1; }

// Returns whether the quanta of the phase are exactly in the pages with ordinals [begin, end); a difference of one page
// at either end is allowed.
bool is_slice(const std::vector<trace::Extent>& quanta, const Ordinals& ordinals, std::uint64_t begin,
              std::uint64_t end) {
  if (quanta.empty()) return end - begin <= 2;
  const std::uint64_t first = ordinals.of(quanta.front().first);
  const std::uint64_t last = ordinals.of(quanta.back().first + quanta.back().count - 1) + 1;
  std::uint64_t pages = 0, done = 0;  // pages that the extents touch; pages below `done` are counted
  for (const trace::Extent& extent : quanta) {
    const std::uint64_t from = std::max(done, ordinals.of(extent.first));
    const std::uint64_t to = ordinals.of(extent.first + extent.count - 1) + 1;
    pages += to > from ? to - from : 0;
    done = std::max(done, to);
  }
  return near(first, begin) && near(last, end) && pages == last - first;
}

}  // namespace

void complete_phases(std::uint64_t blocks, ResolvedLaunch& launch) {
  cover_grid(blocks, launch.phases);
  cover_accesses(launch);
}

bool says_no_more_than_linear(std::uint64_t blocks, const World& world, const ResolvedLaunch& launch) {
  static const std::vector<trace::Extent> kNoExtents;
  for (std::uint32_t slot = 0; slot < launch.slots.size(); ++slot) {
    const std::uint64_t va = world.things()[launch.slots[slot].thing].va;
    for (const trace::AccessMode mode : kModes) {
      const Ordinals ordinals(only(launch.slots[slot].extents, mode), va);
      if (ordinals.total() == 0) continue;
      for (const SlotPhase& phase : launch.phases) {
        const auto found = std::find_if(phase.accesses.begin(), phase.accesses.end(),
                                        [slot](const trace::PhaseAccess& access) { return access.slot == slot; });
        const auto& extents = found == phase.accesses.end() ? kNoExtents : found->extents;
        const std::uint64_t begin = share(ordinals.total(), phase.first_block, blocks, false);
        const std::uint64_t end = share(ordinals.total(), phase.first_block + phase.block_count, blocks, true);
        if (!is_slice(only(extents, mode), ordinals, begin, end)) return false;
      }
    }
  }
  return true;
}

}  // namespace uvmtrace
