// SPDX-License-Identifier: Apache-2.0
// Unpacks data of gzip and xz, recognised by their first bytes. zstd_stream.h handles Zstandard.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/trace/input.h"

namespace uvmsim::trace {

// Returns whether the bytes start like a file of gzip or xz.
bool starts_packed(std::string_view bytes);

class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // Writes the next bytes to the front of `out` and returns their number: 0 only at the end. Throws DamageError if the
  // data are corrupt or cut off.
  virtual std::size_t read(std::span<char> out) = 0;
};

// Returns an unpacker of the input, which must outlive it; null if the bytes are not packed in these formats.
std::unique_ptr<Unpacker> make_unpacker(Input& input);

// Returns the first unpacked bytes of `packed`, the begin of a file: as many as it holds, `bytes` at most. Does not
// report damage.
std::string unpacked_preview(std::string_view packed, std::size_t bytes);

}  // namespace uvmsim::trace
