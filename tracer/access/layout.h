// SPDX-License-Identifier: Apache-2.0
// The structures in which the device code marks and which the host reads back. Both nvcc and the host compiler compile
// them, so they are only plain structs and constants. All of it is device memory; addresses are kept as integers.
//
// A chunk is 2 MB of virtual addresses, the block of NVIDIA's UVM driver. Each chunk known to the host has a record,
// `record_bytes` apart:
//      0      read bits, one per 512-byte quantum
//      512    write bits
//      1024   phases: for each slice of the grid a word of read bits, one per 64 KB page; then the same for writes
//      ...    `touched` word (one bit per page, if the order is recorded), 32 counters (if counts are recorded)
#pragma once

#include <cstdint>

namespace uvmtrace::access {

inline constexpr std::uint32_t kQuantumShift = 9;
inline constexpr std::uint32_t kPageShift = 16;
inline constexpr std::uint32_t kChunkShift = 21;
inline constexpr std::uint32_t kQuantaPerChunk = 1U << (kChunkShift - kQuantumShift);
inline constexpr std::uint32_t kPagesPerChunk = 1U << (kChunkShift - kPageShift);
static_assert(kPagesPerChunk == 32, "one word of bits per chunk and slice");

inline constexpr std::uint32_t kReadBytes = kQuantaPerChunk / 8;
inline constexpr std::uint32_t kPhaseOffset = 2 * kReadBytes;
inline constexpr std::uint32_t kMaxPhases = 64;
inline constexpr std::uint32_t kUnknownSamples = 8;
inline constexpr std::uint32_t kCountLimit = 0x7fffffff;

// Modes of an access, as in the event log.
inline constexpr std::uint32_t kRead = 1;
inline constexpr std::uint32_t kWrite = 2;

// An entry of the table of chunks: the chunk's number (address >> 21) above kIndexBits, its record's index + 1 below;
// 0 is empty. Addresses have at most 57 bits.
inline constexpr std::uint32_t kIndexBits = 26;
inline constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;

// The first position in the search for a chunk. Neighbours are spread over the whole table, because separate ranges of
// addresses would otherwise form long clusters.
inline constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15;

// The kernels of a graph share one pointer from the API, the one that was set last. The number of a grid (%gridid,
// which the launch's callback announces) tells them apart. Kernels whose numbers fall on the same slot are not
// recorded.
inline constexpr std::uint32_t kGraphSlots = 1U << 16;

// One per launch in progress. `slice_factor` turns a block's number into its slice (slices.h).
struct Marks {
  std::uint64_t table;  // entries, 1 << (64 - table_shift) of them
  std::uint64_t records;
  std::uint64_t dirty;      // one bit per record
  std::uint64_t order_log;  // pages by first touch
  std::uint64_t slice_factor;
  std::uint64_t unknown;   // number of accesses to no known chunk
  std::uint64_t heap_low;  // memory that the kernel's malloc() returned: lowest address and end
  std::uint64_t heap_high;
  // 0, or (if this object stands for all kernels of a graph) the addresses of their Marks, by grid number
  std::uint64_t graph;
  std::uint64_t unknown_at[kUnknownSamples];
  std::uint32_t table_shift;
  std::uint32_t table_mask;
  std::uint32_t record_bytes;
  std::uint32_t phases;         // 0: not recorded
  std::uint32_t order_offset;   // of `touched` in a record; 0: not recorded
  std::uint32_t counts_offset;  // 0: not recorded
  std::uint32_t order_capacity;
  std::uint32_t order_size;  // may exceed the capacity
};
static_assert(sizeof(Marks) == 168);

}  // namespace uvmtrace::access
