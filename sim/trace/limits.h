// SPDX-License-Identifier: Apache-2.0
// Bounds on what a trace may hold. They keep arithmetic on numbers from a file free of overflow and keep a small
// hostile file from asking for much memory; real traces stay far below.
#pragma once

#include <cstddef>
#include <cstdint>

namespace uvmsim::trace {

// Quantum numbers (the end of an extent included) are at most this, so that a gap or a difference and an access mode
// fit one 64-bit number of the file.
inline constexpr std::uint64_t kMaxQuantum = std::uint64_t{1} << 60;
inline constexpr std::uint32_t kMaxQuantumBytes = 2u << 20;
inline constexpr std::uint64_t kMaxObjectBytes = std::uint64_t{1} << 47;  // the whole user address space of x86-64
inline constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 57;      // five-level page tables
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;         // one value, and the sum over a trace
inline constexpr std::int32_t kMaxDevice = 1023;
inline constexpr std::uint32_t kMaxStream = 4096;  // clocks and queues are there for all up to the largest
inline constexpr std::uint64_t kMaxGridBlocks = std::uint64_t{1} << 40;

inline constexpr std::size_t kFrameBytes = std::size_t{128} << 10;     // raw size at which the writer closes a frame
inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;  // one record as a message
inline constexpr std::size_t kMaxLineBytes = std::size_t{128} << 20;   // one record as a JSON line
// Extents that the phases of a kernel take from its accesses, which costs the file next to nothing.
inline constexpr std::size_t kMaxPhaseExtents = std::size_t{8} << 20;
inline constexpr std::size_t kMaxFrameBytes = std::size_t{64} << 20;  // raw size of a frame that the reader accepts
inline constexpr std::size_t kMaxFrameStrings = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNameBytes = std::size_t{1} << 16;

}  // namespace uvmsim::trace
