// SPDX-License-Identifier: Apache-2.0
// What protobuf accepts of a message and this project does not: the library takes the low bits of a number that is too
// large for its field, and of several records in an entry the last one.
#pragma once

#include <string_view>

namespace uvmsim::trace {

// `entry`: one Entry of uvmtrace.proto, which protobuf has parsed. Throws InputError where a number does not fit its
// field, or where the entry holds two records.
void check_numbers(std::string_view entry);

}  // namespace uvmsim::trace
