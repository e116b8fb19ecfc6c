// SPDX-License-Identifier: Apache-2.0
// The calls that order the program's work: synchronisations, events, the profiler's window, and begin and end of
// captures.
#include <string_view>

#include "tracer/log/streams.h"
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"

namespace uvmtrace {

namespace {

std::uint32_t stream_number(CUstream stream) {
  return StreamNumbers::instance().number(reinterpret_cast<std::uint64_t>(stream));
}
std::uint64_t event_number(CUevent event) { return reinterpret_cast<std::uint64_t>(event); }

void synchronized_device(const Call& call) {
  finish_event(std::move(call_event("sync", call).text("kind", "device")), call);
}

// Recording an event on a captured stream, or making such a stream wait, orders the nodes of the graph, not the
// program's work.
template <typename Parameters>
void ordered_by_event(const Call& call, std::string_view kind) {
  const auto& p = call.as<Parameters>();
  if (was_captured(call, p.hStream)) return;
  JsonLine line = call_event("sync", call);
  line.text("kind", kind).number("stream", stream_number(p.hStream)).number("event", event_number(p.hEvent));
  finish_event(std::move(line), call);
}

void window(const Call& call, bool open) {
  finish_event(std::move(call_event("window", call).boolean("open", open)), call);
}

void add_synchronisations(CallTable& table) {
  table.add(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, {.on_success = &synchronized_device});
#if CUDA_VERSION >= 13000
  table.add(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, {.on_success = &synchronized_device});
#endif
  UVMTRACE_ADD_PAIR(
      table, cuStreamSynchronize, cuStreamSynchronize_ptsz, {.on_success = [](const Call& call) {
        JsonLine line = call_event("sync", call);
        line.text("kind", "stream").number("stream", stream_number(call.as<cuStreamSynchronize_params>().hStream));
        finish_event(std::move(line), call);
      }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, {.on_success = [](const Call& call) {
              JsonLine line = call_event("sync", call);
              line.text("kind", "event_synchronize");
              line.number("event", event_number(call.as<cuEventSynchronize_params>().hEvent));
              finish_event(std::move(line), call);
            }});
}

void add_events(CallTable& table) {
  UVMTRACE_ADD_PAIR(table, cuEventRecord, cuEventRecord_ptsz, {.on_success = [](const Call& call) {
                      ordered_by_event<cuEventRecord_params>(call, "event_record");
                    }});
  UVMTRACE_ADD_PAIR(table, cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, {.on_success = [](const Call& call) {
                      ordered_by_event<cuEventRecordWithFlags_params>(call, "event_record");
                    }});
  UVMTRACE_ADD_PAIR(table, cuStreamWaitEvent, cuStreamWaitEvent_ptsz, {.on_success = [](const Call& call) {
                      ordered_by_event<cuStreamWaitEvent_params>(call, "event_wait");
                    }});
}

void add_captures(CallTable& table) {
  const CallHandler begin{.on_success = [](const Call&) { note_capture_begin(); }};
  const auto end = [](const Call&) { note_capture_end(); };
  UVMTRACE_ADD_PAIR(table, cuStreamBeginCapture, cuStreamBeginCapture_ptsz, begin);
  UVMTRACE_ADD_PAIR(table, cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, begin);
#if CUDA_VERSION >= 12030
  UVMTRACE_ADD_PAIR(table, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, begin);
#endif
  // A capture that was invalidated ends with an error.
  UVMTRACE_ADD_PAIR(table, cuStreamEndCapture, cuStreamEndCapture_ptsz, {.on_success = end, .on_failure = end});
}

}  // namespace

void add_order_calls(CallTable& table) {
  add_synchronisations(table);
  add_events(table);
  add_captures(table);
  table.add(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, {.on_success = [](const Call& call) { window(call, true); }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, {.on_success = [](const Call& call) { window(call, false); }});
}

}  // namespace uvmtrace
