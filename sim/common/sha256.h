// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), which identifies the exact bytes of an input in a result. The value is that of `sha256sum`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace uvmsim {

class Sha256 {
 public:
  void update(std::string_view bytes);
  // Returns 64 lower-case hexadecimal digits. No update() may follow.
  std::string finish();

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::string sha256(std::string_view bytes);

// Throws InputError "cannot read <path>: <reason>".
std::string sha256_of_file(const std::string& path);

}  // namespace uvmsim
