// A campaign's comparison as text for people and Markdown, step by step.
#pragma once

#include <string>

#include "sim/validate/compare.h"

namespace uvmsim::validate {

// A title, a row per step, a line per published figure of the whole run, and what is outside. No line is wider than
// 120 columns.
std::string campaign_text(const Comparison& comparison);
// The same as a table of Markdown under a title.
std::string campaign_markdown(const Comparison& comparison);

}  // namespace uvmsim::validate
