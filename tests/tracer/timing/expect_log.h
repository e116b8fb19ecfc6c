// SPDX-License-Identifier: Apache-2.0
// The common part of the tests of the timing pass.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>

#include "play.h"

inline const std::string kContext = R"({"do":"context","id":1,"device":0})"
                                    "\n";

// Returns the fields of `event` that `wanted` names, so that a failed comparison shows only those.
inline nlohmann::json part(const nlohmann::json& event, const nlohmann::json& wanted) {
  nlohmann::json out;
  for (const auto& [key, value] : wanted.items()) {
    out[key] = event.contains(key) ? event.at(key) : nlohmann::json("missing");
  }
  return out;
}
#define EXPECT_FIELDS(event, text) EXPECT_EQ(part(event, nlohmann::json::parse(text)), nlohmann::json::parse(text))

// Expects a log that ran to its end, of a program whose behaviour the recording did not change.
inline void expect_whole(const Played& played) {
  EXPECT_EQ(played.exit_status, 7);
  EXPECT_EQ(played.standard_error, "");
  ASSERT_GE(played.events.size(), 2u);
  EXPECT_TRUE(played.every_line_is_whole);
  EXPECT_EQ(played.events.front().at("t"), "header");
  EXPECT_EQ(played.events.back().at("t"), "end");
  EXPECT_EQ(played.events.back().at("dropped"), 0);
  std::set<std::uint64_t> places;
  for (const nlohmann::json& event : played.events) {
    if (!event.contains("seq")) continue;
    EXPECT_TRUE(places.insert(event.at("seq").get<std::uint64_t>()).second) << event;
    EXPECT_TRUE(event.contains("tid")) << event;
    EXPECT_LE(event.at("begin_ns"), event.at("end_ns")) << event;
  }
}
