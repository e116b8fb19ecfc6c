// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/shape.h"

#include <bit>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

namespace {

bool is_mode(AccessMode mode) { return mode >= AccessMode::kRead && mode <= AccessMode::kReadWrite; }

[[noreturn]] void refuse_extent(std::span<const Extent> extents, std::size_t index, std::string_view what) {
  const Extent& extent = extents[index];
  if (extent.count == 0) throw_input_error("{}: extent {} is empty; counts are at least 1", what, index);
  if (!is_mode(extent.mode)) {
    throw_input_error("{}: extent {} has access mode {}; allowed: 1 (read), 2 (write), 3 (both)", what, index,
                      static_cast<unsigned>(extent.mode));
  }
  if (extent.first > kMaxQuantum || extent.count > kMaxQuantum - extent.first) {
    throw_input_error("{}: extent {} (first {}, count {}) ends beyond quantum 2^60", what, index, extent.first,
                      extent.count);
  }
  throw_input_error("{}: extent {} starts at quantum {}, inside or before the one that ends at {}; extents ascend",
                    what, index, extent.first, extents[index - 1].first + extents[index - 1].count);
}

void check_touch(std::size_t index, std::uint64_t quantum, AccessMode mode) {
  if (quantum >= kMaxQuantum) throw_input_error("touch {} at quantum {}; allowed: below 2^60", index, quantum);
  if (!is_mode(mode)) {
    throw_input_error("touch {} has access mode {}; allowed: 1 (read), 2 (write), 3 (both)", index,
                      static_cast<unsigned>(mode));
  }
}

// Checks the fields of a record, one by one; validate.h checks devices and streams, ListCheck lists.
struct FieldCheck : ReadingWalk {
  void text(std::string_view, std::string_view value, auto&&...) {
    if (value.size() > kMaxNameBytes) {
      throw_input_error("a name of {} bytes; allowed: at most {}", value.size(), kMaxNameBytes);
    }
  }
  void time(std::string_view key, std::int64_t time, auto&&...) {
    if (time < 0 || time > kMaxTimeNs) throw_input_error("{} is {}; allowed: 0 to 2^61 nanoseconds", key, time);
  }
  void signed_time(std::string_view, std::int64_t value, auto&&...) {
    if (value < -kMaxTimeNs || value > kMaxTimeNs) {
      throw_input_error("time {} of a counter; allowed: -2^61 to 2^61 nanoseconds", value);
    }
  }
  void dimensions(std::string_view key, const Dim3& d, auto&&...) {
    if (d.x == 0 || d.y == 0 || d.z == 0) throw_input_error("{} {}x{}x{} has a dimension of 0", key, d.x, d.y, d.z);
  }
};

// Checks the lists of a record, whose items refer to each other.
struct ListCheck {
  template <class Other>
  void operator()(const Other&) const {}
  void operator()(const Kernel& kernel) const {
    for (std::size_t i = 0; i < kernel.accesses.size(); ++i) check(kernel.accesses[i].extents, "accesses", i);
    for (std::size_t i = 0; i < kernel.touches.size(); ++i) {
      const Touch& touch = kernel.touches[i];
      check_touch(i, touch.quantum, touch.mode);
      check_slot(kernel, touch.slot, "touch", i);
    }
    for (std::size_t i = 0; i < kernel.phases.size(); ++i) {
      for (const PhaseAccess& access : kernel.phases[i].accesses) {
        check_slot(kernel, access.slot, "phase", i);
        check(access.extents, "phase", i);
      }
    }
    for (std::size_t i = 0; i < kernel.order.size(); ++i) {
      check_slot(kernel, kernel.order[i].slot, "order", i);
      check_unit(kernel.order[i].unit, "order", i);
    }
    check_counts(kernel);
  }
  void operator()(const HostAccess& access) const {
    check_extents(access.extents, "extents");
    for (std::size_t i = 0; i < access.touches.size(); ++i) {
      check_touch(i, access.touches[i].first, access.touches[i].second);
    }
  }

 private:
  // Builds the list's name only when something is wrong with it.
  static void check(std::span<const Extent> extents, std::string_view what, std::size_t index) {
    try {
      check_extents(extents, "");
    } catch (const InputError&) {
      check_extents(extents, fmt::format("{}[{}]", what, index));
    }
  }
  static void check_unit(std::uint64_t unit, std::string_view what, std::size_t index) {
    if (unit > kMaxObjectBytes / kUnitBytes) {
      throw_input_error("{} {} at unit {}; allowed: up to {}", what, index, unit, kMaxObjectBytes / kUnitBytes);
    }
  }
  static void check_counts(const Kernel& kernel) {
    for (std::size_t i = 0; i < kernel.counts.size(); ++i) {
      const UnitCount& item = kernel.counts[i];
      check_slot(kernel, item.slot, "count", i);
      check_unit(item.unit, "count", i);
      if (i != 0 &&
          std::pair(item.slot, item.unit) <= std::pair(kernel.counts[i - 1].slot, kernel.counts[i - 1].unit)) {
        throw_input_error("count {} (slot {}, unit {}) does not lie above the one before; counts ascend", i, item.slot,
                          item.unit);
      }
    }
  }
  static void check_slot(const Kernel& kernel, std::uint32_t slot, std::string_view what, std::size_t index) {
    if (slot >= kernel.accesses.size()) {
      throw_input_error("{} {} names slot {}, but the kernel has {} accesses", what, index, slot,
                        kernel.accesses.size());
    }
  }
};

}  // namespace

void check_extents(std::span<const Extent> extents, std::string_view what) {
  std::uint64_t previous_end = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i];
    const bool fits = extent.first <= kMaxQuantum && extent.count <= kMaxQuantum - extent.first;
    if (extent.count == 0 || !is_mode(extent.mode) || !fits || extent.first < previous_end) [[unlikely]] {
      refuse_extent(extents, i, what);
    }
    previous_end = extent.first + extent.count;
  }
}

void check_shape(const Record& record) {
  std::visit(
      [](const auto& alternative) {
        FieldCheck check;
        fields(check, alternative);
        ListCheck{}(alternative);
      },
      record);
}

void check_shape(const Header& header) {
  if (header.major != kSchemaMajor) {
    throw_input_error("trace format {}.{}; this program reads {}.x", header.major, header.minor, kSchemaMajor);
  }
  if (!std::has_single_bit(header.quantum_bytes) || header.quantum_bytes > kMaxQuantumBytes) {
    throw_input_error("quantum_bytes is {}; allowed: a power of two from 1 to {}", header.quantum_bytes,
                      kMaxQuantumBytes);
  }
}

}  // namespace uvmsim::trace
