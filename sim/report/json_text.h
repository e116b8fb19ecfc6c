// One string as JSON.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::report {

// Quoted and escaped. Bytes that are not UTF-8 become U+FFFD: names in a trace may hold anything, output is always
// JSON.
std::string json_text(std::string_view text);

}  // namespace uvmsim::report
