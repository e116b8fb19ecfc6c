// SPDX-License-Identifier: Apache-2.0
// Marks one access. The same code runs in the patch on the GPU and, over std::atomic, in the tests: `Machine` provides
// the memory operations and the election among the threads of a warp.
//      Machine::load(address)          a 32-bit word, may be stale
//      Machine::load_entry(address)    a 64-bit table entry, constant while kernels run
//      Machine::set(address, bits)     atomic or; returns the previous value
//      Machine::add(address, n)        32-bit atomic addition; returns the previous value
//      Machine::add_wide(address, n)   the same for 64 bits
//      Machine::elect(key)             true in one of the active threads with the same key
//      Machine::elect_counted(&n)      true in one of the active threads; n is their number
//      Machine::high_product(a, b)     upper 64 bits of a * b
//      Machine::grid()                 the number of the running grid
#pragma once

#include "tracer/access/layout.h"

#ifdef __CUDACC__
#define UVMTRACE_DEVICE __device__ __forceinline__
#else
#define UVMTRACE_DEVICE inline
#endif

namespace uvmtrace::access {

// Returns the marks of this grid, given the data that the API passed; null if the grid is not recorded.
template <typename Machine>
UVMTRACE_DEVICE Marks* marks_of_grid(Marks* marks) {
  if (marks == nullptr || marks->graph == 0) return marks;
  return reinterpret_cast<Marks*>(Machine::load_entry(marks->graph + 8 * (Machine::grid() % kGraphSlots)));
}

// Returns the record's index, or ~0 for an unknown chunk.
template <typename Machine>
UVMTRACE_DEVICE std::uint32_t find_chunk(const Marks* marks, std::uint64_t chunk) {
  const std::uint64_t table = marks->table;
  const std::uint32_t mask = marks->table_mask;
  auto slot = static_cast<std::uint32_t>((chunk * kHashFactor) >> marks->table_shift);
  for (;;) {
    const std::uint64_t entry = Machine::load_entry(table + 8 * std::uint64_t{slot});
    if (entry == 0) return ~0U;
    if (entry >> kIndexBits == chunk) return static_cast<std::uint32_t>(entry & kIndexMask) - 1;
    slot = (slot + 1) & mask;
  }
}

// Sets a bit that was clear when this thread read it; one thread of the warp does so. Returns true if this call set it.
template <typename Machine>
UVMTRACE_DEVICE bool claim_bit(std::uint64_t word, std::uint32_t number) {
  if (!Machine::elect(word << 5 | number)) return false;
  const std::uint32_t bit = 1U << number;
  return (Machine::set(word, bit) & bit) == 0;
}

template <typename Machine>
UVMTRACE_DEVICE bool set_bit(std::uint64_t word, std::uint32_t number) {
  return (Machine::load(word) >> number & 1) == 0 && claim_bit<Machine>(word, number);
}

template <typename Machine>
UVMTRACE_DEVICE void note_unknown(Marks* marks, std::uint64_t address) {
  std::uint32_t threads = 1;
  if (!Machine::elect_counted(&threads)) return;
  const auto base = reinterpret_cast<std::uint64_t>(marks);
  const std::uint64_t before = Machine::add_wide(base + __builtin_offsetof(Marks, unknown), threads);
  // Whether warps are full or not, the first samples find fewer than a warp's threads per sample counted before them.
  if (before < 32 * kUnknownSamples) marks->unknown_at[before / 32] = address;
}

template <typename Machine>
UVMTRACE_DEVICE void count_access(const Marks* marks, std::uint64_t record, std::uint64_t page) {
  const std::uint64_t counter = record + marks->counts_offset + 4 * (page % kPagesPerChunk);
  if (Machine::elect(page) && Machine::load(counter) < kCountLimit) Machine::add(counter, 1);
}

template <typename Machine>
UVMTRACE_DEVICE void note_order(Marks* marks, std::uint64_t record, std::uint64_t page) {
  const auto page_bit = static_cast<std::uint32_t>(page % kPagesPerChunk);
  if (!set_bit<Machine>(record + marks->order_offset, page_bit)) return;
  const auto base = reinterpret_cast<std::uint64_t>(marks);
  const std::uint32_t place = Machine::add(base + __builtin_offsetof(Marks, order_size), 1);
  if (place < marks->order_capacity) {
    *reinterpret_cast<std::uint64_t*>(marks->order_log + 8 * std::uint64_t{place}) = page;
  }
}

// Marks reads or writes of one quantum; `phase_word` is 0 if phases are not recorded. In the usual case both bits are
// set already, which takes two independent loads.
template <typename Machine>
UVMTRACE_DEVICE void mark_bits(const Marks* marks, std::uint32_t index, std::uint64_t word, std::uint32_t place,
                               std::uint64_t phase_word, std::uint32_t page) {
  const std::uint32_t bits = Machine::load(word);
  const std::uint32_t phase_bits = phase_word != 0 ? Machine::load(phase_word) : ~0U;
  if ((bits >> place & 1) == 0 && claim_bit<Machine>(word, place)) {
    set_bit<Machine>(marks->dirty + index / 32 * 4, index % 32);
  }
  if ((phase_bits >> page & 1) == 0) claim_bit<Machine>(phase_word, page);
}

// Marks one quantum that a thread of block `block` (linear number) accessed.
template <typename Machine>
UVMTRACE_DEVICE void mark_quantum(Marks* marks, std::uint64_t quantum, std::uint32_t mode, std::uint64_t block) {
  constexpr std::uint32_t kShift = kChunkShift - kQuantumShift;
  const std::uint32_t index = find_chunk<Machine>(marks, quantum >> kShift);
  if (index == ~0U) {
    note_unknown<Machine>(marks, quantum << kQuantumShift);
    return;
  }
  const std::uint64_t record = marks->records + std::uint64_t{index} * marks->record_bytes;
  const std::uint64_t page = quantum >> (kPageShift - kQuantumShift);
  if (marks->counts_offset != 0) count_access<Machine>(marks, record, page);
  if (marks->order_offset != 0) note_order<Machine>(marks, record, page);

  const std::uint32_t phases = marks->phases;
  std::uint64_t phase_word = 0;
  if (phases != 0) {
    const std::uint64_t factor = marks->slice_factor;
    const auto slice = static_cast<std::uint32_t>(factor == 0 ? block : Machine::high_product(block, factor));
    phase_word = record + kPhaseOffset + slice * 4;
  }
  const auto place = static_cast<std::uint32_t>(quantum) % kQuantaPerChunk;
  const std::uint64_t word = record + place / 32 * 4;
  const auto page_bit = static_cast<std::uint32_t>(page % kPagesPerChunk);
  if ((mode & kRead) != 0) mark_bits<Machine>(marks, index, word, place % 32, phase_word, page_bit);
  if ((mode & kWrite) != 0) {
    mark_bits<Machine>(marks, index, word + kReadBytes, place % 32, phases != 0 ? phase_word + phases * 4 : 0,
                       page_bit);
  }
}

template <typename Machine>
UVMTRACE_DEVICE void mark(Marks* marks, std::uint64_t address, std::uint64_t bytes, std::uint32_t mode,
                          std::uint64_t block) {
  if (bytes == 0) return;
  const std::uint64_t last = (address + bytes - 1) >> kQuantumShift;
  for (std::uint64_t quantum = address >> kQuantumShift; quantum <= last; ++quantum) {
    mark_quantum<Machine>(marks, quantum, mode, block);
  }
}

}  // namespace uvmtrace::access
