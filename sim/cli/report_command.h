// SPDX-License-Identifier: Apache-2.0
// `uvmsim report`: results as one HTML page. A shell over ../html.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

int report_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
