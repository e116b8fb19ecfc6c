// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: what each node of an executable graph does, so that a launch of the graph gives one event per node.
//
// CUPTI numbers nodes; the records of the GPU's work carry the numbers of the executable graph's nodes, which are
// clones of the nodes that the program or a capture made. Instantiation announces every clone (note_node_cloned), and
// when it has returned the graph that it was made from is read once, parameters and all (instantiated).
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tracer/timing/copy_shapes.h"
#include "tracer/timing/launch_events.h"
#include "tracer/timing/live_allocations.h"

namespace uvmtrace {

struct KernelNode {
  std::string name;
  LaunchShape shape;
  LaunchParameters parameters;
};
struct CopyNode {
  std::vector<CopyShape> shapes;
};
struct SetNode {
  SetShape shape;
};
struct AllocNode {
  Allocation allocation;
};
struct FreeNode {
  std::uint64_t va = 0;
};
using NodeWork = std::variant<std::monostate, KernelNode, CopyNode, SetNode, AllocNode, FreeNode>;

// Interprets a node's parameters; CUPTI and the driver are asked, so no lock may be held.
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2& parameters);
SetNode set_node(const CUDA_MEMSET_NODE_PARAMS& parameters);

struct GraphNode {
  std::uint64_t original = 0;  // CUPTI's number of the node that the program knows
  std::uint64_t id = 0;        // and of its clone, which runs
  NodeWork work;
};
// Immutable once published: a launch on another thread may be walking it.
using GraphNodes = std::vector<GraphNode>;

class Graphs {
 public:
  static Graphs& instance();

  // Between the two, clones announced on this thread belong to the new executable graph.
  static void begin_instantiation();
  static void note_node_cloned(std::uint64_t original, std::uint64_t clone);
  void instantiated(CUgraphExec executable, CUgraph graph);
  void updated(CUgraphExec executable, CUgraph graph);
  // The program gave one node of an executable graph new work.
  void set_work(CUgraphExec executable, std::uint64_t original, const NodeWork& work);
  void destroyed(CUgraphExec executable);

  // In the order of the nodes; null for a graph that was never seen.
  std::shared_ptr<const GraphNodes> nodes(CUgraphExec executable) const;

 private:
  void publish(CUgraphExec executable, GraphNodes nodes);

  mutable std::mutex mutex_;
  std::unordered_map<CUgraphExec, std::shared_ptr<const GraphNodes>> executables_;
};

// CUPTI's number of a node, 0 when it has none.
std::uint64_t node_number(CUgraphNode node);

}  // namespace uvmtrace
