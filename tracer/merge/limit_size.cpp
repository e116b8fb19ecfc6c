// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/limit_size.h"

#include <algorithm>
#include <bit>
#include <map>

#include "sim/trace/limits.h"
#include "tracer/merge/resolve.h"

namespace uvmtrace {

namespace {

std::size_t varint_bytes(std::uint64_t value) { return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7; }

// Packed as in sim/trace/uvmtrace.proto.
std::size_t bytes_of(const std::vector<trace::Extent>& extents) {
  std::size_t bytes = 0;
  std::uint64_t end = 0;
  for (const trace::Extent& extent : extents) {
    bytes += varint_bytes((extent.first - end) << 2) + varint_bytes(extent.count);
    end = extent.first + extent.count;
  }
  return bytes;
}

// In a phase's list, extents equal to the kernel's own cost little, because they are stored as runs.
std::size_t shared_bytes_of(const std::vector<trace::Extent>& extents, const std::vector<trace::Extent>& whole) {
  std::size_t bytes = 0, next = 0, behind_run = whole.size();
  for (const trace::Extent& extent : extents) {
    while (next < whole.size() && whole[next].first < extent.first) ++next;
    const bool equal = next < whole.size() && whole[next].first == extent.first && whole[next].count == extent.count &&
                       whole[next].mode == extent.mode;
    if (!equal) {
      bytes += 8;  // two numbers, which rarely take more
    } else {
      bytes += next == behind_run ? 0 : 8;
      behind_run = ++next;
    }
  }
  return bytes;
}

struct Size {
  std::size_t access_bytes = 0, phase_bytes = 0, phase_extents = 0;
};

Size size_of(const trace::Kernel& kernel) {
  Size size;
  for (const trace::ObjectAccess& access : kernel.accesses) size.access_bytes += bytes_of(access.extents);
  for (const trace::Phase& phase : kernel.phases) {
    for (const trace::PhaseAccess& access : phase.accesses) {
      size.phase_bytes += shared_bytes_of(access.extents, kernel.accesses[access.slot].extents);
      size.phase_extents += access.extents.size();
    }
  }
  return size;
}

void join(trace::Phase& phase, trace::Phase& next) {
  phase.block_count += next.block_count;
  std::map<std::uint32_t, std::vector<trace::Extent>> slots;
  for (trace::Phase* part : {&phase, &next}) {
    for (trace::PhaseAccess& access : part->accesses) {
      auto& extents = slots[access.slot];
      extents = unite(extents, access.extents);
    }
  }
  phase.accesses.clear();
  for (auto& [slot, extents] : slots) phase.accesses.push_back({slot, std::move(extents)});
}

void halve_phases(trace::Kernel& kernel) {
  std::vector<trace::Phase>& phases = kernel.phases.edit();
  std::vector<trace::Phase> out;
  for (std::size_t i = 0; i < phases.size(); i += 2) {
    out.push_back(std::move(phases[i]));
    if (i + 1 < phases.size()) join(out.back(), phases[i + 1]);
  }
  kernel.phases = std::move(out);
  if (kernel.phases.size() == 1) kernel.phases.clear();
}

// Merges extents that are closer than `gap`, with the modes of both.
void close_gaps(std::vector<trace::Extent>& extents, std::uint64_t gap) {
  std::vector<trace::Extent> out;
  for (const trace::Extent& extent : extents) {
    if (!out.empty() && extent.first - (out.back().first + out.back().count) < gap) {
      trace::Extent& last = out.back();
      last.count = extent.first + extent.count - last.first;
      last.mode = static_cast<trace::AccessMode>(static_cast<unsigned>(last.mode) | static_cast<unsigned>(extent.mode));
    } else {
      out.push_back(extent);
    }
  }
  extents = std::move(out);
}

}  // namespace

bool limit_size(trace::Kernel& kernel, std::size_t max_bytes, std::size_t max_phase_extents) {
  bool changed = false;
  for (Size size = size_of(kernel); !kernel.phases.empty() && (size.access_bytes + size.phase_bytes > max_bytes ||
                                                               size.phase_extents > max_phase_extents);
       size = size_of(kernel)) {
    halve_phases(kernel);
    changed = true;
  }
  for (std::uint64_t gap = 2; size_of(kernel).access_bytes > max_bytes && gap != 0; gap *= 2) {
    for (trace::ObjectAccess& access : kernel.accesses) close_gaps(access.extents.edit(), gap);
    changed = true;
  }
  return changed;
}

bool limit_size(trace::Kernel& kernel) {
  // Order and counts also need a part of a record.
  return limit_size(kernel, trace::kMaxRecordBytes / 2, trace::kMaxPhaseExtents);
}

}  // namespace uvmtrace
