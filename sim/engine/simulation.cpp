// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulation.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/edit/repeat_iterations.h"
#include "sim/engine/engine.h"
#include "sim/layout/footprint.h"

namespace uvmsim {

namespace {

void measure(layout::FootprintMeter& meter, const RecordSource& source, std::uint64_t iterations) {
  trace::IterationRepeater program(source, iterations);
  const RecordSource repeated = [&](trace::Record& r) { return program.next(r); };
  layout::SegmentFinder records(repeated);
  trace::Record record;
  std::uint64_t number = 0;
  while (records.next(record)) {
    ++number;
    try {
      meter.add(record, records.is_segment());
    } catch (const InputError& error) {
      throw_input_error("record {}: {}", number, error.what());
    }
  }
}

// Returns the 2 MB blocks of addresses that the program uses; 0 if it cannot be read ahead.
std::uint64_t blocks_of(const ServerProgram& program) {
  if (!program.observer.reopen) return 0;
  layout::FootprintMeter meter(program.options.layout);
  try {
    measure(meter, program.observer.reopen(), program.options.iterations);
  } catch (const InputError& error) {
    throw_input_error("program '{}': {}", program.name, error.what());
  }
  return meter.block_count();
}

std::string chosen(const PolicyChoice& choice) {
  std::string text = choice.name;
  for (const auto& [key, value] : choice.parameters) text += fmt::format(" {}={}", key, value);
  return text;
}

// Throws InputError if two programs on one GPU differ in settings of its driver or its memory.
void check_sharing(const ServerProgram& first, const ServerProgram& second, unsigned gpu) {
  const auto refuse = [&](std::string_view what, const std::string& one, const std::string& other) {
    throw_input_error("programs '{}' and '{}' share GPU {} and have {} '{}' and '{}'; allowed: one for both",
                      first.name, second.name, gpu, what, one, other);
  };
  const RunOptions& one = first.options;
  const RunOptions& other = second.options;
  for (const SlotInfo& slot : slot_infos()) {
    const std::string mine = chosen(one.*slot.choice), theirs = chosen(other.*slot.choice);
    if (slot.of_gpu && mine != theirs) refuse(fmt::format("{} policies", slot.name), mine, theirs);
  }
  for (const ServerProgram* program : {&first, &second}) {
    if (program->options.harvest.any()) {
      throw_input_error("program '{}' harvests memory and shares GPU {}; allowed: GPUs of its own", program->name, gpu);
    }
    if (program->options.limited && program->options.capacity_bytes == 0) {
      throw_input_error(
          "program '{}' has an oversubscription factor of its own and shares GPU {}; allowed: a capacity of the GPU, "
          "or "
          "none",
          program->name, gpu);
    }
  }
  const auto capacity = [](const RunOptions& options) {
    return options.limited ? fmt::format("{} bytes", options.capacity_bytes) : std::string("the GPU's own memory");
  };
  if (capacity(one) != capacity(other)) refuse("capacities", capacity(one), capacity(other));
}

// Checks the programs and returns, by GPU, those that use it.
std::vector<std::vector<const ServerProgram*>> check(std::span<const ServerProgram> programs) {
  if (programs.empty()) throw_input_error("no program to run");
  const config::SystemConfig& system = programs.front().options.system;
  std::vector<std::vector<const ServerProgram*>> users(system.gpus.size());
  for (const ServerProgram& program : programs) {
    if (program.gpus.empty()) throw_input_error("program '{}' has no GPU", program.name);
    if (program.start.value < 0) {
      throw_input_error("program '{}' starts at {} ns; allowed: 0 or more", program.name, program.start.value);
    }
    for (const unsigned gpu : program.gpus) {
      if (gpu >= system.gpus.size()) {
        throw_input_error("program '{}' uses GPU {}; allowed on system '{}': 0 to {}", program.name, gpu, system.name,
                          system.gpus.size() - 1);
      }
      if (!users[gpu].empty() && users[gpu].back() == &program) {
        throw_input_error("program '{}' names GPU {} twice", program.name, gpu);
      }
      if (!users[gpu].empty()) check_sharing(*users[gpu].front(), program, gpu);
      users[gpu].push_back(&program);
    }
  }
  if (std::all_of(programs.begin(), programs.end(), [](const ServerProgram& p) { return p.repeat; })) {
    throw_input_error("all programs are repeated until the others have ended; allowed: at least one that is not");
  }
  return users;
}

}  // namespace

std::uint64_t measure_footprint(const RecordSource& source, const layout::LayoutChoice& layout,
                                std::uint64_t iterations) {
  layout::FootprintMeter meter(layout);
  measure(meter, source, iterations);
  return meter.footprint_bytes();
}

std::uint64_t measure_touched_footprint(std::uint32_t quantum_bytes, const RecordSource& source,
                                        const layout::LayoutChoice& layout, std::uint64_t iterations) {
  layout::FootprintMeter meter(layout);
  meter.follow_touches(quantum_bytes);
  measure(meter, source, iterations);
  return meter.touched_footprint_bytes();
}

RunResult simulate(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                   const RunObserver& observer) {
  if (options.system.gpus.empty()) throw_input_error("system '{}' has no GPU", options.system.name);
  engine::RecordFeed feed(header, source, options);
  const engine::Hosted program{header, feed, options, observer};
  return std::move(engine::Engine(options.system, {&program, 1}).run().front());
}

std::vector<RunResult> simulate_server(std::span<const ServerProgram> programs, GpuSharing sharing) {
  const auto users = check(programs);
  const config::SystemConfig& system = programs.front().options.system;
  std::vector<RunOptions> options;
  std::vector<std::unique_ptr<engine::RecordFeed>> feeds;
  std::vector<engine::Hosted> hosted;
  options.reserve(programs.size());
  for (const ServerProgram& program : programs) {
    options.push_back(program.options);
    options.back().system = system;
    for (const unsigned gpu : program.gpus) {
      options.back().neighbours =
          std::max(options.back().neighbours, static_cast<std::uint32_t>(users[gpu].size()) - 1);
    }
    if (program.repeat) options.back().iterations = trace::IterationRepeater::kEndless;
    feeds.push_back(
        std::make_unique<engine::RecordFeed>(program.header, program.source, options.back(), program.gpus.front()));
    hosted.push_back({program.header, *feeds.back(), options.back(), program.observer, program.gpus, program.start,
                      program.repeat, program.name, programs.size() == 1 ? 0 : blocks_of(program)});
  }
  return engine::Engine(system, hosted, sharing).run();
}

}  // namespace uvmsim
