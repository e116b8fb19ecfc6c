// SPDX-License-Identifier: Apache-2.0
// How often a kernel brings each byte of what it reads over a link to memory elsewhere, in which requests, and how it
// stores there.
//
// An SM that misses in its L1 asks the host for sectors of 32 bytes, up to a line of 128 in one request. The GPU's L2
// keeps none of it for another SM (measured: configs/measurements/remote_stream_h200.txt, `by the next`), so a byte
// comes as often as thread blocks read it that do not share an L1. How often that is follows from how the blocks divide
// the kernel's operands:
//   matrix products  a tile of the output reads its rows of one input and its columns of the other: an input comes once
//                    per tile across it. Along the sum a tile takes a slab of a few elements of each row, so that its
//                    requests are short.
//   convolutions     as products of pixels and channels: the image comes once per tile of channels
//   planes, rows     a block that reads its part again finds what its L1 kept of it
//   everything else  once
// cuDNN's own engines store element by element, or add up by atomics, each of which is a request.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/config/system.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// Of one of a kernel's accesses, by slot, in bytes.
struct AccessedBytes {
  std::uint64_t read = 0, written = 0;
};

// Of a kernel's accesses; a quantum that an object's end cuts counts whole.
std::vector<AccessedBytes> accessed_bytes(const trace::Kernel& kernel, std::uint64_t quantum_bytes);

// How one access uses memory elsewhere.
struct RemoteUse {
  std::uint64_t times_thousandths = 1000;  // that each byte is read, in the mean
  std::uint32_t request_bytes = 128;       // of reads, at most; a multiple of a sector
  // Stores of one word, or atomics on it, per word written, in thousandths; 0: whole lines are stored, once.
  std::uint64_t word_times_thousandths = 0;
  bool atomics = false;

  bool plain() const { return times_thousandths == 1000 && word_times_thousandths == 0; }
};

// By slot. `accessed` has one entry per access of the kernel. `images`: how many an NCHW tensor of the program holds, 0
// if unknown.
std::vector<RemoteUse> remote_use(const trace::Kernel& kernel, std::span<const AccessedBytes> accessed,
                                  std::uint64_t images, const config::GpuConfig& gpu);

// Whether it is a product or convolution, by its name where its trace does not say.
bool is_tiled(const trace::Kernel& kernel);

// The bytes that a kernel's warps can have under way at once: the resident ones, each with one access of every thread.
std::uint64_t bytes_under_way(const trace::Kernel& kernel, const config::GpuConfig& gpu);

}  // namespace uvmsim::engine
