// SPDX-License-Identifier: Apache-2.0
// One HTML file that needs nothing else: its style, scripts and data are in it, and its policy lets a browser load
// nothing.
#pragma once

#include <string>

#include "sim/html/document.h"

namespace uvmsim::html {

// `command`: what makes the page again. The same document gives the same bytes.
std::string page_of(const Document& document, const std::string& command);

}  // namespace uvmsim::html
