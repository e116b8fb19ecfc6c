#include "fake_cuda.h"

#include <algorithm>
#include <cstring>

namespace fake {

Cuda& cuda() {
  static Cuda* const state = new Cuda;
  return *state;
}

namespace {
const Function* find(const void* handle, bool as_kernel) {
  const auto found = cuda().functions.find(reinterpret_cast<std::uint64_t>(handle));
  return found == cuda().functions.end() || found->second.is_kernel != as_kernel ? nullptr : &found->second;
}
CUresult parameter(const Function* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (index >= function->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->parameters[index].first;
  *bytes = function->parameters[index].second;
  return CUDA_SUCCESS;
}
const Node& node(CUgraphNode handle) { return cuda().nodes.at(reinterpret_cast<std::uint64_t>(handle)); }
}  // namespace

}  // namespace fake

using fake::cuda;

#undef cuStreamIsCapturing
#undef cuGraphKernelNodeGetParams

extern "C" {

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "Fake \"GPU\"", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT       ? 132
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
                                                                       : 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return fake::parameter(fake::find(function, false), index, offset, bytes);
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return fake::parameter(fake::find(kernel, true), index, offset, bytes);
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  const fake::Function* const found = fake::find(function, false);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = found->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  const fake::Function* const found = fake::find(kernel, true);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = found->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = reinterpret_cast<std::uint64_t>(stream) == cuda().capturing_stream ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                                               : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const auto& all = cuda().graphs.at(reinterpret_cast<std::uint64_t>(graph));
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < std::min(*count, all.size()); ++i) nodes[i] = reinterpret_cast<CUgraphNode>(all[i]);
  }
  *count = all.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = fake::node(node).type;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  *parameters = fake::node(node).kernel;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  *copy = fake::node(node).copy;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* set) {
  *set = fake::node(node).set;
  return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(fake::node(node).child);
  return CUDA_SUCCESS;
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* alloc) {
  *alloc = {};
  alloc->dptr = fake::node(node).va;
  alloc->bytesize = fake::node(node).bytes;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* va) {
  *va = fake::node(node).va;
  return CUDA_SUCCESS;
}

}  // extern "C"
