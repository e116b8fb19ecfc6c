// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/unseen_waits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace uvmtrace {

namespace {

// By stream, the end of its kernels since the last wait for it.
using LastEnds = std::map<std::uint32_t, std::int64_t>;

// Removes the streams for whose kernels a call has waited. For a wait for an event it is not determined which kernels
// precede the event.
void take_waits(const Event& event, LastEnds& last_ends) {
  const auto* sync = std::get_if<SyncEvent>(&event.what);
  const auto* copy = std::get_if<CopyEvent>(&event.what);
  if (sync != nullptr && sync->kind == trace::SyncKind::kStream) {
    last_ends.erase(sync->stream);
  } else if ((sync != nullptr &&
              (sync->kind == trace::SyncKind::kDevice || sync->kind == trace::SyncKind::kEventSynchronize)) ||
             (copy != nullptr && !copy->async)) {
    last_ends.clear();
  }
}

bool has_ended(const LastEnds& last_ends, std::int64_t now_ns) {
  return std::all_of(last_ends.begin(), last_ends.end(), [now_ns](const auto& item) { return item.second <= now_ns; });
}

// Returns a wait at the time of `event`.
Event wait_at(const Event& event, std::int64_t time_ns) {
  Event wait = event;
  wait.begin_ns = wait.end_ns = time_ns;
  wait.what = SyncEvent{trace::SyncKind::kDevice, 0, 0};
  return wait;
}

}  // namespace

std::uint64_t add_unseen_waits(PassLog& log) {
  if (log.kernel_times.empty()) return 0;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  LastEnds last_ends;
  bool in_iteration = false;
  std::size_t behind_work = 0;  // position after the last work for the GPU in `out`
  bool waited = false;          // the host has waited since then
  std::uint64_t added = 0;
  std::vector<Event> out;
  out.reserve(log.events.size() + 1);
  for (Event& event : log.events) {
    const auto* range = std::get_if<RangeEvent>(&event.what);
    const bool begins = range != nullptr && range->kind == trace::RangeKind::kIterationBegin;
    const bool ends = range != nullptr && range->kind == trace::RangeKind::kIterationEnd;
    if (const auto* launch = std::get_if<LaunchEvent>(&event.what)) {
      const Launch& kernel = log.launches[launch->launch];
      const auto time = log.kernel_times.find({kernel.corr, kernel.node});
      std::int64_t& last_end = last_ends[kernel.stream];
      last_end = std::max(last_end, time == log.kernel_times.end() ? kNever : time->second.end_ns);
    } else if (in_iteration && (begins || ends) && !last_ends.empty() && has_ended(last_ends, event.begin_ns)) {
      out.push_back(wait_at(event, event.begin_ns));
      ++added;
      last_ends.clear();
    } else {
      take_waits(event, last_ends);
    }
    in_iteration = begins || (in_iteration && !ends);
    out.push_back(std::move(event));
    if (is_gpu_work(out.back())) {
      behind_work = out.size();
      waited = last_ends.empty();
    } else if (last_ends.empty()) {
      waited = true;
    }
  }
  // If the program has waited unseen before, it has done so here too, and later waits belong to the program's end.
  if (in_iteration && log.complete && behind_work != 0 && (!waited || added != 0)) {
    const Event& work = out[behind_work - 1];
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(behind_work), wait_at(work, work.end_ns));
    ++added;
  }
  log.events = std::move(out);
  return added;
}

}  // namespace uvmtrace
