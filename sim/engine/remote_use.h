// SPDX-License-Identifier: Apache-2.0
// How often, and in which requests, a kernel reads each byte of remote-mapped memory over a link, and how it stores
// there.
//
// An SM that misses in its L1 asks the host for sectors of 32 bytes, up to a line of 128 bytes in one request. The
// GPU's L2 keeps none of them for another SM (measured: configs/measurements/remote_stream_h200.txt, `by the next`). A
// byte therefore comes once for each group of thread blocks that read it through one L1. The number of groups follows
// from how the blocks divide the kernel's operands:
//   matrix products  a tile of the output reads its rows of one input and its columns of the other: an input comes once
//                    per tile across it. Along the sum a tile takes a slab of a few elements of each row, so that its
//                    requests are short.
//   convolutions     as products of pixels and channels: the image comes once per tile of channels
//   planes, rows     a block that reads its part again finds what its L1 kept of it
//   everything else  once
// cuDNN's own engines store element by element, or add by atomics; each of these is a request.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/config/system.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// The bytes that one of a kernel's accesses reads and writes.
struct AccessedBytes {
  std::uint64_t read = 0, written = 0;
};

// Returns the bytes of all accesses of a kernel. A quantum that an object's end cuts counts whole.
std::vector<AccessedBytes> accessed_bytes(const trace::Kernel& kernel, std::uint64_t quantum_bytes);

// One access's use of remote-mapped memory.
struct RemoteUse {
  std::uint64_t times_thousandths = 1000;  // mean number of times that each byte is read
  std::uint32_t request_bytes = 128;       // largest request of reads; a multiple of a sector
  // Stores or atomics of one word, per word written, in thousandths; 0: whole lines are stored, once.
  std::uint64_t word_times_thousandths = 0;
  bool atomics = false;

  bool plain() const { return times_thousandths == 1000 && word_times_thousandths == 0; }
};

// Returns the use of every access. `accessed` has one entry per access of the kernel. `images`: the number of images in
// an NCHW tensor of the program; 0: unknown.
std::vector<RemoteUse> remote_use(const trace::Kernel& kernel, std::span<const AccessedBytes> accessed,
                                  std::uint64_t images, const config::GpuConfig& gpu);

// Returns whether the kernel is a matrix product or convolution; if its trace does not say, its name does.
bool is_tiled(const trace::Kernel& kernel);

// Returns the bytes that a kernel can have under way at once: one access of every thread of the resident warps.
std::uint64_t bytes_under_way(const trace::Kernel& kernel, const config::GpuConfig& gpu);

}  // namespace uvmsim::engine
