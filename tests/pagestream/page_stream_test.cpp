// SPDX-License-Identifier: Apache-2.0
#include "sim/pagestream/page_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/common/units.h"

namespace uvmsim::pagestream {
namespace {

using ::testing::ElementsAre;
using Pages = std::vector<std::uint64_t>;
constexpr auto kR = trace::AccessMode::kRead, kW = trace::AccessMode::kWrite;

class Stream {
 public:
  explicit Stream(std::uint64_t page_bytes = kBasePageBytes, const std::string& layout = "none")
      : stream_(header(), page_bytes, layout) {}

  Pages add(const trace::Record& record) {
    Pages pages;
    stream_.add(record, [&](std::uint64_t page) { pages.push_back(page); });
    return pages;
  }
  void allocate(trace::ObjectId id, std::uint64_t bytes) { add(trace::ObjectAlloc{id, {}, bytes, 0, 0}); }

 private:
  static trace::Header header() {
    trace::Header header;
    header.quantum_bytes = 4096;
    return header;
  }
  PageStream stream_;
};

trace::Kernel kernel(std::vector<trace::ObjectAccess> accesses) {
  trace::Kernel out;
  out.accesses = std::move(accesses);
  return out;
}

TEST(PageStream, OperandsAdvanceTogetherInputsFirst) {
  Stream stream;
  stream.allocate(1, kBlockBytes);
  stream.allocate(2, kBlockBytes);
  stream.allocate(3, kBlockBytes);
  // The kernel writes 4 pages of object 1 and reads 4 of object 2 and 2 of object 3.
  EXPECT_THAT(stream.add(kernel({{1, {{0, 4, kW}}}, {2, {{0, 4, kR}}}, {3, {{8, 2, kR}}}})),
              ElementsAre(512, 1032, 0, 513, 1, 514, 1033, 2, 515, 3));
}

TEST(PageStream, PhasesComeOneAfterTheOther) {
  Stream stream;
  stream.allocate(1, kBlockBytes);
  trace::Kernel phased = kernel({{1, {{0, 4, kR}}}});
  phased.phases = {{0, 1, {{0, {{2, 2, kR}}}}}, {1, 1, {{0, {{0, 3, kR}}}}}};
  EXPECT_THAT(stream.add(phased), ElementsAre(2, 3, 0, 1, 2));
}

TEST(PageStream, ARecordedOrderStaysAndRepeatsThatFollowEachOtherAreOne) {
  Stream stream;
  stream.allocate(1, kBlockBytes);
  trace::Kernel ordered = kernel({{1, {{0, 4, kR}}}});
  ordered.touches = {{0, 3, kR}, {0, 1, kR}, {0, 1, kW}, {0, 3, kR}};
  EXPECT_THAT(stream.add(ordered), ElementsAre(3, 1, 3));
  EXPECT_THAT(stream.add(ordered), ElementsAre(1, 3));  // the thread is on page 3 already
}

TEST(PageStream, LargerPagesJoin) {
  Stream big(kBigPageBytes), block(kBlockBytes);
  for (Stream* stream : {&big, &block}) stream->allocate(1, 2 * kBlockBytes);
  const trace::Kernel all = kernel({{1, {{8, 40, kR}, {600, 1, kR}}}});
  EXPECT_THAT(big.add(all), ElementsAre(0, 1, 2, 37));
  EXPECT_THAT(block.add(all), ElementsAre(0, 1));
}

TEST(PageStream, AFreedBlockComesBackUnderANewNumber) {
  Stream stream(kBlockBytes);
  stream.allocate(1, 2 * kBlockBytes);
  EXPECT_THAT(stream.add(kernel({{1, {{0, 1024, kR}}}})), ElementsAre(0, 1));
  stream.add(trace::ObjectFree{1});
  stream.allocate(2, kBlockBytes);
  EXPECT_THAT(stream.add(kernel({{2, {{0, 512, kR}}}})), ElementsAre(2));
}

TEST(PageStream, SmallObjectsShareBlocks) {
  Stream stream(kBlockBytes);
  stream.allocate(1, 4096);
  stream.allocate(2, 4096);
  EXPECT_THAT(stream.add(kernel({{1, {{0, 1, kR}}}, {2, {{0, 1, kW}}}})), ElementsAre(0));
}

TEST(PageStream, TensorsLieInTheirObjects) {
  Stream stream(kBasePageBytes, "recorded");
  stream.allocate(1, kBlockBytes);
  stream.add(trace::TensorAlloc{2, 8192, 0, 1, 40960, ""});
  EXPECT_THAT(stream.add(kernel({{2, {{0, 2, kR}}}})), ElementsAre(10, 11));
}

TEST(PageStream, SetsCountCopiesHostsAndDeviceMemoryDoNot) {
  Stream stream;
  stream.allocate(1, kBlockBytes);
  stream.add(trace::ObjectAlloc{2, trace::ObjectKind::kDevice, kBlockBytes, 0, 0});
  EXPECT_THAT(stream.add(trace::Memset{1, 4096, 8192, 0, 0}), ElementsAre(1, 2));
  EXPECT_THAT(stream.add(trace::Memcpy{{1, 0}, {}, 8192, trace::CopyKind::kHostToDevice, 0, true, 0}), ElementsAre());
  EXPECT_THAT(stream.add(trace::HostAccess{1, {{0, 1, kW}}, {}, 0}), ElementsAre());
  EXPECT_THAT(stream.add(kernel({{2, {{0, 4, kR}}}})), ElementsAre());
}

TEST(PageStream, RefusesWhatCannotBe) {
  EXPECT_THROW(Stream(8192), InputError);
  EXPECT_THROW(Stream(4096, "nosuch"), InputError);
  Stream stream;
  stream.allocate(1, 8192);
  EXPECT_THROW(stream.add(kernel({{1, {{0, 3, kR}}}})), InputError);
  EXPECT_THROW(stream.add(kernel({{9, {{0, 1, kR}}}})), InputError);
  trace::Kernel slot = kernel({{1, {{0, 1, kR}}}});
  slot.touches = {{1, 0, kR}};
  EXPECT_THROW(stream.add(slot), InputError);
}

}  // namespace
}  // namespace uvmsim::pagestream
