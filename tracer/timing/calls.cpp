// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/calls.h"

#include "tracer/log/host_clock.h"
#include "tracer/timing/capture.h"
#include "tracer/timing/devices.h"

namespace uvmtrace {

namespace {

// Calls of this thread that have not returned. Calls hardly ever nest; if more nest than fit, the outermost lose only
// their begin and position.
struct OpenCall {
  std::uint32_t correlation = 0;
  std::uint64_t sequence = 0;
  std::int64_t begin_ns = 0;
  std::uint64_t state = 0;
};
constexpr std::uint32_t kMostOpenCalls = 8;
struct OpenCalls {
  std::array<OpenCall, kMostOpenCalls> calls{};
  std::uint32_t next = 0;
};
thread_local OpenCalls open_calls;

OpenCall take_open_call(std::uint32_t correlation) {
  for (std::uint32_t back = 1; back <= kMostOpenCalls; ++back) {
    OpenCall& call = open_calls.calls[(open_calls.next - back) % kMostOpenCalls];
    if (call.sequence == 0 && call.begin_ns == 0) continue;
    if (call.correlation != correlation) continue;
    open_calls.next -= back;
    const OpenCall taken = call;
    call = {};
    return taken;
  }
  return {correlation, 0, 0, 0};
}

}  // namespace

CallTable& CallTable::instance() {
  static CallTable* const table = new CallTable;
  return *table;
}

void CallTable::add(CUpti_CallbackId id, const CallHandler& handler) {
  if (id < entries_.size()) entries_[id] = {handler, false};
}

void CallTable::add_pair(CUpti_CallbackId id, CUpti_CallbackId twin, const CallHandler& handler) {
  add(id, handler);
  if (twin < entries_.size()) entries_[twin] = {handler, true};
}

void CallTable::dispatch(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (id >= entries_.size() || entries_[id].handler.on_success == nullptr) return;
  const CallHandler& handler = entries_[id].handler;
  Call call;
  call.parameters = data.functionParams;
  call.symbol = data.symbolName;
  call.correlation = data.correlationId;
  call.per_thread_stream = entries_[id].per_thread;

  if (data.callbackSite == CUPTI_API_ENTER) {
    OpenCall& open = open_calls.calls[open_calls.next++ % kMostOpenCalls];
    open.correlation = data.correlationId;
    open.sequence = handler.sequence_at_return ? 0 : EventLog::instance().next_sequence();
    open.state = handler.on_enter == nullptr ? 0 : handler.on_enter(call);
    begin_call_for_capture();
    open.begin_ns = host_now_ns();
    return;
  }

  const OpenCall open = take_open_call(data.correlationId);
  call.sequence = open.sequence;
  call.begin_ns = open.begin_ns;
  call.state = open.state;
  call.device = device_of_context(data.contextUid);
  const auto* const result = static_cast<const CUresult*>(data.functionReturnValue);
  if (result != nullptr && *result != CUDA_SUCCESS) {
    if (handler.on_failure != nullptr) handler.on_failure(call);
    return;
  }
  handler.on_success(call);
}

JsonLine call_event(std::string_view type, const Call& call, bool first) {
  EventLog& log = EventLog::instance();
  JsonLine line = log.host_event(type, first && call.sequence != 0 ? call.sequence : log.next_sequence());
  if (call.device != 0) line.number("device", call.device);
  return line;
}

void finish_event(JsonLine&& line, const Call& call) {
  put_times(line, call.begin_ns);
  EventLog::instance().write(std::move(line));
}

}  // namespace uvmtrace
