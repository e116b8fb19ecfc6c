// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/live_objects.h"

#include <iterator>

#include "sim/common/error.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

LiveObject& LiveObjects::add(ObjectId id, std::uint64_t bytes) {
  if (id == kNoObject) throw_input_error("id 0 means no object; ids start at 1");
  if (bytes == 0 || bytes > kMaxObjectBytes) {
    throw_input_error("object {} has {} bytes; allowed: 1 to {}", id, bytes, kMaxObjectBytes);
  }
  if (!seen_.insert(id)) throw_input_error("id {} was given before; ids are never used again", id);
  if (live_.size() >= kMaxLiveObjects) {
    throw_input_error("object {} is one too many at the same time; allowed: {}", id, kMaxLiveObjects);
  }
  LiveObject& added = live_[id];
  added.bytes = bytes;
  return added;
}

// All managed objects that live at the same time have separate addresses, and in some layouts all tensors do.
void LiveObjects::require_addresses(std::string_view what, ObjectId id, std::uint64_t bytes, std::uint64_t taken) {
  if (bytes > kMaxObjectBytes) return;  // add() reports this error
  if (bytes <= kMaxObjectBytes - taken) return;
  throw_input_error("{} {} of {} bytes makes {} bytes at the same time; allowed: {}", what, id, bytes, taken + bytes,
                    kMaxObjectBytes);
}

void LiveObjects::check_address_free(const ObjectAlloc& object) const {
  if (object.va >= kMaxAddress) {
    throw_input_error("object {} lies at address {:#x}; allowed: below 2^57", object.id, object.va);
  }
  const auto after = by_address_.lower_bound(object.va);
  if (after != by_address_.end() && after->first - object.va < object.bytes) {
    throw_input_error("object {} at {:#x} ({} bytes) overlaps live object {} at {:#x}", object.id, object.va,
                      object.bytes, after->second, after->first);
  }
  if (after != by_address_.begin()) {
    const auto& [address, id] = *std::prev(after);
    if (object.va - address < live_.at(id).bytes) {
      throw_input_error("object {} at {:#x} overlaps live object {} at {:#x} ({} bytes)", object.id, object.va, id,
                        address, live_.at(id).bytes);
    }
  }
}

void LiveObjects::allocate(const ObjectAlloc& object) {
  if (object.va != 0) check_address_free(object);
  const bool managed = object.kind == ObjectKind::kManaged;
  if (managed) require_addresses("object", object.id, object.bytes, managed_bytes_);
  LiveObject& added = add(object.id, object.bytes);
  added.va = object.va;
  added.is_managed = managed;
  if (managed) managed_bytes_ += object.bytes;
  if (object.va != 0) by_address_.emplace(object.va, object.id);
}

void LiveObjects::allocate(const TensorAlloc& tensor) {
  LiveObject* parent = nullptr;
  if (tensor.object != kNoObject) {
    parent = &require(tensor.object);
    if (parent->is_tensor) {
      throw_input_error("tensor {} lies in {}, which is a tensor, not an object", tensor.id, tensor.object);
    }
    if (tensor.offset > parent->bytes || tensor.bytes > parent->bytes - tensor.offset) {
      throw_input_error("tensor {} (offset {}, {} bytes) reaches beyond object {} of {} bytes", tensor.id,
                        tensor.offset, tensor.bytes, tensor.object, parent->bytes);
    }
  }
  require_addresses("tensor", tensor.id, tensor.bytes, tensor_bytes_);
  LiveObject& added = add(tensor.id, tensor.bytes);  // may move *parent
  tensor_bytes_ += tensor.bytes;
  added.is_tensor = true;
  added.parent = tensor.object;
  if (parent != nullptr) ++live_.at(tensor.object).tensors;
}

void LiveObjects::refuse_missing(ObjectId id) const {
  if (id == kNoObject) throw_input_error("object 0 (none) where an object is needed");
  throw_input_error("object {} {}", id, seen_.contains(id) ? "is already freed" : "was never allocated");
}

LiveObject& LiveObjects::require(ObjectId id) {
  const auto found = live_.find(id);
  if (found == live_.end()) refuse_missing(id);
  return found->second;
}

void LiveObjects::release(const ObjectFree& object) {
  const LiveObject& live = require(object.id);
  if (live.is_tensor) throw_input_error("object_free of {}, which is a tensor; use tensor_free", object.id);
  if (live.tensors != 0) throw_input_error("object {} is freed while {} tensors live in it", object.id, live.tensors);
  if (live.va != 0) by_address_.erase(live.va);
  if (live.is_managed) managed_bytes_ -= live.bytes;
  live_.erase(object.id);
}

void LiveObjects::release(const TensorFree& tensor) {
  const LiveObject& live = require(tensor.id);
  if (!live.is_tensor) throw_input_error("tensor_free of {}, which is an object; use object_free", tensor.id);
  if (live.parent != kNoObject) --require(live.parent).tensors;
  tensor_bytes_ -= live.bytes;
  live_.erase(tensor.id);
}

}  // namespace uvmsim::trace
