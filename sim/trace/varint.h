// SPDX-License-Identifier: Apache-2.0
// Numbers as protobuf writes them: seven bits a byte, the lowest first.
#pragma once

#include <cstdint>
#include <string_view>

namespace uvmsim::trace {

// A varint at the front of `bytes`, removed from it; false when it is cut off or longer than 64 bits.
inline bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (unsigned i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return i < 9 || byte <= 1;
    }
  }
  return false;
}

}  // namespace uvmsim::trace
