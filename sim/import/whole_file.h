// SPDX-License-Identifier: Apache-2.0
// The whole content of a recording that cannot be read piece by piece.
#pragma once

#include <string>

namespace uvmsim::trace {

// Returns the content of a file, unpacked where it is zstd. Throws InputError naming the file when it cannot be read,
// and when it has more than 4 GiB.
std::string read_whole_file(const std::string& path);

}  // namespace uvmsim::trace
