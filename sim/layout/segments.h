// SPDX-License-Identifier: Apache-2.0
// Frameworks allocate large segments and divide them into tensors. A layout that places tensors itself must distinguish
// these segments from allocations that the program uses directly.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <variant>

#include "sim/trace/record.h"

namespace uvmsim::layout {

// Reads a trace and distinguishes segments from other allocations: a framework allocates a segment when a tensor has no
// room, so that the next record (except range marks) places a tensor in it.
class SegmentFinder {
 public:
  using Source = std::function<bool(trace::Record&)>;  // returns false at the end of the trace

  // The source must outlive the object.
  explicit SegmentFinder(const Source& source) : source_(source) {}

  // Returns the records of the source, unchanged; false at the end.
  bool next(trace::Record& record);
  // Returns whether the last ObjectAlloc of next() is a segment.
  bool is_segment() const { return is_segment_; }

 private:
  const Source& source_;
  std::deque<trace::Record> ahead_;
  bool is_segment_ = false;
};

// Calls visit(id) for every object and tensor that a record's work touches; allocations and frees touch nothing.
template <typename Visit>
void for_each_touched(const trace::Record& record, const Visit& visit) {
  const auto some = [&](trace::ObjectId id) {
    if (id != trace::kNoObject) visit(id);
  };
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
    for (const trace::ObjectAccess& access : kernel->accesses) some(access.object);
  } else if (const auto* copy = std::get_if<trace::Memcpy>(&record)) {
    some(copy->dst.object);
    some(copy->src.object);
  } else if (const auto* set = std::get_if<trace::Memset>(&record)) {
    some(set->object);
  } else if (const auto* prefetch = std::get_if<trace::Prefetch>(&record)) {
    some(prefetch->object);
  } else if (const auto* advise = std::get_if<trace::Advise>(&record)) {
    some(advise->object);
  } else if (const auto* discard = std::get_if<trace::Discard>(&record)) {
    some(discard->object);
  } else if (const auto* host = std::get_if<trace::HostAccess>(&record)) {
    some(host->object);
  }
}

}  // namespace uvmsim::layout
