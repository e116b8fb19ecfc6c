// SPDX-License-Identifier: Apache-2.0
// What a program does where a repetition of an iteration begins: see recurrence.h.
#include <algorithm>

#include "sim/common/check.h"
#include "sim/engine/count_limit.h"
#include "sim/engine/program.h"
#include "sim/engine/settled.h"

namespace uvmsim::engine {

void Program::before_repetition() {
  if (feed_.repetitions_left() == 0) return;
  if (machine_.programs == 1) look_for_recurrence();  // of several, the states hardly ever recur together
  if (stops_when_settled() && has_settled()) feed_.leave_out(feed_.repetitions_left());
}

// Leaves out what recurs. Who wants events gets all iterations, and is told as well that they recur.
void Program::look_for_recurrence() {
  const bool replays_all = observer_.events != nullptr || options_.replay_all || stops_when_settled();
  if (replays_all && result_.recurring) return;
  const auto state = digest_of_state();
  if (!state) {
    recurrence_.forget();
    return;
  }
  const Recurrence::Earlier earlier = recurrence_.find(*state);
  if (earlier.moment != nullptr) {
    if (!result_.recurring) result_.recurring = {first_like_later_ones(*earlier.moment), earlier.repetitions};
    const std::uint64_t times = feed_.repetitions_left() / earlier.repetitions;
    if (times != 0 && !replays_all) return leave_out(earlier, times);
  }
  recurrence_.remember({*state, host_time_, ideal_.end(), record_number_, result_.iterations.size(),
                        machine_.ledger.released_pages, result_.counters, std::nullopt});
}

// Who knows the future was told of all iterations.
bool Program::stops_when_settled() const {
  return options_.until_settled && kernel_future_ == nullptr && futures_.empty();
}

bool Program::has_settled() {
  const auto passes = feed_.passes();
  result_.first_repeated = passes.first;
  result_.repeated = result_.iterations.size() - std::min<std::size_t>(result_.iterations.size(), passes.first);
  return result_.repeated > 1 && find_settled(result_).has_value();
}

// Of the results: the iteration from which on later ones repeat those since `earlier`. One that was still on its way at
// that moment began before.
std::size_t Program::first_like_later_ones(const Moment& earlier) const {
  return earlier.iterations + (pending_end() != nullptr ? 1 : 0);
}

// The end of the iteration before, where streams are still on their way there. What has come before that point, it will
// count; what happened in the iteration has no influence on what comes.
const Program::MarkOperation* Program::pending_end() const {
  for (const Stream& stream : streams_) {
    for (const Operation& operation : stream.queue) {
      const auto* mark = std::get_if<MarkOperation>(&operation.work);
      if (mark != nullptr && mark->kind == trace::RangeKind::kIterationEnd) return mark;
    }
  }
  return nullptr;
}

std::optional<StateDigest::Value> Program::digest_of_state() {
  if (plans_ || machine_.harvest)
    return std::nullopt;  // what planners know, and where spare chunks lie, is not compared
  StateDigest digest(host_time_);
  digest.add(images_);
  const auto since_ideal = [&](Nanoseconds time) { return static_cast<std::uint64_t>((ideal_.end() - time).value); };
  std::size_t scheduled = 0, ends = 0;
  for (const Stream& stream : streams_) {
    if (stream.running || stream.blocked) return std::nullopt;
    digest.add_future(stream.free_at);
    digest.add(stream.queue.size());
    for (const Operation& operation : stream.queue) {  // marks may be on their way, work may not
      const auto* mark = std::get_if<MarkOperation>(&operation.work);
      if (mark == nullptr) return std::nullopt;
      if (mark->kind == trace::RangeKind::kIterationBegin) return std::nullopt;
      if (mark->kind == trace::RangeKind::kIterationEnd && ++ends > 1) return std::nullopt;
      digest.add(static_cast<std::uint64_t>(mark->kind));
      digest.add_past(operation.issued);
      digest.add(since_ideal(mark->ideal));
    }
    scheduled += stream.scheduled ? 1 : 0;
  }
  if (events_.size() != scheduled) return std::nullopt;
  for (; !retired_tensors_.empty(); retired_tensors_.pop_front()) layout_.forget(retired_tensors_.front().second);
  digest.add_past(events_.now());
  for (const auto& [event, last] : events_recorded_) {  // nothing waits, so all are done
    StateDigest part = digest.part();
    part.add(event);
    digest.add_unordered(part);
  }
  ideal_.add_state(digest);
  space_.add_state(digest);
  machine_.topology.add_state(digest);
  layout_.add_state(digest);
  thrashing_->add_state(digest);
  access_counters_->add_state(digest);
  context_->host_memory.add_state(digest);
  prefetcher_->add_state(digest);
  if (context_->prefetch_history.kept) context_->prefetch_history.add_state(digest);
  if (!kernel_listeners_.empty()) digest.add(layer_);
  for (const unsigned gpu : devices_) {
    const driver::GpuState& state = gpus_[gpu];
    const std::vector<std::uint64_t> names = state.memory.names();
    state.memory.add_state(digest, names);
    if (state.memory.small_chunks()) digest.refuse();  // the names are those of root chunks
    state.evictor->add_state(digest, names);
    if (state.migrator != nullptr) {
      state.migrator->add_state(digest);
      digest.add(std::uint64_t{state.oversubscribed});
    }
    if (state.router != nullptr) state.router->add_state(digest);
    if (state.batcher != nullptr) state.batcher->add_state(digest);
    state.mmu.add_state(digest);
    state.page_tables.add_state(digest);
    machine_.remote_lanes[gpu].add_state(digest);
    fault_loops_[gpu]->add_state(digest);
  }
  return digest.value();
}

// As if the repetitions since `earlier` had run `times` times more. The clock stays; what it shows from now on is early
// by left_out_.time.
void Program::leave_out(const Recurrence::Earlier& found, std::uint64_t times) {
  const Moment& earlier = *found.moment;
  const std::uint64_t period = found.repetitions;
  std::vector<IterationResult>& results = result_.iterations;
  const std::size_t first = first_like_later_ones(earlier);  // of the results to repeat
  std::uint64_t to_come = period * times;
  if (const MarkOperation* end = pending_end(); end != nullptr) {
    // That end is from now on the one of the last repetition left out. The iteration it belonged to ends as the one
    // before `earlier` did.
    UVMSIM_CHECK(earlier.end.has_value(), "iteration {} never ended", earlier.iterations);
    results.push_back(result_of(*end, host_time_ + earlier.end->after));
    add(results.back().counters, earlier.end->counted, 1);
    --to_come;
  }
  const Nanoseconds duration = host_time_ - earlier.host_time;
  for (std::uint64_t i = 0; i < to_come; ++i) {
    const std::uint64_t later = i / period + 1;
    IterationResult iteration = results[first + i % period];
    iteration.index += later * period;
    iteration.begin += duration * static_cast<std::int64_t>(later);
    iteration.end += duration * static_cast<std::int64_t>(later);
    results.push_back(std::move(iteration));
  }
  const Counters counted = difference(result_.counters, earlier.counters);
  check_counts(result_.counters, counted, times);
  add(result_.counters, counted, times);
  add(iteration_start_, counted, times);
  machine_.ledger.released_pages += (machine_.ledger.released_pages - earlier.released_pages) * times;
  record_number_ += (record_number_ - earlier.records) * times;
  left_out_.iterations += period * times;
  left_out_.time += duration * static_cast<std::int64_t>(times);
  left_out_.ideal_time += (ideal_.end() - earlier.ideal_time) * static_cast<std::int64_t>(times);
  feed_.leave_out(period * times);
  recurrence_.forget();
}

}  // namespace uvmsim::engine
