// SPDX-License-Identifier: Apache-2.0
// Reports to an event sink that wants accounts what the program allocates, frees and touches, and which actor the next
// events belong to. Without such a sink the calls do nothing.
#pragma once

#include <string_view>
#include <vector>

#include "sim/events/event_sink.h"
#include "sim/layout/layout.h"
#include "sim/memory/address_space.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

class Accounts {
 public:
  // `events` may be null. The layout and the address space must outlive it.
  Accounts(EventSink* events, std::uint32_t quantum_bytes, const layout::Layout& layout, const AddressSpace& space)
      : sink_(events != nullptr && events->wants_accounts() ? events : nullptr),
        quantum_bytes_(quantum_bytes),
        layout_(layout),
        space_(space) {}

  EventSink* sink() const { return sink_; }

  // Call after the layout has placed the object.
  void allocated(trace::ObjectId id, std::string_view name, bool tensor, std::uint64_t record, Nanoseconds at);
  void freed(trace::ObjectId id, std::uint64_t record, Nanoseconds at) {
    if (sink_ != nullptr) sink_->on(FreeEvent{id, record, at});
  }
  // Reports pages that GPUs still hold and that are about to be dropped.
  void drops(BlockIndex block, const PageMask& pages, Nanoseconds at);
  void range(const trace::Range& range, std::uint64_t record);
  void iteration(std::uint64_t index, bool begin, Nanoseconds at) {
    if (sink_ != nullptr) sink_->on(IterationEvent{index, begin, at});
  }
  // `misfit`: see KernelWork.
  void kernel_starts(const trace::Kernel& kernel, bool is_copy, bool misfit, std::uint32_t stream, std::uint64_t record,
                     Nanoseconds start);
  void work_starts(WorkKind kind, std::string_view name, std::uint32_t stream, std::int32_t device,
                   std::uint64_t record, Nanoseconds start) {
    if (sink_ != nullptr) sink_->on(WorkStartEvent{kind, name, stream, device, record, start, {}});
  }
  void work_ends(std::uint32_t stream, Nanoseconds end, std::int64_t compute_ns) {
    if (sink_ != nullptr) sink_->on(WorkEndEvent{stream, end, Nanoseconds(compute_ns)});
  }
  void host_acts() {
    if (sink_ != nullptr) sink_->on(ActorEvent{Actor::kHost, -1, 0});
  }
  void stream_acts(std::uint32_t stream) {
    if (sink_ != nullptr) sink_->on(ActorEvent{Actor::kStream, -1, stream});
  }

 private:
  void add_touch(trace::ObjectId id, std::uint64_t first_quantum, std::uint64_t quanta, trace::AccessMode mode);

  EventSink* sink_;  // null: no listener
  std::uint32_t quantum_bytes_;
  const layout::Layout& layout_;
  const AddressSpace& space_;
  std::vector<AddressRun> runs_;
  std::vector<WorkTouch> touches_;
};

}  // namespace uvmsim::engine
