// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/host_memory.h"

#include <algorithm>
#include <functional>

#include "sim/common/check.h"

namespace uvmsim {

HostMemory::HostMemory(std::uint64_t capacity_bytes, std::uint64_t unit_bytes)
    : capacity_pages_(capacity_bytes / kBasePageBytes),
      unit_pages_(static_cast<unsigned>(unit_bytes / kBasePageBytes)) {
  UVMSIM_CHECK(unit_pages_ == 1 || unit_pages_ == kPagesPerBigPage || unit_pages_ == kPagesPerBlock,
               "host memory in units of {} bytes", unit_bytes);
}

template <class F>
void HostMemory::for_each_unit(const PageMask& pages, F&& f) const {
  for (unsigned page = pages.next_set(0); page < kPagesPerBlock;) {
    const unsigned unit = page / unit_pages_;
    f(unit);
    const unsigned end = (unit + 1) * unit_pages_;
    page = end < kPagesPerBlock ? pages.next_set(end) : kPagesPerBlock;
  }
}

HostMemory::Block& HostMemory::grown(BlockIndex b) {
  if (b.value >= blocks_.size()) {
    blocks_.resize(std::max(index(b) + 1, blocks_.size() * 2));
    links_.resize(blocks_.size() * (kPagesPerBlock / unit_pages_));
  }
  return blocks_[index(b)];
}

void HostMemory::append(std::uint64_t unit) {
  links_[static_cast<std::size_t>(unit)] = {newest_, kNone};
  (newest_ == kNone ? oldest_ : links_[static_cast<std::size_t>(newest_)].newer) = unit;
  newest_ = unit;
}

void HostMemory::unlink(std::uint64_t unit) {
  const auto [older, newer] = links_[static_cast<std::size_t>(unit)];
  (older == kNone ? oldest_ : links_[static_cast<std::size_t>(older)].newer) = newer;
  (newer == kNone ? newest_ : links_[static_cast<std::size_t>(newer)].older) = older;
}

void HostMemory::add(BlockIndex b, const PageMask& pages) {
  Block& block = grown(b);
  UVMSIM_CHECK(!block.in_memory.intersects(pages), "block {}: pages come into host memory twice", b.value);
  UVMSIM_CHECK(pages.count() <= free_pages(), "host memory takes {} pages, {} are free", pages.count(), free_pages());
  for_each_unit(pages, [&](unsigned unit) {
    const std::uint64_t number = b.value * (kPagesPerBlock / unit_pages_) + unit;
    if (block.in_memory.intersects(unit_mask(unit))) unlink(number);
    append(number);
  });
  block.in_memory |= pages;
  used_pages_ += pages.count();
}

void HostMemory::remove(BlockIndex b, const PageMask& pages) {
  Block& block = grown(b);
  const PageMask gone = block.in_memory & pages;
  block.in_memory -= gone;
  used_pages_ -= gone.count();
  for_each_unit(gone, [&](unsigned unit) {
    if (!block.in_memory.intersects(unit_mask(unit))) unlink(b.value * (kPagesPerBlock / unit_pages_) + unit);
  });
}

void HostMemory::use(BlockIndex b, const PageMask& pages) {
  if (!limited()) return;
  for_each_unit(in_memory(b) & pages, [&](unsigned unit) {
    const std::uint64_t number = b.value * (kPagesPerBlock / unit_pages_) + unit;
    if (number == newest_) return;
    unlink(number);
    append(number);
  });
}

void HostMemory::save(BlockIndex b, const PageMask& pages) {
  Block& block = grown(b);
  saved_pages_ += (pages - block.saved).count();
  block.saved |= pages;
}

void HostMemory::drop_saved(BlockIndex b, const PageMask& pages) {
  if (b.value >= blocks_.size()) return;
  Block& block = blocks_[index(b)];
  saved_pages_ -= (block.saved & pages).count();
  block.saved -= pages;
}

std::optional<HostMemory::Unit> HostMemory::coldest(BlockIndex spared) const {
  const std::uint64_t units = kPagesPerBlock / unit_pages_;
  for (std::uint64_t unit = oldest_; unit != kNone; unit = links_[static_cast<std::size_t>(unit)].newer) {
    const BlockIndex b(unit / units);
    if (b != spared) return Unit{b, in_memory(b) & unit_mask(unit % units)};
  }
  return std::nullopt;
}

void HostMemory::free_from(Nanoseconds ready, std::uint64_t pages) {
  freed_pages_ += pages;
  freed_.push_back({ready, pages});
  std::push_heap(freed_.begin(), freed_.end(), std::greater<>{});
}

Nanoseconds HostMemory::take(std::uint64_t pages, Nanoseconds now) {
  Nanoseconds ready = now;
  const std::uint64_t free_now = free_pages() - freed_pages_;
  for (std::uint64_t missing = pages - std::min(pages, free_now); missing > 0;) {
    Freed& earliest = freed_.front();
    ready = std::max(ready, earliest.ready);
    const std::uint64_t taken = std::min(missing, earliest.pages);
    missing -= taken;
    freed_pages_ -= taken;
    earliest.pages -= taken;
    if (earliest.pages == 0) {
      std::pop_heap(freed_.begin(), freed_.end(), std::greater<>{});
      freed_.pop_back();
    }
  }
  return ready;
}

void HostMemory::add_state(StateDigest& digest) const {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for (const PageMask* mask : {&blocks_[b].in_memory, &blocks_[b].saved}) {
      if (mask->empty()) continue;
      digest.add(b);
      add_mask(digest, *mask);
    }
    if (!digest.ahead(blocks_[b].written_until)) continue;
    digest.add(b);
    digest.add_future(blocks_[b].written_until);
  }
  for (std::uint64_t unit = oldest_; unit != kNone; unit = links_[static_cast<std::size_t>(unit)].newer) {
    digest.add(unit);
  }
  std::vector<Freed> ahead;
  for (const Freed& freed : freed_) {
    if (digest.ahead(freed.ready)) ahead.push_back(freed);
  }
  std::sort(ahead.begin(), ahead.end(), [](const Freed& a, const Freed& b) { return b > a; });
  for (std::size_t i = 0; i < ahead.size();) {  // entries with the same time are merged
    const Nanoseconds ready = ahead[i].ready;
    std::uint64_t pages = 0;
    for (; i < ahead.size() && ahead[i].ready == ready; ++i) pages += ahead[i].pages;
    digest.add_future(ready);
    digest.add(pages);
  }
}

}  // namespace uvmsim
