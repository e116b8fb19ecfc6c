// SPDX-License-Identifier: Apache-2.0
// Parses one line of an experiment file; the lower part is shared by the parsers of the formats.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/json_fields.h"
#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// Throws InputError without file and line (the caller adds them). Unknown parts are skipped and named in `unknown`.
Experiment parse_experiment(const nlohmann::ordered_json& line, std::set<std::string>& unknown);

// Does the same for a line that names a program (campaign_parser.cpp).
void parse_campaign(JsonFields& fields, Experiment& experiment, std::set<std::string>& unknown);

inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;  // larger than any GPU; keeps a bad number from
                                                                    // running long
// Returns a printable text of 1 to 200 characters.
std::string name_of(JsonFields& fields, std::string_view key);
// Returns the index of a word among the allowed ones.
std::size_t word_of(JsonFields& fields, std::string_view key, const std::vector<std::string_view>& allowed);
// Notes keys that no parser read: "WHAT 'KEY' is not part of the format and was ignored".
void note_unknown_keys(const JsonFields& fields, std::set<std::string>& unknown, std::string_view what = "key");

// Returns the number after "_g" in a name such as "stream_rd_8m_g132"; 0 when there is none.
std::uint32_t grid_in_name(std::string_view name);

}  // namespace uvmsim::validate
