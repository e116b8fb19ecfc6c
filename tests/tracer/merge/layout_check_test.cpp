// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/layout_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/writer.h"

namespace uvmtrace::layout_check_test {
namespace {

namespace trace = uvmsim::trace;
constexpr std::uint64_t kMiB = 1 << 20;

LayoutCheck check(const std::vector<trace::Record>& records) {
  std::string bytes;
  trace::TraceWriter writer(bytes, trace::TraceFormat::kUvmt, {});
  for (const trace::Record& record : records) writer.write(record);
  writer.finish();
  trace::TraceReader reader(bytes, "t");
  return check_layout(reader);
}

trace::ObjectAlloc segment(trace::ObjectId id, std::uint64_t bytes) {
  return {id, trace::ObjectKind::kManaged, bytes, id << 32, 0};
}
trace::TensorAlloc tensor(trace::ObjectId id, std::uint64_t bytes, trace::ObjectId object, std::uint64_t offset) {
  return {id, bytes, 0, object, offset, ""};
}

TEST(LayoutCheck, AsTheAllocatorPlaces) {
  const LayoutCheck result =
      check({segment(1, 2 * kMiB), tensor(2, 1000, 1, 0), tensor(3, 1, 1, 1024), segment(4, 20 * kMiB),
             tensor(5, 3 * kMiB, 4, 0), trace::TensorFree{2}, tensor(6, 600, 1, 0), segment(7, 4096)});
  EXPECT_EQ(result.tensors, 4u);
  EXPECT_EQ(result.equal, 4u);
  EXPECT_EQ(result.segments, 2u);
  EXPECT_EQ(result.model_segments, 2u);
  EXPECT_TRUE(result.at_least(1000));
  EXPECT_EQ(result.first_difference, "");
}

TEST(LayoutCheck, Differences) {
  const LayoutCheck offset = check({segment(1, 2 * kMiB), tensor(2, 512, 1, 512)});
  EXPECT_EQ(offset.equal, 0u);
  EXPECT_THAT(offset.first_difference, ::testing::HasSubstr("tensor 2 of 512 bytes: recorded in object 1"));
  EXPECT_FALSE(offset.at_least(1));
  const LayoutCheck size = check({segment(1, 4 * kMiB), tensor(2, 512, 1, 0)});
  EXPECT_EQ(size.equal, 0u);
  // The tensor was recorded in a segment of its own, where the model uses the first segment again.
  const LayoutCheck extra =
      check({segment(1, 2 * kMiB), tensor(2, 512, 1, 0), segment(3, 2 * kMiB), tensor(4, 512, 3, 0)});
  EXPECT_EQ(extra.equal, 1u);
  EXPECT_EQ(extra.segments, 2u);
  EXPECT_EQ(extra.model_segments, 1u);
}

TEST(LayoutCheck, CountsWhatItCannotCompare) {
  const LayoutCheck result = check({tensor(1, 512, trace::kNoObject, 0), segment(2, 2 * kMiB), tensor(3, 512, 2, 0),
                                    trace::TensorFree{3}, trace::ObjectFree{2}, trace::TensorFree{1}});
  EXPECT_EQ(result.unplaced, 1u);
  EXPECT_EQ(result.segments_freed, 1u);
  EXPECT_TRUE(check({}).at_least(999));
}

}  // namespace
}  // namespace uvmtrace::layout_check_test
