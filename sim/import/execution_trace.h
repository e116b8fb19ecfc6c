// SPDX-License-Identifier: Apache-2.0
// Execution traces of PyTorch and Chakra as plain rows: operators with the tensors that they take and return, and, if a
// profile was linked to them, the work of the GPU. Three forms are read, which the content tells apart:
//      PyTorch's ExecutionTraceObserver, JSON, schemas 1.0.1 to 1.1.1
//      the same linked with a profile (chakra_trace_link), with GPU work as nodes
//      Chakra's protobuf (.et): a GlobalMetadata and Nodes, each preceded by its length
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uvmsim::trace {

struct ExecutionTrace {
  struct Tensor {
    std::uint64_t storage = 0;
    std::uint64_t offset = 0, bytes = 0;  // of the tensor in the storage
    std::int32_t device = -1;             // a GPU; -1: none
    std::uint32_t argument = 0;           // its position among the operator's arguments
  };
  enum class Kind : std::uint8_t { kOperator, kKernel, kCopy, kFill };  // all but the first: work of a GPU
  struct Node {
    std::uint64_t id = 0, parent = 0;
    Kind kind = Kind::kOperator;
    bool generated = false;    // a kernel that PyTorch's compiler generated, which does not name its outputs
    std::string name, schema;  // "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
    std::vector<Tensor> inputs, outputs;
    std::uint64_t stream = 0;
    std::int64_t duration_ns = 0;
  };

  std::string schema;
  std::vector<Node> nodes;  // in the order of the file
  bool on_gpu = false;      // whether any node is work of a GPU
  std::uint64_t file_bytes = 0;
};

// Throws InputError that names the file and the node for impossible values, and for files that are no such trace.
ExecutionTrace read_execution_trace(const std::string& path);

}  // namespace uvmsim::trace
