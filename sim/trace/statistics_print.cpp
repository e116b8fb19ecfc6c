// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/common/plain_text.h"
#include "sim/trace/names.h"
#include "sim/trace/statistics.h"

namespace uvmsim::trace {

namespace {

// Formats "9.98 GiB" or "512 bytes" with integers only, so that the text is the same everywhere.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && (bytes >> (10 * (unit + 2))) != 0) ++unit;
  const unsigned shift = static_cast<unsigned>(10 * (unit + 1));
  const std::uint64_t whole = bytes >> shift;
  const std::uint64_t hundredths = ((bytes & ((std::uint64_t{1} << shift) - 1)) >> (shift - 10)) * 100 / 1024;
  return fmt::format("{}.{:02} {}", whole, hundredths, kUnits[unit]);
}

std::string time_text(std::int64_t ns) {
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1000000) return fmt::format("{}.{:03} us", ns / 1000, ns % 1000);
  return fmt::format("{}.{:03} ms", ns / 1000000, ns / 1000 % 1000);
}

std::string totals_text(const KernelTotals& totals) {
  std::string out =
      fmt::format("{} kernels, {}; they touch {}, write {}", totals.kernels, time_text(totals.duration_ns),
                  size_text(totals.touched_bytes), size_text(totals.written_bytes));
  if (totals.phase_touched_bytes != totals.touched_bytes) {
    out += fmt::format(" (summed over phases: {})", size_text(totals.phase_touched_bytes));
  }
  return out;
}

nlohmann::ordered_json totals_json(const KernelTotals& totals) {
  return {{"kernels", totals.kernels},
          {"kernel_ns", totals.duration_ns},
          {"touched_bytes", totals.touched_bytes},
          {"written_bytes", totals.written_bytes},
          {"phase_touched_bytes", totals.phase_touched_bytes}};
}

// Formats {"name": count} for the values that are not 0.
template <std::size_t N>
nlohmann::ordered_json counts_json(const std::array<std::uint64_t, N>& counts,
                                   const std::array<std::string_view, N>& names) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < N; ++i) {
    if (counts[i] != 0) out[std::string(names[i])] = counts[i];
  }
  return out;
}

template <std::size_t N>
std::string counts_text(const std::array<std::uint64_t, N>& counts, const std::array<std::string_view, N>& names) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i) {
    if (counts[i] != 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[i], names[i]);
  }
  return out.empty() ? "none" : out;
}

bool has_system_memory(const TraceStatistics& s) {
  return s.objects_by_kind[static_cast<std::size_t>(ObjectKind::kSystem)] != 0;
}

}  // namespace

namespace {

// Formats "1, 2; 0".
std::string alike_text(const std::vector<IterationStatistics>& iterations) {
  std::string text;
  for (const std::vector<std::size_t>& group : alike_iterations(iterations)) {
    if (group.size() < 2) continue;
    std::string numbers;
    for (const std::size_t i : group) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", iterations[i].index);
    text += fmt::format("{}{}", text.empty() ? "iterations " : "; ", numbers);
  }
  return text.empty() ? "no two iterations" : text + " (the same kernels in the same order, kernel time within 2 %)";
}

}  // namespace

std::string statistics_text(const TraceStatistics& s) {
  std::string out;
  const auto line = [&out](std::string_view key, std::string_view value) {
    if (!value.empty()) out += fmt::format("{:<12} {}\n", plain_text(key), plain_text(value));
  };
  line("program", s.header.program);
  line("recorded on",
       s.header.gpu.empty() || s.header.driver.empty() ? s.header.gpu : s.header.gpu + ", driver " + s.header.driver);
  line("provenance", s.header.provenance);
  line("written by", s.header.tool);
  for (const auto& [key, value] : s.header.attributes) line(key, value);
  line("format",
       fmt::format("{}.{}, accesses in quanta of {} bytes", s.header.major, s.header.minor, s.header.quantum_bytes));
  line("records", fmt::format("{}: {}", s.records, counts_text(s.records_by_type, kRecordTypeNames)));
  line("kernels",
       fmt::format("{}; {} different names, {} stream(s)", totals_text(s.totals), s.kernel_names, s.streams));
  line("", fmt::format("{} with phases, {} with a touch order; accesses: {}", s.kernels_with_phases,
                       s.kernels_with_order, counts_text(s.kernels_by_coverage, kCoverageNames)));
  line("", fmt::format("the largest touches {}", size_text(s.largest_kernel_bytes)));
  if (s.unknown_accesses != 0) {
    line("",
         fmt::format("{} accesses of {} kernels met no known allocation", s.unknown_accesses, s.kernels_with_unknown));
  }
  line("memory", fmt::format("peak of live objects {}, of managed ones {} ({} bytes){}{}", size_text(s.peak_live_bytes),
                             size_text(s.peak_managed_bytes), s.peak_managed_bytes,
                             s.peak_device_bytes == 0
                                 ? ""
                                 : fmt::format(", of device memory beside them {}", size_text(s.peak_device_bytes)),
                             s.tensors == 0 ? "" : fmt::format(", of tensors {}", size_text(s.peak_tensor_bytes))));
  line("",
       fmt::format("{} objects, {} tensors, {} of them touched by kernels", s.objects, s.tensors, s.touched_objects));
  if (has_system_memory(s)) line("", "objects by kind of memory: " + counts_text(s.objects_by_kind, kObjectKindNames));
  for (const LayoutFootprint& footprint : s.footprints) {
    line(&footprint == &s.footprints.front() ? "footprint" : "",
         footprint.problem.empty()
             ? fmt::format("{:<19} {} ({} bytes)", footprint.layout, size_text(footprint.bytes), footprint.bytes)
             : fmt::format("{:<19} cannot be: {}", footprint.layout, footprint.problem));
  }
  if (!s.footprints.empty()) {
    line("", fmt::format("{:<19} {} ({} bytes) of recorded, from first to last touch", "touched",
                         size_text(s.touched_footprint_bytes), s.touched_footprint_bytes));
  }
  for (std::size_t kind = 0; kind < kCopyKindNames.size(); ++kind) {
    if (s.copied_bytes[kind] != 0) {
      line("copies", fmt::format("{} {}", kCopyKindNames[kind], size_text(s.copied_bytes[kind])));
    }
  }
  line("sets", s.set_bytes == 0 ? std::string() : size_text(s.set_bytes));
  line("host gaps", time_text(s.host_gap_ns));
  for (const IterationStatistics& iteration : s.iterations) {
    line(fmt::format("iteration {}", iteration.index),
         fmt::format("{}; host gaps {}", totals_text(iteration.totals), time_text(iteration.host_gap_ns)));
  }
  if (s.iterations.size() > 1) line("alike", alike_text(s.iterations));
  line("repeated", s.repeated);
  line("truncated", s.truncation);
  return out;
}

