// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/program.h"

#include <algorithm>
#include <numeric>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/config/coherence.h"

namespace uvmsim::engine {

Process::Process(Machine& on, std::uint16_t number_there, const Hosted& hosted)
    : Hosted(hosted), machine(on), number(number_there) {
  if (gpus.empty()) {
    gpus.resize(machine.system.gpus.size());
    std::iota(gpus.begin(), gpus.end(), 0u);
  }
  if (header.quantum_bytes == 0 || (header.quantum_bytes & (header.quantum_bytes - 1)) != 0 ||
      header.quantum_bytes > kBlockBytes) {
    throw_input_error("the trace's quantum is {} bytes; allowed: a power of two up to {}", header.quantum_bytes,
                      kBlockBytes);
  }
  check_choices(options, *options.registry);
}

Program::Program(Machine& machine, std::uint16_t number, const Hosted& hosted)
    : process_(machine, number, hosted),
      layout_(process_.options.layout, machine.space, number, config::reaches_system_memory(process_.options.system)),
      accounts_(process_.observer.events, process_.header.quantum_bytes, layout_, machine.space),
      driver_(process_, layout_, accounts_.sink()),
      iterations_(process_, accounts_),
      streams_(process_, layout_, accounts_, driver_, iterations_),
      host_(process_, layout_, accounts_, driver_, streams_, *this),
      repetition_(process_, layout_, driver_, streams_, host_, iterations_) {}

void Program::on_event(const Event& event) {
  if (const Nanoseconds later = driver_.fetch_at(event); later > event.time) {
    return process_.machine.events.schedule(later, EventKind::kFetch, event.subject);
  }
  switch (event.kind) {
    case EventKind::kHost:
      host_.step();
      break;
    case EventKind::kStreamStart:
      streams_.start_operation(event.subject);
      break;
    case EventKind::kOperationEnd:
      if (streams_.end_operation(event.subject)) host_.work_done();
      break;
    default:
      driver_.on_event(event);
  }
  streams_.finish_runs();
  if (driver_.plans() == nullptr) return;
  // The migration threads act, then the kernels compute up to the next event. Planners of a program without work are
  // not asked any more.
  if (!idle()) driver_.plans()->look();
  for (const auto& loop : process_.machine.fault_loops) loop->look();
  streams_.finish_runs();
}

void Program::look() {
  for (const unsigned gpu : process_.gpus) process_.machine.fault_loops[gpu]->look();
  streams_.finish_runs();
}

void Program::repetition_begins() {
  for (const unsigned gpu : process_.gpus) process_.machine.gpus[gpu].mmu.drop_fraction();
  if (process_.observer.state) process_.observer.state(repetition_.digest_of_state());
}

RunResult Program::finish() {
  RunResult& result = process_.result;
  if (!process_.repeats) {
    if (!streams_.idle()) throw ModelError("the simulation stopped with work left in a stream");
    UVMSIM_CHECK(host_.at_end(), "the host stopped at record {}", host_.records());
  }
  const Nanoseconds end = process_.repeats ? std::max(process_.machine.events.now(), process_.start)
                                           : std::max(host_.time(), streams_.last_completion());
  result.total = end - process_.start + iterations_.left_out_time();
  result.ideal = host_.ideal().end() + iterations_.left_out_ideal_time();
  result.footprint_bytes = layout_.peak_chunk_bytes();
  result.arena_reached_bytes = layout_.arena_reached_bytes();
  result.unmanaged_bytes = driver_.device_memory().most_bytes();
  result.records = host_.records();
  if (process_.options.iterations != 0) {
    const auto passes = process_.feed.passes();
    result.first_repeated = passes.first;
    result.repeated = passes.count == 0 ? 0 : passes.count + iterations_.left_out();
    if (process_.repeats) {
      const std::uint64_t done = result.iterations.size();
      result.repeated = done - std::min(done, passes.first);
    }
  }
  result.time_scale = process_.feed.time_scale();
  result.evicted_from = driver_.context().evicted_from;
  return std::move(result);
}

}  // namespace uvmsim::engine
