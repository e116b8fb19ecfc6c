// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/kernel_codec.h"

#include <algorithm>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/packed.h"

namespace uvmsim::trace {

namespace {

// From this many extents on a list is worth naming the kernel's own extents instead of repeating them.
constexpr std::size_t kMinShared = 8;

bool equal(const Extent& a, const Extent& b) { return a.first == b.first && a.count == b.count && a.mode == b.mode; }

// The extents of a phase that are whole extents of the kernel, as runs (skipped, taken) of those; the others to `rest`.
void split_shared(const std::vector<Extent>& extents, const std::vector<Extent>& whole,
                  std::vector<std::uint32_t>& runs, std::vector<Extent>& rest) {
  runs.clear();
  rest.clear();
  std::size_t next = 0, behind_run = 0;  // in `whole`
  for (const Extent& extent : extents) {
    while (next < whole.size() && whole[next].first < extent.first) ++next;
    if (next == whole.size() || !equal(whole[next], extent)) {
      rest.push_back(extent);
    } else if (!runs.empty() && behind_run == next) {
      ++runs.back();
      behind_run = ++next;
    } else {
      runs.push_back(static_cast<std::uint32_t>(next - behind_run));
      runs.push_back(1);
      behind_run = ++next;
    }
  }
}

void put_phase(const Phase& phase, const Kernel& kernel, proto::Phase& out) {
  std::vector<std::uint32_t> runs;
  std::vector<Extent> rest;
  bool shared = false;
  out.set_first_block(phase.first_block);
  out.set_block_count(phase.block_count);
  for (const PhaseAccess& access : phase.accesses) {
    out.add_slots(access.slot);
    out.add_extent_counts(static_cast<std::uint32_t>(access.extents.size()));
    runs.clear();
    if (access.extents.size() >= kMinShared) {
      split_shared(access.extents, kernel.accesses[access.slot].extents, runs, rest);
    }
    // Otherwise older readers can read it.
    const bool worth = !runs.empty() && runs.size() + 2 * rest.size() < access.extents.size();
    out.add_share_counts(worth ? static_cast<std::uint32_t>(runs.size() / 2) : 0);
    if (worth) {
      shared = true;
      out.mutable_shares()->Add(runs.begin(), runs.end());
    }
    pack_extents(worth ? rest : access.extents, *out.mutable_extents());
  }
  if (!shared) out.clear_share_counts();
}

class PhaseReader {
 public:
  explicit PhaseReader(const Kernel& kernel) : kernel_(kernel) {}

  void read(const proto::Phase& in, Phase& phase) {
    if (in.slots_size() != in.extent_counts_size() ||
        (in.share_counts_size() != 0 && in.share_counts_size() != in.slots_size())) {
      throw_input_error("a phase of {} slots with {} lists of extents and {} of shares", in.slots_size(),
                        in.extent_counts_size(), in.share_counts_size());
    }
    phase.first_block = in.first_block();
    phase.block_count = in.block_count();
    phase.accesses.resize(static_cast<std::size_t>(in.slots_size()));
    ExtentUnpacker extents(in.extents());
    next_share_ = 0;
    for (int i = 0; i < in.slots_size(); ++i) {
      PhaseAccess& access = phase.accesses[static_cast<std::size_t>(i)];
      access.slot = in.slots(i);
      const std::uint32_t runs = in.share_counts_size() == 0 ? 0 : in.share_counts(i);
      if (runs == 0) {
        extents.take(in.extent_counts(i), access.extents);
      } else {
        take_shared(in, runs, in.extent_counts(i), extents, access);
      }
    }
    extents.finish();
    if (next_share_ != in.shares_size()) {
      throw_input_error("{} numbers of shares more than their counts say", in.shares_size() - next_share_);
    }
  }

 private:
  void take_shared(const proto::Phase& in, std::uint32_t runs, std::uint32_t total,
                   ExtentUnpacker<google::protobuf::RepeatedField<std::uint64_t>>& extents, PhaseAccess& access) {
    if (access.slot >= kernel_.accesses.size()) {
      throw_input_error("a phase names slot {}, but the kernel has {} accesses", access.slot, kernel_.accesses.size());
    }
    const std::vector<Extent>& whole = kernel_.accesses[access.slot].extents;
    if (runs > static_cast<std::uint32_t>(in.shares_size() - next_share_) / 2) {
      throw_input_error("{} shares where {} numbers are left", runs, in.shares_size() - next_share_);
    }
    access.extents.clear();
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < runs; ++i, next_share_ += 2) {
      const std::size_t skipped = in.shares(next_share_), taken = in.shares(next_share_ + 1);
      if (skipped > whole.size() - at || taken > whole.size() - at - skipped || taken > kMaxPhaseExtents - shared_) {
        throw_input_error("a share of {} extents after {} reaches beyond the {} of slot {}, or there are too many",
                          taken, at + skipped, whole.size(), access.slot);
      }
      at += skipped;
      access.extents.insert(access.extents.end(), whole.begin() + static_cast<std::ptrdiff_t>(at),
                            whole.begin() + static_cast<std::ptrdiff_t>(at + taken));
      at += taken;
      shared_ += taken;
    }
    if (access.extents.size() > total) {
      throw_input_error("shares of {} extents in a list of {}", access.extents.size(), total);
    }
    extents.take(total - access.extents.size(), rest_);
    const auto middle = static_cast<std::ptrdiff_t>(access.extents.size());
    access.extents.insert(access.extents.end(), rest_.begin(), rest_.end());
    std::inplace_merge(access.extents.begin(), access.extents.begin() + middle, access.extents.end(),
                       [](const Extent& a, const Extent& b) { return a.first < b.first; });
  }

