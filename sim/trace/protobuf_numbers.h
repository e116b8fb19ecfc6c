// SPDX-License-Identifier: Apache-2.0
// Checks messages for content that protobuf accepts and this project does not: of a number that is too large for its
// field the library takes the low bits, and of several records in an entry the last one.
#pragma once

#include <string_view>

namespace uvmsim::trace {

// Checks one Entry of uvmtrace.proto that protobuf has parsed. Throws InputError if a number does not fit its field, or
// if the entry holds two records.
void check_numbers(std::string_view entry);

}  // namespace uvmsim::trace
