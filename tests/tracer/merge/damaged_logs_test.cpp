// SPDX-License-Identifier: Apache-2.0
// Logs of random programs are damaged at random: they must be refused with one line, or merged into a valid trace.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/trace/shape.h"
#include "tests/tracer/merge/log_builder.h"
#include "tests/tracer/merge/random_program.h"

namespace uvmtrace {
namespace {

using uvmsim::InputError;
using uvmsim::Random;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    out.push_back(text.substr(begin, end - begin + 1));
    begin = end + 1;
  }
  return out;
}

// Returns a number that is likely to be wrong in most fields.
std::string number(Random& random) {
  static constexpr const char* kNumbers[] = {"0",
                                             "1",
                                             "-1",
                                             "511",
                                             "65536",
                                             "4294967296",
                                             "140737488355328",
                                             "144115188075855872",
                                             "9223372036854775807",
                                             "18446744073709551615"};
  return kNumbers[random.below(std::size(kNumbers))];
}

void damage_line(std::string& line, Random& random) {
  const std::size_t at = random.below(line.size());
  const std::size_t digit = line.find_first_of("0123456789", at);
  if (random.below(4) != 0 && digit != std::string::npos) {
    const std::size_t end = line.find_first_not_of("0123456789", digit);
    line.replace(digit, end - digit, number(random));
  } else {
    line[at] = static_cast<char>(random.below(256));
  }
}

std::string damaged(const std::string& text, Random& random) {
  std::vector<std::string> lines = lines_of(text);
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    const std::size_t i = 1 + random.below(lines.size() - 1), j = 1 + random.below(lines.size() - 1);
    switch (random.below(6)) {
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(j), lines[i]);
        break;
      case 2:
        std::swap(lines[i], lines[j]);
        break;
      default:
        damage_line(lines[i], random);
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line;
  return random.below(8) == 0 ? out.substr(0, random.below(out.size())) : out;
}

// Returns whether the logs were merged.
bool merge_damaged(const std::string& timing_text, const std::string& access_text) {
  MergeOptions options;
  options.match_thousandths = 0;
  std::vector<trace::Record> records;
  trace::Header header;
  try {
    const PassLog timing = read_log(timing_text, "timing", Pass::kTiming);
    const PassLog access = read_log(access_text, "access", Pass::kAccess);
    Merger merger(timing, &access, options);
    header = merger.header();
    merger.run([&](const trace::Record& record) { records.push_back(record); });
  } catch (const InputError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return false;
  }
  trace::Validator validator("merged", header);
  try {
    for (const trace::Record& record : records) {
      trace::check_shape(record);
      validator.check(record);
    }
    validator.finish();
  } catch (const InputError& error) {
    ADD_FAILURE() << error.what() << "\n" << timing_text << access_text;
  }
  return true;
}

TEST(DamagedLogs, AreRefusedOrMergeIntoAValidTrace) {
  Random random(77);
  std::uint64_t merged = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomProgram program(seed, 60, true);
    for (int round = 0; round < 20 && !::testing::Test::HasFailure(); ++round) {
      const bool both = random.below(3) == 0;
      const bool timing = both || random.below(2) == 0;
      const bool whole = merge_damaged(timing ? damaged(program.timing, random) : program.timing,
                                       !timing || both ? damaged(program.access, random) : program.access);
      ++(whole ? merged : refused);
    }
  }
  EXPECT_GT(merged, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace uvmtrace
