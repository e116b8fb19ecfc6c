// SPDX-License-Identifier: Apache-2.0
// The fields of every record, once: name in the JSON-lines form, whether it must be there, limits, meaning. What writes
// JSON, reads it, checks one record by itself (shape.cpp) and prints `uvmsim trace fields` walks over them.
//
// `fields(walk, record)` calls one function of `walk` per field, in the order in which JSON is written:
//   number, stream, flag, time, signed_time, device, name (a value of an enum), text, dimensions, place, list
// each with (key, value, presence or what replaces it, meaning). `parts(part, item)` does the same for the numbers of
// one item of a list, which JSON writes as [a, b, ...]; their names stand in messages only.
// A walk that only reads records says `static constexpr bool kConstant = true`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// An item of a list in JSON, for messages, and how many parts it has.
struct ItemForm {
  std::string_view text;
  std::size_t parts;
};
template <class Item>
inline constexpr ItemForm kItemForm{};
template <>
inline constexpr ItemForm kItemForm<Extent>{"an extent [first, count, mode]", 3};
template <>
inline constexpr ItemForm kItemForm<ObjectAccess>{"an access [object, extents]", 2};
template <>
inline constexpr ItemForm kItemForm<Touch>{"a touch [slot, quantum, mode]", 3};
template <>
inline constexpr ItemForm kItemForm<FirstTouch>{"a first touch [slot, unit]", 2};
template <>
inline constexpr ItemForm kItemForm<UnitCount>{"a count [slot, unit, count]", 3};
template <>
inline constexpr ItemForm kItemForm<Phase>{"a phase [first_block, block_count, accesses]", 3};
template <>
inline constexpr ItemForm kItemForm<PhaseAccess>{"an access of a phase [slot, extents]", 2};
using HostTouch = std::pair<std::uint64_t, AccessMode>;
template <>
inline constexpr ItemForm kItemForm<HostTouch>{"a touch [quantum, mode]", 2};
using Attribute = std::pair<std::string, std::string>;
template <>
inline constexpr ItemForm kItemForm<Attribute>{"an attribute [key, value]", 2};

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
void fields(Walk& walk, Of<Walk, Header> header) {
  using enum Presence;
  walk.number("major", header.major, kRequired, "format version; a reader refuses majors other than its own");
  walk.number("minor", header.minor, kWritten, "raised by new fields");
  walk.end_of_version(header);
  walk.number("quantum_bytes", header.quantum_bytes, kWritten, "accesses count in these: a power of two");
  walk.text("tool", header.tool, kOptional, "what wrote the trace, with version");
  walk.text("gpu", header.gpu, kOptional, "name of the recorded GPU");
  walk.text("driver", header.driver, kOptional, "version of its driver");
  walk.text("program", header.program, kOptional, "what was recorded");
  walk.text("provenance", header.provenance, kOptional, "where the recording came from, licence, command");
  walk.list("attributes", header.attributes, kOptional, "anything else");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, ObjectAlloc> object) {
  using enum Presence;
  walk.number("id", object.id, kRequired, "never used again; objects and tensors share the numbers");
  walk.name("kind", object.kind, kOptional, "how it was allocated");
  walk.number("bytes", object.bytes, kRequired, "");
  walk.number("va", object.va, kOptional, "recorded virtual address; 0: unknown");
  walk.device("device", object.device, -1, kOptional, "where it was allocated; -1: host");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, ObjectFree> object) {
  walk.number("id", object.id, Presence::kRequired, "");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, TensorAlloc> tensor) {
  using enum Presence;
  walk.number("id", tensor.id, kRequired, "never used again; objects and tensors share the numbers");
  walk.number("bytes", tensor.bytes, kRequired, "as the program asked; the allocator may have rounded it up");
  walk.stream(tensor.stream);
  walk.number("object", tensor.object, kOptional, "the object that it lies in; 0: not recorded");
  walk.number("offset", tensor.offset, kOptional, "bytes from the object's start");
  walk.text("name", tensor.name, kOptional, "");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, TensorFree> tensor) {
  walk.number("id", tensor.id, Presence::kRequired, "");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, Kernel> kernel) {
  using enum Presence;
  walk.text("name", kernel.name, kRequired, "");
  walk.stream(kernel.stream);
  walk.device("device", kernel.device, 0, kOptional, "the GPU that it runs on");
  walk.dimensions("grid", kernel.grid, "thread blocks");
  walk.dimensions("block", kernel.block, "threads of a block");
  walk.number("registers_per_thread", kernel.registers_per_thread, kOptional, "0: unknown");
  walk.number("shared_bytes_per_block", kernel.shared_bytes_per_block, kOptional, "");
  walk.time("host_gap_ns", kernel.host_gap_ns, kOptional, "host time since the API call before returned");
  walk.time("duration_ns", kernel.duration_ns, kRequired, "with everything resident, not instrumented");
  walk.name("distribution", kernel.distribution, kOptional, "which block touches what, where no phases say so");
  walk.number("bytes_per_thread_access", kernel.bytes_per_thread_access, kOptional,
              "width of one access of one thread, for grid_stride and touches; 0: 4");
  walk.name("coverage", kernel.coverage, kOptional, "where the accesses come from");
  walk.list("accesses", kernel.accesses, kRequired, "what it touches; a position in this list is a slot");
  walk.list("touches", kernel.touches, kOptional, "an explicit order; without it, by distribution");
  walk.list("phases", kernel.phases, kOptional, "which blocks touch what; without it, one pass");
  walk.number("unknown_accesses", kernel.unknown_accesses, kOptional, "met no known allocation; in no list");
  walk.list("order", kernel.order, kOptional, "units of 64 KiB by first touch, as recorded; never replayed");
  walk.list("counts", kernel.counts, kOptional, "accesses of units of 64 KiB, ascending; never replayed");
}

