// SPDX-License-Identifier: Apache-2.0
// Work of a stream, as the host submits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "sim/common/units.h"
#include "sim/memory/processor.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

struct KernelOperation {
  trace::Kernel kernel;      // on a GPU of the machine
  bool is_copy = false;      // the copy engine's accesses to managed memory, modelled as a kernel
  std::uint64_t launch = 0;  // number of the launch on its GPU, for planners

  unsigned gpu() const { return static_cast<unsigned>(kernel.device); }
  Nanoseconds duration() const { return Nanoseconds(std::max<std::int64_t>(kernel.duration_ns, 0)); }
};
struct CopyOperation {
  Nanoseconds duration{};
};
struct PeerCopyOperation {
  unsigned from = 0, to = 0;  // GPUs of the machine that a link joins
  std::uint64_t bytes = 0;
};
// Bytes of an object. Their pages are looked up when the operation begins, not when the host submits it.
struct ObjectBytes {
  trace::ObjectId object = trace::kNoObject;
  std::uint64_t offset = 0, bytes = 0;
};
struct PrefetchOperation {
  ObjectBytes what;
  ProcessorId destination;
  std::optional<Nanoseconds> done = {};  // set if the caller's thread has carried it out: the end of its last copy
};
struct DiscardOperation {
  ObjectBytes what;
};
struct EventOperation {
  std::size_t recording = 0;  // the event's recording that the host issued last
  bool wait = false;
};
struct MarkOperation {
  trace::RangeKind kind;
  std::string name;
  std::uint64_t index = 0;
  Nanoseconds ideal{};  // when the ideal clock reaches the mark
};

struct Operation {
  using Work = std::variant<KernelOperation, CopyOperation, PeerCopyOperation, PrefetchOperation, DiscardOperation,
                            EventOperation, MarkOperation>;
  Nanoseconds issued{};
  std::uint64_t record = 0;    // number in the program that runs
  std::uint64_t recorded = 0;  // number in the recording
  Work work;
};

}  // namespace uvmsim::engine
