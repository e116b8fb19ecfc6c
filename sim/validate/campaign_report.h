// SPDX-License-Identifier: Apache-2.0
// A campaign's comparison as text for people, step by step, and as one row of a table in Markdown.
#pragma once

#include <string>
#include <vector>

#include "sim/validate/compare.h"

namespace uvmsim::validate {

// A title, a row per step, a line per published figure of the whole run, and what is outside. No line is wider than
// 120 columns.
std::string campaign_text(const Comparison& comparison);
// One row of Markdown for each campaign, with the head of the table; empty without any.
std::string campaigns_markdown(const std::vector<Comparison>& comparisons);

}  // namespace uvmsim::validate
