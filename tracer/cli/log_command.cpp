// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/common/error.h"
#include "sim/trace/names.h"
#include "tracer/cli/commands.h"
#include "tracer/merge/log_reader.h"
#include "tracer/merge/unmanaged_memory.h"

namespace uvmtrace {

namespace {

constexpr const char* kLogUsage = R"(uvmtrace log FILE...: what the log of one pass holds.

  uvmtrace log logs/timing.4711.jsonl logs/access.4712.jsonl

)";

void print_launches(const PassLog& log) {
  std::set<std::uint32_t> streams, threads, names;
  for (const Event& event : log.events) threads.insert(event.tid);
  std::uint64_t patched = 0, runs = 0, quanta = 0, phases = 0, unknown = 0, untimed = 0, pointers = 0;
  std::int64_t kernel_ns = 0;
  for (const Launch& launch : log.launches) {
    streams.insert(launch.stream);
    names.insert(launch.name);
    patched += launch.patched ? 1 : 0;
    runs += launch.accesses.size();
    phases += launch.phases.empty() ? 0 : 1;
    unknown += launch.unknown;
    pointers += launch.params.size();
    for (const trace::Extent& run : launch.accesses) quanta += run.count;
    const auto time = log.kernel_times.find({launch.corr, launch.node});
    if (time == log.kernel_times.end()) {
      ++untimed;
    } else if (time->second.end_ns > time->second.start_ns) {
      kernel_ns += std::min(time->second.end_ns - time->second.start_ns, INT64_MAX - kernel_ns);
    }
  }
  fmt::print("launches     {}; {} different names, {} streams, {} threads\n", log.launches.size(), names.size(),
             streams.size(), threads.size());
  if (log.header.pass == Pass::kTiming) {
    fmt::print("             {} ns in kernels, {} without times; {} addresses in parameters\n", kernel_ns, untimed,
               pointers);
  } else {
    fmt::print(
        "             {} instrumented, {} with phases; {} runs of {} quanta; {} accesses met no known allocation\n",
        patched, phases, runs, quanta, unknown);
  }
}

void print_log(const PassLog& log) {
  const LogHeader& header = log.header;
  fmt::print("{}: {} pass, {} lines, {}{}\n", log.path, name_of(header.pass), log.lines,
             log.complete ? "complete" : "no end (the program was killed, or is still running)",
             log.cut_line ? ", last line cut off" : "");
  fmt::print("program      {} (process {})\n", trace::printable(fmt::format("{}", fmt::join(header.program, " "))),
             header.pid);
  fmt::print("recorded on  {}, driver {}, CUDA {}\n", trace::printable(header.gpu), trace::printable(header.driver),
             trace::printable(header.cuda));
  std::string counts;
  for (const auto& [type, count] : log.lines_by_type) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, type);
  }
  fmt::print("events       {}\n", counts);
  for (const auto& [type, count] : log.unknown_types) fmt::print("unknown      {} {}\n", count, trace::printable(type));
  if (header.pass == Pass::kMemory) {
    fmt::print("memory       {}\n", unmanaged_memory(log).text());
  } else {
    print_launches(log);
  }
  if (log.dropped != 0) fmt::print("lost         {} records of the profiler\n", log.dropped);
  for (const std::string& note : log.notes) fmt::print("note         {}\n", trace::printable(note));
}

int print_logs(const Values& values) {
  values.first("no log given; `uvmtrace log --help` shows an example");
  for (const std::string& path : values.arguments()) print_log(read_log(path, std::nullopt));
  return 0;
}

}  // namespace

CommandLine log_command() {
  return {.usage = kLogUsage, .options = {kHelp}, .most_arguments = 1000000, .run = print_logs};
}

}  // namespace uvmtrace
