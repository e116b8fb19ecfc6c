// What a program does where a repetition of an iteration begins: see recurrence.h.
#include "sim/engine/program.h"

namespace uvmsim::engine {

void Program::begin_repetition() {
  for (const unsigned gpu : devices_) gpus_[gpu].mmu.drop_fraction();
  if (machine_.programs != 1) return;  // of several, the states hardly ever recur together
  if (observer_.events != nullptr || feed_.repetitions_left() == 0) return;  // who wants events gets all of them
  const auto state = digest_of_state();
  if (!state) {
    recurrence_.forget();
    return;
  }
  const Recurrence::Earlier earlier = recurrence_.find(*state);
  if (earlier.moment != nullptr) {
    const std::uint64_t times = feed_.repetitions_left() / earlier.repetitions;
    if (times != 0) return leave_out(*earlier.moment, earlier.repetitions, times);
  }
  recurrence_.remember({*state, host_time_, ideal_.end(), record_number_, result_.iterations.size(),
                        machine_.ledger.released_pages, result_.counters});
}

std::optional<StateDigest::Value> Program::digest_of_state() {
  if (plans_ || machine_.harvest)
    return std::nullopt;  // what planners know, and where spare chunks lie, is not compared
  StateDigest digest(host_time_);
  const auto since_ideal = [&](Nanoseconds time) { return static_cast<std::uint64_t>((ideal_.end() - time).value); };
  std::size_t scheduled = 0;
  for (const Stream& stream : streams_) {
    if (stream.running || stream.blocked) return std::nullopt;
    digest.add_future(stream.free_at);
    digest.add(stream.queue.size());
    for (const Operation& operation : stream.queue) {  // marks may be on their way, work may not
      const auto* mark = std::get_if<MarkOperation>(&operation.work);
      if (mark == nullptr) return std::nullopt;
      digest.add(static_cast<std::uint64_t>(mark->kind));
      digest.add_past(operation.issued);
      digest.add(since_ideal(mark->ideal));
    }
    scheduled += stream.scheduled ? 1 : 0;
  }
  if (events_.size() != scheduled) return std::nullopt;
  if (scheduled != 0) {  // perhaps the end of an iteration: what it has come to so far
    digest.add_past(iteration_begin_);
    digest.add(since_ideal(ideal_iteration_begin_));
    const Counters counted = difference(result_.counters, iteration_start_);
    for_each_counter(counted, [&](const char*, std::uint64_t value) { digest.add(value); });
  }
  for (; !retired_tensors_.empty(); retired_tensors_.pop_front()) layout_.forget(retired_tensors_.front().second);
  digest.add_past(events_.now());
  for (const auto& [event, last] : events_recorded_) {  // nobody waits, so that all are issued and done
    StateDigest part = digest.part();
    part.add(event);
    part.add(std::uint64_t{last.issued});
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
    state.mmu.add_state(digest);
    machine_.remote_lanes[gpu].add_state(digest);
    fault_loops_[gpu]->add_state(digest);
  }
  return digest.value();
}

// As if the repetitions since `earlier` had run `times` times more. The clock stays; what it shows from now on is early
// by left_out_.time.
void Program::leave_out(const Moment& earlier, std::uint64_t repetitions, std::uint64_t times) {
  const Nanoseconds duration = host_time_ - earlier.host_time;
  const std::size_t first = earlier.iterations, last = result_.iterations.size();
  for (std::uint64_t time = 1; time <= times; ++time) {
    for (std::size_t i = first; i < last; ++i) {
      IterationResult iteration = result_.iterations[i];
      const Nanoseconds later = duration * static_cast<std::int64_t>(time);
      iteration.index += time * repetitions;
      iteration.begin += later;
      iteration.end += later;
      result_.iterations.push_back(std::move(iteration));
    }
  }
  const Counters counted = difference(result_.counters, earlier.counters);
  add(result_.counters, counted, times);
  add(iteration_start_, counted, times);
  machine_.ledger.released_pages += (machine_.ledger.released_pages - earlier.released_pages) * times;
  record_number_ += (record_number_ - earlier.records) * times;
  left_out_.iterations += repetitions * times;
  left_out_.time += duration * static_cast<std::int64_t>(times);
  left_out_.ideal_time += (ideal_.end() - earlier.ideal_time) * static_cast<std::int64_t>(times);
  feed_.leave_out(repetitions * times);
  recurrence_.forget();
}

}  // namespace uvmsim::engine