  const Kernel& kernel_;
  int next_share_ = 0;
  std::size_t shared_ = 0;  // extents, in all phases
  std::vector<Extent> rest_;
};

}  // namespace

void put_phases(const Kernel& kernel, proto::Kernel& out) {
  for (const Phase& phase : kernel.phases) put_phase(phase, kernel, *out.add_phases());
}

void get_phases(const proto::Kernel& in, const Kernel& kernel, std::vector<Phase>& phases) {
  PhaseReader reader(kernel);
  phases.resize(static_cast<std::size_t>(in.phases_size()));
  for (int i = 0; i < in.phases_size(); ++i) reader.read(in.phases(i), phases[static_cast<std::size_t>(i)]);
}

void put_order(const Kernel& kernel, proto::Kernel& out) {
  std::vector<std::uint64_t> last(kernel.accesses.size(), 0);
  bool one_slot = true;
  for (const FirstTouch& touch : kernel.order) {
    out.add_order(zigzag(static_cast<std::int64_t>(touch.unit) - static_cast<std::int64_t>(last[touch.slot])));
    last[touch.slot] = touch.unit;
    one_slot = one_slot && touch.slot == 0;
  }
  if (!one_slot) {
    for (const FirstTouch& touch : kernel.order) out.add_order_slots(touch.slot);
  }
}

void get_order(const proto::Kernel& in, Kernel& kernel) {
  const int slots = in.order_slots_size();
  if (slots != 0 && slots != in.order_size()) {
    throw_input_error("an order of {} units with {} slots", in.order_size(), slots);
  }
  std::vector<std::uint64_t> last(kernel.accesses.size(), 0);
  kernel.order.reserve(static_cast<std::size_t>(in.order_size()));
  for (int i = 0; i < in.order_size(); ++i) {
    const std::uint32_t slot = slots == 0 ? 0 : in.order_slots(i);
    if (slot >= last.size()) {
      throw_input_error("the order names slot {}, but the kernel has {} accesses", slot, last.size());
    }
    // Wraps for hostile numbers; check_shape bounds the result.
    last[slot] += static_cast<std::uint64_t>(unzigzag(in.order(i)));
    kernel.order.push_back({slot, last[slot]});
  }
}

void put_counts(const Kernel& kernel, proto::Kernel& out) {
  if (kernel.counts.empty()) return;
  out.mutable_unit_counts()->Resize(static_cast<int>(kernel.accesses.size()), 0);
  std::uint64_t next = 0;
  std::uint32_t slot = 0;
  for (const UnitCount& item : kernel.counts) {
    next = item.slot == slot ? next : 0;
    slot = item.slot;
    out.add_unit_gaps(item.unit - next);
    out.add_unit_values(item.count);
    out.set_unit_counts(static_cast<int>(slot), out.unit_counts(static_cast<int>(slot)) + 1);
    next = item.unit + 1;
  }
}

void get_counts(const proto::Kernel& in, Kernel& kernel) {
  if (in.unit_counts_size() > in.access_objects_size() || in.unit_gaps_size() != in.unit_values_size()) {
    throw_input_error("{} lists of counts for {} accesses, {} units with {} counts", in.unit_counts_size(),
                      in.access_objects_size(), in.unit_gaps_size(), in.unit_values_size());
  }
  int next = 0;
  kernel.counts.reserve(static_cast<std::size_t>(in.unit_gaps_size()));
  for (int slot = 0; slot < in.unit_counts_size(); ++slot) {
    if (in.unit_counts(slot) > static_cast<std::uint32_t>(in.unit_gaps_size() - next)) {
      throw_input_error("{} counts where {} are left", in.unit_counts(slot), in.unit_gaps_size() - next);
    }
    std::uint64_t unit = 0;
    for (std::uint32_t i = 0; i < in.unit_counts(slot); ++i, ++next) {
      unit += in.unit_gaps(next);
      kernel.counts.push_back({static_cast<std::uint32_t>(slot), unit, in.unit_values(next)});
      ++unit;
    }
  }
  if (next != in.unit_gaps_size()) throw_input_error("{} counts more than their lists say", in.unit_gaps_size() - next);
}

}  // namespace uvmsim::trace
