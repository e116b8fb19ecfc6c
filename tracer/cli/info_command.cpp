// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/names.h"
#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/write_trace.h"

namespace uvmtrace {

namespace {

constexpr const char* kInfoUsage = R"(uvmtrace info TRACE: what a trace holds, and for how many kernels it has accesses.

  uvmtrace info gpt2.uvmt

)";

// Kernels of one name whose accesses are not completely instrumented.
struct Uncovered {
  std::uint64_t launches = 0;
  std::int64_t duration_ns = 0;
  trace::Coverage coverage = trace::Coverage::kNone;  // of the last such kernel
};

std::map<std::string, Uncovered> uncovered_kernels(const std::string& path, bool partial) {
  std::map<std::string, Uncovered> out;
  trace::TraceReader reader(path, {partial});
  trace::Record record;
  while (reader.next(record)) {
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel != nullptr && kernel->coverage != trace::Coverage::kInstrumented) {
      Uncovered& item = out[kernel->name];
      ++item.launches;
      item.duration_ns += std::min(kernel->duration_ns, INT64_MAX - item.duration_ns);
      item.coverage = kernel->coverage;
    }
  }
  return out;
}

void print_coverage(const trace::TraceStatistics& statistics, const std::map<std::string, Uncovered>& uncovered) {
  for (std::size_t i = 0; i < trace::kCoverageNames.size(); ++i) {
    if (statistics.kernels_by_coverage[i] != 0) {
      fmt::print("{:<12} {:<15} {:>5} % of launches, {:>5} % of touched bytes\n", "coverage", trace::kCoverageNames[i],
                 percent(statistics.kernels_by_coverage[i], statistics.totals.kernels),
                 percent(statistics.bytes_by_coverage[i], statistics.totals.touched_bytes));
    }
  }
  constexpr std::size_t kShown = 10;
  std::vector<std::pair<std::string, Uncovered>> order(uncovered.begin(), uncovered.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.duration_ns > b.second.duration_ns; });
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    const auto& [name, item] = order[i];
    fmt::print("{:<12} {} launches, {} us: {}\n", i == 0 ? "elsewhere" : "", item.launches, item.duration_ns / 1000,
               trace::printable(name));
  }
  if (order.size() > kShown) fmt::print("{:<12} and {} more names\n", "", order.size() - kShown);
}

int print_info(const Values& values) {
  const std::string& path = values.first("no trace given; `uvmtrace info --help` shows an example");
  if (path == "-") uvmsim::throw_input_error("info reads a file twice and cannot take standard input");
  trace::TraceReader reader(path, {values.given("partial")});
  const trace::TraceStatistics statistics = trace::summarize(reader);
  if (values.given("json")) {
    fmt::print("{}", trace::statistics_json(statistics));
    return 0;
  }
  fmt::print("{}", trace::statistics_text(statistics));
  print_coverage(statistics, uncovered_kernels(path, values.given("partial")));
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(path, ignored);
  if (!ignored && statistics.totals.kernels != 0) {
    fmt::print("{:<12} {} bytes, {} per kernel\n", "file", bytes, bytes / statistics.totals.kernels);
  }
  return 0;
}

}  // namespace

CommandLine info_command() {
  return {.usage = kInfoUsage,
          .options = {kHelp,
                      {"partial", "", "of a file that is cut off or damaged, take what is whole"},
                      {"json", "", "print one JSON object (that of `uvmsim trace info`, which has the coverage too)"}},
          .most_arguments = 1,
          .run = print_info};
}

}  // namespace uvmtrace
