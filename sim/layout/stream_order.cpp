// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/stream_order.h"

#include <algorithm>

namespace uvmsim::layout {

std::uint64_t StreamOrder::at(const Clock& clock, std::uint32_t stream) {
  const auto found = clock.find(stream);
  return found == clock.end() ? 0 : found->second;
}

void StreamOrder::advance(Clock& clock, const Clock& other) {
  for (const auto& [stream, work] : other) clock[stream] = std::max(clock[stream], work);
}

StreamOrder::Clock StreamOrder::end_of(std::uint32_t stream) const {
  Clock clock;
  if (const auto found = streams_.find(stream); found != streams_.end()) clock = found->second;
  clock[stream] = last_work(stream);
  return clock;
}

std::uint64_t StreamOrder::last_work(std::uint32_t stream) const { return at(last_work_, stream); }

bool StreamOrder::precedes(std::uint32_t stream, std::uint64_t work, std::uint32_t to) const {
  if (stream == to || host_waited(stream, work)) return true;
  const auto found = streams_.find(to);
  return found != streams_.end() && at(found->second, stream) >= work;
}

void StreamOrder::host_waits_for_device() { advance(host_, last_work_); }

void StreamOrder::follow(const trace::Record& record) {
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
    add_work(kernel->stream);
  } else if (const auto* copy = std::get_if<trace::Memcpy>(&record)) {
    add_work(copy->stream);
    if (copy->blocking) advance(host_, end_of(copy->stream));
  } else if (const auto* set = std::get_if<trace::Memset>(&record)) {
    add_work(set->stream);
  } else if (const auto* prefetch = std::get_if<trace::Prefetch>(&record)) {
    add_work(prefetch->stream);
  } else if (const auto* discard = std::get_if<trace::Discard>(&record)) {
    add_work(discard->stream);
  } else if (const auto* sync = std::get_if<trace::Sync>(&record)) {
    switch (sync->kind) {
      case trace::SyncKind::kDevice:
        host_waits_for_device();
        break;
      case trace::SyncKind::kStream:
        advance(host_, end_of(sync->stream));
        break;
      case trace::SyncKind::kEventRecord:
        events_[sync->event] = end_of(sync->stream);
        break;
      case trace::SyncKind::kEventWait:
        if (const auto found = events_.find(sync->event); found != events_.end()) {
          advance(streams_[sync->stream], found->second);
        }
        break;
      case trace::SyncKind::kEventSynchronize:
        if (const auto found = events_.find(sync->event); found != events_.end()) advance(host_, found->second);
        break;
    }
  }
}

void StreamOrder::Ranks::sort() {
  for (auto& [stream, works] : works_) {
    std::sort(works.begin(), works.end());
    works.erase(std::unique(works.begin(), works.end()), works.end());
  }
}

std::uint64_t StreamOrder::Ranks::of(std::uint32_t stream, std::uint64_t work) const {
  const std::vector<std::uint64_t>& works = works_.at(stream);
  return static_cast<std::uint64_t>(std::lower_bound(works.begin(), works.end(), work) - works.begin());
}

void StreamOrder::note_works(Ranks& ranks) const {
  const auto note = [&](const Clock& clock) {
    for (const auto& [stream, work] : clock) ranks.note(stream, work);
  };
  note(last_work_);
  note(host_);
  for (const auto& [stream, clock] : streams_) note(clock);
  for (const auto& [event, clock] : events_) note(clock);
}

void StreamOrder::add_clock(StateDigest& digest, const Clock& clock, const Ranks& ranks) {
  digest.add(clock.size());
  for (const auto& [stream, work] : clock) {
    digest.add(stream);
    digest.add(std::uint64_t{work != 0});  // 0 or no entry: no work is known to have finished
    digest.add(ranks.of(stream, work));
  }
}

void StreamOrder::add_state(StateDigest& digest, const Ranks& ranks) const {
  add_clock(digest, last_work_, ranks);
  add_clock(digest, host_, ranks);
  digest.add(streams_.size());
  for (const auto& [stream, clock] : streams_) {
    digest.add(stream);
    add_clock(digest, clock, ranks);
  }
  for (const auto& [event, clock] : events_) {
    StateDigest part = digest.part();
    part.add(event);
    add_clock(part, clock, ranks);
    digest.add_unordered(part);
  }
}

}  // namespace uvmsim::layout
