// SPDX-License-Identifier: Apache-2.0
// The launches, operators and events of the caching allocator in a profile of PyTorch (torch.profiler, Kineto's JSON),
// as plain rows. Times are nanoseconds from the first event; rows are sorted by them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct KinetoProfile {
  struct Operand {
    std::uint64_t bytes = 0;  // from the first to the last element
  };
  struct Operator {
    std::int64_t start = 0, end = 0, thread = 0;
    std::string name;
    std::vector<Operand> operands;  // tensors, also those in lists
  };
  struct Work {  // of a GPU
    enum class Kind : std::uint8_t { kKernel, kCopy, kFill } kind = Kind::kKernel;
    std::int64_t start = 0, end = 0;
    std::int64_t operation = -1, correlation = -1;  // ids of the operator and the call around it
    std::string name;
    std::uint64_t stream = 0, bytes = 0;
    std::int32_t device = 0;
    Dim3 grid, block;
    std::uint32_t registers = 0, shared_bytes = 0;
  };
  struct Call {  // of CUDA's API
    std::int64_t start = 0, end = 0;
    std::string name;
    std::int64_t correlation = -1;
  };
  struct Memory {  // of the caching allocator on a GPU
    std::int64_t time = 0, thread = 0;
    std::uint64_t address = 0, bytes = 0;
    bool free = false;
    std::int32_t device = 0;
    std::uint64_t total_bytes = 0;  // live after this event
  };
  struct Step {  // ProfilerStep#N
    std::int64_t start = 0, end = 0;
    std::uint64_t number = 0;
  };

  std::vector<Operator> operators;
  std::unordered_map<std::int64_t, std::size_t> operator_of;  // by id; never iterated
  std::vector<Work> work;
  std::vector<Call> calls;
  std::vector<Memory> memory;
  std::vector<Step> steps;
  std::string gpu;
  bool shapes = false;  // whether shapes of operands were recorded
};

// Throws InputError that names the file and the event for impossible values, and for files that are not such a profile.
KinetoProfile read_kineto_profile(const std::string& path);

}  // namespace uvmsim::trace
