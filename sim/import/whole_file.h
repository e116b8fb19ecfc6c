// SPDX-License-Identifier: Apache-2.0
// The whole content of a recording that cannot be read piece by piece.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::trace {

// Returns the content of a file, unpacked where it is zstd. Throws InputError naming the file when it cannot be read,
// and when it has more than 4 GiB.
std::string read_whole_file(const std::string& path);

// Returns the content of a file that should be `what`, such as "profile of PyTorch". Throws InputError also if
// foreign.h recognises the file as another format than `format`.
std::string read_recording(const std::string& path, std::string_view what, std::string_view format);

}  // namespace uvmsim::trace
