// SPDX-License-Identifier: Apache-2.0
// One GPU's part of a program's trace: streams, events and objects are numbered separately for each GPU.
#pragma once

#include <deque>

#include "sim/trace/record.h"

namespace uvmsim::recommend {

enum class Stream : std::uint32_t { kCompute, kAhead, kSsdRead, kSsdWrite, kReduce, kCount };
enum class Object : trace::ObjectId { kTables = 1, kStaging, kCache, kState, kMessages, kCount };
// There are two fetch events, by the parity of the step, as one may be recorded again before the other is waited for.
enum class Event : std::uint64_t { kUpdated = 1, kFound, kRead, kInserted, kFetchedEven, kFetchedOdd, kBegun, kCount };

class GpuQueue {
 public:
  // Records are appended to `records`, which must outlive the object.
  GpuQueue(std::deque<trace::Record>& records, unsigned gpu) : records_(records), gpu_(gpu) {}

  std::int32_t device() const { return static_cast<std::int32_t>(gpu_); }
  std::uint32_t number(Stream stream) const { return gpu_ * count<Stream> + static_cast<std::uint32_t>(stream); }
  std::uint64_t number(Event event) const { return gpu_ * count<Event> + static_cast<std::uint64_t>(event); }
  trace::ObjectId number(Object object) const { return gpu_ * count<Object> + static_cast<trace::ObjectId>(object); }

  void add(trace::Record record) { records_.push_back(std::move(record)); }
  // The returned kernel must be filled in before anything else is added.
  trace::Kernel& add_kernel(const char* name, Stream stream, std::int64_t duration_ns);
  void record(Stream stream, Event event) { add_sync(trace::SyncKind::kEventRecord, stream, number(event)); }
  void wait(Stream stream, Event event) { add_sync(trace::SyncKind::kEventWait, stream, number(event)); }
  void add_sync(trace::SyncKind kind, Stream stream, std::uint64_t event) {
    records_.push_back(trace::Sync{kind, number(stream), event, 0});
  }
  // Allocates device memory.
  void allocate(Object object, std::uint64_t bytes);
  // Allocates managed memory on the host. With FBGEMM's hints the GPU accesses it there.
  void allocate_on_host(Object object, std::uint64_t bytes, bool hints);

 private:
  template <class Kind>
  static constexpr auto count = static_cast<std::underlying_type_t<Kind>>(Kind::kCount);

  std::deque<trace::Record>& records_;
  unsigned gpu_;
};

}  // namespace uvmsim::recommend
