// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/child_graphs.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace uvmtrace {

void join_child_graphs(PassLog& log) {
  using Node = std::pair<std::uint64_t, std::uint64_t>;  // correlation and number
  std::set<Node> launched;
  for (const Launch& launch : log.launches) {
    if (launch.node != 0) launched.insert({launch.corr, launch.node});
  }
  struct Apart {
    std::vector<Node> launches, records;
  };
  std::map<std::uint64_t, Apart> graphs;
  for (const Node& node : launched) {
    if (!log.kernel_times.contains(node)) graphs[node.first].launches.push_back(node);
  }
  if (graphs.empty()) return;
  for (const auto& [node, time] : log.kernel_times) {
    const auto graph = graphs.find(node.first);
    if (graph != graphs.end() && !launched.contains(node)) graph->second.records.push_back(node);
  }
  for (const auto& [correlation, apart] : graphs) {
    if (apart.launches.size() != apart.records.size()) continue;
    for (std::size_t i = 0; i < apart.launches.size(); ++i) {
      auto record = log.kernel_times.extract(apart.records[i]);
      record.key() = apart.launches[i];
      log.kernel_times.insert(std::move(record));
    }
  }
}

}  // namespace uvmtrace
