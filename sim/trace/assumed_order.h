// SPDX-License-Identifier: Apache-2.0
// What a trace leaves to assumptions: kernels of whose touches only the set is known. Which thread block touches what
// follows from the grid and the distribution; under oversubscription that decides how much moves.
#pragma once

#include <cstdint>
#include <string>

#include "sim/trace/record.h"

namespace uvmsim::trace {

class AssumedOrder {
 public:
  explicit AssumedOrder(const Header& header) : header_(header) {}

  void add(const Record& record);
  // One line, or "" where there is nothing to say. Kernels count that touch more than 2 MB, with neither an order of
  // touches nor phases, and whose launch was not recorded: their registers are unknown, and the trace names no GPU.
  std::string warning() const;

 private:
  const Header& header_;
  std::uint64_t kernels_ = 0, assumed_ = 0;
  std::uint64_t bytes_ = 0, assumed_bytes_ = 0;
};

}  // namespace uvmsim::trace
