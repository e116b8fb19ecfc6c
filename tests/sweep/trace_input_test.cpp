// SPDX-License-Identifier: Apache-2.0
// A trace that is read several times must remain the one that was hashed.
#include "sim/sweep/trace_input.h"

#include <filesystem>

#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TraceInputTest : public SweepFolderTest {
 protected:
  static std::uint64_t count(const RecordSource& source) {
    trace::Record record;
    std::uint64_t records = 0;
    while (source(record)) ++records;
    return records;
  }
  static TraceInput measured(const std::string& path) {
    TraceInput input(path);
    input.footprint_bytes({}, 0);
    return input;
  }
};

TEST_F(TraceInputTest, AChangedFileIsRefusedWhereItIsOpened) {
  const TraceInput input = measured(folder.path("a.jsonl"));
  EXPECT_EQ(count(input.play()), input.records());
  folder.write("a.jsonl", two_iterations(9));
  EXPECT_THAT(message_of([&] { input.play(); }),
              ::testing::AllOf(StartsWith(folder.path("a.jsonl")), HasSubstr("changed since it was first read")));
}

TEST_F(TraceInputTest, AndWhereItChangesWhileItIsRead) {
  const TraceInput input = measured(folder.path("a.jsonl"));
  const RecordSource source = input.play();
  trace::Record record;
  ASSERT_TRUE(source(record));
  folder.write("b.jsonl", two_iterations(9));
  std::filesystem::rename(folder.path("b.jsonl"), folder.path("a.jsonl"));
  EXPECT_THAT(message_of([&] { count(source); }), HasSubstr("changed since it was first read"));
}

TEST_F(TraceInputTest, AndBetweenItsHashAndItsFirstReading) {
  TraceInput input(folder.path("a.jsonl"));
  folder.write("a.jsonl", two_iterations(9));
  EXPECT_THAT(message_of([&] { input.footprint_bytes({}, 0); }), HasSubstr("changed since it was first read"));
}

TEST_F(TraceInputTest, TheSameContentAgainIsNoChange) {
  const TraceInput input = measured(folder.path("a.jsonl"));
  folder.write("b.jsonl", two_iterations(8));
  std::filesystem::rename(folder.path("b.jsonl"), folder.path("a.jsonl"));
  EXPECT_EQ(count(input.play()), input.records());
}

}  // namespace
}  // namespace uvmsim::sweep
