// SPDX-License-Identifier: Apache-2.0
// One line of an experiment file, and what the parsers of the formats share.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/json_fields.h"
#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// Throws InputError without file and line (the caller adds them). What the formats do not know is skipped and named in
// `unknown`.
Experiment parse_experiment(const nlohmann::ordered_json& line, std::set<std::string>& unknown);

// campaign_parser.cpp: the same of a line that names a program.
void parse_campaign(JsonFields& fields, Experiment& experiment, std::set<std::string>& unknown);

inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;  // larger than any GPU; keeps a bad number from
                                                                    // running long
// A text of 1 to 200 characters, printable.
std::string name_of(JsonFields& fields, std::string_view key);
// The place of a word among those that are allowed.
std::size_t word_of(JsonFields& fields, std::string_view key, const std::vector<std::string_view>& allowed);
// Keys that nobody asked for: "WHAT 'KEY' is not part of the format and was ignored".
void note_unknown_keys(const JsonFields& fields, std::set<std::string>& unknown, std::string_view what = "key");

// The number behind "_g" in a name such as "stream_rd_8m_g132"; 0 when there is none.
std::uint32_t grid_in_name(std::string_view name);

}  // namespace uvmsim::validate
