// SPDX-License-Identifier: Apache-2.0
// Driver calls of the program: which ones are observed, and their data when they have returned. Each area (memory,
// copies, launches, ...) adds its handlers to the table once, before callbacks are enabled.
#pragma once

#include <cupti.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "tracer/log/event_log.h"

namespace uvmtrace {

struct Call {
  const void* parameters = nullptr;  // CUPTI's <name>_params struct
  const char* symbol = nullptr;      // mangled kernel name of a launch
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint64_t sequence = 0;  // position in the program
  std::int64_t begin_ns = 0;
  std::uint64_t state = 0;         // the return value of on_enter
  bool per_thread_stream = false;  // a _ptds or _ptsz twin, whose null stream is the thread's own

  template <typename Parameters>
  const Parameters& as() const {
    return *static_cast<const Parameters*>(parameters);
  }
};

struct CallHandler {
  void (*on_success)(const Call&) = nullptr;
  std::uint64_t (*on_enter)(const Call&) = nullptr;
  void (*on_failure)(const Call&) = nullptr;  // only needed if on_enter has an effect
  bool sequence_at_return = false;  // for calls that return an address: their position is determined when they return
};

class CallTable {
 public:
  static CallTable& instance();

  void add(CUpti_CallbackId id, const CallHandler& handler);
  // Adds the call and its twin, which a program compiled for per-thread default streams calls.
  void add_pair(CUpti_CallbackId id, CUpti_CallbackId twin, const CallHandler& handler);

  // Calls `enable(id)` for every observed call.
  template <typename Enable>
  void for_each(Enable enable) const {
    for (std::uint32_t id = 0; id < entries_.size(); ++id) {
      if (entries_[id].handler.on_success != nullptr) enable(static_cast<CUpti_CallbackId>(id));
    }
  }

  // Called from CUPTI's callback, at begin and end of every observed call.
  void dispatch(CUpti_CallbackId id, const CUpti_CallbackData& data);

 private:
  struct Entry {
    CallHandler handler;
    bool per_thread = false;
  };
  std::array<Entry, 2048> entries_{};
};

// Add the calls of each area, implemented in the file of the same name.
void add_memory_calls(CallTable& table);
void add_copy_calls(CallTable& table);
void add_hint_calls(CallTable& table);
void add_order_calls(CallTable& table);
void add_launch_calls(CallTable& table);
void add_graph_calls(CallTable& table);
void add_map_calls(CallTable& table);

// Starts the event of a call. The first event of a call has the call's position; further events of the same call
// (batches, the nodes of a graph) get the next positions.
JsonLine call_event(std::string_view type, const Call& call, bool first = true);
// Adds the call's times and writes it.
void finish_event(JsonLine&& line, const Call& call);

// Adds a plain call and its _ptds or _ptsz twin, by name. The names are pasted directly, because cuda.h defines macros
// for some of them.
#define UVMTRACE_ADD_PAIR(table, name, twin, ...) \
  (table).add_pair(CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##twin, __VA_ARGS__)

}  // namespace uvmtrace
