#include "sim/layout/layout.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::layout {

namespace {
constexpr std::uint64_t kSmallAlignment = 512;  // cudaMallocManaged aligns small allocations to 512 bytes
// Allocations of 2 MB and more that start at a multiple of it have a range of their own, cut off where they end.
bool owns_range(std::uint64_t va, std::uint64_t bytes) { return bytes >= kBlockBytes && va % kBlockBytes == 0; }
constexpr std::uint64_t kMaxObjectBytes = std::uint64_t{1} << 46;
}  // namespace

const std::vector<std::string>& layout_names() {
  static const std::vector<std::string> names{"none", "recorded"};
  return names;
}

Layout::Layout(const std::string& name, AddressSpace& space) : kind_(Kind::kNone), space_(space) {
  if (name == "recorded") {
    kind_ = Kind::kRecorded;
  } else if (name != "none") {
    throw_input_error("unknown layout '{}'; allowed: {}", name, fmt::join(layout_names(), ", "));
  }
}

const Placement& Layout::insert(trace::ObjectId id, Placement placement) {
  if (placement.managed) {
    live_bytes_ += placement.bytes;
    peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  }
  return placements_.emplace(id, std::move(placement)).first->second;
}

const Placement& Layout::allocate(const trace::ObjectAlloc& object) {
  if (object.bytes == 0 || object.bytes > kMaxObjectBytes) {
    throw_input_error("object {} has {} bytes; allowed: 1 to {}", object.id, object.bytes, kMaxObjectBytes);
  }
  if (placements_.contains(object.id) || tensor_owner_.contains(object.id)) {
    throw_input_error("object {} is allocated twice", object.id);
  }
  if (object.kind != trace::ObjectKind::kManaged) {
    return insert(object.id, Placement{{}, 0, object.bytes, false});
  }
  if (kind_ == Kind::kRecorded && object.va != 0) {
    Placement placement = place_recorded(object.va, object.bytes);
    recorded_va_.emplace(object.id, object.va);
    return insert(object.id, std::move(placement));
  }
  return insert(object.id, place_none(object.bytes));
}

const Placement& Layout::allocate(const trace::TensorAlloc& tensor) {
  if (tensor.object == trace::kNoObject) {
    trace::ObjectAlloc object;
    object.id = tensor.id;
    object.bytes = tensor.bytes;
    return allocate(object);
  }
  const Placement& owner = find(tensor.object);
  if (tensor.offset > owner.bytes || tensor.bytes > owner.bytes - tensor.offset) {
    throw_input_error("tensor {} ends past object {} ({} bytes)", tensor.id, tensor.object, owner.bytes);
  }
  if (placements_.contains(tensor.id) || tensor_owner_.contains(tensor.id)) {
    throw_input_error("tensor {} is allocated twice", tensor.id);
  }
  Placement inside{{}, 0, tensor.bytes, owner.managed};
  if (owner.managed) {
    const std::uint64_t start = owner.offset + tensor.offset;
    inside.offset = start % kBlockBytes;
    const std::uint64_t last = (start + std::max<std::uint64_t>(tensor.bytes, 1) - 1) / kBlockBytes;
    inside.blocks.assign(owner.blocks.begin() + static_cast<std::ptrdiff_t>(start / kBlockBytes),
                         owner.blocks.begin() + static_cast<std::ptrdiff_t>(last + 1));
  }
  tensor_owner_.emplace(tensor.id, tensor.object);
  ++tensors_in_[tensor.object];
  return placements_.emplace(tensor.id, std::move(inside)).first->second;
}

const Placement& Layout::find(trace::ObjectId id) const {
  const auto it = placements_.find(id);
  if (it == placements_.end()) throw_input_error("object {} was never allocated or is already freed", id);
  return it->second;
}

