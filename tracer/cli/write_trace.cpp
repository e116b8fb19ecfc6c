// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/write_trace.h"

#include <fmt/format.h>

#include <filesystem>

#include "sim/common/random.h"
#include "sim/trace/names.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"
#include "tracer/merge/unmanaged_memory.h"

namespace uvmtrace {

WrittenTrace write_trace(const PassLogs& logs, const MergeOptions& options, const std::string& path,
                         int compression_level) {
  WrittenTrace out;
  UnmanagedMemory unmanaged;
  if (logs.memory != nullptr) {
    unmanaged = unmanaged_memory(*logs.memory);
    out.unmanaged_memory = unmanaged.text();
  } else {
    out.unmanaged_memory = "not recorded";
  }
  MergeOptions with_memory = options;
  with_memory.attributes.emplace_back("unmanaged_memory", out.unmanaged_memory);
  Merger merger(*logs.timing, logs.access, with_memory);
  trace::TraceWriter writer(path, merger.header(), {compression_level});
  trace::Validator validator(path, merger.header());
  std::vector<trace::Record> records;
  merger.run([&](const trace::Record& record) { records.push_back(record); });
  out.workspaces = complete_workspaces(records);
  add_unmanaged_memory(unmanaged, records);
  for (const trace::Record& record : records) {
    validator.check(record);
    writer.write(record);
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
      ++out.kernels;
      ++out.kernels_by_coverage.at(static_cast<std::size_t>(kernel->coverage));
    } else if (std::holds_alternative<trace::ObjectAlloc>(record)) {
      ++out.objects;
    } else if (std::holds_alternative<trace::TensorAlloc>(record)) {
      ++out.tensors;
    } else if (const auto* range = std::get_if<trace::Range>(&record)) {
      out.iterations += range->kind == trace::RangeKind::kIterationBegin ? 1 : 0;
    }
  }
  validator.finish();
  writer.finish();
  out.merge = merger.summary();
  return out;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const auto tenths =
      whole == 0 ? 0 : static_cast<std::uint64_t>(static_cast<uvmsim::WideUnsigned>(part) * 1000 / whole);
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string describe(const WrittenTrace& written, const PassLogs& logs, const std::string& path) {
  const MergeSummary& merge = written.merge;
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  std::string coverage;
  for (std::size_t i = 0; i < written.kernels_by_coverage.size(); ++i) {
    if (written.kernels_by_coverage[i] != 0) {
      coverage += fmt::format("{}{} % {}", coverage.empty() ? "" : ", ",
                              percent(written.kernels_by_coverage[i], written.kernels), trace::kCoverageNames[i]);
    }
  }
  std::string out = fmt::format("{}: {} kernels ({}), {} objects, {} tensors, {} iterations{}\n", path, written.kernels,
                                coverage.empty() ? "none" : coverage, written.objects, written.tensors,
                                written.iterations, ignored ? "" : fmt::format(", {} KiB", (bytes + 1023) / 1024));
  const auto line = [&out](std::uint64_t count, std::string_view text) {
    if (count != 0) out += fmt::format("{} {}\n", count, text);
  };
  out += fmt::format("memory of the GPU beside allocations: {}\n", written.unmanaged_memory);
  if (!merge.dropped.empty()) out += fmt::format("left out: {}\n", merge.dropped);
  if (logs.access != nullptr && merge.matched != merge.launches) {
    line(merge.launches - merge.matched, "launches were not found in the access pass: " + merge.divergence);
  }
  line(merge.tensor_copies,
       "launches load operands in a way that cannot be instrumented; they take them from elsewhere");
  line(merge.undirected_maps,
       "launches have tensor maps of which nothing says whether they are read or written: they count as all that they "
       "may "
       "be");
  line(written.workspaces.kernels,
       fmt::format("of the kernels whose accesses are not instrumented hand data on in workspaces: {} MiB added, {} MiB"
                   " of operands left out",
                   written.workspaces.added_bytes >> 20, written.workspaces.removed_bytes >> 20));
  line(logs.timing->unseen_waits, "waits for the GPU that no call shows were added where iterations end");
  line(merge.untimed, "launches have no times: the profiler lost their records");
  line(merge.lost_quanta, "touched quanta belong to memory that the timing pass does not have: counted as unknown");
  line(merge.coarsened, "kernels are too scattered for a record: they have fewer phases, or gaps closed");
  line(merge.unplaced_calls, "sets and hints name unknown memory: left out");
  line(merge.unmatched_memory, "allocations of the access pass have no partner in the timing pass");
  line(merge.repairs, "allocations or frees contradict earlier ones: the later ones were believed");
  for (const PassLog* log : {logs.timing, logs.access, logs.memory}) {
    if (log == nullptr) continue;
    line(log->dropped, fmt::format("records lost by the profiler ({})", log->path));
    if (!log->complete) out += fmt::format("{} has no end: the program was killed, or is still running\n", log->path);
    for (const auto& [type, count] : log->unknown_types) {
      out += fmt::format("{}: {} events of unknown type '{}' left out\n", log->path, count, trace::printable(type));
    }
    for (const std::string& note : log->notes) out += fmt::format("note: {}\n", trace::printable(note));
  }
  return out;
}

}  // namespace uvmtrace
