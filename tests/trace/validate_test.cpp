// SPDX-License-Identifier: Apache-2.0
// Violates every rule of validate.h once.
#include "sim/trace/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/limits.h"
#include "sim/trace/live_objects.h"
#include "tests/policy/message_of.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace::validate_test {
namespace {

using ::testing::HasSubstr;

constexpr auto kR = AccessMode::kRead, kW = AccessMode::kWrite, kRw = AccessMode::kReadWrite;

Header header_of(std::uint32_t quantum) {
  Header header;
  header.quantum_bytes = quantum;
  return header;
}

void check(const std::vector<Record>& records, std::uint32_t quantum = 4096) {
  Validator validator("t", header_of(quantum));
  for (const Record& record : records) validator.check(record);
  validator.finish();
}
std::string about(const std::vector<Record>& records, std::uint32_t quantum = 4096) {
  return message_of([&] { check(records, quantum); });
}

ObjectAlloc object(ObjectId id, std::uint64_t bytes, std::uint64_t va = 0) {
  return {id, ObjectKind::kManaged, bytes, va, 0};
}
Kernel kernel(const std::vector<ObjectAccess>& accesses) {
  Kernel out;
  out.accesses = accesses;
  return out;
}
Kernel reads(ObjectId id, std::uint64_t first, std::uint64_t count) { return kernel({{id, {{first, count, kR}}}}); }

TEST(Validate, AProgramThatMakesSense) {
  Kernel full = kernel({{1, {{0, 2, kRw}, {2, 1, kR}}}, {3, {{0, 1, kW}}}});
  full.grid = {4, 2, 1};
  full.touches = {{0, 2, kR}, {0, 1, kW}, {1, 0, kW}};
  full.phases = {{0, 4, {{0, {{0, 1, kR}, {1, 2, kR}}}}}, {6, 2, {{1, {{0, 1, kW}}}, {0, {{1, 1, kRw}}}}}};
  check({Range{RangeKind::kPush, "setup", 0},
         object(1, 3 * 4096, 0x1000),
         object(2, 1, 0x4000),
         TensorAlloc{3, 100, 0, 1, 4096 * 3 - 100, ""},
         TensorAlloc{4, 8, 0, kNoObject, 0, ""},
         Range{RangeKind::kPop, "", 0},
         Range{RangeKind::kIterationBegin, "", 5},
         full,
         Range{RangeKind::kPush, "layer", 0},
         Memcpy{{1, 1}, {2, 0}, 1, CopyKind::kDefault, 0, true, 0},
         Memcpy{{}, {1, 0}, 3 * 4096, CopyKind::kDeviceToHost, 0, true, 0},
         Memset{1, 4096, 8192, 0, 0},
         Prefetch{1, 0, 1, -1, 0, 0},
         Advise{1, 0, 3 * 4096, Advice::kSetAccessedBy, 0},
         Discard{2, 0, 1, 0},
         HostAccess{1, {{2, 1, kR}}, {{2, kR}}, 0},
         Range{RangeKind::kPop, "", 0},
         Range{RangeKind::kIterationEnd, "", 5},
         TensorFree{3},
         ObjectFree{1},
         object(5, 100, 0x1800),
         ObjectFree{2},
         UvmCounter{"gpu_fault", 1, 0, 1, 0, 0, 0},
         TensorFree{4}});
}

TEST(Validate, MessagesNameFileRecordAndType) {
  EXPECT_EQ(about({object(1, 4096), Sync{}, reads(2, 0, 1)}), "t: record 3: kernel: object 2 was never allocated");
  Validator validator("t", Header{});
  EXPECT_EQ(message_of([&] {
              validator.check(ObjectFree{1}, {7, 0, 9});
            }),
            "t: record 7 (line 9): object_free: object 1 was never allocated");
}

TEST(Validate, Objects) {
  EXPECT_THAT(about({object(0, 1)}), HasSubstr("id 0 means no object; ids start at 1"));
  EXPECT_THAT(about({object(1, 0)}), HasSubstr("object 1 has 0 bytes; allowed: 1 to 140737488355328"));
  EXPECT_THAT(about({object(1, kMaxObjectBytes + 1)}), HasSubstr("object 1 has 140737488355329 bytes"));
  EXPECT_THAT(about({object(1, 1), object(1, 1)}), HasSubstr("id 1 was given before; ids are never used again"));
  EXPECT_THAT(about({object(1, 1), ObjectFree{1}, object(1, 1)}), HasSubstr("id 1 was given before"));
  EXPECT_THAT(about({object(1, 1), ObjectFree{1}, ObjectFree{1}}), HasSubstr("object 1 is already freed"));
  EXPECT_THAT(about({ObjectFree{9}}), HasSubstr("object 9 was never allocated"));
  EXPECT_THAT(about({object(1, 1, kMaxAddress)}), HasSubstr("allowed: below 2^57"));
  EXPECT_THAT(about({ObjectAlloc{1, ObjectKind::kManaged, 1, 0, 5000}}), HasSubstr("device 5000; allowed: -1 to 1023"));
}

TEST(Validate, Addresses) {
  const std::vector<Record> two = {object(1, 0x1000, 0x10000), object(2, 0x1000, 0x20000)};
  const auto with = [&](const Record& third) {
    auto records = two;
    records.push_back(third);
    return records;
  };
  EXPECT_EQ(about(with(object(3, 0x10, 0x10fff))),
            "t: record 3: object_alloc: object 3 at 0x10fff overlaps live object 1 at 0x10000 (4096 bytes)");
  EXPECT_THAT(about(with(object(3, 0x10001, 0x10000))), HasSubstr("overlaps live object 1 at 0x10000"));
  EXPECT_THAT(about(with(object(3, 0xf001, 0x11000))),
              HasSubstr("object 3 at 0x11000 (61441 bytes) overlaps live object 2 at 0x20000"));
  check(with(object(3, 0xf000, 0x11000)));
  check({two[0], ObjectFree{1}, object(3, 0x2000, 0x10000)});
}

TEST(Validate, Tensors) {
  EXPECT_THAT(about({TensorAlloc{1, 8, 0, 2, 0, ""}}), HasSubstr("object 2 was never allocated"));
  EXPECT_THAT(about({object(2, 100), TensorAlloc{1, 8, 0, 2, 93, ""}}),
              HasSubstr("tensor 1 (offset 93, 8 bytes) reaches beyond object 2 of 100 bytes"));
  EXPECT_THAT(about({object(2, 100), TensorAlloc{1, UINT64_MAX, 0, 2, 2, ""}}), HasSubstr("reaches beyond"));
  EXPECT_THAT(about({TensorAlloc{1, 8, 0, 0, 0, ""}, TensorAlloc{2, 8, 0, 1, 0, ""}}),
              HasSubstr("tensor 2 lies in 1, which is a tensor"));
  EXPECT_THAT(about({object(1, 8), TensorAlloc{2, 8, 0, 1, 0, ""}, ObjectFree{1}}),
              HasSubstr("object 1 is freed while 1 tensors live in it"));
  EXPECT_THAT(about({object(1, 8), TensorFree{1}}), HasSubstr("tensor_free of 1, which is an object"));
  EXPECT_THAT(about({TensorAlloc{1, 8, 0, 0, 0, ""}, ObjectFree{1}}), HasSubstr("object_free of 1, which is a tensor"));
  EXPECT_THAT(about({object(1, 8), TensorAlloc{1, 8, 0, 0, 0, ""}}), HasSubstr("id 1 was given before"));
}

TEST(Validate, Accesses) {
  const Record one = object(1, 4097);  // two quanta of 4096
  check({one, reads(1, 1, 1)});
  EXPECT_THAT(about({one, reads(1, 1, 2)}),
              HasSubstr("quanta 1 to 2 reach beyond object 1, which has 2 quanta of 4096 bytes (4097 bytes)"));
  EXPECT_THAT(about({one, ObjectFree{1}, reads(1, 0, 1)}), HasSubstr("object 1 is already freed"));
  EXPECT_THAT(about({one, kernel({{1, {}}, {1, {}}})}), HasSubstr("object 1 stands twice in the accesses"));
  EXPECT_THAT(about({one, kernel({{0, {}}})}), HasSubstr("object 0 (none) where an object is needed"));
  check({one, reads(1, 0, 1), reads(1, 0, 1)});
  EXPECT_THAT(about({TensorAlloc{1, 512, 0, 0, 0, ""}, reads(1, 0, 2)}, 512), HasSubstr("beyond object 1"));
}

TEST(Validate, Launches) {
  const auto launch = [](const Dim3& grid, const Dim3& block) {
    Kernel out;
    out.grid = grid;
    out.block = block;
    return about({out});
  };
  EXPECT_THAT(launch({1, 65536, 1}, {}), HasSubstr("grid 1x65536x1; CUDA allows up to 2147483647x65535x65535"));
  EXPECT_THAT(launch({0x80000000, 1, 1}, {}), HasSubstr("CUDA allows"));
  EXPECT_THAT(launch({}, {32, 33, 1}), HasSubstr("block 32x33x1; CUDA allows up to 1024 threads"));
  EXPECT_THAT(launch({}, {0x80000000, 0x80000000, 4}), HasSubstr("CUDA allows up to 1024 threads"));
  Kernel out;
  out.device = 4000;
  EXPECT_THAT(about({out}), HasSubstr("device 4000; allowed: 0 to 1023"));
}

TEST(Validate, Touches) {
  const Record one = object(1, 10 * 4096);
  const auto touch = [&](std::uint64_t quantum, AccessMode mode) {
    Kernel out = kernel({{1, {{2, 2, kR}, {6, 1, kRw}}}});
    out.touches = {{0, 3, kR}, {0, quantum, mode}};
    return std::vector<Record>{one, out};
  };
  check(touch(6, kW));
  check(touch(2, kR));
  EXPECT_THAT(about(touch(4, kR)), HasSubstr("touch 1 (quantum 4, r) is not among the accesses of object 1"));
  EXPECT_THAT(about(touch(1, kR)), HasSubstr("touch 1 (quantum 1, r)"));
  EXPECT_THAT(about(touch(3, kRw)), HasSubstr("touch 1 (quantum 3, rw)"));
}

TEST(Validate, Phases) {
  const auto with = [](const std::vector<Phase>& phases) {
    Kernel out = kernel({{1, {{0, 2, kR}, {2, 2, kRw}, {8, 1, kW}}}});
    out.grid = {10, 1, 1};
    out.phases = phases;
    return std::vector<Record>{object(1, 10 * 4096), out};
  };
  check(with({{0, 5, {{0, {{1, 3, kR}}}}}, {5, 5, {{0, {{2, 2, kW}, {8, 1, kW}}}}}}));
  EXPECT_THAT(about(with({{0, 0, {}}})), HasSubstr("phase 0 (blocks from 0 on, 0 of them) is empty"));
  EXPECT_THAT(about(with({{0, 5, {}}, {4, 1, {}}})), HasSubstr("phase 1 (blocks from 4 on, 1 of them)"));
  EXPECT_THAT(about(with({{9, 2, {}}})), HasSubstr("leaves the grid of 10 blocks"));
  EXPECT_THAT(about(with({{9, UINT64_MAX, {}}})), HasSubstr("leaves the grid of 10 blocks"));
  EXPECT_THAT(about(with({{0, 1, {{0, {}}, {0, {}}}}})), HasSubstr("phase 0 names slot 0 twice"));
  const std::string uncovered = "extents of slot 0 are not all among the accesses of object 1";
  EXPECT_THAT(about(with({{0, 1, {{0, {{3, 2, kR}}}}}})), HasSubstr(uncovered));
  EXPECT_THAT(about(with({{0, 1, {{0, {{1, 2, kW}}}}}})), HasSubstr(uncovered));
  EXPECT_THAT(about(with({{0, 1, {{0, {{7, 2, kW}}}}}})), HasSubstr(uncovered));
  EXPECT_THAT(about(with({{0, 1, {{0, {{9, 1, kW}}}}}})), HasSubstr(uncovered));
}

TEST(Validate, Operations) {
  const Record one = object(1, 100);
  EXPECT_THAT(about({one, Memcpy{{1, 1}, {}, 100, CopyKind::kDefault, 0, true, 0}}),
              HasSubstr("bytes from 1 on (100 of them) reach beyond object 1 of 100 bytes"));
  EXPECT_THAT(about({one, Memcpy{{}, {1, 101}, 1, CopyKind::kDefault, 0, true, 0}}), HasSubstr("reach beyond"));
  EXPECT_THAT(about({one, Memcpy{{}, {2, 0}, 1, CopyKind::kDefault, 0, true, 0}}), HasSubstr("object 2 was never"));
  EXPECT_THAT(about({Memcpy{{0, 5}, {}, 1, CopyKind::kDefault, 0, true, 0}}),
              HasSubstr("the destination of the copy has offset 5 but no object"));
  EXPECT_THAT(about({Memcpy{}}), HasSubstr("a copy of 0 bytes"));
  EXPECT_THAT(about({one, Memset{1, 50, 51, 0, 0}}), HasSubstr("memset: bytes from 50 on"));
  EXPECT_THAT(about({one, Memset{1, 1, UINT64_MAX, 0, 0}}), HasSubstr("reach beyond"));
  EXPECT_THAT(about({one, Prefetch{1, 0, 0, 0, 0, 0}}), HasSubstr("an operation on 0 bytes of object 1"));
  EXPECT_THAT(about({one, Prefetch{1, 0, 1, -2, 0, 0}}), HasSubstr("device -2; allowed: -1 to 1023"));
  EXPECT_THAT(about({one, Advise{1, 0, 101, Advice::kSetReadMostly, 0}}), HasSubstr("advise: bytes"));
  EXPECT_THAT(about({Discard{3, 0, 1, 0}}), HasSubstr("discard: object 3 was never allocated"));
  EXPECT_THAT(about({one, HostAccess{1, {{1, 1, kR}}, {}, 0}}), HasSubstr("host_access: quanta 1 to 1 reach beyond"));
  EXPECT_THAT(about({one, HostAccess{1, {}, {{1, kR}}, 0}}), HasSubstr("host_access: quanta 1 to 1 reach beyond"));
}

TEST(Validate, Ranges) {
  const auto range = [](RangeKind kind, const char* name, std::uint64_t index) {
    return Record(Range{kind, name, index});
  };
  const Record push = range(RangeKind::kPush, "layer", 0), pop = range(RangeKind::kPop, "", 0);
  const Record begin = range(RangeKind::kIterationBegin, "", 1), end = range(RangeKind::kIterationEnd, "", 1);
  check({push, begin, push, pop, end, pop});
  EXPECT_THAT(about({pop}), HasSubstr("range pop without a push"));
  EXPECT_THAT(about({push, begin, pop}), HasSubstr("range pop without a push in this iteration"));
  EXPECT_THAT(about({begin, begin}), HasSubstr("iteration 1 begins inside iteration 1"));
  EXPECT_THAT(about({end}), HasSubstr("end of iteration 1, which has not begun"));
  EXPECT_THAT(about({begin, range(RangeKind::kIterationEnd, "", 2)}),
              HasSubstr("end of iteration 2 inside iteration 1"));
  EXPECT_THAT(about({begin, push, end}), HasSubstr("iteration 1 ends while range 'layer' is open"));
  EXPECT_EQ(about({push}), "t: end: range 'layer' is never popped");
  EXPECT_EQ(about({begin}), "t: end: iteration 1 has no end");
}

TEST(Validate, TruncatedTracesMayEndAnywhere) {
  Validator validator("t", Header{});
  validator.check(Range{RangeKind::kIterationBegin, "", 1});
  validator.finish(true);
}

TEST(Validate, TimesAddUp) {
  Kernel kernel;
  kernel.duration_ns = kMaxTimeNs;
  Sync sync;
  sync.host_gap_ns = 1;
  check({kernel});
  EXPECT_THAT(about({kernel, sync}), HasSubstr("add up to more than 2^61 nanoseconds"));
}

TEST(SeenIds, RandomOrder) {
  Random random(5);
  std::vector<ObjectId> ids;
  for (ObjectId id = 1; id <= 500; ++id) ids.push_back(id);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
  SeenIds seen;
  for (const ObjectId id : ids) {
    EXPECT_FALSE(seen.contains(id));
    EXPECT_TRUE(seen.insert(id));
    EXPECT_FALSE(seen.insert(id));
    EXPECT_TRUE(seen.contains(id));
  }
  EXPECT_FALSE(seen.contains(0));
  EXPECT_FALSE(seen.contains(501));
  EXPECT_TRUE(seen.insert(UINT64_MAX));
  EXPECT_TRUE(seen.insert(UINT64_MAX - 1));
  EXPECT_FALSE(seen.insert(UINT64_MAX));
}

}  // namespace
}  // namespace uvmsim::trace::validate_test
