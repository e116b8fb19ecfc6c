// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/processes.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <tuple>

#include "tracer/merge/log_reader.h"

namespace uvmtrace {

namespace {

struct Process {
  std::string path;
  LogHeader header;
  bool taken = false;

  // Ranks are sorted as numbers: 10 comes after 9.
  auto order() const { return std::tuple(header.rank.size(), header.rank, header.started_ns, path); }
  bool same_place(const Process& other) const {
    return header.rank == other.header.rank && header.program == other.header.program;
  }
};

std::vector<Process> processes_of(const std::vector<std::string>& paths) {
  std::vector<Process> out;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    std::getline(file, line);
    out.push_back({path, read_log(line + "\n", path, std::nullopt).header});
  }
  std::sort(out.begin(), out.end(), [](const Process& a, const Process& b) { return a.order() < b.order(); });
  return out;
}

}  // namespace

std::vector<ProcessLogs> pair_processes(const std::vector<std::string>& timing, const std::vector<std::string>& other) {
  std::vector<Process> others = processes_of(other);
  std::vector<ProcessLogs> out;
  for (const Process& process : processes_of(timing)) {
    ProcessLogs& logs = out.emplace_back();
    logs.timing = process.path;
    logs.rank = process.header.rank;
    const auto partner = std::find_if(others.begin(), others.end(),
                                      [&](const Process& other) { return !other.taken && other.same_place(process); });
    if (partner != others.end()) {
      partner->taken = true;
      logs.partner = partner->path;
    }
  }
  return out;
}

}  // namespace uvmtrace
