// SPDX-License-Identifier: Apache-2.0
// Options that `record` and `merge` share, and functions that read options.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/cli/options.h"
#include "tracer/merge/merge.h"

namespace uvmtrace {

inline constexpr uvmsim::cli::Option kLevel{"level", "N", "zstd compression level, 1 to 19; default 9"};

// All throw uvmsim::InputError for values that are not allowed.
std::uint64_t number(const uvmsim::cli::Values& values, const char* option, std::uint64_t otherwise, std::uint64_t min,
                     std::uint64_t max);
// Reads one of the words, of which the first is the default.
std::string word(const uvmsim::cli::Values& values, const char* option, std::initializer_list<const char*> words);

void add_merge_options(std::vector<uvmsim::cli::Option>& options);
MergeOptions merge_options(const uvmsim::cli::Values& values);
int compression_level(const uvmsim::cli::Values& values);

}  // namespace uvmtrace
