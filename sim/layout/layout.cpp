// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/layout.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/layout/best_fit_allocator.h"
#include "sim/layout/caching_allocator.h"
#include "sim/layout/expandable_allocator.h"
#include "sim/layout/segments.h"
#include "sim/trace/limits.h"

namespace uvmsim::layout {

namespace {
// Allocations of 2 MB and more that start at a multiple of it have a range of their own, cut off where they end.
bool owns_range(std::uint64_t va, std::uint64_t bytes) { return bytes >= kBlockBytes && va % kBlockBytes == 0; }
std::uint64_t slots_of(std::uint64_t bytes) { return (bytes + kBigPageBytes - 1) / kBigPageBytes; }

std::uint64_t bytes_of(const policy::Parameters& parameters, const char* name) {
  return static_cast<std::uint64_t>(parameters.integer(name));
}

AllocatorSettings pytorch_settings(const policy::Parameters& parameters) {
  AllocatorSettings settings;
  settings.roundup_power2_divisions = std::stoull(parameters.choice("roundup_power2_divisions"));
  settings.memory_limit_bytes = bytes_of(parameters, "memory_limit_bytes");
  return settings;
}

std::unique_ptr<TensorAllocator> caching_allocator(const policy::Parameters& parameters) {
  AllocatorSettings settings = pytorch_settings(parameters);
  settings.max_split_size_bytes = bytes_of(parameters, "max_split_size_bytes");
  settings.max_non_split_rounding_bytes = bytes_of(parameters, "max_non_split_rounding_bytes");
  settings.garbage_collection_threshold = parameters.real("garbage_collection_threshold");
  return std::make_unique<CachingAllocator>(settings);
}

std::unique_ptr<TensorAllocator> expandable_allocator(const policy::Parameters& parameters) {
  AllocatorSettings settings = pytorch_settings(parameters);
  if (const std::uint64_t bytes = bytes_of(parameters, "reservation_bytes"); bytes != 0) {
    settings.reservation_bytes = bytes;
  }
  return std::make_unique<ExpandableAllocator>(settings);
}

std::unique_ptr<TensorAllocator> best_fit_allocator(const policy::Parameters& parameters) {
  const std::uint64_t arena = bytes_of(parameters, "arena_bytes") / kBlockBytes * kBlockBytes;
  if (arena == 0) {
    throw_input_error(
        "layout {}: the arena is a share of a GPU's memory, and no GPU is known here; allowed: arena_bytes=SIZE",
        kPreallocating);
  }
  return std::make_unique<BestFitAllocator>(arena, parameters.boolean("allow_growth"));
}

// Returns null if tensors have no allocator of their own.
std::unique_ptr<TensorAllocator> make_allocator(const std::string& layout, const policy::Parameters& parameters) {
  if (layout == "pytorch_caching") return caching_allocator(parameters);
  if (layout == "expandable_segments") return expandable_allocator(parameters);
  if (layout == kPreallocating) return best_fit_allocator(parameters);
  return nullptr;
}

std::unique_ptr<TensorMemory> make_tensor_memory(const LayoutChoice& choice, AddressSpace& space, unsigned region) {
  const policy::Parameters parameters = resolve(choice);
  std::unique_ptr<TensorAllocator> allocator = make_allocator(choice.name, parameters);
  if (!allocator) return nullptr;
  const std::string& record_stream = parameters.choice("record_stream");
  const auto when = record_stream == "touched" ? TensorMemory::RecordStream::kTouched
                    : record_stream == "never" ? TensorMemory::RecordStream::kNever
                                               : TensorMemory::RecordStream::kInferred;
  return std::make_unique<TensorMemory>(std::move(allocator), when, space, region);
}
}  // namespace

Layout::Layout(const LayoutChoice& choice, AddressSpace& space, unsigned region, bool pinned_has_blocks)
    : recorded_(choice.name == "recorded"),
      has_arena_(choice.name == kPreallocating),
      pinned_has_blocks_(pinned_has_blocks),
      tensor_memory_(make_tensor_memory(choice, space, region)),
      space_(space),
      region_(region) {
  const policy::Parameters parameters = resolve(choice);
  if (choice.name == "none") small_alignment_ = std::stoull(parameters.choice("small_alignment_bytes"));
  if (tensor_memory_ && !has_arena_) follow_empty_cache_ = parameters.choice("empty_cache") == "recorded";
}

void Layout::take_slots(std::uint64_t count) {
  live_slots_ += count;
  peak_slots_ = std::max(peak_slots_, live_slots_);
}

Layout::Allocated Layout::insert(trace::ObjectId id, Placement placement) {
  Taken taken;
  if (placement.managed && placement.owns) {
    live_bytes_ += placement.bytes;
    if (placement.kind == MemoryKind::kManaged) taken = {1, placement.bytes, 0};
  }
  if (placement.device && placement.owns) taken.device_bytes = placement.bytes;
  return {placements_.emplace(id, std::move(placement)).first->second, taken};
}

Layout::Allocated Layout::allocate(const trace::ObjectAlloc& object, bool is_segment) {
  if (object.bytes == 0 || object.bytes > trace::kMaxObjectBytes) {
    throw_input_error("object {} has {} bytes; allowed: 1 to {}", object.id, object.bytes, trace::kMaxObjectBytes);
  }
  if (placements_.contains(object.id)) throw_input_error("object {} is allocated twice", object.id);
  if (object.kind == trace::ObjectKind::kSystem) {
    return insert(object.id, place_alone(object.bytes, MemoryKind::kSystem));
  }
  if (object.kind == trace::ObjectKind::kPinned && pinned_has_blocks_) {
    Placement placement = place_alone(object.bytes, MemoryKind::kPinned);
    placement.is_pinned = true;
    return insert(object.id, std::move(placement));
  }
  if (object.kind != trace::ObjectKind::kManaged) {
    const bool device = object.kind == trace::ObjectKind::kDevice;
    Placement placement{{}, 0, object.bytes, false, device, true, object.device};
    placement.is_pinned = object.kind == trace::ObjectKind::kPinned;
    return insert(object.id, std::move(placement));
  }
  if (is_segment && !recorded_) {
    ++empty_segments_;
    if (object.va != 0) unused_vas_.emplace(object.id, object.va);
    return insert(object.id, Placement{{}, 0, object.bytes, true, false, false});
  }
  if (recorded_ && object.va != 0) {
    Placement placement = place_recorded(object.va, object.bytes);
    recorded_va_.emplace(object.id, object.va);
    return insert(object.id, std::move(placement));
  }
  return insert(object.id, place_none(object.bytes));
}

Layout::Allocated Layout::allocate(const trace::TensorAlloc& tensor) {
  if (tensor.object == trace::kNoObject && !tensor_memory_) {
    trace::ObjectAlloc object;
    object.id = tensor.id;
    object.bytes = tensor.bytes;
    return allocate(object);
  }
  if (placements_.contains(tensor.id)) throw_input_error("tensor {} is allocated twice", tensor.id);
  if (tensor.bytes > trace::kMaxObjectBytes) {
    throw_input_error("tensor {} has {} bytes; allowed: at most {}", tensor.id, tensor.bytes, trace::kMaxObjectBytes);
  }
  const Placement* object = nullptr;
  if (tensor.object != trace::kNoObject) {
    object = &find(tensor.object);
    if (tensor.offset > object->bytes || tensor.bytes > object->bytes - tensor.offset) {
      throw_input_error("tensor {} ends past object {} ({} bytes)", tensor.id, tensor.object, object->bytes);
    }
    tensor_owner_.emplace(tensor.id, tensor.object);
    ++tensors_in_[tensor.object];
  }
  if (object != nullptr && !object->managed) {
    Placement placement{{}, 0, tensor.bytes, false, false, false};
    placement.is_pinned = object->is_pinned;
    return insert(tensor.id, std::move(placement));
  }
  if (recorded_ || (object != nullptr && object->kind != MemoryKind::kManaged)) {
    Placement inside = place_inside(object->blocks, object->offset + tensor.offset, tensor.bytes);
    inside.kind = object->kind;
    inside.is_pinned = object->is_pinned;
    return insert(tensor.id, std::move(inside));
  }
  if (tensor_memory_) return allocate_by_framework(tensor);
  // A tensor of zero bytes has a place too.
  return insert(tensor.id, place_none(std::max<std::uint64_t>(tensor.bytes, 1)));
}

Placement Layout::place_inside(const BlockList& blocks, std::uint64_t start, std::uint64_t bytes) {
  Placement inside{{}, start % kBlockBytes, bytes, true, false, false};
  const std::uint64_t last = (start + std::max<std::uint64_t>(bytes, 1) - 1) / kBlockBytes;
  inside.blocks = blocks.part(start / kBlockBytes, last + 1 - start / kBlockBytes);
  return inside;
}

Layout::Allocated Layout::allocate_by_framework(const trace::TensorAlloc& tensor) {
  // Among equally large free blocks the model chooses by address. If the recording allocated a segment for this tensor
  // too, the new segment has its address, and so the same order among the others.
  const auto va = unused_vas_.find(tensor.object);
  const std::uint64_t bytes = std::max<std::uint64_t>(tensor.bytes, 1);
  const std::size_t released_before = released_.size();
  const TensorMemory::Place place =
      tensor_memory_->allocate(tensor.id, bytes, tensor.stream, va == unused_vas_.end() ? 0 : va->second, released_);
  note_released(released_before);
  if (place.new_segment && va != unused_vas_.end()) unused_vas_.erase(va);
  live_bytes_ += place.taken_bytes;
  take_slots(slots_of(place.taken_bytes));
  Allocated allocated = insert(tensor.id, place_inside(place.blocks, place.offset, tensor.bytes));
  allocated.taken = {place.new_segment ? std::uint64_t{1} : 0, place.taken_bytes, 0};
  return allocated;
}

void Layout::note_released(std::size_t from) {
  for (; from < released_.size(); ++from) {
    live_bytes_ -= released_[from].bytes;
    live_slots_ -= slots_of(released_[from].bytes);
  }
}

void Layout::drop_released(const Release& release) {
  for (const Released& memory : released_) {
    memory.blocks.for_each_run([&](const BlockList::Run& run) {
      release(run.first, run.count);
      space_.free(run.first, run.count, region_);
    });
  }
  released_.clear();
}

void Layout::follow(const trace::Record& record, const std::function<void(trace::ObjectId, const Taken&)>& placed) {
  if (tensor_memory_) tensor_memory_->follow(record);
  if (!has_empty_segments()) return;
  for_each_touched(record, [&](trace::ObjectId id) {
    const Taken taken = touch(id);
    if (taken.bytes != 0 && placed) placed(id, taken);
  });
}

Layout::Taken Layout::touch(trace::ObjectId id) {
  const auto it = placements_.find(id);
  if (it == placements_.end()) return {};  // the next use of the object reports the error
  Placement& placement = it->second;
  if (!placement.managed || !placement.blocks.empty()) return {};
  placement = place_none(placement.bytes);
  live_bytes_ += placement.bytes;
  --empty_segments_;
  return {1, placement.bytes, 0};
}

const Placement& Layout::find(trace::ObjectId id) const {
  const auto it = placements_.find(id);
  if (it == placements_.end()) throw_input_error("object {} was never allocated or is already freed", id);
  return it->second;
}

void Layout::free(trace::ObjectId id, const Release& release) {
  const auto it = placements_.find(id);
  const auto is_freed_tensor = [](const Placement& p) { return !p.owns && (!p.managed || !p.blocks.empty()); };
  const bool is_tensor = tensor_owner_.contains(id) || (tensor_memory_ && tensor_memory_->contains(id));
  if (it == placements_.end() || is_tensor || is_freed_tensor(it->second)) {
    throw_input_error("free of object {}, which was never allocated or is already freed", id);
  }
  if (const auto inside = tensors_in_.find(id); inside != tensors_in_.end()) {
    throw_input_error("object {} is freed while {} tensors live in it", id, inside->second);
  }
  const Placement placement = std::move(it->second);
  placements_.erase(it);
  if (tensor_memory_ && placement.owns && (placement.managed || placement.device)) {
    tensor_memory_->host_waits_for_device();  // as cudaFree does
  }
  if (!placement.managed) return;
  if (!placement.owns) {  // a segment of the recording that was never placed
    --empty_segments_;
    unused_vas_.erase(id);
    if (!follow_empty_cache_) return;
    const std::size_t released_before = released_.size();
    tensor_memory_->empty_cache(released_);
    note_released(released_before);
    return;
  }
  live_bytes_ -= placement.bytes;
  const auto va = recorded_va_.find(id);
  if (va != recorded_va_.end()) {
    recorded_ranges_.erase(va->second);
    const bool own_range = owns_range(va->second, placement.bytes);
    for (std::size_t i = 0; !own_range && i < placement.blocks.size(); ++i) {
      const auto window = windows_.find(va->second / kBlockBytes + i);
      if (--window->second.users != 0) continue;
      live_slots_ -= kBigPagesPerBlock;
      release(window->second.block, 1);
      space_.free(window->second.block, 1, region_);
      windows_.erase(window);
    }
    recorded_va_.erase(va);
    if (!own_range) return;
  }
  remove(placement, release);
}

void Layout::free_tensor(trace::ObjectId id, const Release& release) {
  const auto owner = tensor_owner_.find(id);
  const bool cached = tensor_memory_ && tensor_memory_->contains(id);
  if (owner == tensor_owner_.end() && !cached) return free(id, release);
  if (owner != tensor_owner_.end()) {
    if (--tensors_in_.at(owner->second) == 0) tensors_in_.erase(owner->second);
    tensor_owner_.erase(owner);
  }
  if (cached) {
    tensor_memory_->free(id);
  } else if (find(id).owns) {
    free(id, release);
  }
}

void Layout::forget(trace::ObjectId tensor) { placements_.erase(tensor); }

// Places memory in blocks of its own.
Placement Layout::place_alone(std::uint64_t bytes, MemoryKind kind) {
  Placement placement{{}, 0, bytes, true, false, true, 0, kind};
  const BlockIndex first = space_.allocate(0, bytes, region_, kind);
  const std::uint64_t count = (bytes + kBlockBytes - 1) / kBlockBytes;
  placement.blocks.append(first, count);
  // It takes whole chunks where it lies on a GPU (sim/driver/system_memory.h).
  if (kind == MemoryKind::kSystem) take_slots(count * kBigPagesPerBlock);
  return placement;
}

Placement Layout::place_none(std::uint64_t bytes) {
  Placement placement{{}, 0, bytes, true, false, true};
  if (bytes >= kBlockBytes) {
    const BlockIndex first = space_.allocate(0, bytes, region_);
    const std::uint64_t count = (bytes + kBlockBytes - 1) / kBlockBytes;
    placement.blocks = BlockList(first, count);
    take_slots(slots_of(bytes));
    return placement;
  }
  const std::uint64_t need = (bytes + small_alignment_ - 1) / small_alignment_ * small_alignment_;
  Slab* slab = nullptr;
  std::map<std::uint64_t, std::uint64_t>::iterator hole;
  for (auto& [block, candidate] : slabs_) {
    hole = std::find_if(candidate.free.begin(), candidate.free.end(), [&](const auto& f) { return f.second >= need; });
    if (hole == candidate.free.end()) continue;
    slab = &candidate;
    break;
  }
  if (slab == nullptr) {
    const BlockIndex block = space_.allocate(0, kBlockBytes, region_);
    take_slots(kBigPagesPerBlock);
    slab = &slabs_.emplace(block.value, Slab{block, {{0, kBlockBytes}}, 0}).first->second;
    hole = slab->free.begin();
  }
  placement.blocks.append(slab->block, 1);
  placement.offset = hole->first;
  const std::uint64_t left = hole->second - need;
  slab->free.erase(hole);
  if (left != 0) slab->free.emplace(placement.offset + need, left);
  slab->used += need;
  return placement;
}

Placement Layout::place_recorded(std::uint64_t va, std::uint64_t bytes) {
  const auto next = recorded_ranges_.lower_bound(va);
  const bool hits_next = next != recorded_ranges_.end() && next->first < va + bytes;
  const bool hits_previous = next != recorded_ranges_.begin() && std::prev(next)->first + std::prev(next)->second > va;
  if (va + bytes < va || hits_next || hits_previous) {
    throw_input_error("allocation of {} bytes at {:#x} overlaps a live one", bytes, va);
  }
  recorded_ranges_.emplace(va, bytes);
  if (owns_range(va, bytes)) return place_none(bytes);
  Placement placement{{}, va % kBlockBytes, bytes, true, false, true};
  const std::uint64_t first = va / kBlockBytes;
  const std::uint64_t last = (va + bytes - 1) / kBlockBytes;
  for (std::uint64_t w = first; w <= last; ++w) {
    auto window = windows_.find(w);
    if (window == windows_.end()) {
      take_slots(kBigPagesPerBlock);
      window = windows_.emplace(w, Window{space_.allocate(0, kBlockBytes, region_), 0}).first;
    }
    ++window->second.users;
    placement.blocks.append(window->second.block, 1);
  }
  return placement;
}

void Layout::remove(const Placement& placement, const Release& release) {
  const auto shared = slabs_.find(placement.blocks.front().value);
  if (shared == slabs_.end()) {
    if (placement.kind == MemoryKind::kManaged) live_slots_ -= slots_of(placement.bytes);
    if (placement.kind == MemoryKind::kSystem) live_slots_ -= placement.blocks.size() * kBigPagesPerBlock;
    release(placement.blocks.front(), placement.blocks.size());
    space_.free(placement.blocks.front(), placement.blocks.size(), region_);
    return;
  }
  Slab& slab = shared->second;
  const std::uint64_t bytes = (placement.bytes + small_alignment_ - 1) / small_alignment_ * small_alignment_;
  slab.used -= bytes;
  if (slab.used == 0) {
    live_slots_ -= kBigPagesPerBlock;
    release(slab.block, 1);
    space_.free(slab.block, 1, region_);
    slabs_.erase(shared);
    return;
  }
  auto [it, inserted] = slab.free.emplace(placement.offset, bytes);
  UVMSIM_CHECK(inserted, "offset {} freed twice", placement.offset);
  if (auto next = std::next(it); next != slab.free.end() && it->first + it->second == next->first) {
    it->second += next->second;
    slab.free.erase(next);
  }
  if (it != slab.free.begin()) {
    if (auto previous = std::prev(it); previous->first + previous->second == it->first) {
      previous->second += it->second;
      slab.free.erase(it);
    }
  }
}

void Layout::add_state(StateDigest& digest) const {
  const auto add_blocks = [&](const BlockList& blocks) {
    blocks.for_each_run([&](const BlockList::Run& run) {
      digest.add(run.first.value);
      digest.add(run.count);
    });
    digest.add(blocks.size());
  };
  const auto add_map = [&](const std::map<std::uint64_t, std::uint64_t>& map) {
    digest.add(map.size());
    for (const auto& [key, value] : map) {
      digest.add(key);
      digest.add(value);
    }
  };
  const auto value_at = [](const auto& map, trace::ObjectId id) {
    const auto found = map.find(id);
    return found == map.end() ? std::uint64_t{0} : found->second + 1;
  };
  std::vector<trace::ObjectId> ids;
  ids.reserve(placements_.size());
  for (const auto& [id, placement] : placements_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  const auto rank = [&](trace::ObjectId id) {
    return static_cast<std::uint64_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
  };
  for (const trace::ObjectId id : ids) {
    const Placement& placement = placements_.at(id);
    add_blocks(placement.blocks);
    digest.add(placement.offset);
    digest.add(placement.bytes);
    digest.add(std::uint64_t{placement.managed} << 2 | std::uint64_t{placement.device} << 1 |
               std::uint64_t{placement.owns});
    const auto owner = tensor_owner_.find(id);
    digest.add(owner == tensor_owner_.end() ? ids.size() : rank(owner->second));
    digest.add(value_at(tensors_in_, id));
    digest.add(value_at(recorded_va_, id));
    digest.add(value_at(unused_vas_, id));
  }
  for (const auto& [key, slab] : slabs_) {
    digest.add(key);
    add_map(slab.free);
    digest.add(slab.used);
  }
  for (const auto& [key, window] : windows_) {
    digest.add(key);
    digest.add(window.block.value);
    digest.add(window.users);
  }
  add_map(recorded_ranges_);
  digest.add(unused_vas_.size());
  if (!released_.empty()) digest.refuse();
  if (tensor_memory_) tensor_memory_->add_state(digest);
}

}  // namespace uvmsim::layout
