// SPDX-License-Identifier: Apache-2.0
// A plan to run a recorded iteration again: which ids a repetition replaces, and by which.
//
// An iteration is balanced if memory is the same afterwards as before. Memory that it frees but did not allocate
// (gradients that live until zero_grad, a loss, a cache that grows) comes from the iteration before; in exchange the
// iteration keeps memory of its own. The plan pairs the two by size, in order of allocation and from the last; or by
// order alone, if as many are kept as freed and none is smaller (a cache that grows). Each pass frees the memory that
// the pass before it kept. Segments of a framework's allocator that an iteration allocates and keeps are allocated by
// the first pass only.
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
  std::uint64_t order = 0;  // of allocation, counted over the whole trace
};

struct IterationRecords {
  std::vector<Record> records;
  // in the order of the frees, without memory that the iteration itself allocated
  std::vector<Allocation> freed_from_before;
};

struct IterationPlan {
  std::string obstacle;  // why the iteration cannot be repeated; empty if it can
  // Pairs of memory that the iteration frees but did not allocate, and memory that it keeps in its place.
  std::vector<std::pair<ObjectId, ObjectId>> kept;
  std::vector<ObjectId> renamed;                  // allocated in every pass, in order
  std::unordered_set<ObjectId> opened_once;       // segments
  std::unordered_set<ObjectId> freed_at_the_end;  // by the last pass only
};

// `ends_program`: frees after the last operation are left to the last pass if other passes still need the memory.
IterationPlan plan_repetition(const IterationRecords& iteration, bool ends_program);

// Returns the allocation in the record, without its order, or the id of what it frees; nothing for other records.
std::optional<Allocation> allocated_by(const Record& record);
std::optional<ObjectId> freed_by(const Record& record);

// Calls visit(id) for every id of an object or tensor in the record; by reference if the record can be changed.
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
