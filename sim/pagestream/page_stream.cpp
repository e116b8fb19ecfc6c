// SPDX-License-Identifier: Apache-2.0
#include "sim/pagestream/page_stream.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "sim/common/error.h"
#include "sim/common/units.h"

namespace uvmsim::pagestream {

namespace {

bool writes(std::span<const trace::Extent> extents) {
  return std::any_of(extents.begin(), extents.end(),
                     [](const trace::Extent& extent) { return extent.mode != trace::AccessMode::kRead; });
}

void require_inside(std::uint64_t first, std::uint64_t count, std::uint64_t quantum_bytes,
                    const layout::Placement& placement, trace::ObjectId id) {
  const std::uint64_t quanta = (placement.bytes + quantum_bytes - 1) / quantum_bytes;
  if (first > quanta || count > quanta - first) {
    throw_input_error("an access ends past object {} ({} bytes)", id, placement.bytes);
  }
}

}  // namespace

PageStream::PageStream(const trace::Header& header, std::uint64_t page_bytes, const layout::LayoutChoice& layout)
    : quantum_bytes_(header.quantum_bytes), page_bytes_(page_bytes), space_(1), layout_(layout, space_) {
  if (page_bytes != kBasePageBytes && page_bytes != kBigPageBytes && page_bytes != kBlockBytes) {
    throw_input_error("pages of {} bytes; allowed: {}, {}, {}", page_bytes, kBasePageBytes, kBigPageBytes, kBlockBytes);
  }
}

void PageStream::name_blocks(const layout::Placement& placement) {
  placement.blocks.for_each_run([&](const layout::BlockList::Run& run) {
    const std::uint64_t end = run.first.value + run.count;
    for (std::uint64_t at = run.first.value; at < end;) {
      auto next = numbers_.upper_bound(at);
      if (next != numbers_.begin() && std::prev(next)->second.end > at) {
        at = std::prev(next)->second.end;
        continue;
      }
      const std::uint64_t stop = next == numbers_.end() ? end : std::min(end, next->first);
      numbers_.emplace_hint(next, at, Named{stop, next_number_});
      next_number_ += stop - at;
      at = stop;
    }
  });
}

void PageStream::forget_blocks(std::uint64_t first, std::uint64_t end) {
  auto named = numbers_.upper_bound(first);
  if (named != numbers_.begin() && std::prev(named)->second.end > first) --named;
  while (named != numbers_.end() && named->first < end) {
    const auto [begin, all] = *named;
    named = numbers_.erase(named);
    if (begin < first) numbers_.emplace(begin, Named{first, all.number});
    if (all.end > end) numbers_.emplace(end, Named{all.end, all.number + (end - begin)});
  }
}

std::uint64_t PageStream::number_of(BlockIndex block) const {
  const auto& [first, named] = *std::prev(numbers_.upper_bound(block.value));
  return named.number + (block.value - first);
}

std::uint64_t PageStream::page_at(const layout::Placement& placement, std::uint64_t byte) const {
  const std::uint64_t at = placement.offset + byte;
  return number_of(placement.blocks[at / kBlockBytes]) * (kBlockBytes / page_bytes_) + at % kBlockBytes / page_bytes_;
}

std::vector<std::uint64_t> PageStream::pages_of(const layout::Placement& placement,
                                                std::span<const trace::Extent> extents) const {
  std::vector<std::uint64_t> pages;
  for (const trace::Extent& extent : extents) {
    const std::uint64_t begin = extent.first * quantum_bytes_;
    const std::uint64_t end = std::min((extent.first + extent.count) * quantum_bytes_, placement.bytes);
    for (std::uint64_t at = begin; at < end; at += page_bytes_ - (placement.offset + at) % page_bytes_) {
      const std::uint64_t page = page_at(placement, at);
      if (pages.empty() || pages.back() != page) pages.push_back(page);
    }
  }
  return pages;
}

void PageStream::add(const trace::Record& record, const std::function<void(std::uint64_t)>& take) {
  const auto touch = [&](std::uint64_t page) {
    if (page != last_page_) take(page);
    last_page_ = page;
  };
  const auto release = [this](BlockIndex first, std::uint64_t count) {
    forget_blocks(first.value, first.value + count);
  };
  layout_.follow(record);
  if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    name_blocks(layout_.allocate(*object).placement);
  } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
    const layout::Placement& placement = layout_.allocate(*tensor).placement;
    layout_.drop_released(release);
    name_blocks(placement);
  } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
    layout_.free(freed->id, release);
    layout_.drop_released(release);
  } else if (const auto* tensor_freed = std::get_if<trace::TensorFree>(&record)) {
    layout_.free_tensor(tensor_freed->id, release);
  } else if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
    add_kernel(*kernel, touch);
  } else if (const auto* set = std::get_if<trace::Memset>(&record)) {
    const layout::Placement& placement = layout_.find(set->object);
    if (!placement.managed || set->bytes == 0) return;
    const std::uint64_t first = set->offset / quantum_bytes_;
    const std::uint64_t count = (set->offset + set->bytes + quantum_bytes_ - 1) / quantum_bytes_ - first;
    require_inside(first, count, quantum_bytes_, placement, set->object);
    const trace::Extent all{first, count, trace::AccessMode::kWrite};
    for (const std::uint64_t page : pages_of(placement, {&all, 1})) touch(page);
  }
}

