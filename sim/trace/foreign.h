// SPDX-License-Identifier: Apache-2.0
// Recognises files that a reader cannot use, by their first bytes and otherwise by their name.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::trace {

// Returns a noun and advice: "a profile of PyTorch (Kineto); read it with `uvmsim trace import kineto`"; empty for an
// unrecognised file. `start` is the first few thousand bytes, decompressed where they are a zstd frame.
std::string describe_foreign(std::string_view start, std::string_view name);
// Does the same for a file; empty when it cannot be read.
std::string describe_foreign_file(const std::string& path);

// Returns whether the bytes begin like Chakra's protobuf form: its metadata, preceded by their length.
bool starts_chakra_trace(std::string_view start);

// Returns ": it is a profile ...", or "".
std::string foreign_hint(const std::string& path);

}  // namespace uvmsim::trace
