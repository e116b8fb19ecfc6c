// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/coverage.h"

#include <algorithm>
#include <array>
#include <map>

namespace uvmtrace {

namespace {

const Slot* find(const std::vector<Slot>& slots, ThingIndex thing) {
  const auto found =
      std::find_if(slots.begin(), slots.end(), [thing](const Slot& slot) { return slot.thing == thing; });
  return found == slots.end() ? nullptr : &*found;
}

}  // namespace

bool may_use_tensor_copies(std::string_view kernel_name) {
  // The names of all kernels that NVIDIA's libraries generate for Hopper and later contain the architecture.
  constexpr std::array<std::string_view, 10> kParts = {"sm90",  "sm100", "sm103", "sm120", "Sm90",
                                                       "Sm100", "nvjet", "_tma",  "Tma",   "TMA"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel_name.find(part) != std::string_view::npos; });
}

bool misses_operands(const std::vector<Slot>& touched, const std::vector<Slot>& given, const World& world) {
  bool any_large = false;
  for (const Slot& slot : given) {
    const bool large = world.things()[slot.thing].bytes >= kPageBytes;
    any_large = any_large || large;
    if (large && find(touched, slot.thing) == nullptr) return true;
  }
  if (any_large) return false;
  std::uint64_t quanta = 0;
  for (const Slot& slot : touched) {
    for (const trace::Extent& extent : slot.extents) quanta += extent.count;
  }
  return quanta * kQuantumBytes <= 2 * kPageBytes;
}

std::vector<Slot> with_missing(std::vector<Slot> touched, const std::vector<Slot>& given) {
  const std::size_t seen = touched.size();
  for (const Slot& slot : given) {
    const auto end = touched.begin() + static_cast<std::ptrdiff_t>(seen);
    if (std::none_of(touched.begin(), end, [&](const Slot& known) { return known.thing == slot.thing; })) {
      touched.push_back(slot);
    }
  }
  std::sort(touched.begin(), touched.end(), [](const Slot& a, const Slot& b) { return a.thing < b.thing; });
  return touched;
}

std::vector<Slot> with_extents(const std::vector<Slot>& a, const std::vector<Slot>& b) {
  std::map<ThingIndex, std::vector<trace::Extent>> things;
  for (const std::vector<Slot>* list : {&a, &b}) {
    for (const Slot& slot : *list) {
      std::vector<trace::Extent>& extents = things[slot.thing];
      extents = unite(extents, slot.extents);
    }
  }
  std::vector<Slot> out;
  for (auto& [thing, extents] : things) out.push_back({thing, std::move(extents)});
  return out;
}

bool names_others(const std::vector<Slot>& known, const std::vector<Slot>& given) {
  return std::any_of(given.begin(), given.end(), [&](const Slot& slot) { return find(known, slot.thing) == nullptr; });
}

bool take_modes(std::vector<Slot>& slots, const std::vector<Slot>& given) {
  bool all = true;
  for (Slot& slot : slots) {
    const Slot* const source = find(given, slot.thing);
    all = all && source != nullptr;
    if (source == nullptr) continue;
    unsigned mode = 0;
    for (const trace::Extent& extent : source->extents) mode |= static_cast<unsigned>(extent.mode);
    for (trace::Extent& extent : slot.extents) extent.mode = static_cast<trace::AccessMode>(mode);
  }
  return all;
}

std::vector<Slot> of_parameters(const std::vector<std::uint64_t>& addresses, const World& world) {
  std::map<ThingIndex, bool> things;
  for (const std::uint64_t address : addresses) {
    ThingIndex thing = world.tensor_at(address);
    if (thing == kNothing) {
      thing = world.object_at(address);
      if (thing == kNothing || world.holds_tensors(thing)) continue;
    }
    things[thing] = true;
  }
  std::vector<Slot> out;
  for (const auto& [thing, found] : things) {
    const std::uint64_t quanta = (world.things()[thing].bytes + kQuantumBytes - 1) / kQuantumBytes;
    out.push_back({thing, {{0, quanta, trace::AccessMode::kReadWrite}}});
  }
  return out;
}

}  // namespace uvmtrace
