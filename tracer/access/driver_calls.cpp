// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/driver_calls.h"

#include <atomic>

#include "tracer/access/call_events.h"
#include "tracer/access/driver_params.h"

namespace uvmtrace::access {

namespace {

int& allocation_depth() {
  thread_local int depth = 0;
  return depth;
}

void launch_begins(Call call, const void* parameters) {
  PendingLaunch pending{EventLog::instance().next_sequence(), 0, 0};
  switch (call) {
    case Call::kLaunch: {
      const auto& p = *static_cast<const params::Launch*>(parameters);
      pending.stream = number_of(p.stream);
      pending.shared_bytes = p.shared_bytes;
      break;
    }
    case Call::kLaunchEx: {
      const auto& p = *static_cast<const params::LaunchEx*>(parameters);
      pending.stream = number_of(p.config->hStream);
      pending.shared_bytes = p.config->sharedMemBytes;
      break;
    }
    case Call::kGraphLaunch:
      pending.stream = number_of(static_cast<const params::GraphLaunch*>(parameters)->stream);
      break;
    default:
      return;
  }
  pending_launch() = pending;
}

CallEffect on_entry(const CallEntry& entry, const void* parameters, Allocations& allocations) {
  if (allocates(entry.call)) {
    ++allocation_depth();
    return CallEffect::kNone;
  }
  if (launches(entry.call)) {
    launch_begins(entry.call, parameters);
    return CallEffect::kNone;
  }
  if (entry.call == Call::kBeginCapture) count_captures(1);
  if (entry.call == Call::kProfilerStart || entry.call == Call::kProfilerStop) {
    const bool open = entry.call == Call::kProfilerStart;
    JsonLine line = start_event("window");
    line.boolean("open", open);
    finish_event(std::move(line));
    return open ? CallEffect::kWindowOpened : CallEffect::kWindowClosed;
  }
  if (is_captured(entry, parameters)) return CallEffect::kNone;
  (void)(on_free(entry.call, parameters, allocations) || on_copy(entry, parameters, allocations) ||
         on_set(entry, parameters) || on_hint(entry.call, parameters) || on_synchronisation(entry.call, parameters));
  return CallEffect::kNone;
}

CallEffect on_exit(const CallEntry& entry, const DriverCall& call, Allocations& allocations) {
  const bool good = call.result == CUDA_SUCCESS;
  if (allocates(entry.call)) {
    if (allocation_depth() > 0) --allocation_depth();
    if (good && !is_captured(entry, call.parameters)) on_allocated(entry.call, call.parameters, allocations);
  }
  if (entry.call == Call::kModuleGlobal && good) on_module_global(call.parameters, allocations);
  if (entry.call == Call::kEndCapture || (entry.call == Call::kBeginCapture && !good)) count_captures(-1);
  if (!launches(entry.call)) return CallEffect::kNone;
  pending_launch() = {};
  return CallEffect::kLaunchReturned;
}

bool has_no_arguments(Call call) {
  return call == Call::kContextSync || call == Call::kProfilerStart || call == Call::kProfilerStop;
}

}  // namespace

PendingLaunch& pending_launch() {
  thread_local PendingLaunch pending;
  return pending;
}

bool inside_allocation() { return allocation_depth() > 0; }

std::uint64_t next_correlation() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

CallEffect on_driver_call(const DriverCall& call, Allocations& allocations) {
  const CallEntry* const entry = find_call(call.number);
  if (entry == nullptr || (call.parameters == nullptr && !has_no_arguments(entry->call))) return CallEffect::kNone;
  return call.entry ? on_entry(*entry, call.parameters, allocations) : on_exit(*entry, call, allocations);
}

}  // namespace uvmtrace::access
