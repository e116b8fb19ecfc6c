// SPDX-License-Identifier: Apache-2.0
#include "fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/tracer/maps/encoder.h"

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
uvmtrace::MapArguments map_arguments(CUtensorMapDataType type, cuuint32_t rank, void* va, const cuuint64_t* dims,
                                     const cuuint64_t* strides, const cuuint32_t* element_strides,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  uvmtrace::MapArguments out;
  out.type = static_cast<std::uint32_t>(type);
  out.rank = rank;
  out.va = reinterpret_cast<std::uint64_t>(va);
  std::copy_n(dims, rank, out.dims.begin());
  std::copy_n(strides, rank - 1, out.strides.begin());
  std::copy_n(element_strides, rank, out.element_strides.begin());
  out.interleave = static_cast<std::uint32_t>(interleave);
  out.swizzle = static_cast<std::uint32_t>(swizzle);
  out.l2_promotion = static_cast<std::uint32_t>(promotion);
  out.fill = static_cast<std::uint32_t>(fill);
  return out;
}
CUresult encode(const uvmtrace::MapArguments& arguments, CUtensorMap* map) {
  uvmtrace::MapBytes bytes{};
  if (std::getenv("FAKE_CUDA_NO_MAPS") != nullptr || !uvmtrace::maps_test::Encoder{}(arguments, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, bytes.data(), bytes.size());
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

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = cuda().current_device;
  return cuda().current_device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const auto [found, added] = cuda().free_bytes.try_emplace(cuda().current_device, std::size_t{1} << 30);
  *free_bytes = found->second;
  *total_bytes = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{100} + static_cast<unsigned>(device));
  return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute, void* value) {
  *static_cast<std::uint64_t*>(value) = cuda().pool_bytes.at(reinterpret_cast<std::uint64_t>(pool));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute, void* value) {
  *static_cast<std::uint64_t*>(value) = device == 0 ? cuda().graph_bytes : 0;
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

// If FAKE_CUDA_NO_MAPS is set, the driver refuses to encode tensor maps.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* va,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  if (rank < 1 || rank > uvmtrace::kMaxMapRank) return CUDA_ERROR_INVALID_VALUE;
  uvmtrace::MapArguments a =
      fake::map_arguments(type, rank, va, dims, strides, element_strides, interleave, swizzle, promotion, fill);
  std::copy_n(box, rank, a.box.begin());
  return fake::encode(a, map);
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* va,
                                 const cuuint64_t* dims, const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (rank < 3 || rank > uvmtrace::kMaxMapRank) return CUDA_ERROR_INVALID_VALUE;
  uvmtrace::MapArguments a =
      fake::map_arguments(type, rank, va, dims, strides, element_strides, interleave, swizzle, promotion, fill);
  a.im2col = true;
  a.box[0] = channels;
  a.pixels = pixels;
  for (std::size_t d = 0; d < rank - 2 && d < a.lower.size(); ++d) {
    a.lower[d] = lower[d];
    a.upper[d] = upper[d];
  }
  return fake::encode(a, map);
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
