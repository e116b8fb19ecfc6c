// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/oversubscription.h"

namespace uvmtrace::ground_truth {

namespace {

// Sizes in percent of the free memory: one that fits, and one that does not.
constexpr std::uint64_t kFits = 50, kBeyond = 130;
constexpr std::uint64_t kUnit = std::uint64_t{64} << 20;  // arrays are multiples of it: 32 VA blocks

std::uint64_t share_of(std::uint64_t bytes, std::uint64_t percent) { return bytes / 100 * percent / kUnit * kUnit; }

const char* program_text(BeyondProgram program) {
  switch (program) {
    case BeyondProgram::kSparseBlocks:
      return "sparse_blocks";
    case BeyondProgram::kSliceScans:
      return "slice_scans";
    case BeyondProgram::kPageWalk:
      return "page_walk";
  }
  return "";
}

// The sums that sim/validate/README.md lists.
struct Sums {
  std::uint64_t time_ns = 0, bytes_in = 0, bytes_out = 0, fault_bytes_in = 0, prefetch_bytes_in = 0, evicted_bytes = 0;
  std::uint64_t copies_in = 0, copies_out = 0, copy_in_ns = 0, copy_out_ns = 0, fault_batches = 0, cpu_faults = 0;

  void add(const Recording& recording) {
    constexpr std::uint32_t kByFault = 2, kByPrefetch = 3, kByEviction = 4;  // CUPTI's migration causes
    for (const KernelRecord& kernel : recording.kernels) time_ns += kernel.end_ns - kernel.start_ns;
    for (const CounterRecord& counter : recording.counters) {
      switch (counter.kind) {
        case CounterKind::kHostToDevice:
          bytes_in += counter.value;
          fault_bytes_in += counter.flags == kByFault ? counter.value : 0;
          prefetch_bytes_in += counter.flags == kByPrefetch ? counter.value : 0;
          ++copies_in;
          copy_in_ns += counter.end_ns - counter.start_ns;
          break;
        case CounterKind::kDeviceToHost:
          bytes_out += counter.value;
          evicted_bytes += counter.flags == kByEviction ? counter.value : 0;
          ++copies_out;
          copy_out_ns += counter.end_ns - counter.start_ns;
          break;
        case CounterKind::kGpuFault:
          ++fault_batches;
          break;
        case CounterKind::kCpuFault:
          ++cpu_faults;
          break;
        default:
          break;
      }
    }
  }
};

std::string field(const char* key, std::uint64_t value) {
  return std::string("\"") + key + "\":" + std::to_string(value);
}

std::string figures_text(const Sums& sums, bool lost_records) {
  std::string out = "{" + field("time_ns", sums.time_ns);
  const auto put = [&](const char* key, std::uint64_t value) { out += "," + field(key, value); };
  put("bytes_in", sums.bytes_in);
  put("bytes_out", sums.bytes_out);
  put("fault_bytes_in", sums.fault_bytes_in);
  put("prefetch_bytes_in", sums.prefetch_bytes_in);
  put("evicted_bytes", sums.evicted_bytes);
  put("copies_in", sums.copies_in);
  put("copies_out", sums.copies_out);
  put("copy_in_ns", sums.copy_in_ns);
  put("copy_out_ns", sums.copy_out_ns);
  put("fault_batches", sums.fault_batches);
  put("cpu_faults", sums.cpu_faults);
  if (lost_records) out += ",\"lost_records\":true";
  return out + "}";
}

}  // namespace

std::string oversubscription_refusal(bool acknowledged) {
  if (acknowledged) return {};
  return std::string(kOversubscribeFlag) +
         " fills the GPU's memory and makes the driver evict, which hangs some drivers and GPUs until the machine is "
         "restarted, and stops everybody else who uses the GPU: never do so on one that you share; give " +
         kAcknowledgeFlag + " as well if it is yours alone";
}

std::vector<BeyondRun> beyond_runs(std::uint64_t free_device_bytes, std::uint64_t seed) {
  std::vector<BeyondRun> runs;
  const auto add = [&](const std::string& name, BeyondRun run) {
    run.seed = seed;
    run.name = name + "_fits";
    run.array_bytes = share_of(free_device_bytes, kFits) / run.arrays;
    runs.push_back(run);
    run.name = name + "_beyond";
    run.cold_run = name + "_fits";
    run.array_bytes = share_of(free_device_bytes, kBeyond) / run.arrays;
    runs.push_back(run);
  };
  for (const std::uint32_t pages : {8u, 64u}) {
    BeyondRun sparse;
    sparse.pages_per_block = pages;
    add("sparse_k" + std::to_string(pages), sparse);
  }
  for (const bool growing : {false, true}) {
    BeyondRun scans;
    scans.program = BeyondProgram::kSliceScans;
    scans.growing = growing;
    scans.steps = growing ? 8 : 3;
    scans.rounds = 2;
    add(growing ? "slices" : "scans", scans);
  }
  for (const bool random : {false, true}) {
    BeyondRun walk;
    walk.program = BeyondProgram::kPageWalk;
    walk.arrays = 2;
    walk.steps = 5;
    walk.random_order = random;
    add(random ? "random_walk" : "page_walk", walk);
  }
  return runs;
}

std::string host_refusal(const BeyondRun& run, std::uint64_t free_host_bytes) {
  if (run.array_bytes == 0) return "the GPU has too little memory free for it";
  if (run.bytes() <= free_host_bytes / 2) return {};
  return std::to_string(run.bytes()) + " bytes would be more than half of the " + std::to_string(free_host_bytes) +
         " bytes that the host has free";
}

std::string to_line(const BeyondRun& run, const BeyondMeasurement& measurement) {
  std::string out = "{\"name\":\"" + run.name + "\",\"program\":\"" + program_text(run.program) + "\"," +
                    field("array_bytes", run.array_bytes) + "," + field("steps", run.steps);
  switch (run.program) {
    case BeyondProgram::kSparseBlocks:
      out += "," + field("pages_per_block", run.pages_per_block) + "," + field("seed", run.seed);
      break;
    case BeyondProgram::kSliceScans:
      out += "," + field("rounds", run.rounds) + ",\"growing\":" + (run.growing ? "true" : "false");
      break;
    case BeyondProgram::kPageWalk:
      out +=
          std::string(",\"order\":\"") + (run.random_order ? "random" : "sequential") + "\"," + field("seed", run.seed);
      break;
  }
  Sums total;
  total.add(measurement.preparation);
  bool lost = measurement.preparation.dropped > 0;
  out += ",\"published\":[";
  for (std::size_t i = 0; i < measurement.steps.size(); ++i) {
    const Recording& step = measurement.steps[i];
    Sums sums;
    sums.add(step);
    total.add(step);
    lost = lost || step.dropped > 0;
    out += (i > 0 ? "," : "") + figures_text(sums, step.dropped > 0);
  }
  out += "]";
  if (!lost) out += ",\"published_total\":" + figures_text(total, false);
  if (!run.cold_run.empty() && !run.growing) out += ",\"steady\":{\"from\":1,\"cold_run\":\"" + run.cold_run + "\"}";
  return out +
         ",\"limits\":{\"time_permille\":200,\"bytes_permille\":100,\"copies_permille\":200,\"ratio_permille\":150}}\n";
}

}  // namespace uvmtrace::ground_truth
