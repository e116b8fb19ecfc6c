// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/graphs.h"

#include <utility>

#include "tracer/timing/cupti_library.h"
#include "tracer/timing/driver_library.h"
#include "tracer/timing/parameters.h"

namespace uvmtrace {

namespace {

struct Clones {
  bool wanted = false;
  std::unordered_map<std::uint64_t, std::uint64_t> of;
};
thread_local Clones clones;

// The limit for graphs within graphs, as a guard against endless recursion.
constexpr int kDeepestGraph = 16;

NodeWork work_of(CUgraphNode node, CUgraphNodeType type) {
  const DriverLibrary& api = driver();
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
      if (api.cuGraphKernelNodeGetParams_v2 == nullptr ||
          api.cuGraphKernelNodeGetParams_v2(node, &parameters) != CUDA_SUCCESS) {
        return KernelNode{};
      }
      return kernel_node(parameters);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      CUDA_MEMCPY3D copy{};
      if (api.cuGraphMemcpyNodeGetParams == nullptr || api.cuGraphMemcpyNodeGetParams(node, &copy) != CUDA_SUCCESS) {
        return {};
      }
      return CopyNode{shapes(copy)};
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS set{};
      if (api.cuGraphMemsetNodeGetParams == nullptr || api.cuGraphMemsetNodeGetParams(node, &set) != CUDA_SUCCESS) {
        return {};
      }
      return set_node(set);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
      if (api.cuGraphMemAllocNodeGetParams == nullptr ||
          api.cuGraphMemAllocNodeGetParams(node, &alloc) != CUDA_SUCCESS) {
        return {};
      }
      return AllocNode{{alloc.dptr, alloc.bytesize, MemoryKind::kPool}};
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: {
      CUdeviceptr va = 0;
      if (api.cuGraphMemFreeNodeGetParams == nullptr || api.cuGraphMemFreeNodeGetParams(node, &va) != CUDA_SUCCESS) {
        return {};
      }
      return FreeNode{va};
    }
    default:
      return {};  // empty, host and event nodes touch no memory
  }
}

void read_graph(CUgraph graph, int depth, GraphNodes& out) {
  const DriverLibrary& api = driver();
  if (depth > kDeepestGraph || api.cuGraphGetNodes == nullptr || api.cuGraphNodeGetType == nullptr) return;
  std::size_t count = 0;
  if (api.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
  std::vector<CUgraphNode> nodes(count);
  if (api.cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
  nodes.resize(std::min(count, nodes.size()));
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    if (api.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) continue;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph child = nullptr;
      if (api.cuGraphChildGraphNodeGetGraph != nullptr &&
          api.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS) {
        read_graph(child, depth + 1, out);
      }
      continue;
    }
    const std::uint64_t id = node_number(node);
    out.push_back({id, id, work_of(node, type)});
  }
}

// Instantiation may clone a node that is itself a clone.
std::uint64_t last_clone(std::uint64_t id) {
  for (std::size_t steps = 0; steps <= clones.of.size(); ++steps) {
    const auto found = clones.of.find(id);
    if (found == clones.of.end()) break;
    id = found->second;
  }
  return id;
}

}  // namespace

KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2& p) {
  const CUfunction function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  std::string name = kernel_name(p.func, p.kern);
  LaunchParameters parameters = read_parameters(name, function, p.kernelParams, p.extra);
  return {std::move(name),
          {{p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes},
          std::move(parameters)};
}

SetNode set_node(const CUDA_MEMSET_NODE_PARAMS& p) {
  return {{p.dst, p.width * p.elementSize, p.height == 0 ? 1 : p.height, p.pitch}};
}

std::uint64_t node_number(CUgraphNode node) {
  std::uint64_t id = 0;
  return cupti().cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS ? id : 0;
}

Graphs& Graphs::instance() {
  static Graphs* const graphs = new Graphs;
  return *graphs;
}

void Graphs::begin_instantiation() {
  clones.wanted = true;
  clones.of.clear();
}

void Graphs::note_node_cloned(std::uint64_t original, std::uint64_t clone) {
  if (clones.wanted) clones.of[original] = clone;
}

void Graphs::instantiated(CUgraphExec executable, CUgraph graph) {
  GraphNodes nodes;
  read_graph(graph, 0, nodes);
  for (GraphNode& node : nodes) node.id = last_clone(node.original);
  clones.wanted = false;
  publish(executable, std::move(nodes));
}

// An update pairs the nodes of two graphs of the same shape in their order; the nodes of the executable graph keep
// their numbers.
void Graphs::updated(CUgraphExec executable, CUgraph graph) {
  GraphNodes fresh;
  read_graph(graph, 0, fresh);
  const std::shared_ptr<const GraphNodes> old = nodes(executable);
  if (old == nullptr || old->size() != fresh.size()) return;
  GraphNodes merged = *old;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (merged[i].work.index() == fresh[i].work.index()) merged[i].work = std::move(fresh[i].work);
  }
  publish(executable, std::move(merged));
}

void Graphs::set_work(CUgraphExec executable, std::uint64_t original, const NodeWork& work) {
  const std::shared_ptr<const GraphNodes> old = nodes(executable);
  if (old == nullptr) return;
  GraphNodes changed = *old;
  for (GraphNode& node : changed) {
    if (node.original == original) node.work = work;
  }
  publish(executable, std::move(changed));
}

void Graphs::destroyed(CUgraphExec executable) {
  const std::lock_guard lock(mutex_);
  executables_.erase(executable);
}

std::shared_ptr<const GraphNodes> Graphs::nodes(CUgraphExec executable) const {
  const std::lock_guard lock(mutex_);
  const auto found = executables_.find(executable);
  return found == executables_.end() ? nullptr : found->second;
}

void Graphs::publish(CUgraphExec executable, GraphNodes nodes) {
  auto shared = std::make_shared<const GraphNodes>(std::move(nodes));
  const std::lock_guard lock(mutex_);
  executables_[executable] = std::move(shared);
}

}  // namespace uvmtrace
