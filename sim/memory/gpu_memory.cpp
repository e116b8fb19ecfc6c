// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/gpu_memory.h"

#include <algorithm>
#include <bit>

#include "sim/common/check.h"

namespace uvmsim {

GpuMemory::GpuMemory(std::uint32_t chunk_count, bool small_chunks)
    : small_chunks_(small_chunks), chunk_count_(chunk_count) {}

ChunkId GpuMemory::allocate() {
  if (free_.size() == below_fresh_ && fresh_chunks() != 0) {
    const ChunkId c{known_chunks()};
    chunks_.emplace_back().state = ChunkState::kPinned;
    return c;
  }
  if (free_.empty()) return {};
  const ChunkId c{free_.back()};
  free_.pop_back();
  below_fresh_ = std::min(below_fresh_, free_.size());
  UVMSIM_CHECK(chunk(c).state == ChunkState::kFree, "chunk {}", c.value);
  chunk(c).state = ChunkState::kPinned;
  return c;
}

void GpuMemory::release(ChunkId c, Reuse reuse) {
  UVMSIM_CHECK(c.value < known_chunks() && chunk(c).state != ChunkState::kFree, "chunk {} is free already", c.value);
  RootChunk& root = chunk(c);
  UVMSIM_CHECK(root.block == RootChunk::kNoBlock && root.used_slots == 0, "chunk {} is in use", c.value);
  if (root.split) std::erase(partly_used_, c.value);
  root.state = ChunkState::kFree;
  root.split = false;
  if (reuse == Reuse::kNext) {
    free_.push_back(c.value);
  } else {
    free_.insert(free_.begin(), c.value);
    ++below_fresh_;
  }
}

void GpuMemory::bind_whole(BlockIndex b, ChunkId c) {
  ChunkId& whole = whole_[b.value];
  UVMSIM_CHECK(!whole.valid(), "block {} has a chunk", b.value);
  whole = c;
  chunk(c).block = b.value;
}

void GpuMemory::unbind_whole(BlockIndex b) {
  chunk(whole_[b.value]).block = RootChunk::kNoBlock;
  whole_[b.value] = ChunkId{};
}

SlotId GpuMemory::slot(BlockIndex b, unsigned unit) const {
  const std::unique_ptr<Slots>* const slots = slots_.find(b.value);
  return slots != nullptr && *slots ? (**slots)[unit] : SlotId{};
}

GpuMemory::SlotOwner GpuMemory::owner(SlotId s) const {
  const std::uint64_t owner = (*chunks_[s.chunk].slot_owner)[s.slot];
  return {BlockIndex(owner / kBigPagesPerBlock), static_cast<unsigned>(owner % kBigPagesPerBlock)};
}

std::uint32_t GpuMemory::free_slots() const {
  std::uint32_t count = free_chunks() * kBigPagesPerBlock;
  for (const std::uint32_t c : partly_used_) {
    count += kBigPagesPerBlock - static_cast<std::uint32_t>(std::popcount(chunks_[c].used_slots));
  }
  return count;
}

SlotId GpuMemory::find_free_slot() const {
  if (partly_used_.empty()) return {};
  const std::uint32_t c = partly_used_.front();
  return {c, static_cast<std::uint8_t>(std::countr_one(chunks_[c].used_slots))};
}

void GpuMemory::split(ChunkId c) {
  RootChunk& root = chunk(c);
  root.split = true;
  root.used_slots = 0;
  if (!root.slot_owner) root.slot_owner = std::make_unique<std::array<std::uint64_t, kBigPagesPerBlock>>();
  partly_used_.push_back(c.value);
}

void GpuMemory::unsplit(ChunkId c) {
  UVMSIM_CHECK(chunk(c).used_slots == 0, "chunk {} is in use", c.value);
  chunk(c).split = false;
  std::erase(partly_used_, c.value);
}

void GpuMemory::bind_slot(BlockIndex b, unsigned unit, SlotId s) {
  std::unique_ptr<Slots>& slots = slots_[b.value];
  if (!slots) slots = std::make_unique<Slots>();
  (*slots)[unit] = s;
  RootChunk& root = chunk(ChunkId{s.chunk});
  UVMSIM_CHECK((root.used_slots >> s.slot & 1) == 0, "slot {} of chunk {} is taken", s.slot, s.chunk);
  root.used_slots |= std::uint32_t{1} << s.slot;
  (*root.slot_owner)[s.slot] = b.value * kBigPagesPerBlock + unit;
  if (root.used_slots == ~std::uint32_t{0}) std::erase(partly_used_, s.chunk);
}

ChunkId GpuMemory::unbind_slot(BlockIndex b, unsigned unit) {
  SlotId& s = (*slots_[b.value])[unit];
  RootChunk& root = chunk(ChunkId{s.chunk});
  if (root.used_slots == ~std::uint32_t{0}) partly_used_.push_back(s.chunk);
  root.used_slots &= ~(std::uint32_t{1} << s.slot);
  root.pinned_slots &= root.used_slots;
  const ChunkId emptied = root.used_slots == 0 ? ChunkId{s.chunk} : ChunkId{};
  s = SlotId{};
  return emptied;
}

std::vector<std::uint64_t> GpuMemory::names() const {
  enum Kind : std::uint64_t { kWaiting, kWhole, kSplit, kUnowned };
  const auto name = [](Kind kind, std::uint64_t index) { return index << 2 | kind; };
  std::vector<std::uint64_t> names(chunks_.size());
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const RootChunk& root = chunks_[i];
    if (root.split && root.used_slots != 0) {
      names[i] = name(kSplit, (*root.slot_owner)[static_cast<std::size_t>(std::countr_zero(root.used_slots))]);
    } else if (!root.split && root.block != RootChunk::kNoBlock) {
      names[i] = name(kWhole, root.block);
    } else {
      names[i] = name(kUnowned, i);
    }
  }
  for (std::size_t i = 0; i < free_.size(); ++i) {
    names[free_[i]] = name(kWaiting, i < below_fresh_ ? i : i + fresh_chunks());
  }
  return names;
}

void GpuMemory::add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
  digest.add(free_chunks());
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const RootChunk& root = chunks_[i];
    // Such a chunk is equivalent to a fresh one, and fresh chunks have no state; the number of free chunks determines
    // the position of all of them.
    if (root.state == ChunkState::kFree && !digest.ahead(root.ready)) continue;
    StateDigest chunk = digest.part();
    chunk.add(names[i]);
    chunk.add(static_cast<std::uint64_t>(root.state) << 1 | std::uint64_t{root.split});
    chunk.add(root.used_slots);
    chunk.add_future(root.ready);
    for (unsigned slot = 0; slot < kBigPagesPerBlock; ++slot) {
      if ((root.used_slots >> slot & 1) != 0) chunk.add((*root.slot_owner)[slot]);
    }
    digest.add_unordered(chunk);
  }
  for (const std::uint32_t chunk : partly_used_) digest.add(names[chunk]);
}

}  // namespace uvmsim