void Layout::free(trace::ObjectId id, const std::function<void(BlockIndex)>& release) {
  const auto it = placements_.find(id);
  if (it == placements_.end() || tensor_owner_.contains(id)) {
    throw_input_error("free of object {}, which was never allocated or is already freed", id);
  }
  if (const auto inside = tensors_in_.find(id); inside != tensors_in_.end()) {
    throw_input_error("object {} is freed while {} tensors live in it", id, inside->second);
  }
  const Placement placement = std::move(it->second);
  placements_.erase(it);
  if (!placement.managed) return;
  live_bytes_ -= placement.bytes;
  const auto va = recorded_va_.find(id);
  if (va != recorded_va_.end()) {
    recorded_ranges_.erase(va->second);
    const bool own_range = owns_range(va->second, placement.bytes);
    for (std::size_t i = 0; !own_range && i < placement.blocks.size(); ++i) {
      const auto window = windows_.find(va->second / kBlockBytes + i);
      if (--window->second.users != 0) continue;
      release(window->second.block);
      space_.free(window->second.block, 1);
      windows_.erase(window);
    }
    recorded_va_.erase(va);
    if (!own_range) return;
  }
  remove(placement, release);
}

void Layout::free_tensor(trace::ObjectId id, const std::function<void(BlockIndex)>& release) {
  const auto owner = tensor_owner_.find(id);
  if (owner == tensor_owner_.end()) return free(id, release);
  if (--tensors_in_.at(owner->second) == 0) tensors_in_.erase(owner->second);
  tensor_owner_.erase(owner);
  placements_.erase(id);
}

Placement Layout::place_none(std::uint64_t bytes) {
  Placement placement{{}, 0, bytes, true};
  if (bytes >= kBlockBytes) {
    const BlockIndex first = space_.allocate(0, bytes);
    const std::uint64_t count = (bytes + kBlockBytes - 1) / kBlockBytes;
    placement.blocks.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) placement.blocks.push_back(BlockIndex(first.value + i));
    return placement;
  }
  const std::uint64_t need = (bytes + kSmallAlignment - 1) / kSmallAlignment * kSmallAlignment;
  Slab* slab = nullptr;
  std::map<std::uint64_t, std::uint64_t>::iterator hole;
  for (auto& [block, candidate] : slabs_) {
    hole = std::find_if(candidate.free.begin(), candidate.free.end(), [&](const auto& f) { return f.second >= need; });
    if (hole == candidate.free.end()) continue;
    slab = &candidate;
    break;
  }
  if (slab == nullptr) {
    const BlockIndex block = space_.allocate(0, kBlockBytes);
    slab = &slabs_.emplace(block.value, Slab{block, {{0, kBlockBytes}}, 0}).first->second;
    hole = slab->free.begin();
  }
  placement.blocks.push_back(slab->block);
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
  Placement placement{{}, va % kBlockBytes, bytes, true};
  const std::uint64_t first = va / kBlockBytes;
  const std::uint64_t last = (va + bytes - 1) / kBlockBytes;
  for (std::uint64_t w = first; w <= last; ++w) {
    auto window = windows_.find(w);
    if (window == windows_.end()) window = windows_.emplace(w, Window{space_.allocate(0, kBlockBytes), 0}).first;
    ++window->second.users;
    placement.blocks.push_back(window->second.block);
  }
  return placement;
}

void Layout::remove(const Placement& placement, const std::function<void(BlockIndex)>& release) {
  const auto shared = slabs_.find(placement.blocks.front().value);
  if (shared == slabs_.end()) {
    for (const BlockIndex b : placement.blocks) release(b);
    space_.free(placement.blocks.front(), placement.blocks.size());
    return;
  }
  Slab& slab = shared->second;
  const std::uint64_t bytes = (placement.bytes + kSmallAlignment - 1) / kSmallAlignment * kSmallAlignment;
  slab.used -= bytes;
  if (slab.used == 0) {
    release(slab.block);
    space_.free(slab.block, 1);
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

}  // namespace uvmsim::layout
