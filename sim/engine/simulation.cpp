#include "sim/engine/simulation.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/engine/engine.h"
#include "sim/layout/footprint.h"
#include "sim/trace/repeat_iterations.h"

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

// 2 MB blocks of addresses that the program uses; 0 where it cannot be read ahead.
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

void check(std::span<const ServerProgram> programs) {
  if (programs.empty()) throw_input_error("no program to run");
  const config::SystemConfig& system = programs.front().options.system;
  std::vector<const ServerProgram*> users(system.gpus.size(), nullptr);
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
      if (users[gpu] == &program) throw_input_error("program '{}' names GPU {} twice", program.name, gpu);
      if (users[gpu] != nullptr) {
        throw_input_error("programs '{}' and '{}' both use GPU {}; allowed: one program per GPU", users[gpu]->name,
                          program.name, gpu);
      }
      users[gpu] = &program;
    }
  }
  if (std::all_of(programs.begin(), programs.end(), [](const ServerProgram& p) { return p.repeat; })) {
    throw_input_error("all programs are repeated until the others have ended; allowed: at least one that is not");
  }
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

std::vector<RunResult> simulate_server(std::span<const ServerProgram> programs) {
  check(programs);
  const config::SystemConfig& system = programs.front().options.system;
  std::vector<RunOptions> options;
  std::vector<std::unique_ptr<engine::RecordFeed>> feeds;
  std::vector<engine::Hosted> hosted;
  options.reserve(programs.size());
  for (const ServerProgram& program : programs) {
    options.push_back(program.options);
    options.back().system = system;
    if (program.repeat) options.back().iterations = trace::IterationRepeater::kEndless;
    feeds.push_back(
        std::make_unique<engine::RecordFeed>(program.header, program.source, options.back(), program.gpus.front()));
    hosted.push_back({program.header, *feeds.back(), options.back(), program.observer, program.gpus, program.start,
                      program.repeat, program.name, programs.size() == 1 ? 0 : blocks_of(program)});
  }
  return engine::Engine(system, hosted).run();
}

}  // namespace uvmsim
