// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/resolve.h"

#include <algorithm>
#include <map>

#include "tracer/merge/phases.h"

namespace uvmtrace {

namespace {

constexpr std::uint64_t kQuantaPerPage = kPageBytes / kQuantumBytes;

// Collects parts of things into slots, ascending by thing.
class SlotBuilder {
 public:
  explicit SlotBuilder(const World& world) : world_(world) {}

  // Returns the number of quanta that belong to no thing.
  std::uint64_t add(std::uint64_t begin, std::uint64_t end, trace::AccessMode mode) {
    const std::uint64_t missed = world_.cut(begin, end, [&](ThingIndex thing, std::uint64_t from, std::uint64_t to) {
      const std::uint64_t first = from / kQuantumBytes;
      append(slots_[thing], {first, (to + kQuantumBytes - 1) / kQuantumBytes - first, mode});
    });
    return missed / kQuantumBytes;
  }

  std::vector<Slot> take() {
    std::vector<Slot> out;
    out.reserve(slots_.size());
    for (auto& [thing, extents] : slots_) {
      normalize(extents);
      out.push_back({thing, std::move(extents)});
    }
    slots_.clear();
    return out;
  }

 private:
  static void append(std::vector<trace::Extent>& extents, const trace::Extent& extent) {
    if (!extents.empty()) {
      trace::Extent& last = extents.back();
      if (last.mode == extent.mode && last.first + last.count == extent.first) {
        last.count += extent.count;
        return;
      }
    }
    extents.push_back(extent);
  }

  const World& world_;
  std::map<ThingIndex, std::vector<trace::Extent>> slots_;
};

std::vector<Slot> resolve_quanta(const std::vector<trace::Extent>& quanta, const World& world, std::uint64_t* unknown) {
  SlotBuilder builder(world);
  for (const trace::Extent& run : quanta) {
    const std::uint64_t missed =
        builder.add(run.first * kQuantumBytes, (run.first + run.count) * kQuantumBytes, run.mode);
    if (unknown != nullptr) *unknown += missed;
  }
  return builder.take();
}

// Returns the part of the launch's quanta that lies in the pages, in a mode that both have.
std::vector<trace::Extent> intersect(const std::vector<trace::Extent>& pages,
                                     const std::vector<trace::Extent>& quanta) {
  std::vector<trace::Extent> out;
  auto next = quanta.begin();
  for (const trace::Extent& run : pages) {
    const std::uint64_t begin = run.first * kQuantaPerPage, end = begin + run.count * kQuantaPerPage;
    while (next != quanta.end() && next->first + next->count <= begin) ++next;
    for (auto inner = next; inner != quanta.end() && inner->first < end; ++inner) {
      const unsigned mode = static_cast<unsigned>(run.mode) & static_cast<unsigned>(inner->mode);
      const std::uint64_t first = std::max(begin, inner->first);
      const std::uint64_t last = std::min(end, inner->first + inner->count);
      if (mode == 0 || first >= last) continue;
      const auto common = static_cast<trace::AccessMode>(mode);
      if (!out.empty() && out.back().mode == common && out.back().first + out.back().count == first) {
        out.back().count += last - first;
      } else {
        out.push_back({first, last - first, common});
      }
    }
  }
  return out;
}

std::uint32_t slot_of(const std::vector<Slot>& slots, ThingIndex thing) {
  const auto found = std::lower_bound(slots.begin(), slots.end(), thing,
                                      [](const Slot& slot, ThingIndex wanted) { return slot.thing < wanted; });
  return found != slots.end() && found->thing == thing ? static_cast<std::uint32_t>(found - slots.begin())
                                                       : static_cast<std::uint32_t>(slots.size());
}

void add_phases(const Launch& launch, const World& world, ResolvedLaunch& out) {
  for (const PhaseRuns& phase : launch.phases) {
    SlotPhase& item = out.phases.emplace_back();
    item.first_block = phase.first_block;
    item.block_count = phase.block_count;
    for (Slot& part : resolve_quanta(intersect(phase.pages, launch.accesses), world, nullptr)) {
      item.accesses.push_back({slot_of(out.slots, part.thing), std::move(part.extents)});
    }
  }
}

// The 64 KB units, counted from each thing's start, that the launch touched within an absolute page: (slot, unit),
// ascending.
class Units {
 public:
  Units(const World& world, const std::vector<Slot>& slots) : world_(world), slots_(slots) {}

  template <class F>
  void of_page(std::uint64_t page, F&& f) const {
    world_.cut(page * kPageBytes, (page + 1) * kPageBytes, [&](ThingIndex thing, std::uint64_t from, std::uint64_t to) {
      const std::uint32_t slot = slot_of(slots_, thing);
      if (slot == slots_.size()) return;
      for (std::uint64_t unit = from / trace::kUnitBytes; unit * trace::kUnitBytes < to; ++unit) {
        const std::uint64_t begin = std::max(from, unit * trace::kUnitBytes) / kQuantumBytes;
        const std::uint64_t end = (std::min(to, (unit + 1) * trace::kUnitBytes) + kQuantumBytes - 1) / kQuantumBytes;
        if (touched(slots_[slot].extents, begin, end)) f(slot, unit);
      }
    });
  }

 private:
  static bool touched(const std::vector<trace::Extent>& extents, std::uint64_t begin, std::uint64_t end) {
    const auto found = std::partition_point(extents.begin(), extents.end(), [&](const trace::Extent& extent) {
      return extent.first + extent.count <= begin;
    });
    return found != extents.end() && found->first < end;
  }

