// SPDX-License-Identifier: Apache-2.0
// Synchronisations and events; recognises those that are only captured into a graph.
#include <dlfcn.h>

#include <atomic>

#include "tracer/access/call_events.h"
#include "tracer/access/driver_params.h"

namespace uvmtrace::access {

namespace {

std::atomic<int>& open_captures() {
  static std::atomic<int> count{0};
  return count;
}

// Finds the stream that a call works on; returns false for calls that have none.
bool stream_of(const CallEntry& entry, const void* parameters, CUstream& stream) {
  const auto take = [&](const auto* p) {
    stream = p->stream;
    return true;
  };
  switch (entry.call) {
    case Call::kAllocAsync:
      return take(static_cast<const params::AllocAsync*>(parameters));
    case Call::kAllocFromPool:
      return take(static_cast<const params::AllocFromPool*>(parameters));
    case Call::kFreeAsync:
      return take(static_cast<const params::FreeAsync*>(parameters));
    case Call::kCopyHtoD:
    case Call::kCopyDtoH:
    case Call::kCopyDtoD:
    case Call::kCopyAny:
      return entry.async && take(static_cast<const params::Copy*>(parameters));
    case Call::kCopyPeer:
      return entry.async && take(static_cast<const params::CopyPeer*>(parameters));
    case Call::kCopy2D:
    case Call::kCopy3D:
      return entry.async && take(static_cast<const params::Copy2D*>(parameters));
    case Call::kSet8:
    case Call::kSet16:
    case Call::kSet32:
      return entry.async && take(static_cast<const params::Set32*>(parameters));
    case Call::kSet2D8:
    case Call::kSet2D16:
    case Call::kSet2D32:
      return entry.async && take(static_cast<const params::Set2D*>(parameters));
    case Call::kPrefetch:
      return take(static_cast<const params::Prefetch*>(parameters));
    case Call::kPrefetch2:
      return take(static_cast<const params::Prefetch2*>(parameters));
    case Call::kEventRecord:
      return take(static_cast<const params::EventRecord*>(parameters));
    case Call::kStreamWait:
      return take(static_cast<const params::StreamWait*>(parameters));
    default:
      return false;
  }
}

void synchronised(std::string_view kind, const CUstream* stream, const CUevent* event) {
  JsonLine line = start_event("sync");
  line.text("kind", kind);
  if (stream != nullptr) line.number("stream", stream_number(*stream));
  if (event != nullptr) line.number("event", number_of(*event));
  finish_event(std::move(line));
}

}  // namespace

bool on_synchronisation(Call call, const void* parameters) {
  switch (call) {
    case Call::kContextSync:
      synchronised("device", nullptr, nullptr);
      return true;
    case Call::kStreamSync:
      synchronised("stream", &static_cast<const params::StreamOnly*>(parameters)->stream, nullptr);
      return true;
    case Call::kEventSync:
      synchronised("event_synchronize", nullptr, &static_cast<const params::EventOnly*>(parameters)->event);
      return true;
    case Call::kEventRecord: {
      const auto& p = *static_cast<const params::EventRecord*>(parameters);
      synchronised("event_record", &p.stream, &p.event);
      return true;
    }
    case Call::kStreamWait: {
      const auto& p = *static_cast<const params::StreamWait*>(parameters);
      synchronised("event_wait", &p.stream, &p.event);
      return true;
    }
    default:
      return false;
  }
}

void count_captures(int change) { open_captures().fetch_add(change, std::memory_order_relaxed); }

bool is_captured(const CallEntry& entry, const void* parameters) {
  if (open_captures().load(std::memory_order_relaxed) <= 0) return false;
  // This query neither waits nor takes the locks of a launch; only it tells which streams joined a capture.
  static const auto query = [] {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver == nullptr ? nullptr
                             : reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureStatus*)>(
                                   ::dlsym(driver, "cuStreamIsCapturing"));
  }();
  CUstream stream = nullptr;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return query != nullptr && parameters != nullptr && stream_of(entry, parameters, stream) && stream != nullptr &&
         query(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace uvmtrace::access
