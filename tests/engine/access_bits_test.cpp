// SPDX-License-Identifier: Apache-2.0
// Prefetchers of class D2 are told which pages kernels used before they were evicted: those that faulted, and those
// that were resident when a kernel that uses them began or ended.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace uvmsim {
namespace {

TEST(AccessBits, ReachThePrefetcherWhenABlockIsEvicted) {
  Program program;
  const auto a = program.alloc(kBlockBytes), b = program.alloc(kBlockBytes);
  program.host(a);
  program.host(b);
  program.walk("three of a unit", a, 0, 3);  // one fault migrates all of the 64 KB
  program.walk("another block", b, 0, 1);    // there is one chunk: the first block is evicted
  program.walk("again", a, 1, 1);
  program.sync();
  RunOptions options = options_with(1);
  options.prefetch.name = "cppe_like";
  Watched watched;
  program.run(options, &watched);
  std::uint64_t last_bytes = 0, first_bytes = 0;
  for (const TransferEvent& transfer : watched.transfers) {
    if (transfer.direction != TransferDirection::kHostToDevice) continue;
    if (transfer.start < watched.kernel("three of a unit").end) first_bytes += transfer.bytes;
    if (transfer.start > watched.kernel("again").start) last_bytes += transfer.bytes;
  }
  EXPECT_EQ(first_bytes, 16 * kPage);
  EXPECT_EQ(last_bytes, 3 * kPage) << "the pages that were used, not the unit";
}

}  // namespace
}  // namespace uvmsim
