// "Did you mean ...?" for names that users type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::policy {

// " (did you mean 'threshold'?)" when one of the names is close to what was typed, else "".
std::string suggestion(std::string_view typed, const std::vector<std::string>& names);

}  // namespace uvmsim::policy
