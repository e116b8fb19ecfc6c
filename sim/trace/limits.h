// SPDX-License-Identifier: Apache-2.0
// Limits on the content of a trace. They prevent overflow in arithmetic on numbers from a file and keep a small hostile
// file from demanding much memory; real traces stay far below.
#pragma once

#include <cstddef>
#include <cstdint>

namespace uvmsim::trace {

// The largest quantum number (and end of an extent), so that a gap or a difference fits one 64-bit number of the file
// together with an access mode.
inline constexpr std::uint64_t kMaxQuantum = std::uint64_t{1} << 60;
inline constexpr std::uint32_t kMaxQuantumBytes = 2u << 20;
inline constexpr std::uint64_t kMaxObjectBytes = std::uint64_t{1} << 47;  // the whole user address space of x86-64
inline constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 57;      // five-level page tables
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;         // one value, and the sum over a trace
inline constexpr std::int32_t kMaxDevice = 1023;
// a replay keeps clocks and queues for every stream up to the largest
inline constexpr std::uint32_t kMaxStream = 4096;
inline constexpr std::uint64_t kMaxGridBlocks = std::uint64_t{1} << 40;
// The blocks of a kernel that are simulated one by one, whatever they touch: those of distribution tiled, and those
// whose kernel's name says that a block has a channel.
inline constexpr std::uint64_t kMaxSimulatedBlocks = std::uint64_t{1} << 22;
// Limits for named things of which a replay keeps a few hundred bytes each.
inline constexpr std::size_t kMaxLiveObjects = std::size_t{1} << 18;  // objects and tensors that live at the same time
inline constexpr std::size_t kMaxEvents = std::size_t{1} << 16;       // numbers of events that are ever recorded
inline constexpr std::size_t kMaxOpenRanges = 256;                    // pushed, not popped yet
inline constexpr std::size_t kMaxIterations = std::size_t{1} << 13;   // marked by a trace; results list each
inline constexpr std::size_t kMaxPhases = std::size_t{1} << 17;       // of a kernel

inline constexpr std::size_t kFrameBytes = std::size_t{128} << 10;     // raw size at which the writer closes a frame
inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;  // one record as a message
inline constexpr std::size_t kMaxLineBytes = std::size_t{128} << 20;   // one record as a JSON line
// Extents that the phases of a kernel share with its accesses; sharing costs the file almost nothing.
inline constexpr std::size_t kMaxPhaseExtents = std::size_t{8} << 20;
inline constexpr std::size_t kMaxFrameBytes = std::size_t{64} << 20;  // raw size of a frame that the reader accepts
inline constexpr std::size_t kMaxFrameStrings = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNameBytes = std::size_t{1} << 16;

}  // namespace uvmsim::trace
