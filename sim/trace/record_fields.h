// SPDX-License-Identifier: Apache-2.0
// The fields of every record, once: key in the JSON-lines form, field of the message in `.uvmt`, whether it must be
// there, limits, meaning. What writes and reads both forms, checks records (shape.cpp, validate.cpp), adds up their
// times (statistics.cpp) and prints `uvmsim trace fields` walks over them.
//
// `fields(walk, record)` calls one function of `walk` per field, in the order in which both forms are written:
//   number, stream, flag, time, signed_time, device, name (a value of an enum), text, dimensions, place, list
// each with (key, value, presence or what replaces it, meaning). `parts(part, item)` does the same for the numbers of
// one item of a list, which JSON writes as [a, b, ...]; their names stand in messages only.
// A walk that only reads records derives from ReadingWalk, or says `static constexpr bool kConstant = true`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/trace/record.h"

namespace uvmsim::trace {

enum class Presence : std::uint8_t {
  kRequired,  // always written; refused when missing
  kWritten,   // always written; has its default when missing
  kOptional,  // left out at its default
};

template <class Walk, class T>
using Of = std::conditional_t<Walk::kConstant, const T&, T&>;

// Passes by all fields: a walk over some of them has functions for those.
struct ReadingWalk {
  static constexpr bool kConstant = true;
  void number(auto&&...) {}
  void stream(std::uint32_t) {}
  void flag(auto&&...) {}
  void time(auto&&...) {}
  void signed_time(auto&&...) {}
  void device(auto&&...) {}
  void name(auto&&...) {}
  void text(auto&&...) {}
  void dimensions(auto&&...) {}
  void place(auto&&...) {}
  void list(auto&&...) {}
  void end_of_version(const Header&) {}
};

// A key of JSON and the field of a protobuf message that holds the same; walks that want the key alone take it as text.
// The functions are compiled where the messages are known.
template <class Has, class Get, class Set, class Edit>
struct Key {
  std::string_view text;
  Has has;
  Get get;
  Set set;
  Edit edit;
  constexpr operator std::string_view() const { return text; }
};
template <class Has, class Get, class Set, class Edit>
constexpr Key<Has, Get, Set, Edit> make_key(std::string_view text, Has has, Get get, Set set, Edit edit) {
  return {text, has, get, set, edit};
}
#define UVMSIM_KEY_OF(key, field)                                            \
  make_key(                                                                  \
      #key, [](const auto& message) { return message.has_##field(); },       \
      [](const auto& message) -> decltype(auto) { return message.field(); }, \
      [](auto& message, const auto& value) { message.set_##field(value); },  \
      [](auto& message) -> decltype(auto) { return *message.mutable_##field(); })
#define UVMSIM_KEY(field) UVMSIM_KEY_OF(field, field)
// Key and value of a member whose name is the key.
#define UVMSIM_FIELD(record, field) UVMSIM_KEY(field), record.field

// What an Entry calls the message of a record type, in the order of the alternatives of Record.
constexpr auto message_keys() {
  return std::tuple(UVMSIM_KEY(object_alloc), UVMSIM_KEY(object_free), UVMSIM_KEY(tensor_alloc),
                    UVMSIM_KEY(tensor_free), UVMSIM_KEY(kernel), UVMSIM_KEY_OF(memcpy, memory_copy),
                    UVMSIM_KEY_OF(memset, memory_set), UVMSIM_KEY(prefetch), UVMSIM_KEY(advise), UVMSIM_KEY(discard),
                    UVMSIM_KEY(sync), UVMSIM_KEY(host_access), UVMSIM_KEY(range), UVMSIM_KEY(uvm_counter));
}

// An item of a list in JSON, for messages, and how many parts it has.
struct ItemForm {
  std::string_view text;
  std::size_t parts;
};
using HostTouch = std::pair<std::uint64_t, AccessMode>;
using Attribute = std::pair<std::string, std::string>;
constexpr ItemForm item_form(const Extent*) { return {"an extent [first, count, mode]", 3}; }
constexpr ItemForm item_form(const ObjectAccess*) { return {"an access [object, extents]", 2}; }
constexpr ItemForm item_form(const Touch*) { return {"a touch [slot, quantum, mode]", 3}; }
constexpr ItemForm item_form(const FirstTouch*) { return {"a first touch [slot, unit]", 2}; }
constexpr ItemForm item_form(const UnitCount*) { return {"a count [slot, unit, count]", 3}; }
constexpr ItemForm item_form(const Phase*) { return {"a phase [first_block, block_count, accesses]", 3}; }
constexpr ItemForm item_form(const PhaseAccess*) { return {"an access of a phase [slot, extents]", 2}; }
constexpr ItemForm item_form(const HostTouch*) { return {"a touch [quantum, mode]", 2}; }
constexpr ItemForm item_form(const Attribute*) { return {"an attribute [key, value]", 2}; }
template <class Item>
inline constexpr ItemForm kItemForm = item_form(static_cast<const Item*>(nullptr));

template <class Part>
void parts(Part& part, Of<Part, Extent> extent) {
  part.quantum("first of an extent", extent.first);
  part.quantum("count of an extent", extent.count);
  part.mode(extent.mode);
}
template <class Part>
void parts(Part& part, Of<Part, ObjectAccess> access) {
  part.number("object of an access", access.object);
  part.list("a list of extents", access.extents);
}
template <class Part>
void parts(Part& part, Of<Part, Touch> touch) {
  part.number("slot of a touch", touch.slot);
  part.quantum("quantum of a touch", touch.quantum);
  part.mode(touch.mode);
}
template <class Part>
void parts(Part& part, Of<Part, FirstTouch> touch) {
  part.number("slot of a first touch", touch.slot);
  part.number("unit of an order", touch.unit);
}
template <class Part>
void parts(Part& part, Of<Part, UnitCount> item) {
  part.number("slot of a count", item.slot);
  part.number("unit of a count", item.unit);
  part.number("a count of accesses", item.count);
}
template <class Part>
void parts(Part& part, Of<Part, PhaseAccess> access) {
  part.number("slot of a phase", access.slot);
  part.list("a list of extents", access.extents);
}
template <class Part>
void parts(Part& part, Of<Part, Phase> phase) {
  part.number("first_block of a phase", phase.first_block);
  part.number("block_count of a phase", phase.block_count);
  part.list("accesses of a phase", phase.accesses);
}
template <class Part>
void parts(Part& part, Of<Part, HostTouch> touch) {
  part.quantum("quantum of a touch", touch.first);
  part.mode(touch.second);
}
template <class Part>
void parts(Part& part, Of<Part, Attribute> attribute) {
  part.text("key of an attribute", attribute.first);
  part.text("value of an attribute", attribute.second);
}

template <class Walk>
void host_gap(Walk& walk, Of<Walk, std::int64_t> gap) {
  walk.time(UVMSIM_KEY(host_gap_ns), gap, Presence::kOptional, "host time since the API call before returned");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, Header> header) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(header, major), kRequired, "format version; a reader refuses majors other than its own");
  walk.number(UVMSIM_FIELD(header, minor), kWritten, "raised by new fields");
  walk.end_of_version(header);
  walk.number(UVMSIM_FIELD(header, quantum_bytes), kWritten, "accesses count in these: a power of two");
  walk.text(UVMSIM_FIELD(header, tool), kOptional, "what wrote the trace, with version");
  walk.text(UVMSIM_FIELD(header, gpu), kOptional, "name of the recorded GPU");
  walk.text(UVMSIM_FIELD(header, driver), kOptional, "version of its driver");
  walk.text(UVMSIM_FIELD(header, program), kOptional, "what was recorded");
  walk.text(UVMSIM_FIELD(header, provenance), kOptional, "where the recording came from, licence, command");
  walk.list("attributes", header.attributes, kOptional, "anything else");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, ObjectAlloc> object) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(object, id), kRequired, "never used again; objects and tensors share the numbers");
  walk.name(UVMSIM_FIELD(object, kind), kOptional, "how it was allocated");
  walk.number(UVMSIM_FIELD(object, bytes), kRequired, "");
  walk.number(UVMSIM_FIELD(object, va), kOptional, "recorded virtual address; 0: unknown");
  walk.device(UVMSIM_FIELD(object, device), -1, kOptional, "where it was allocated; -1: host");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, ObjectFree> object) {
  walk.number(UVMSIM_FIELD(object, id), Presence::kRequired, "");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, TensorAlloc> tensor) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(tensor, id), kRequired, "never used again; objects and tensors share the numbers");
  walk.number(UVMSIM_FIELD(tensor, bytes), kRequired, "as the program asked; the allocator may have rounded it up");
  walk.stream(tensor.stream);
  walk.number(UVMSIM_FIELD(tensor, object), kOptional, "the object that it lies in; 0: not recorded");
  walk.number(UVMSIM_FIELD(tensor, offset), kOptional, "bytes from the object's start");
  walk.text(UVMSIM_FIELD(tensor, name), kOptional, "");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, TensorFree> tensor) {
  walk.number(UVMSIM_FIELD(tensor, id), Presence::kRequired, "");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, Kernel> kernel) {
  using enum Presence;
  walk.text(UVMSIM_FIELD(kernel, name), kRequired, "");
  walk.stream(kernel.stream);
  walk.device(UVMSIM_FIELD(kernel, device), 0, kOptional, "the GPU that it runs on");
  walk.dimensions(UVMSIM_FIELD(kernel, grid), "thread blocks");
  walk.dimensions(UVMSIM_FIELD(kernel, block), "threads of a block");
  walk.number(UVMSIM_FIELD(kernel, registers_per_thread), kOptional, "0: unknown");
  walk.number(UVMSIM_FIELD(kernel, shared_bytes_per_block), kOptional, "");
  host_gap(walk, kernel.host_gap_ns);
  walk.time(UVMSIM_FIELD(kernel, duration_ns), kRequired, "with everything resident, not instrumented");
  walk.name(UVMSIM_FIELD(kernel, distribution), kOptional, "which block touches what, where no phases say so");
  walk.number(UVMSIM_FIELD(kernel, bytes_per_thread_access), kOptional,
              "width of one access of one thread, for grid_stride and touches; 0: 4");
  walk.name(UVMSIM_FIELD(kernel, coverage), kOptional, "where the accesses come from");
  walk.list("accesses", kernel.accesses, kRequired, "what it touches; a position in this list is a slot");
  walk.list("touches", kernel.touches, kOptional, "an explicit order; without it, by distribution");
  walk.list("phases", kernel.phases, kOptional, "which blocks touch what; without it, one pass");
  walk.number(UVMSIM_FIELD(kernel, unknown_accesses), kOptional, "met no known allocation; in no list");
  walk.list("order", kernel.order, kOptional, "units of 64 KiB by first touch, as recorded; never replayed");
  walk.list("counts", kernel.counts, kOptional, "accesses of units of 64 KiB, ascending; never replayed");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, Memcpy> copy) {
  using enum Presence;
  walk.place(UVMSIM_KEY_OF(dst, dst_object), UVMSIM_KEY(dst_offset), copy.dst,
             "[object, offset]; without it, unmanaged memory");
  walk.place(UVMSIM_KEY_OF(src, src_object), UVMSIM_KEY(src_offset), copy.src,
             "[object, offset]; without it, unmanaged memory");
  walk.number(UVMSIM_FIELD(copy, bytes), kRequired, "");
  walk.name(UVMSIM_FIELD(copy, kind), kWritten, "");
  walk.stream(copy.stream);
  walk.flag(UVMSIM_KEY_OF(blocking, non_blocking), copy.blocking, true, "the host waits for it");
  host_gap(walk, copy.host_gap_ns);
}
template <class Walk, class Operation>
void fields_of_piece(Walk& walk, Operation& operation) {
  walk.number(UVMSIM_FIELD(operation, object), Presence::kRequired, "");
  walk.number(UVMSIM_FIELD(operation, offset), Presence::kOptional, "bytes from the object's start");
  walk.number(UVMSIM_FIELD(operation, bytes), Presence::kRequired, "");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Memset> set) {
  fields_of_piece(walk, set);
  walk.stream(set.stream);
  host_gap(walk, set.host_gap_ns);
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Prefetch> prefetch) {
  fields_of_piece(walk, prefetch);
  walk.device(UVMSIM_FIELD(prefetch, destination), -1, Presence::kWritten, "-1: host, else a GPU");
  walk.stream(prefetch.stream);
  host_gap(walk, prefetch.host_gap_ns);
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Advise> advise) {
  fields_of_piece(walk, advise);
  walk.name(UVMSIM_FIELD(advise, advice), Presence::kRequired, "");
  walk.device(UVMSIM_FIELD(advise, device), -1, Presence::kOptional, "-1: host, else a GPU");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Discard> discard) {
  fields_of_piece(walk, discard);
  walk.stream(discard.stream);
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Sync> sync) {
  using enum Presence;
  walk.name(UVMSIM_FIELD(sync, kind), kRequired, "what waits for what");
  walk.stream(sync.stream);
  walk.number(UVMSIM_FIELD(sync, event), kOptional, "of the event kinds");
  host_gap(walk, sync.host_gap_ns);
}
template <class Walk>
void fields(Walk& walk, Of<Walk, HostAccess> access) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(access, object), kRequired, "");
  walk.list("extents", access.extents, kOptional, "touched in ascending order, a 4 KiB page at a time");
  walk.list("touches", access.touches, kOptional, "an explicit order instead");
  host_gap(walk, access.host_gap_ns);
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Range> range) {
  using enum Presence;
  walk.name(UVMSIM_FIELD(range, kind), kRequired, "");
  walk.text(UVMSIM_FIELD(range, name), kOptional, "");
  walk.number(UVMSIM_FIELD(range, index), kOptional, "number of the iteration");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, UvmCounter> counter) {
  using enum Presence;
  walk.text(UVMSIM_FIELD(counter, kind), kRequired, "an event of the recording machine's driver; never replayed");
  walk.number(UVMSIM_FIELD(counter, object), kOptional, "");
  walk.number(UVMSIM_FIELD(counter, offset), kOptional, "");
  walk.number(UVMSIM_FIELD(counter, value), kOptional, "");
  walk.signed_time(UVMSIM_FIELD(counter, start_ns), "");
  walk.signed_time(UVMSIM_FIELD(counter, end_ns), "");
  walk.number(UVMSIM_FIELD(counter, flags), kOptional, "");
}

#undef UVMSIM_FIELD
#undef UVMSIM_KEY
#undef UVMSIM_KEY_OF

}  // namespace uvmsim::trace
