// SPDX-License-Identifier: Apache-2.0
// Reads Python's pickles that contain only plain values: None, numbers, texts, lists, tuples, dictionaries. A pickle is
// a program for a small stack machine. Instructions that import, call or build anything are refused, so that reading a
// pickle executes none of its code.
#pragma once

#include <string_view>

#include "sim/import/plain_values.h"

namespace uvmsim::trace {

// Returns whether the bytes begin like a pickle of protocol 2 to 5.
bool starts_pickle(std::string_view bytes);

// Returns the id of the value that the pickle holds. Throws InputError (without the file's name; the byte is named) for
// an instruction that is refused or unknown, for one that lacks its operands, and for a pickle that ends too early.
PlainValues::Id read_pickle(std::string_view pickle, PlainValues& values);

}  // namespace uvmsim::trace
