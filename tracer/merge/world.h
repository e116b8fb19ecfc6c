// SPDX-License-Identifier: Apache-2.0
// The memory of one pass according to its log: what is alive, where, and to what an address belongs.
//
// Logs are taken from running programs and may lack an event. Impossible events (two live allocations at one address, a
// free of nothing) are repaired in favour of the later event, and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "tracer/merge/event.h"

namespace uvmtrace {

using ThingIndex = std::uint32_t;
inline constexpr ThingIndex kNothing = std::numeric_limits<ThingIndex>::max();

// A driver's allocation (an object) or a framework's tensor.
struct Thing {
  std::uint64_t va = 0, bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;  // only for objects
  bool tensor = false;
  bool live = true;
  bool cut = false;  // only for objects: a framework has put tensors into it
  std::int32_t device = 0;
  std::uint32_t stream = 0;      // only for tensors
  ThingIndex parent = kNothing;  // only for tensors: the object that contains all of it, if any
  std::uint64_t end() const { return va + bytes; }
};

class World {
 public:
  explicit World(const PassLog& log);

  // The things that an event frees and creates, applied in this order: `freed`, then `made`.
  struct Change {
    std::vector<ThingIndex> freed;
    ThingIndex made = kNothing;
  };
  // Applies an event, given by position; call it in the log's order. Events that are not about memory change nothing.
  const Change& apply(std::size_t event);

  const std::vector<Thing>& things() const { return things_; }  // in the order in which they were made
  // Return live things that contain the address.
  ThingIndex tensor_at(std::uint64_t address) const { return find(tensors_, address); }
  ThingIndex object_at(std::uint64_t address) const { return find(objects_, address); }
  // Returns the live tensor, otherwise the live object, that contains all of the bytes; kNothing if there is none.
  ThingIndex holder(std::uint64_t va, std::uint64_t bytes) const;
  ThingIndex object_holder(std::uint64_t va, std::uint64_t bytes) const;

  bool holds_tensors(ThingIndex object) const;

  // Divides [begin, end) among the live things that it overlaps: first to tensors, and the rest to the objects that
  // contain them. A tensor or object reaches to the end of its last quantum. Calls piece(thing, from, to) with bytes
  // from its start, `to` within its size, ascending for each thing. Returns the number of bytes outside of all things.
  std::uint64_t cut(std::uint64_t begin, std::uint64_t end,
                    const std::function<void(ThingIndex, std::uint64_t, std::uint64_t)>& piece) const;

  std::uint64_t repairs() const { return repairs_; }

  // Returns by thing whether it is alive now. Things made later must be added.
  std::vector<bool> live_things() const;

 private:
  using Map = std::map<std::uint64_t, ThingIndex>;  // by address

  ThingIndex find(const Map& map, std::uint64_t address) const;
  bool holds(ThingIndex thing, std::uint64_t va, std::uint64_t bytes) const;
  void make(const Thing& thing);
  void make_object(const AllocEvent& event);
  void release(ThingIndex thing);
  void release_overlaps(const Map& map, std::uint64_t begin, std::uint64_t end);
  bool meets_object(std::uint64_t begin, std::uint64_t end) const;
  void release_tensors_in(std::uint64_t begin, std::uint64_t end);
  std::uint64_t cut_objects(std::uint64_t begin, std::uint64_t end,
                            const std::function<void(ThingIndex, std::uint64_t, std::uint64_t)>& piece) const;

  const PassLog& log_;
  std::vector<bool> last_word_;  // for a tensor_free: no tensor_free_done follows
  std::vector<Thing> things_;
  std::vector<bool> let_go_;  // for a tensor: freed by the program, kept by the allocator
  std::vector<bool> by_segment_;
  Map objects_, tensors_;
  Change change_;
  std::uint64_t repairs_ = 0;
};

}  // namespace uvmtrace
