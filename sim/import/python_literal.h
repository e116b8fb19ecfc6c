// SPDX-License-Identifier: Apache-2.0
// Reads what Python's str() prints of lists, tuples, numbers, texts, True, False and None.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace uvmsim::trace {

// Tuples become lists, and None null; a word that is none of these becomes a text. Throws InputError
// (without the place) for anything else, and for nesting beyond kMaxJsonDepth.
nlohmann::json read_python_literal(std::string_view text);

}  // namespace uvmsim::trace
