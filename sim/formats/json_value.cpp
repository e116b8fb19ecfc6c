// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/json_value.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"

namespace uvmsim {

std::string JsonValue::where() const { return fmt::format("{}: {}", origin_, pointer_.empty() ? "/" : pointer_); }

std::string JsonValue::where(std::string_view key) const {
  return fmt::format("{}: {}/{}", origin_, pointer_, printable(key));
}

void JsonValue::refuse(std::string_view allowed) const {
  fail("{} is not allowed; allowed: {}", json_excerpt(*json_), allowed);
}

void JsonValue::check_object() const {
  if (!json_->is_object()) refuse("an object");
}

void JsonValue::check_keys(const std::vector<std::string>& allowed) const {
  check_object();
  for (const auto& [key, value] : json_->items()) {
    if (std::ranges::find(allowed, key) != allowed.end()) continue;
    fail("unknown key '{}'{}", printable(key), allowed_hint(key, allowed));
  }
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  check_object();
  const auto found = json_->find(key);
  if (found == json_->end()) return std::nullopt;
  return JsonValue(*found, origin_, fmt::format("{}/{}", pointer_, printable(key)));
}

JsonValue JsonValue::at(std::string_view key) const {
  auto value = find(key);
  if (!value) fail("the key '{}' is missing", key);
  return *std::move(value);
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  check_object();
  std::vector<std::pair<std::string, JsonValue>> out;
  for (const auto& [key, value] : json_->items()) {
    out.emplace_back(key, JsonValue(value, origin_, fmt::format("{}/{}", pointer_, printable(key))));
  }
  return out;
}

std::vector<JsonValue> JsonValue::items(std::string_view allowed, std::size_t least, std::size_t most) const {
  if (!json_->is_array() || json_->size() < least || json_->size() > most) refuse(allowed);
  std::vector<JsonValue> out;
  for (std::size_t i = 0; i < json_->size(); ++i) {
    out.emplace_back((*json_)[i], origin_, fmt::format("{}/{}", pointer_, i));
  }
  return out;
}

std::vector<JsonValue> JsonValue::one_or_items() const {
  if (!json_->is_array()) return {*this};
  return items("one value, or a list of at least one");
}

bool JsonValue::boolean() const {
  if (!json_->is_boolean()) refuse("true or false");
  return json_->get<bool>();
}

std::uint64_t JsonValue::integer(std::uint64_t least, std::uint64_t most) const {
  const bool is_positive =
      json_->is_number_integer() && (json_->is_number_unsigned() || json_->get<std::int64_t>() >= 0);
  const bool in_range = is_positive && json_->get<std::uint64_t>() >= least && json_->get<std::uint64_t>() <= most;
  if (!in_range) {
    refuse(most == UINT64_MAX ? fmt::format("a whole number of at least {}", least)
                              : fmt::format("a whole number from {} to {}", least, most));
  }
  return json_->get<std::uint64_t>();
}

std::uint32_t JsonValue::thousandths(std::uint32_t most) const {
  if (json_->is_number() && json_->get<double>() >= 0 && json_->get<double>() * 1000 <= most) {
    const double scaled = json_->get<double>() * 1000;
    const auto whole = static_cast<std::uint32_t>(scaled + 0.5);
    if (scaled - whole < 1e-6 && whole - scaled < 1e-6) return whole;
  }
  refuse(fmt::format("0 to {}, with up to three decimals", most / 1000));
}

std::string JsonValue::text() const {
  if (!json_->is_string()) refuse("a text");
  return json_->get<std::string>();
}

std::string JsonValue::filled_text(std::string_view allowed) const {
  if (!json_->is_string() || json_->get_ref<const std::string&>().empty()) refuse(allowed);
  return json_->get<std::string>();
}

std::string JsonValue::line() const {
  const std::string line = text();
  if (!line.empty() && !is_one_line(line)) refuse("one line of text");
  return line;
}

std::size_t JsonValue::word(const std::vector<std::string>& words) const {
  const auto found = json_->is_string() ? std::ranges::find(words, json_->get<std::string>()) : words.end();
  if (found == words.end()) refuse(fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace uvmsim
