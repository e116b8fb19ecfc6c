// SPDX-License-Identifier: Apache-2.0
// Prints declared parameters (of policies, of layouts), for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/policy/parameters.h"

namespace uvmsim::cli {

// Prints rows with the columns padded to the widest cell, except the last column.
void print_table(const std::vector<std::vector<std::string>>& rows, std::string_view indent);

// Prints name, type, default, allowed values and meaning of each parameter, or that there are none.
void print_parameters(const policy::ParameterTable& table);

// Returns the parameters as an array of objects. Numbers stay numbers.
nlohmann::ordered_json parameters_json(const policy::ParameterTable& table);

// Prints the document {"schema_version": 1, `name`: `list`}.
void print_json(std::string_view name, nlohmann::ordered_json list);

}  // namespace uvmsim::cli
