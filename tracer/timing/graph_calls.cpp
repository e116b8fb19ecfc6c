// SPDX-License-Identifier: Apache-2.0
// Making, changing and launching CUDA graphs.
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"
#include "tracer/timing/graphs.h"
#include "tracer/timing/memory_events.h"

namespace uvmtrace {

namespace {

// Writes the event of one node; nothing for nodes that touch no memory.
struct WriteNode {
  const Call& call;
  CUstream stream;
  std::uint64_t id;
  bool& first;

  bool take_first() const { return std::exchange(first, false); }
  void operator()(std::monostate) const {}
  void operator()(const KernelNode& node) const {
    write_launch(call, node.name, node.shape, stream, node.parameters, take_first(), id);
  }
  void operator()(const CopyNode& node) const {
    for (const CopyShape& shape : node.shapes) write_copy(call, shape, stream, true, take_first(), id);
  }
  void operator()(const SetNode& node) const { write_set(call, node.shape, stream, true, take_first(), id); }
  void operator()(const AllocNode& node) const {
    LiveAllocations::instance().insert(node.allocation);
    write_alloc(call, node.allocation, stream, take_first());
  }
  void operator()(const FreeNode& node) const {
    write_free(call, {node.va, 0, MemoryKind::kPool}, stream, take_first());
  }
};

void launched(const Call& call) {
  const auto& p = call.as<cuGraphLaunch_params>();
  if (was_captured(call, p.hStream)) return;
  const std::shared_ptr<const GraphNodes> nodes = Graphs::instance().nodes(p.hGraph);
  if (nodes == nullptr) return;
  bool first = true;
  for (const GraphNode& node : *nodes) std::visit(WriteNode{call, p.hStream, node.id, first}, node.work);
}

std::uint64_t begin_instantiation(const Call&) {
  Graphs::begin_instantiation();
  return 0;
}
template <typename Parameters>
void instantiated(const Call& call) {
  const auto& p = call.as<Parameters>();
  Graphs::instance().instantiated(*p.phGraphExec, p.hGraph);
}
template <typename Parameters>
CallHandler instantiation() {
  return {.on_success = &instantiated<Parameters>, .on_enter = &begin_instantiation};
}
template <typename Parameters>
void updated(const Call& call) {
  const auto& p = call.as<Parameters>();
  Graphs::instance().updated(p.hGraphExec, p.hGraph);
}

void add_node_changes(CallTable& table) {
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuGraphExecKernelNodeSetParams_params>();
              const CUDA_KERNEL_NODE_PARAMS_v1& old = *p.nodeParams;
              CUDA_KERNEL_NODE_PARAMS_v2 node{};
              node.func = old.func;
              node.gridDimX = old.gridDimX;
              node.gridDimY = old.gridDimY;
              node.gridDimZ = old.gridDimZ;
              node.blockDimX = old.blockDimX;
              node.blockDimY = old.blockDimY;
              node.blockDimZ = old.blockDimZ;
              node.sharedMemBytes = old.sharedMemBytes;
              node.kernelParams = old.kernelParams;
              node.extra = old.extra;
              Graphs::instance().set_work(p.hGraphExec, node_number(p.hNode), kernel_node(node));
            }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuGraphExecKernelNodeSetParams_v2_params>();
              Graphs::instance().set_work(p.hGraphExec, node_number(p.hNode), kernel_node(*p.nodeParams));
            }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuGraphExecMemcpyNodeSetParams_params>();
              Graphs::instance().set_work(p.hGraphExec, node_number(p.hNode), CopyNode{shapes(*p.copyParams)});
            }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemsetNodeSetParams, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuGraphExecMemsetNodeSetParams_params>();
              Graphs::instance().set_work(p.hGraphExec, node_number(p.hNode), set_node(*p.memsetParams));
            }});
}

}  // namespace

void add_graph_calls(CallTable& table) {
  UVMTRACE_ADD_PAIR(table, cuGraphLaunch, cuGraphLaunch_ptsz, {.on_success = &launched});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, instantiation<cuGraphInstantiate_params>());
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, instantiation<cuGraphInstantiate_v2_params>());
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, instantiation<cuGraphInstantiateWithFlags_params>());
  UVMTRACE_ADD_PAIR(table, cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz,
                    instantiation<cuGraphInstantiateWithParams_params>());
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate, {.on_success = &updated<cuGraphExecUpdate_params>});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, {.on_success = &updated<cuGraphExecUpdate_v2_params>});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy, {.on_success = [](const Call& call) {
              Graphs::instance().destroyed(call.as<cuGraphExecDestroy_params>().hGraphExec);
            }});
  add_node_changes(table);
}

}  // namespace uvmtrace
