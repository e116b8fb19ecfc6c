// SPDX-License-Identifier: Apache-2.0
// Every counter has exactly one explanation.
#include "sim/report/glossary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "sim/events/counters.h"

namespace uvmsim::report {
namespace {

TEST(Glossary, NamesEveryCounterOnceInOutputOrder) {
  std::vector<std::string> counters, terms;
  const Counters none;
  for_each_counter(none, [&](const char* name, std::uint64_t) { counters.emplace_back(name); });
  for (const Term& term : glossary()) terms.emplace_back(term.name);
  ASSERT_GT(terms.size(), counters.size());
  const std::vector<std::string> last(terms.end() - static_cast<std::ptrdiff_t>(counters.size()), terms.end());
  EXPECT_EQ(last, counters);
  for (const Term& term : glossary()) EXPECT_FALSE(term.meaning.empty()) << term.name;
}

TEST(Glossary, FitsATerminal) {
  std::istringstream text(glossary_text());
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 120u) << line;
}

}  // namespace
}  // namespace uvmsim::report
