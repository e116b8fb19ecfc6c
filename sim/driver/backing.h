// SPDX-License-Identifier: Apache-2.0
// GPU memory behind blocks, and what its evictor hears of it after it was taken. Memory that is lent to other GPUs
// (MoveHooks) no evictor knows.
#pragma once

#include "sim/driver/context.h"

namespace uvmsim::driver {

inline PageMask unit_pages(unsigned unit) { return PageMask::range(unit * kPagesPerBigPage, kPagesPerBigPage); }

class Backing {
 public:
  explicit Backing(DriverContext& context) : context_(context) {}

  // What an evictor knows the block's memory by; `unit` matters with small chunks only.
  policy::ContentIndex content(BlockIndex block, unsigned unit, unsigned gpu) const;
  // When the copies are done that emptied the memory behind the pages.
  Nanoseconds ready(BlockIndex block, unsigned gpu, const PageMask& pages) const;

  // An operation brought pages of the block to the GPU.
  void used(BlockIndex block, unsigned gpu);
  // `gone` left: memory that holds nothing stays with the block (driver: it goes to the UNUSED list).
  void emptied(BlockIndex block, unsigned gpu, const PageMask& gone);
  // Pages of the block were marked as discarded, `here` of them resident.
  void discarded(BlockIndex block, unsigned gpu, const PageMask& here);
  // The block was freed: its memory is free.
  void release(BlockIndex block, unsigned gpu);

 private:
  ChunkId own_chunk(BlockIndex block, unsigned gpu) const;

  DriverContext& context_;
};

}  // namespace uvmsim::driver