  const World& world_;
  const std::vector<Slot>& slots_;
};

void add_order(const Launch& launch, const World& world, ResolvedLaunch& out) {
  const Units units(world, out.slots);
  std::map<std::pair<std::uint32_t, std::uint64_t>, bool> seen;
  for (const std::uint64_t page : launch.order) {
    units.of_page(page, [&](std::uint32_t slot, std::uint64_t unit) {
      if (seen.emplace(std::pair(slot, unit), true).second) out.order.push_back({slot, unit});
    });
  }
}

// A page's count is assigned to the first unit of each thing in the page.
void add_counts(const Launch& launch, const World& world, ResolvedLaunch& out) {
  const Units units(world, out.slots);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> sums;
  for (const auto& [page, count] : launch.counts) {
    std::uint32_t last = UINT32_MAX;
    units.of_page(page, [&, add = count](std::uint32_t slot, std::uint64_t unit) {
      if (slot != last) {
        std::uint32_t& sum = sums[{slot, unit}];
        sum = add > UINT32_MAX - sum ? UINT32_MAX : sum + add;
        last = slot;
      }
    });
  }
  for (const auto& [place, count] : sums) out.counts.push_back({place.first, place.second, count});
}

}  // namespace

void normalize(std::vector<trace::Extent>& extents) {
  const auto apart = [](const trace::Extent& a, const trace::Extent& b) { return a.first + a.count > b.first; };
  if (std::adjacent_find(extents.begin(), extents.end(), apart) == extents.end()) return;
  // A new extent can begin at any border of an extent, so the number of open extents in each mode is counted between
  // borders.
  std::map<std::uint64_t, std::array<std::int64_t, 2>> borders;
  for (const trace::Extent& extent : extents) {
    for (unsigned bit = 0; bit < 2; ++bit) {
      if ((static_cast<unsigned>(extent.mode) >> bit & 1) != 0) {
        ++borders[extent.first][bit];
        --borders[extent.first + extent.count][bit];
      }
    }
  }
  extents.clear();
  std::array<std::int64_t, 2> open{};
  for (auto at = borders.begin(); at != borders.end(); ++at) {
    open[0] += at->second[0];
    open[1] += at->second[1];
    const unsigned mode = (open[0] > 0 ? 1u : 0u) | (open[1] > 0 ? 2u : 0u);
    if (mode == 0) continue;
    const std::uint64_t end = std::next(at)->first;
    if (!extents.empty() && extents.back().first + extents.back().count == at->first &&
        extents.back().mode == static_cast<trace::AccessMode>(mode)) {
      extents.back().count = end - extents.back().first;
    } else {
      extents.push_back({at->first, end - at->first, static_cast<trace::AccessMode>(mode)});
    }
  }
}

std::vector<trace::Extent> unite(const std::vector<trace::Extent>& a, const std::vector<trace::Extent>& b) {
  std::vector<trace::Extent> out;
  out.reserve(std::max(a.size(), b.size()));
  std::uint64_t at = 0;  // everything below it is done
  for (auto i = a.begin(), j = b.begin();;) {
    while (i != a.end() && i->first + i->count <= at) ++i;
    while (j != b.end() && j->first + j->count <= at) ++j;
    if (i == a.end() && j == b.end()) return out;
    const std::uint64_t i_begin = i == a.end() ? UINT64_MAX : std::max(i->first, at);
    const std::uint64_t j_begin = j == b.end() ? UINT64_MAX : std::max(j->first, at);
    const std::uint64_t begin = std::min(i_begin, j_begin);
    const std::uint64_t i_border = i_begin == begin ? i->first + i->count : i_begin;
    const std::uint64_t j_border = j_begin == begin ? j->first + j->count : j_begin;
    const unsigned mode = (i_begin == begin ? static_cast<unsigned>(i->mode) : 0u) |
                          (j_begin == begin ? static_cast<unsigned>(j->mode) : 0u);
    at = std::min(i_border, j_border);
    if (!out.empty() && out.back().first + out.back().count == begin &&
        out.back().mode == static_cast<trace::AccessMode>(mode)) {
      out.back().count = at - out.back().first;
    } else {
      out.push_back({begin, at - begin, static_cast<trace::AccessMode>(mode)});
    }
  }
}

ResolvedLaunch resolve(const Launch& launch, const World& world) {
  ResolvedLaunch out;
  out.patched = launch.patched;
  out.unknown = launch.unknown;
  out.slots = resolve_quanta(launch.accesses, world, &out.unknown);
  if (!launch.phases.empty()) {
    add_phases(launch, world, out);
    complete_phases(launch.grid.count(), out);
    if (says_no_more_than_linear(launch.grid.count(), world, out)) {
      out.phases.clear();
      out.linear = true;
    }
  }
  if (!launch.order.empty()) add_order(launch, world, out);
  if (!launch.counts.empty()) add_counts(launch, world, out);
  return out;
}

std::vector<Slot> resolve_ranges(const std::vector<AddressRange>& ranges, const World& world) {
  SlotBuilder builder(world);
  for (const AddressRange& range : ranges) builder.add(range.va, range.va + range.bytes, range.mode);
  std::vector<Slot> slots = builder.take();
  // A tensor that an operator names may be created after the launch, such as an output that is allocated after the
  // first kernels.
  std::erase_if(slots, [&](const Slot& slot) { return world.things()[slot.thing].cut; });
  return slots;
}

}  // namespace uvmtrace
