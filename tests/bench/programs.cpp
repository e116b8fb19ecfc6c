// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/programs.h"

#include <algorithm>
#include <utility>

#include "sim/config/load_system.h"
#include "sim/trace/reader.h"

namespace uvmsim::bench {

RecordSource Program::source() const {
  return [this, next = std::size_t{0}](trace::Record& record) mutable {
    if (next == records.size()) return false;
    record = records[next++];
    return true;
  };
}

std::uint64_t Program::kernel_count() const {
  return static_cast<std::uint64_t>(std::count_if(records.begin(), records.end(), [](const trace::Record& record) {
    return std::holds_alternative<trace::Kernel>(record);
  }));
}

Program load_program(const std::string& path) {
  trace::TraceReader reader(path);
  Program program{reader.header(), {}};
  trace::Record record;
  while (reader.next(record)) program.records.push_back(record);
  return program;
}

Program scan_program(const ScanOptions& options) {
  Program program;
  program.header.quantum_bytes = static_cast<std::uint32_t>(kBasePageBytes);
  const std::uint64_t pages = options.bytes / kBasePageBytes;
  trace::ObjectAlloc object;
  object.id = 1;
  object.bytes = options.bytes;
  program.records.emplace_back(object);
  if (options.host_data) {
    trace::HostAccess write;
    write.object = 1;
    write.extents = {{0, pages, trace::AccessMode::kWrite}};
    program.records.emplace_back(write);
  }
  trace::Kernel kernel;
  kernel.name = "scan";
  kernel.grid.x = 4096;
  kernel.block.x = 256;
  kernel.duration_ns = 100'000;
  kernel.distribution = options.spread;
  kernel.accesses = {{1, {{0, pages, trace::AccessMode::kReadWrite}}}};
  for (std::uint64_t i = 0; i < options.kernels; ++i) program.records.emplace_back(kernel);
  return program;
}

const config::SystemConfig& bench_system() {
  static const config::SystemConfig system =
      config::load_system(UVMSIM_SOURCE_DIR "/configs/systems/h200-sxm-pcie5.json");
  return system;
}

RunOptions bench_options(std::uint64_t osf_thousandths, std::uint64_t footprint_bytes, std::string layout) {
  RunOptions options;
  options.system = bench_system();
  options.layout = std::move(layout);
  options.limited = osf_thousandths != 0;
  options.osf_thousandths = osf_thousandths;
  options.footprint_bytes = footprint_bytes;
  return options;
}

}  // namespace uvmsim::bench