std::string statistics_json(const TraceStatistics& s) {
  nlohmann::ordered_json attributes = nlohmann::ordered_json::array();
  for (const auto& [key, value] : s.header.attributes) attributes.push_back({key, value});
  nlohmann::ordered_json iterations = nlohmann::ordered_json::array();
  for (const IterationStatistics& iteration : s.iterations) {
    nlohmann::ordered_json item = {{"index", iteration.index}};
    item.update(totals_json(iteration.totals));
    item["host_gap_ns"] = iteration.host_gap_ns;
    iterations.push_back(std::move(item));
  }
  nlohmann::ordered_json alike = nlohmann::ordered_json::array();
  for (const std::vector<std::size_t>& group : alike_iterations(s.iterations)) {
    nlohmann::ordered_json indices = nlohmann::ordered_json::array();
    for (const std::size_t i : group) indices.push_back(s.iterations[i].index);
    alike.push_back(std::move(indices));
  }
  nlohmann::ordered_json footprints = nlohmann::ordered_json::object();
  for (const LayoutFootprint& footprint : s.footprints) {
    footprints[footprint.layout] =
        footprint.problem.empty() ? nlohmann::ordered_json(footprint.bytes) : nlohmann::ordered_json(nullptr);
  }
  nlohmann::ordered_json out = {{"schema", "uvmsim-trace-info-1"},
                                {"header",
                                 {{"major", s.header.major},
                                  {"minor", s.header.minor},
                                  {"quantum_bytes", s.header.quantum_bytes},
                                  {"tool", s.header.tool},
                                  {"gpu", s.header.gpu},
                                  {"driver", s.header.driver},
                                  {"program", s.header.program},
                                  {"provenance", s.header.provenance},
                                  {"attributes", attributes}}},
                                {"records", s.records},
                                {"records_by_type", counts_json(s.records_by_type, kRecordTypeNames)},
                                {"totals", totals_json(s.totals)},
                                {"kernel_names", s.kernel_names},
                                {"kernels_with_phases", s.kernels_with_phases},
                                {"kernels_with_order", s.kernels_with_order},
                                {"kernels_by_coverage", counts_json(s.kernels_by_coverage, kCoverageNames)},
                                {"bytes_by_coverage", counts_json(s.bytes_by_coverage, kCoverageNames)},
                                {"unknown_accesses", s.unknown_accesses},
                                {"kernels_with_unknown_accesses", s.kernels_with_unknown},
                                {"largest_kernel_bytes", s.largest_kernel_bytes},
                                {"streams", s.streams},
                                {"host_gap_ns", s.host_gap_ns},
                                {"objects", s.objects},
                                {"tensors", s.tensors},
                                {"touched_objects", s.touched_objects},
                                {"peak_live_bytes", s.peak_live_bytes},
                                {"peak_managed_bytes", s.peak_managed_bytes},
                                {"peak_device_bytes", s.peak_device_bytes},
                                {"peak_tensor_bytes", s.peak_tensor_bytes},
                                {"footprint_bytes", footprints},
                                {"touched_footprint_bytes", s.touched_footprint_bytes},
                                {"copied_bytes", counts_json(s.copied_bytes, kCopyKindNames)},
                                {"set_bytes", s.set_bytes},
                                {"iterations", iterations},
                                {"alike_iterations", alike},
                                {"repeated", s.repeated},
                                {"truncated", !s.truncation.empty()},
                                {"truncation", s.truncation}};
  if (has_system_memory(s)) out["objects_by_kind"] = counts_json(s.objects_by_kind, kObjectKindNames);
  return out.dump(2) + "\n";
}

}  // namespace uvmsim::trace
