// A validation as text for people, Markdown for a README, and JSON for machines.
#pragma once

#include <string>

#include "sim/validate/validation.h"

namespace uvmsim::validate {

inline constexpr const char* kValidationSchema = "uvmsim.validation/1";

// Every experiment on one line (of its quiet time only the error), the summary by class, then what is outside and why.
// No line is wider than 120 columns but for a single longer name.
std::string validation_text(const Validation& validation);

// Both tables in Markdown, with the quiet times and the reasons in their rows.
std::string validation_markdown(const Validation& validation);

// One object on one line, schema kValidationSchema (README.md lists its keys), with a final newline.
std::string validation_json(const Validation& validation);

// Replaces what stands between the lines "<!-- MARK:begin -->" and "<!-- MARK:end -->" of `document` by `table`; a
// document without them becomes the table alone. Throws InputError when only one of the two is there.
std::string with_table(const std::string& document, const std::string& table, const std::string& mark = "validate");

}  // namespace uvmsim::validate
