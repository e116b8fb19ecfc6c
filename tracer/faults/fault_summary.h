// SPDX-License-Identifier: Apache-2.0
// Summarises a log of raw faults in numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/faults/driver_events.h"

namespace uvmtrace::faults {

inline constexpr std::uint64_t kFullBatch = 256;  // the driver's default: uvm_perf_fault_batch_count

// Quartiles of `count` values: the values at (count - 1) / 4, / 2 and * 3 / 4 of the sorted list, rounded down.
struct Quartiles {
  std::uint64_t count = 0, low = 0, median = 0, high = 0;
  bool operator==(const Quartiles&) const = default;
};
Quartiles quartiles_of(std::vector<std::uint64_t> values);

struct MigrationSum {
  std::uint64_t count = 0, bytes = 0;
};
inline constexpr std::array kCauseNames = {"other", "user", "fault", "prefetch", "eviction", "access counters"};

struct FaultSummary {
  std::uint64_t raw_faults = 0, reads = 0, writes = 0, atomics = 0;
  std::uint64_t hub_faults = 0;  // not replayable; not among the raw faults
  std::uint64_t gpus = 0, sms = 0;
  std::uint64_t batches = 0, full_batches = 0, replays = 0;
  std::uint64_t duplicates = 0;  // raw faults of a page that has one already in the same batch
  std::uint64_t unknown = 0;
  Quartiles raw_per_batch, pages_per_batch, sms_per_batch;
  // Time between raw faults, in ps, of bursts: 64 and more faults that follow each other within 96 ns.
  Quartiles spacing_ps;
  // The time from a replay, by the GPU's clock, to the moment when the driver read PUT. It is known to one step between
  // two raw faults if the batch is not full and the next batch begins with the fault that follows within 64 ns.
  Quartiles put_ns;
  std::array<MigrationSum, kCauseNames.size()> to_gpu{}, to_host{};  // by cause; between GPUs: to_gpu
};

FaultSummary summarize(const DriverEvents& events);

// Formats several lines for people. `dropped` is that of the log.
std::string summary_text(const FaultSummary& summary, std::uint64_t dropped);
// Formats the members of a JSON object, without its braces.
std::string summary_json(const FaultSummary& summary, std::uint64_t dropped);
// Formats one line of a table of many sections, and its heading.
std::string summary_row(const std::string& name, const FaultSummary& summary, std::uint64_t dropped);
std::string summary_heading();

}  // namespace uvmtrace::faults
