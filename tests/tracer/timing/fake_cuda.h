// SPDX-License-Identifier: Apache-2.0
// A libcuda that answers only the queries of the timing pass: layouts of kernel parameters, graphs, tensor maps, and
// the GPU's name.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fake {

struct Function {
  std::string name;
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  // offset and bytes
  bool is_kernel = false;                                       // a CUkernel: cuFuncGetParamInfo refuses it
};

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS set{};
  CUdeviceptr va = 0;
  std::size_t bytes = 0;
  std::uint64_t child = 0;  // graph
};

struct Cuda {
  std::map<std::uint64_t, Function> functions;
  std::map<std::uint64_t, std::vector<std::uint64_t>> graphs;  // to their nodes
  std::map<std::uint64_t, Node> nodes;
  std::uint64_t capturing_stream = ~0ull;
  std::map<int, std::size_t> free_bytes;              // by GPU
  std::map<std::uint64_t, std::uint64_t> pool_bytes;  // bytes that a pool holds back, by its handle
  std::uint64_t graph_bytes = 0;                      // bytes that graphs hold back on GPU 0
  int current_device = 0;                             // below 0: the thread has no context
};

[[gnu::visibility("default")]] Cuda& cuda();

}  // namespace fake
