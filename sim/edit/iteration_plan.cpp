// SPDX-License-Identifier: Apache-2.0
#include "sim/edit/iteration_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace uvmsim::trace {
namespace {

template <class... Types>
bool is_one_of(const Record& record) {
  return (std::holds_alternative<Types>(record) || ...);
}
bool is_operation(const Record& record) {
  return is_one_of<Kernel, Memcpy, Memset, Prefetch, Advise, Discard, HostAccess>(record);
}

// Returns whether the object is a segment of a framework's allocator: one allocated because no segment had room for a
// tensor.
bool is_segment(const std::vector<Record>& records, std::size_t at) {
  const auto* object = std::get_if<ObjectAlloc>(&records[at]);
  if (object == nullptr) return false;
  for (++at; at < records.size(); ++at) {
    if (std::holds_alternative<Range>(records[at])) continue;
    const auto* tensor = std::get_if<TensorAlloc>(&records[at]);
    return tensor != nullptr && tensor->object == object->id;
  }
  return false;
}

std::string text(const Allocation& allocation) {
  return fmt::format("{} {} ({} bytes)", allocation.tensor ? "tensor" : "object", allocation.id, allocation.bytes);
}

// Pairs each of `freed` with memory that replaces it; returns the obstacle if there is none.
std::string pair_up(const std::vector<Allocation>& freed, const std::vector<Allocation>& kept,
                    std::vector<std::pair<ObjectId, ObjectId>>& pairs) {
  // The search goes from the end: kept memory is mostly allocated late (gradients), after other memory of that size.
  const Allocation* unpaired = nullptr;
  auto next = kept.rbegin();
  for (auto old = freed.rbegin(); old != freed.rend(); ++old) {
    next = std::find_if(next, kept.rend(),
                        [&](const Allocation& a) { return a.tensor == old->tensor && a.bytes == old->bytes; });
    if (next == kept.rend()) {
      unpaired = &*old;
      break;
    }
    pairs.emplace_back(old->id, next->id);
    ++next;
  }
  if (unpaired == nullptr) return "";
  pairs.clear();
  const auto fits = [](const Allocation& old, const Allocation& fresh) {
    return old.tensor == fresh.tensor && old.bytes <= fresh.bytes;
  };
  if (std::equal(freed.begin(), freed.end(), kept.begin(), kept.end(), fits)) {
    for (std::size_t i = 0; i < freed.size(); ++i) pairs.emplace_back(freed[i].id, kept[i].id);
    return "";
  }
  return fmt::format("it frees {}, which was allocated before it, and keeps nothing of that size in its place",
                     text(*unpaired));
}

}  // namespace

std::optional<Allocation> allocated_by(const Record& record) {
  if (const auto* object = std::get_if<ObjectAlloc>(&record)) return Allocation{object->id, object->bytes, false};
  if (const auto* tensor = std::get_if<TensorAlloc>(&record)) return Allocation{tensor->id, tensor->bytes, true};
  return std::nullopt;
}

std::optional<ObjectId> freed_by(const Record& record) {
  if (const auto* object = std::get_if<ObjectFree>(&record)) return object->id;
  if (const auto* tensor = std::get_if<TensorFree>(&record)) return tensor->id;
  return std::nullopt;
}

IterationPlan plan_repetition(const IterationRecords& iteration, bool ends_program) {
  const std::vector<Record>& records = iteration.records;
  std::size_t operations_end = records.size();
  if (ends_program) {
    while (operations_end != 0 && !is_operation(records[operations_end - 1])) --operations_end;
  }
  std::unordered_set<ObjectId> freed_early, freed_late;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const auto id = freed_by(records[i])) (i < operations_end ? freed_early : freed_late).insert(*id);
  }

  IterationPlan plan;
  std::vector<Allocation> freed, kept;
  for (const Allocation& old : iteration.freed_from_before) {
    if (freed_early.contains(old.id)) {
      freed.push_back(old);
    } else {
      plan.freed_at_the_end.insert(old.id);
    }
  }
  std::sort(freed.begin(), freed.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto allocation = allocated_by(records[i]);
    if (!allocation) continue;
    const ObjectId id = allocation->id;
    if (!freed_early.contains(id)) {
      if (is_segment(records, i)) {
        plan.opened_once.insert(id);
        if (freed_late.contains(id)) plan.freed_at_the_end.insert(id);
        continue;
      }
      allocation->order = i;
      kept.push_back(*allocation);
    }
    plan.renamed.push_back(id);
  }

  plan.obstacle = pair_up(freed, kept, plan.kept);
  if (!plan.obstacle.empty()) return plan;
  std::unordered_set<ObjectId> needed;
  for (const auto& [old, fresh] : plan.kept) needed.insert(fresh);
  for (const Allocation& allocation : kept) {
    if (needed.contains(allocation.id)) {
      if (freed_late.contains(allocation.id)) plan.freed_at_the_end.insert(allocation.id);
    } else if (!freed_late.contains(allocation.id)) {
      plan.obstacle = fmt::format("it allocates {} and never frees it", text(allocation));
      return plan;
    }
  }
  return plan;
}

}  // namespace uvmsim::trace
