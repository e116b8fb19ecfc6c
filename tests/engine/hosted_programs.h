// SPDX-License-Identifier: Apache-2.0
// Programs on a server of plain GPUs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "tests/engine/program.h"

namespace uvmsim {

// Returns a system with GPUs as in plain_system(), each with a link of its own; by default the host's memory is not a
// limit.
inline config::SystemConfig server(std::size_t gpus, std::uint64_t host_bytes_per_us = 0) {
  config::SystemConfig system = plain_system();
  system.gpus.resize(gpus, system.gpus.front());
  system.host_links.resize(gpus, system.host_links.front());
  system.host.memory_bytes_per_us = host_bytes_per_us;
  return system;
}

inline RunOptions options_on(const config::SystemConfig& system, std::uint64_t chunks, std::uint64_t iterations = 0) {
  RunOptions options = options_with(chunks);
  options.system = system;
  options.iterations = iterations;
  return options;
}

inline ServerProgram hosted(const std::string& name, const Program& program, const RunOptions& options,
                            std::vector<unsigned> gpus) {
  ServerProgram out;
  out.name = name;
  out.header = Program::header();
  out.source = program.source();
  out.options = options;
  out.observer.reopen = [&program] { return program.source(); };
  out.gpus = std::move(gpus);
  return out;
}

// A source yields its records only once.
inline std::vector<RunResult> run_together(std::vector<ServerProgram> programs,
                                           GpuSharing sharing = GpuSharing::kTimeSlices) {
  for (ServerProgram& program : programs) program.source = program.observer.reopen();
  return simulate_server(programs, sharing);
}

inline std::string complaint_of(const std::vector<ServerProgram>& programs) {
  try {
    simulate_server(programs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace uvmsim
