// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/world.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace uvmtrace {

namespace {

std::uint64_t reach(const Thing& thing) { return (thing.end() + kQuantumBytes - 1) / kQuantumBytes * kQuantumBytes; }

// Returns for each tensor_free whether the allocator takes the memory back with it, that is, whether the next event
// about its address is not a tensor_free_done.
std::vector<bool> last_words(const PassLog& log) {
  std::vector<bool> last(log.events.size(), false);
  std::unordered_map<std::uint64_t, bool> done_follows;  // by address
  for (std::size_t i = log.events.size(); i-- > 0;) {
    if (const auto* event = std::get_if<TensorFreeEvent>(&log.events[i].what)) {
      bool& follows = done_follows[event->va];
      last[i] = !event->done && !follows;
      follows = event->done;
    } else if (const auto* made = std::get_if<TensorAllocEvent>(&log.events[i].what)) {
      done_follows[made->va] = false;
    }
  }
  return last;
}

}  // namespace

World::World(const PassLog& log) : log_(log), last_word_(last_words(log)) {}

std::vector<bool> World::live_things() const {
  std::vector<bool> live(things_.size());
  for (std::size_t i = 0; i < things_.size(); ++i) live[i] = things_[i].live;
  return live;
}

ThingIndex World::find(const Map& map, std::uint64_t address) const {
  const auto after = map.upper_bound(address);
  if (after == map.begin()) return kNothing;
  const ThingIndex thing = std::prev(after)->second;
  return address < things_[thing].end() ? thing : kNothing;
}

bool World::holds(ThingIndex thing, std::uint64_t va, std::uint64_t bytes) const {
  return thing != kNothing && bytes <= things_[thing].end() - va;
}

ThingIndex World::holder(std::uint64_t va, std::uint64_t bytes) const {
  const ThingIndex tensor = tensor_at(va);
  return holds(tensor, va, bytes) ? tensor : object_holder(va, bytes);
}

ThingIndex World::object_holder(std::uint64_t va, std::uint64_t bytes) const {
  const ThingIndex object = object_at(va);
  return holds(object, va, bytes) ? object : kNothing;
}

bool World::meets_object(std::uint64_t begin, std::uint64_t end) const {
  const auto next = objects_.lower_bound(begin);
  return (next != objects_.end() && next->first < end) || object_at(begin) != kNothing;
}

bool World::holds_tensors(ThingIndex object) const {
  const auto next = tensors_.lower_bound(things_[object].va);
  return next != tensors_.end() && next->first < things_[object].end();
}

void World::make(const Thing& thing) {
  change_.made = static_cast<ThingIndex>(things_.size());
  (thing.tensor ? tensors_ : objects_).emplace(thing.va, change_.made);
  things_.push_back(thing);
  let_go_.push_back(false);
  by_segment_.push_back(false);
}

void World::release(ThingIndex index) {
  Thing& thing = things_[index];
  if (!thing.tensor) release_tensors_in(thing.va, thing.end());
  thing.live = false;
  (thing.tensor ? tensors_ : objects_).erase(thing.va);
  change_.freed.push_back(index);
}

// A segment is freed after its tensors, so none is left unless the log lacks an event.
void World::release_tensors_in(std::uint64_t begin, std::uint64_t end) { release_overlaps(tensors_, begin, end); }

void World::release_overlaps(const Map& map, std::uint64_t begin, std::uint64_t end) {
  std::vector<ThingIndex> found;
  auto next = map.lower_bound(begin);
  if (next != map.begin() && things_[std::prev(next)->second].end() > begin) --next;
  for (; next != map.end() && next->first < end; ++next) found.push_back(next->second);
  for (const ThingIndex thing : found) {
    repairs_ += let_go_[thing] || things_[thing].kind == MemoryKind::kModule ? 0 : 1;
    release(thing);
  }
}

