// SPDX-License-Identifier: Apache-2.0
// What other programs packed with gzip or xz, told by its first bytes. Zstandard is zstd_stream.h's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/trace/input.h"

namespace uvmsim::trace {

// True when the bytes start like a file of gzip or xz.
bool starts_packed(std::string_view bytes);

class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // How many of the next bytes were written to the front of `out`: none at the end only. Throws DamageError when the
  // data are corrupt or cut off.
  virtual std::size_t read(std::span<char> out) = 0;
};

// Of the bytes of the input, which must outlive it; null where they are not packed so.
std::unique_ptr<Unpacker> make_unpacker(Input& input);

// The first bytes of what `packed`, the begin of a file, would unpack to: as many as it holds, `bytes` at most. Damage
// is not reported here.
std::string unpacked_preview(std::string_view packed, std::size_t bytes);

}  // namespace uvmsim::trace
