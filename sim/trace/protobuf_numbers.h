// SPDX-License-Identifier: Apache-2.0
// Checks messages for content that protobuf accepts and this project does not: if a number is too large for its field,
// the library takes its low bits; if an entry has several records, the library takes the last.
#pragma once

#include <string_view>

namespace uvmsim::trace {

// Checks one Entry of uvmtrace.proto that protobuf has parsed. Throws InputError if a number does not fit its field, or
// if the entry holds two records.
void check_numbers(std::string_view entry);

}  // namespace uvmsim::trace