void World::make_object(const AllocEvent& event) {
  const bool known = event.segment && object_holder(event.va, event.bytes) != kNothing;
  // Memory of the driver itself may contain memory that the program allocates from a pool; the program's calls describe
  // it better.
  const bool hidden = event.kind == MemoryKind::kModule && meets_object(event.va, event.va + event.bytes);
  if (event.bytes == 0 || known || hidden) return;
  release_overlaps(objects_, event.va, event.va + event.bytes);
  Thing thing;
  thing.va = event.va;
  thing.bytes = event.bytes;
  thing.kind = event.kind;
  thing.device = event.device;
  make(thing);
  by_segment_.back() = event.segment;
}

const World::Change& World::apply(std::size_t position) {
  change_.freed.clear();
  change_.made = kNothing;
  const Event& event = log_.events[position];
  if (const auto* alloc = std::get_if<AllocEvent>(&event.what)) {
    make_object(*alloc);
  } else if (const auto* freed = std::get_if<FreeEvent>(&event.what)) {
    const auto found = objects_.find(freed->va);
    if (found != objects_.end() && (!freed->segment || by_segment_[found->second])) {
      release(found->second);
    } else if (!freed->segment) {
      ++repairs_;
    }
  } else if (const auto* tensor = std::get_if<TensorAllocEvent>(&event.what)) {
    if (tensor->bytes == 0) return change_;
    release_overlaps(tensors_, tensor->va, tensor->va + tensor->bytes);
    Thing thing;
    thing.va = tensor->va;
    thing.bytes = tensor->bytes;
    thing.tensor = true;
    thing.stream = tensor->stream;
    thing.parent = object_holder(tensor->va, tensor->bytes);
    if (thing.parent != kNothing) things_[thing.parent].cut = true;
    make(thing);
  } else if (const auto* dead = std::get_if<TensorFreeEvent>(&event.what)) {
    const auto found = tensors_.find(dead->va);
    if (found == tensors_.end()) {
      repairs_ += dead->done ? 0 : 1;
    } else if (dead->done || last_word_[position]) {
      release(found->second);
    } else {
      let_go_[found->second] = true;
    }
  }
  return change_;
}

std::uint64_t World::cut(std::uint64_t begin, std::uint64_t end,
                         const std::function<void(ThingIndex, std::uint64_t, std::uint64_t)>& piece) const {
  std::uint64_t missed = 0;
  std::uint64_t at = begin;  // everything below it is assigned
  auto next = tensors_.lower_bound(begin);
  if (next != tensors_.begin() && reach(things_[std::prev(next)->second]) > begin) --next;
  for (; next != tensors_.end() && next->first < end; ++next) {
    const Thing& tensor = things_[next->second];
    // A quantum that two tensors share belongs to both.
    const std::uint64_t first_quantum = tensor.va / kQuantumBytes * kQuantumBytes;
    if (first_quantum > at) missed += cut_objects(at, first_quantum, piece);
    const std::uint64_t from = std::max(begin, tensor.va), to = std::min(end, tensor.end());
    if (from < to) piece(next->second, from - tensor.va, to - tensor.va);
    at = std::max(at, std::min(end, reach(tensor)));
  }
  return at < end ? missed + cut_objects(at, end, piece) : missed;
}

std::uint64_t World::cut_objects(std::uint64_t begin, std::uint64_t end,
                                 const std::function<void(ThingIndex, std::uint64_t, std::uint64_t)>& piece) const {
  std::uint64_t missed = 0;
  std::uint64_t at = begin;
  auto next = objects_.lower_bound(begin);
  if (next != objects_.begin() && reach(things_[std::prev(next)->second]) > begin) --next;
  for (; next != objects_.end() && next->first < end; ++next) {
    const Thing& object = things_[next->second];
    const std::uint64_t first_quantum = object.va / kQuantumBytes * kQuantumBytes;
    missed += first_quantum > at ? first_quantum - at : 0;
    const std::uint64_t from = std::max(begin, object.va), to = std::min(end, object.end());
    if (from < to) piece(next->second, from - object.va, to - object.va);
    at = std::max(at, std::min(end, reach(object)));
  }
  return at < end ? missed + (end - at) : missed;
}

}  // namespace uvmtrace
