// SPDX-License-Identifier: Apache-2.0
// How a recorded iteration can run again: which ids a repetition replaces, and by what.
//
// An iteration is balanced if memory is afterwards as it was before. What it frees but did not allocate (gradients that
// live until zero_grad, a loss, a cache that grows) comes from the iteration before; in its place the iteration keeps
// something of its own. The two are paired by size, in order of allocation and from the last; or in order alone, when
// as many are kept as freed and none is smaller (a cache that grows). Each pass frees what the pass before it kept.
// Segments of a framework's allocator that an iteration opens and keeps are opened by the first pass only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct Allocation {
  ObjectId id = kNoObject;
  std::uint64_t bytes = 0;
  bool tensor = false;
  std::uint64_t order = 0;  // counted over the whole trace
};

struct IterationRecords {
  std::vector<Record> records;
  std::vector<Allocation> freed_from_before;  // what it frees and did not allocate, in the order of the frees
};

struct IterationPlan {
  std::string obstacle;  // why it cannot be repeated; empty if it can
  // Freed, but allocated before the iteration; what the iteration keeps in its place.
  std::vector<std::pair<ObjectId, ObjectId>> kept;
  std::vector<ObjectId> renamed;                  // allocated in every pass, in order
  std::unordered_set<ObjectId> opened_once;       // segments
  std::unordered_set<ObjectId> freed_at_the_end;  // by the last pass only
};

// `ends_program`: the frees behind the last operation are left to the last pass as far as others still need the memory.
IterationPlan plan_repetition(const IterationRecords& iteration, bool ends_program);

// What the record allocates, without its order; what it frees. Nothing of other records.
std::optional<Allocation> allocated_by(const Record& record);
std::optional<ObjectId> freed_by(const Record& record);

// Calls visit(id) wherever the record names an object or a tensor; a reference if the record can be changed.
template <class AnyRecord, class Visit>
void for_each_id(AnyRecord& record, const Visit& visit) {
  std::visit(
      [&](auto& r) {
        if constexpr (requires { r.id; }) visit(r.id);
        if constexpr (requires { r.object; }) visit(r.object);
        if constexpr (requires { r.accesses; }) {
          for (auto& access : r.accesses) visit(access.object);
        }
        if constexpr (requires { r.src; }) {
          visit(r.src.object);
          visit(r.dst.object);
        }
      },
      record);
}

}  // namespace uvmsim::trace
