// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: the work of each node of an executable graph, so that a launch of the graph gives one event per node.
//
// CUPTI numbers nodes. The records of the GPU's work have the numbers of the executable graph's nodes, which are clones
// of the nodes that the program or a capture created. Instantiation announces every clone (note_node_cloned); after it
// has returned, the graph that was instantiated is read once, with all parameters (instantiated).
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

// Reads a node's parameters. This calls CUPTI and the driver, so no lock may be held.
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2& parameters);
SetNode set_node(const CUDA_MEMSET_NODE_PARAMS& parameters);

struct GraphNode {
  std::uint64_t original = 0;  // CUPTI's number of the node that the program knows
  std::uint64_t id = 0;        // CUPTI's number of its clone, which runs
  NodeWork work;
};
// Immutable after publication: a launch on another thread may be reading it.
using GraphNodes = std::vector<GraphNode>;

class Graphs {
 public:
  static Graphs& instance();

  // Between begin and end of an instantiation, clones announced on this thread belong to the new executable graph.
  static void begin_instantiation();
  static void note_node_cloned(std::uint64_t original, std::uint64_t clone);
  void instantiated(CUgraphExec executable, CUgraph graph);
  void updated(CUgraphExec executable, CUgraph graph);
  // Called when the program gives one node of an executable graph new work.
  void set_work(CUgraphExec executable, std::uint64_t original, const NodeWork& work);
  void destroyed(CUgraphExec executable);

  // Returns the nodes in order; null for a graph that is not known.
  std::shared_ptr<const GraphNodes> nodes(CUgraphExec executable) const;

 private:
  void publish(CUgraphExec executable, GraphNodes nodes);

  mutable std::mutex mutex_;
  std::unordered_map<CUgraphExec, std::shared_ptr<const GraphNodes>> executables_;
};

// Returns CUPTI's number of a node, 0 if it has none.
std::uint64_t node_number(CUgraphNode node);

}  // namespace uvmtrace
