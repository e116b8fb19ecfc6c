// SPDX-License-Identifier: Apache-2.0
#include "tracer/log/c_api.h"

#include "tracer/log/event_log.h"
#include "tracer/log/host_clock.h"
#include "tracer/log/streams.h"

namespace {

using uvmtrace::EventLog;
using uvmtrace::JsonLine;

void write_event(JsonLine&& line) { EventLog::instance().write(std::move(line)); }

// These events have no duration: they begin and end now.
JsonLine event(const char* type) {
  JsonLine line = EventLog::instance().host_event(type);
  uvmtrace::put_times(line);
  return line;
}

void put_tensors(JsonLine& line, const uvmtrace_tensor* tensors, uint32_t count) {
  line.begin_list("tensors");
  for (uint32_t i = 0; i < count; ++i) {
    line.begin_list().item(tensors[i].va).item(tensors[i].bytes).item(tensors[i].mode).end_list();
  }
  line.end_list();
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void uvmtrace_tensor_alloc(uint64_t va, uint64_t requested_bytes, uint64_t stream) {
  JsonLine line = event("tensor_alloc");
  line.number("va", va).number("bytes", requested_bytes);
  line.number("stream", uvmtrace::StreamNumbers::instance().number(stream));
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_tensor_free(uint64_t va) {
  JsonLine line = event("tensor_free");
  line.number("va", va);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_tensor_free_done(uint64_t va) {
  JsonLine line = event("tensor_free_done");
  line.number("va", va);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_segment_alloc(uint64_t va, uint64_t bytes, uint64_t stream,
                                                           uint32_t device) {
  JsonLine line = event("segment_alloc");
  line.number("va", va).number("bytes", bytes);
  if (device != 0) line.number("device", device);
  line.number("stream", uvmtrace::StreamNumbers::instance().number(stream));
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_segment_free(uint64_t va, uint64_t bytes) {
  JsonLine line = event("segment_free");
  line.number("va", va).number("bytes", bytes);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_range_push(const char* name) {
  JsonLine line = event("push");
  line.text("name", name == nullptr ? "" : name);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_range_pop(void) { write_event(event("pop")); }

[[gnu::visibility("default")]] void uvmtrace_iteration(uint64_t index, int begin) {
  JsonLine line = event("iteration");
  line.number("index", index).boolean("begin", begin != 0);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_operator_begin(const char* name, const uvmtrace_tensor* tensors,
                                                            uint32_t count) {
  JsonLine line = event("operator");
  line.text("name", name == nullptr ? "" : name);
  put_tensors(line, tensors, count);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_operator_outputs(const uvmtrace_tensor* tensors, uint32_t count) {
  JsonLine line = event("operator_outputs");
  put_tensors(line, tensors, count);
  write_event(std::move(line));
}

[[gnu::visibility("default")]] void uvmtrace_operator_end(void) { write_event(event("operator_end")); }

[[gnu::visibility("default")]] void uvmtrace_flush(void) { EventLog::instance().flush(); }

}  // extern "C"