void PageStream::add_kernel(const trace::Kernel& kernel, const std::function<void(std::uint64_t)>& touch) {
  if (!kernel.touches.empty()) {
    for (const trace::Touch& one : kernel.touches) {
      if (one.slot >= kernel.accesses.size()) throw_input_error("a touch names slot {}, which is not there", one.slot);
      const trace::ObjectId id = kernel.accesses[one.slot].object;
      const layout::Placement& placement = layout_.find(id);
      require_inside(one.quantum, 1, quantum_bytes_, placement, id);
      if (!placement.managed) continue;
      touch(page_at(placement, one.quantum * quantum_bytes_));
    }
    return;
  }
  if (kernel.phases.empty()) {
    std::vector<Part> parts;
    for (std::uint32_t slot = 0; slot < kernel.accesses.size(); ++slot) {
      parts.push_back({slot, kernel.accesses[slot].extents});
    }
    add_parts(kernel, std::move(parts), touch);
    return;
  }
  for (const trace::Phase& phase : kernel.phases) {
    std::vector<Part> parts;
    for (const trace::PhaseAccess& access : phase.accesses) parts.push_back({access.slot, access.extents});
    add_parts(kernel, std::move(parts), touch);
  }
}

void PageStream::add_parts(const trace::Kernel& kernel, std::vector<Part> parts,
                           const std::function<void(std::uint64_t)>& touch) {
  std::stable_partition(parts.begin(), parts.end(), [](const Part& part) { return !writes(part.extents); });
  std::vector<std::vector<std::uint64_t>> operands;
  std::size_t longest = 0;
  for (const Part& part : parts) {
    if (part.slot >= kernel.accesses.size()) throw_input_error("a phase names slot {}, which is not there", part.slot);
    const trace::ObjectId id = kernel.accesses[part.slot].object;
    const layout::Placement& placement = layout_.find(id);
    if (!placement.managed) continue;
    for (const trace::Extent& extent : part.extents) {
      require_inside(extent.first, extent.count, quantum_bytes_, placement, id);
    }
    operands.push_back(pages_of(placement, part.extents));
    longest = std::max(longest, operands.back().size());
  }
  // In step i of the longest operand's pages, page j of n is touched when j / n <= i / longest.
  std::vector<std::size_t> next(operands.size(), 0);
  for (std::size_t step = 0; step < longest; ++step) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t n = operands[i].size();
      if (next[i] < n && next[i] * longest <= step * n) touch(operands[i][next[i]++]);
    }
  }
}

}  // namespace uvmsim::pagestream
