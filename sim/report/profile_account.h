// SPDX-License-Identifier: Apache-2.0
// The quantities of a profile, and the operations and allocations that they are counted for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/events/event_sink.h"

namespace uvmsim::report {

// Sums over events; every member is a column. The sums over all operations, and over all allocations, equal the run's
// counters.
struct Traffic {
  std::uint64_t read_faulting_pages = 0, write_faulting_pages = 0;  // their sum is faulting_pages
  std::uint64_t reloaded_pages = 0;                                 // returned after an eviction
  std::uint64_t populated_pages = 0;                                // zero-filled on the GPU
  std::uint64_t htod_fault_bytes = 0, htod_prefetch_bytes = 0, htod_user_bytes = 0, htod_counter_bytes = 0;
  std::uint64_t dtoh_fault_bytes = 0, dtoh_prefetch_bytes = 0, dtoh_user_bytes = 0, dtoh_evict_bytes = 0;
  std::uint64_t evicted_bytes = 0;     // pages that left a GPU by eviction, copied or not
  std::uint64_t fault_service_ns = 0;  // time of the driver's fault batches; allocations share it by their pages

  Traffic& operator+=(const Traffic& other);
};

inline constexpr std::pair<const char*, std::uint64_t Traffic::*> kTrafficColumns[] = {
    {"read_faulting_pages", &Traffic::read_faulting_pages},
    {"write_faulting_pages", &Traffic::write_faulting_pages},
    {"reloaded_pages", &Traffic::reloaded_pages},
    {"populated_pages", &Traffic::populated_pages},
    {"htod_fault_bytes", &Traffic::htod_fault_bytes},
    {"htod_prefetch_bytes", &Traffic::htod_prefetch_bytes},
    {"htod_user_bytes", &Traffic::htod_user_bytes},
    {"htod_counter_bytes", &Traffic::htod_counter_bytes},
    {"dtoh_fault_bytes", &Traffic::dtoh_fault_bytes},
    {"dtoh_prefetch_bytes", &Traffic::dtoh_prefetch_bytes},
    {"dtoh_user_bytes", &Traffic::dtoh_user_bytes},
    {"dtoh_evict_bytes", &Traffic::dtoh_evict_bytes},
    {"evicted_bytes", &Traffic::evicted_bytes},
    {"fault_service_ns", &Traffic::fault_service_ns},
};

inline Traffic& Traffic::operator+=(const Traffic& other) {
  for (const auto& [name, member] : kTrafficColumns) this->*member += other.*member;
  return *this;
}

// The iteration number outside all marked iterations.
inline constexpr std::int64_t kNoIteration = -1;

// A kernel, copy, prefetch or discard; or all accesses of the CPU to managed memory in one iteration.
struct Operation {
  std::optional<WorkKind> kind;  // empty: accesses of the CPU
  std::uint32_t name = 0;        // index in the table of names
  std::uint64_t record = 0;
  std::int64_t iteration = kNoIteration;
  std::uint32_t layer = 0;
  std::uint32_t stream = 0;
  std::int32_t device = -1;
  bool misfit = false;
  std::int64_t start_ns = 0, end_ns = 0, compute_ns = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0, working_set_bytes = 0;
  std::uint64_t fault_batches = 0, raw_faults = 0, evictions = 0;
  Traffic traffic;

  std::int64_t stall_ns() const { return end_ns - start_ns - compute_ns; }
};

// A tensor, an object, or (the first one) memory that belongs to no allocation of the trace.
struct Allocation {
  // The events of the allocation in one iteration.
  struct Use {
    std::int64_t iteration = kNoIteration;
    std::uint64_t operations = 0;  // operations that touch it
    std::uint64_t touched_bytes = 0, written_bytes = 0;
    std::uint64_t fault_batches = 0;  // batches in which it has pages
    std::int64_t stall_ns = 0;        // its share, by pages, of the stall of the kernels and copies that fault on it
    Traffic traffic;
  };

  std::uint64_t id = 0;
  std::string name;
  bool tensor = false;
  bool owns = false;
  std::uint64_t bytes = 0;
  std::vector<AddressRun> runs;
  std::uint32_t layer = 0;
  std::int64_t allocated_ns = 0, freed_ns = -1;  // -1: lives to the end
  std::int64_t allocated_in = kNoIteration, freed_in = kNoIteration;
  std::vector<Use> uses;  // in the order of iterations

  Use& use_in(std::int64_t iteration) {
    if (uses.empty() || uses.back().iteration != iteration) uses.emplace_back().iteration = iteration;
    return uses.back();
  }
};

}  // namespace uvmsim::report
