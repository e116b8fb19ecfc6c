// SPDX-License-Identifier: Apache-2.0
// Ranges of all threads and iterations as one properly nested list, as a trace needs them.
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
// opened; ranges of other threads above it are closed and opened again. An iteration closes what was opened in it when
// it ends; what was open when it began can only be closed after it.
class RangeNesting {
 public:
  using Emit = std::function<void(trace::Range)>;

  void apply(const RangeEvent& event, const std::string& name, std::uint32_t tid, const Emit& emit);
  // The trace begins here, with the ranges that are open. An iteration that is under way does not count.
  void begin_here(const Emit& emit);
  void finish_iteration(const Emit& emit);  // if one is open
  void finish(const Emit& emit);            // closes everything

 private:
  struct Open {
    std::string name;
    std::uint32_t tid;
    bool written = true;  // false: an iteration that has ended closed it in the trace; its thread will still pop it
    bool popped = false;  // by its thread; an iteration that began later is still open
  };
  void pop(std::uint32_t tid, const Emit& emit);
  void remove(std::size_t position, const Emit& emit);
  void end_iteration(const Emit& emit);

  std::vector<Open> stack_;
  std::size_t before_iteration_ = 0;  // height of the stack when the iteration began
  std::optional<std::uint64_t> iteration_;
};

}  // namespace uvmtrace
