// SPDX-License-Identifier: Apache-2.0
// Programs for the replay benchmarks, with records in memory, so that only the model is timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace uvmsim::bench {

struct Program {
  trace::Header header;
  std::vector<trace::Record> records;

  // Yields the records from the first to the last. The program must outlive the source.
  RecordSource source() const;
  std::uint64_t kernel_count() const;
};

// Reads a whole trace file. Throws InputError.
Program load_program(const std::string& path);

// `kernels` launches that read and write all of one object of `bytes`, which the host wrote before if `host_data` is
// set. `spread`: how the pages are distributed over threads.
struct ScanOptions {
  std::uint64_t bytes = 0;
  std::uint64_t kernels = 1;
  bool host_data = false;
  trace::Distribution spread = trace::Distribution::kBlockLinear;
};
Program scan_program(const ScanOptions& options);

// Returns h200-sxm-pcie5 of this repository.
const config::SystemConfig& bench_system();

// Returns options for the program under the shipped defaults; osf_thousandths = 0: all of the GPU's memory.
RunOptions bench_options(std::uint64_t osf_thousandths, std::uint64_t footprint_bytes, std::string layout);

}  // namespace uvmsim::bench
