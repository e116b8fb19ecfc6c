// SPDX-License-Identifier: Apache-2.0
// Converts ranges of all threads, and iterations, to one properly nested list, as a trace requires.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/record.h"
#include "tracer/merge/event.h"

namespace uvmtrace {

// A trace has one stack of ranges and iterations that do not overlap. A pop closes the innermost range that its thread
// opened; ranges of other threads above it are closed and opened again. When an iteration ends, it closes the ranges
// that were opened in it; ranges that were open when it began can only be closed after it.
class RangeNesting {
 public:
  using Emit = std::function<void(trace::Range)>;

  void apply(const RangeEvent& event, const std::string& name, std::uint32_t tid, const Emit& emit);
  // Begins the trace here, with the ranges that are open. An iteration in progress does not count.
  void begin_here(const Emit& emit);
  void finish_iteration(const Emit& emit);  // if one is open
  void finish(const Emit& emit);            // closes everything

 private:
  struct Open {
    std::string name;
    std::uint32_t tid;
    // false: an iteration that has ended closed it in the trace, but its thread has not popped it yet
    bool written = true;
    bool popped = false;  // its thread popped it, but an iteration that began later is still open
  };
  void pop(std::uint32_t tid, const Emit& emit);
  void remove(std::size_t position, const Emit& emit);
  void end_iteration(const Emit& emit);

  std::vector<Open> stack_;
  std::size_t before_iteration_ = 0;  // height of the stack at the begin of the iteration
  std::optional<std::uint64_t> iteration_;
};

}  // namespace uvmtrace
