// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/wrapped.h"

#include <gtest/gtest.h>

namespace uvmsim::report {
namespace {

TEST(WrappedLine, BreaksBetweenWords) {
  const std::string words = std::string(60, 'a') + " " + std::string(58, 'b');
  EXPECT_EQ(wrapped_line(words, 2), words);
  EXPECT_EQ(wrapped_line(words + " cc", 2), words + "\n  cc");
}

TEST(WrappedLine, AWordLongerThanALineBreaksAfterAComma) {
  const std::string part(50, 'a');
  const std::string word = part + "," + part + "," + part + "," + part;
  EXPECT_EQ(wrapped_line("layout " + word + " seed 1", 2),
            "layout\n  " + part + "," + part + ",\n  " + part + "," + part + " seed 1");
  const std::string whole(200, 'x');
  EXPECT_EQ(wrapped_line("see " + whole + " here", 2), "see\n  " + whole + "\n  here") << "nothing to break it at";
}

// Names of programs also appear in headers.
TEST(TextTables, ControlCharactersOfNamesStayOnTheirLine) {
  TextTable table({"evictions by", "of a\nb\x1b[31m"});
  table.add_row({"c\r", "1"});
  EXPECT_EQ(table.text(), "evictions by  of a?b?[31m\nc?                      1\n");
}

}  // namespace
}  // namespace uvmsim::report
