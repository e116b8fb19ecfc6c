// SPDX-License-Identifier: Apache-2.0
// The memory of one pass as its log tells it: what is alive, where, and to whom an address belongs.
//
// Logs are taken from running programs and may lack an event. What cannot be (two live allocations at one address, the
// free of nothing) is repaired in favour of the later event, and counted.
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

  // The changes of things by an event, in this order: `freed`, then `made`.
  struct Change {
    std::vector<ThingIndex> freed;
    ThingIndex made = kNothing;
  };
  // Events in the log's order, by position. Others than of memory change nothing.
  const Change& apply(std::size_t event);

  const std::vector<Thing>& things() const { return things_; }  // in the order in which they were made
  // Live things that hold the address.
  ThingIndex tensor_at(std::uint64_t address) const { return find(tensors_, address); }
  ThingIndex object_at(std::uint64_t address) const { return find(objects_, address); }
  // The live tensor, else the live object, that holds all of the bytes; kNothing when there is none.
  ThingIndex holder(std::uint64_t va, std::uint64_t bytes) const;
  ThingIndex object_holder(std::uint64_t va, std::uint64_t bytes) const;

  bool holds_tensors(ThingIndex object) const;

  // Cuts [begin, end) among the live things it meets: pieces of tensors first, what they leave to the objects under it.
  // A tensor or object reaches to the end of its last quantum. Calls piece(thing, from, to), bytes from its start, `to`
  // within its size; ascending for each thing. Returns how many bytes met nothing.
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
  std::vector<bool> last_word_;  // of a tensor_free: no tensor_free_done follows
  std::vector<Thing> things_;
  std::vector<bool> let_go_;  // of a tensor: freed by the program, kept by the allocator
  std::vector<bool> by_segment_;
  Map objects_, tensors_;
  Change change_;
  std::uint64_t repairs_ = 0;
};

}  // namespace uvmtrace
