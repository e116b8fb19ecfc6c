// SPDX-License-Identifier: Apache-2.0
// The GPU memory of blocks, and what the GPU's evictor is told about it after the allocation. Evictors do not know of
// memory that a GPU lends to other GPUs (Harvest).
#pragma once

#include "sim/driver/context.h"

namespace uvmsim::driver {

inline PageMask unit_pages(unsigned unit) { return PageMask::range(unit * kPagesPerBigPage, kPagesPerBigPage); }

class Backing {
 public:
  explicit Backing(DriverContext& context) : context_(context) {}

  // Returns the id by which an evictor knows the block's memory; `unit` (64 KB) matters only with small chunks.
  policy::ContentIndex content(BlockIndex block, unsigned unit, unsigned gpu) const;
  // Returns when the copies that emptied the memory behind the pages are done.
  Nanoseconds ready(BlockIndex block, unsigned gpu, const PageMask& pages) const;

  // Tells the plan and the evictor that an operation migrated pages of the block to the GPU.
  void used(BlockIndex block, unsigned gpu);
  // Tells the evictor that the pages `gone` left. The block keeps the empty memory (in the driver it moves to the
  // UNUSED list).
  void emptied(BlockIndex block, unsigned gpu, const PageMask& gone);
  // Tells the evictor that pages of the block were discarded, `here` of them resident on the GPU.
  void discarded(BlockIndex block, unsigned gpu, const PageMask& here);
  // Frees the memory of a block that was freed.
  void release(BlockIndex block, unsigned gpu);

 private:
  ChunkId own_chunk(BlockIndex block, unsigned gpu) const;

  DriverContext& context_;
};

}  // namespace uvmsim::driver
