// SPDX-License-Identifier: Apache-2.0
// The events of each group of driver calls, each group in a file of its own. `parameters` points to the callback's data
// (driver_params.h). Each function returns false for a call of another group.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "tracer/access/allocations.h"
#include "tracer/access/call_list.h"
#include "tracer/log/event_log.h"
#include "tracer/log/streams.h"

namespace uvmtrace::access {

// memory_events.cpp. Called after allocations return and before frees begin.
void on_allocated(Call call, const void* parameters, Allocations& allocations);
// Called when the program asks for the address of a `__device__` variable.
void on_module_global(const void* parameters, Allocations& allocations);
bool on_free(Call call, const void* parameters, Allocations& allocations);
// Writes `alloc` and `free` also for memory that was allocated in other ways; `stream` null: not from a pool.
void write_allocation(Allocations& allocations, const Allocation& allocation, const CUstream* stream = nullptr);
void write_free(Allocations& allocations, std::uint64_t va, const CUstream* stream = nullptr);

// copy_events.cpp
bool on_copy(const CallEntry& entry, const void* parameters, const Allocations& allocations);
bool on_set(const CallEntry& entry, const void* parameters);

// hint_events.cpp
bool on_hint(Call call, const void* parameters);

// order_events.cpp
bool on_synchronisation(Call call, const void* parameters);

// Returns whether the call is only recorded into a graph, now or as part of a capture of other streams.
bool is_captured(const CallEntry& entry, const void* parameters);
void count_captures(int change);

template <typename Pointer>
std::uint64_t number_of(Pointer pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}
inline std::uint32_t stream_number(CUstream stream) { return StreamNumbers::instance().number(number_of(stream)); }
inline JsonLine start_event(std::string_view type) { return EventLog::instance().host_event(type); }
inline void finish_event(JsonLine&& line) { EventLog::instance().write(std::move(line)); }

}  // namespace uvmtrace::access
