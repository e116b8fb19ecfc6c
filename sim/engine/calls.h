// SPDX-License-Identifier: Apache-2.0
// Translates a program's calls under a layout: into the pages that they concern, and into kernels that stand for copies
// and memsets. Functions that take bytes throw InputError if these lie outside their object, except used_spans_of().
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/system.h"
#include "sim/driver/user_calls.h"
#include "sim/engine/kernel_work.h"
#include "sim/layout/layout.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// Returns the host time between the previous call and this one; 0 for records that are not calls.
std::int64_t host_gap_ns(const trace::Record& record);

// Throws InputError if the bytes lie outside the object.
void check_bytes(const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes);

// Returns the spans of spans_of() whose blocks have state (AddressSpace::for_each_used).
std::vector<driver::BlockSpan> used_spans_of(const layout::Layout& layout, const AddressSpace& space,
                                             trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes);

// Returns the pages of bytes [offset, offset + bytes) of an object, block by block; none if its memory is not managed.
std::vector<driver::BlockSpan> spans_of(const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset,
                                        std::uint64_t bytes);

// The parts of a host access in order: its extents, each a range of pages of the placement, then its single touches.
std::size_t part_count(const trace::HostAccess& access);
struct HostTouch {
  PageRange pages;
  bool write = false;
};
HostTouch touch_of(const trace::HostAccess& access, std::size_t part, const layout::Placement& placement,
                   std::uint64_t quantum_bytes);

// Returns a copy or memset as a kernel of a GPU's copy engine. Its `accesses` are the managed memory on the GPU's sides
// of the copy.
trace::Kernel kernel_of(const trace::Memset& set, const layout::Layout& layout, std::uint64_t quantum_bytes,
                        const config::SystemConfig& system, unsigned gpu = 0);
trace::Kernel kernel_of(const trace::Memcpy& copy, const layout::Layout& layout, std::uint64_t quantum_bytes,
                        const config::SystemConfig& system, unsigned gpu = 0);

}  // namespace uvmsim::engine
