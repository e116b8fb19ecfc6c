// SPDX-License-Identifier: Apache-2.0
// What the calls of a program mean under a layout: the pages they concern, and the kernels that stand for copies and
// sets. All throw InputError for bytes outside their object.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/system.h"
#include "sim/driver/user_calls.h"
#include "sim/engine/kernel_work.h"
#include "sim/layout/layout.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// Host time between the call before and this one; 0 for records that are no calls.
std::int64_t host_gap_ns(const trace::Record& record);

// Throws InputError where they lie outside of the object.
void check_bytes(const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes);

// Of what spans_of() would give, the blocks that have state (AddressSpace::for_each_used).
std::vector<driver::BlockSpan> used_spans_of(const layout::Layout& layout, const AddressSpace& space,
                                             trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes);

// The pages of [offset, offset + bytes) of an object, block by block; none of memory that is not managed.
std::vector<driver::BlockSpan> spans_of(const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset,
                                        std::uint64_t bytes);

// What the CPU touches, part by part in order: an extent as a range of pages of the placement, or one touch.
std::size_t part_count(const trace::HostAccess& access);
struct HostTouch {
  PageRange pages;
  bool write = false;
};
HostTouch touch_of(const trace::HostAccess& access, std::size_t part, const layout::Placement& placement,
                   std::uint64_t quantum_bytes);

// A copy or set as a kernel of a GPU's copy engine. `accesses` names what is managed of it: the GPU's side of copies
// between host and device, both sides otherwise.
trace::Kernel kernel_of(const trace::Memset& set, const layout::Layout& layout, std::uint64_t quantum_bytes,
                        const config::SystemConfig& system, unsigned gpu = 0);
trace::Kernel kernel_of(const trace::Memcpy& copy, const layout::Layout& layout, std::uint64_t quantum_bytes,
                        const config::SystemConfig& system, unsigned gpu = 0);

}  // namespace uvmsim::engine
