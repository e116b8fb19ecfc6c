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
  std::uint64_t launch = 0;  // its number, for planners

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
// Bytes of an object. What waits in a stream names them; whoever acts on them asks for their pages then.
struct ObjectBytes {
  trace::ObjectId object = trace::kNoObject;
  std::uint64_t offset = 0, bytes = 0;
};
struct PrefetchOperation {
  ObjectBytes what;
  ProcessorId destination;
  std::optional<Nanoseconds> done = {};  // the caller's thread has carried it out: when its last copy is done
};
struct DiscardOperation {
  ObjectBytes what;
};
struct EventOperation {
  std::size_t recording = 0;  // of the event: the one that the host issued last
  bool wait = false;
};
struct MarkOperation {
  trace::RangeKind kind;
  std::string name;
  std::uint64_t index = 0;
  Nanoseconds ideal{};  // when the ideal clock gets here
};

struct Operation {
  using Work = std::variant<KernelOperation, CopyOperation, PeerCopyOperation, PrefetchOperation, DiscardOperation,
                            EventOperation, MarkOperation>;
  Nanoseconds issued{};
  std::uint64_t record = 0;    // counted in the program that runs
  std::uint64_t recorded = 0;  // in the recording
  Work work;
};

}  // namespace uvmsim::engine
