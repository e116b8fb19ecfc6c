// SPDX-License-Identifier: Apache-2.0
// Copies and sets in the form of the log: one block of bytes, or rows of bytes with a pitch.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/timing/calls.h"

namespace uvmtrace {

enum class Place : std::uint8_t { kUnknown, kHost, kDevice };

struct CopySide {
  std::uint64_t address = 0;  // 0 for a CUDA array, which has no address
  std::uint64_t pitch = 0;
  Place place = Place::kUnknown;  // unknown: determined by the address
};

struct CopyShape {
  CopySide destination;
  CopySide source;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
};

struct SetShape {
  std::uint64_t va = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
};

// Returns the shapes of a copy. A 3-D copy is rows with one pitch if its layers continue with this pitch, otherwise one
// shape per layer.
std::vector<CopyShape> shapes(const CUDA_MEMCPY2D& copy);
std::vector<CopyShape> shapes(const CUDA_MEMCPY3D& copy);
std::vector<CopyShape> shapes(const CUDA_MEMCPY3D_PEER& copy);

// `node` 0 means not from a graph; `first` as in call_event().
void write_copy(const Call& call, const CopyShape& shape, CUstream stream, bool async, bool first,
                std::uint64_t node = 0);
void write_set(const Call& call, const SetShape& shape, CUstream stream, bool async, bool first,
               std::uint64_t node = 0);

}  // namespace uvmtrace
