// SPDX-License-Identifier: Apache-2.0
// Frameworks allocate large segments and hand them out as tensors. A layout that places tensors by itself must know
// which allocations are such segments, and which the program uses directly.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <variant>

#include "sim/trace/record.h"

namespace uvmsim::layout {

// Reads a trace and tells segments from other allocations: a framework opens a segment for a tensor that has no room,
// so that the next record (range marks aside) places a tensor in it.
class SegmentFinder {
 public:
  using Source = std::function<bool(trace::Record&)>;  // false at the end of the trace

  // The source must outlive it.
  explicit SegmentFinder(const Source& source) : source_(source) {}

  // The records of the source, unchanged; false at the end.
  bool next(trace::Record& record);
  // About the ObjectAlloc that next() gave last.
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
