// SPDX-License-Identifier: Apache-2.0
// The constant parts of every page, embedded in the command from the files in page/ and third_party/.
#pragma once

#include <string_view>

namespace uvmsim::html {

std::string_view page_css();
std::string_view page_js();
std::string_view d3_js();
std::string_view plot_js();
std::string_view licences_text();

}  // namespace uvmsim::html
