// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/measurement.h"

#include <algorithm>

namespace uvmtrace::ground_truth {

namespace {

// Faults are extended to the end of their 2 MB block, so events may lie this far beyond the allocation, or before it.
constexpr std::uint64_t kNeighbourhood = kBlockBytes;

const char* kind_name(CounterKind kind) {
  switch (kind) {
    case CounterKind::kHostToDevice:
      return "htod";
    case CounterKind::kDeviceToHost:
      return "dtoh";
    case CounterKind::kDeviceToDevice:
      return "dtod";
    case CounterKind::kCpuFault:
      return "cpu_fault";
    case CounterKind::kGpuFault:
      return "gpu_fault";
    case CounterKind::kThrashing:
      return "thrashing";
    case CounterKind::kRemoteMap:
      return "remote_map";
    default:
      return nullptr;  // not part of the format
  }
}

bool belongs(const Experiment& experiment, const Measurement& measurement, const CounterRecord& record) {
  const std::uint64_t first = measurement.base - std::min(measurement.base, kNeighbourhood);
  const std::uint64_t last = measurement.base + experiment.bytes + kNeighbourhood;
  return record.start_ns >= measurement.begin_ns && record.address >= first && record.address < last &&
         kind_name(record.kind) != nullptr;
}

struct Line {
  std::uint64_t start_ns = 0;
  bool kernel = false;
  std::string text;  // without the brackets
};

void put(std::string& out, std::int64_t number) { out += ',' + std::to_string(number); }

std::int64_t since(std::uint64_t time_ns, std::uint64_t origin_ns) {
  return static_cast<std::int64_t>(time_ns) - static_cast<std::int64_t>(origin_ns);
}

std::string ranges_text(const std::vector<ByteRange>& ranges) {
  std::string out = "[";
  for (const ByteRange& range : ranges) {
    if (out.size() > 1) out += ',';
    out += '[' + std::to_string(range.offset) + ',' + std::to_string(range.bytes) + ']';
  }
  return out + ']';
}

std::string touches_text(const Experiment& experiment) {
  std::string out = "[";
  // Touches of a `cpu` experiment are the host's and appear in its events; the format has touches for kernels only.
  if (experiment.mode == Mode::kOrdered || experiment.mode == Mode::kParallel) {
    for (const Touch& touch : experiment.touches) {
      if (out.size() > 1) out += ',';
      out += '[' + std::to_string(touch.page) + (touch.write ? ",\"w\"]" : ",\"r\"]");
    }
  }
  return out + ']';
}

// Returns the bytes that must migrate: a loop over memory on the host or the other GPU moves all of it. If fewer move,
// records are missing.
std::uint64_t least_bytes_to_gpu(const Experiment& experiment) {
  const bool everything = experiment.mode == Mode::kStreamRead || experiment.mode == Mode::kVectorAdd ||
                          experiment.mode == Mode::kPrefetch || experiment.mode == Mode::kPrefetchAndBack;
  if (!everything || experiment.advise != "none") return 0;
  std::uint64_t bytes = 0;
  for (const ByteRange& range : experiment.host_populated) bytes += range.bytes;
  for (const ByteRange& range : experiment.peer_resident) bytes += range.bytes;
  return bytes;
}

bool has_kernel(const Experiment& experiment) {
  return experiment.mode != Mode::kPrefetch && experiment.mode != Mode::kPrefetchAndBack;
}

// Formats everything but the events, without the closing brace.
std::string beginning(const Experiment& experiment, const Measurement& measurement, std::uint32_t repeat) {
  std::string out = "{\"name\":\"" + experiment.name + (repeat > 1 ? "_rep" + std::to_string(repeat) : "") +
                    "\",\"mode\":\"" + mode_text(experiment) + "\",\"bytes\":" + std::to_string(experiment.bytes) +
                    ",\"va_offset_in_2m\":" + std::to_string(measurement.base % kBlockBytes) + ",\"advise\":\"" +
                    experiment.advise + "\",\"host_populated\":" + ranges_text(experiment.host_populated) +
                    ",\"gpu_resident\":" + ranges_text(experiment.gpu_resident);
  if (!experiment.peer_resident.empty()) out += ",\"peer_resident\":" + ranges_text(experiment.peer_resident);
  const Experiment usual;
  if (experiment.loop_threads != usual.loop_threads || experiment.access_bytes != usual.access_bytes) {
    out += ",\"loop_threads\":" + std::to_string(experiment.loop_threads) +
           ",\"access_bytes\":" + std::to_string(experiment.access_bytes);
  }
  out += ",\"touches\":" + touches_text(experiment);
  if (measurement.native_ns > 0) out += ",\"native_ns\":" + std::to_string(measurement.native_ns);
  const auto put_times = [&out](const char* key, const std::vector<std::uint64_t>& times) {
    if (times.empty()) return;
    out += std::string(out.back() == '{' ? "" : ",") + '"' + key + "\":[";
    for (std::size_t i = 0; i < times.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(times[i]);
    out += ']';
  };
  const Unobserved& unobserved = measurement.unobserved;
  if (!unobserved.kernel_ns.empty() || !unobserved.host_ns.empty()) {
    out += ",\"unobserved\":{";
    put_times("kernel_ns", unobserved.kernel_ns);
    put_times("host_ns", unobserved.host_ns);
    if (!unobserved.host.empty()) out += ",\"host\":" + unobserved.host;
    out += '}';
  }
  return out;
}

}  // namespace

std::string defect(const Experiment& experiment, const Measurement& measurement) {
  const Recording& recording = measurement.recording;
  if (recording.dropped > 0) return "CUPTI dropped " + std::to_string(recording.dropped) + " records";
  std::uint64_t kernels = 0, moved = 0;
  for (const KernelRecord& kernel : recording.kernels) kernels += kernel.start_ns >= measurement.begin_ns ? 1 : 0;
  for (const CounterRecord& record : recording.counters) {
    const bool to_gpu = record.kind == CounterKind::kHostToDevice || record.kind == CounterKind::kDeviceToDevice;
    if (to_gpu && belongs(experiment, measurement, record)) moved += record.value;
  }
  const std::uint64_t expected = has_kernel(experiment) ? std::max(experiment.rounds, 1u) : 0;
  if (kernels != expected) {
    return std::to_string(kernels) + " kernels were recorded where " + std::to_string(expected) + " ran";
  }
  const std::uint64_t least = least_bytes_to_gpu(experiment);
  if (moved < least) {
    return "only " + std::to_string(moved) + " of " + std::to_string(least) + " bytes to the GPU were recorded";
  }
  return {};
}

std::string to_line(const Experiment& experiment, const Measurement& measurement, std::uint32_t repeat) {
  std::vector<Line> lines;
  std::uint64_t origin = UINT64_MAX;
  const auto begin = [&](std::uint64_t start_ns, bool kernel) -> Line& {
    origin = std::min(origin, start_ns);
    lines.push_back({start_ns, kernel, {}});
    return lines.back();
  };
  for (const KernelRecord& kernel : measurement.recording.kernels) {
    if (kernel.start_ns >= measurement.begin_ns) begin(kernel.start_ns, true);
  }
  for (const CounterRecord& record : measurement.recording.counters) {
    if (belongs(experiment, measurement, record)) begin(record.start_ns, false);
  }
  std::size_t at = 0;
  for (const KernelRecord& kernel : measurement.recording.kernels) {
    if (kernel.start_ns < measurement.begin_ns) continue;
    std::string& text = lines[at++].text;
    text = "\"kernel\"";
    put(text, since(kernel.start_ns, origin));
    put(text, since(kernel.end_ns, origin));
    text += ",-1,0,0";
  }
  for (const CounterRecord& record : measurement.recording.counters) {
    if (!belongs(experiment, measurement, record)) continue;
    std::string& text = lines[at++].text;
    text = '"' + std::string(kind_name(record.kind)) + '"';
    put(text, since(record.start_ns, origin));
    put(text, record.end_ns < record.start_ns ? 0 : since(record.end_ns, origin));
    put(text, since(record.address, measurement.base));
    text += ',' + std::to_string(record.value) + ',' + std::to_string(record.flags);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.kernel > b.kernel;
  });

  std::string out = beginning(experiment, measurement, repeat) + ",\"events\":[";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += ',';
    out += '[' + lines[i].text + ']';
  }
  return out + "]}\n";
}

std::string to_line_of_times(const Experiment& experiment, const Measurement& measurement, std::uint32_t repeat) {
  return beginning(experiment, measurement, repeat) + "}\n";
}

}  // namespace uvmtrace::ground_truth