template <class Walk>
void fields(Walk& walk, Of<Walk, Memcpy> copy) {
  using enum Presence;
  walk.place("dst", copy.dst, "[object, offset]; without it, unmanaged memory");
  walk.place("src", copy.src, "[object, offset]; without it, unmanaged memory");
  walk.number("bytes", copy.bytes, kRequired, "");
  walk.name("kind", copy.kind, kWritten, "");
  walk.stream(copy.stream);
  walk.flag("blocking", copy.blocking, true, "the host waits for it");
  walk.time("host_gap_ns", copy.host_gap_ns, kOptional, "host time since the API call before returned");
}
template <class Walk, class Operation>
void fields_of_piece(Walk& walk, Operation& operation) {
  walk.number("object", operation.object, Presence::kRequired, "");
  walk.number("offset", operation.offset, Presence::kOptional, "bytes from the object's start");
  walk.number("bytes", operation.bytes, Presence::kRequired, "");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Memset> set) {
  fields_of_piece(walk, set);
  walk.stream(set.stream);
  walk.time("host_gap_ns", set.host_gap_ns, Presence::kOptional, "host time since the API call before returned");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Prefetch> prefetch) {
  fields_of_piece(walk, prefetch);
  walk.device("destination", prefetch.destination, -1, Presence::kWritten, "-1: host, else a GPU");
  walk.stream(prefetch.stream);
  walk.time("host_gap_ns", prefetch.host_gap_ns, Presence::kOptional, "host time since the API call before returned");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Advise> advise) {
  fields_of_piece(walk, advise);
  walk.name("advice", advise.advice, Presence::kRequired, "");
  walk.device("device", advise.device, -1, Presence::kOptional, "-1: host, else a GPU");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Discard> discard) {
  fields_of_piece(walk, discard);
  walk.stream(discard.stream);
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Sync> sync) {
  using enum Presence;
  walk.name("kind", sync.kind, kRequired, "what waits for what");
  walk.stream(sync.stream);
  walk.number("event", sync.event, kOptional, "of the event kinds");
  walk.time("host_gap_ns", sync.host_gap_ns, kOptional, "host time since the API call before returned");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, HostAccess> access) {
  using enum Presence;
  walk.number("object", access.object, kRequired, "");
  walk.list("extents", access.extents, kOptional, "touched in ascending order, a 4 KiB page at a time");
  walk.list("touches", access.touches, kOptional, "an explicit order instead");
  walk.time("host_gap_ns", access.host_gap_ns, kOptional, "host time since the API call before returned");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, Range> range) {
  using enum Presence;
  walk.name("kind", range.kind, kRequired, "");
  walk.text("name", range.name, kOptional, "");
  walk.number("index", range.index, kOptional, "number of the iteration");
}
template <class Walk>
void fields(Walk& walk, Of<Walk, UvmCounter> counter) {
  using enum Presence;
  walk.text("kind", counter.kind, kRequired, "an event of the recording machine's driver; never replayed");
  walk.number("object", counter.object, kOptional, "");
  walk.number("offset", counter.offset, kOptional, "");
  walk.number("value", counter.value, kOptional, "");
  walk.signed_time("start_ns", counter.start_ns, "");
  walk.signed_time("end_ns", counter.end_ns, "");
  walk.number("flags", counter.flags, kOptional, "");
}

}  // namespace uvmsim::trace
