// SPDX-License-Identifier: Apache-2.0
#include "sim/edit/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"

namespace uvmsim::trace {
namespace {

using testing::HasSubstr;

std::vector<Record> hinted(const std::vector<Record>& records, std::string_view rules) {
  const auto source = [&records, next = std::size_t{0}](Record& record) mutable {
    if (next == records.size()) return false;
    record = records[next++];
    return true;
  };
  HintedProgram program(source, Header{}, parse_hints(rules, "rules"), 1000);
  std::vector<Record> out;
  Record record;
  while (program.next(record)) out.push_back(record);
  EXPECT_EQ(program.hints(), out.size() - records.size());
  return out;
}

std::string problem_of(std::string_view rules) {
  try {
    parse_hints(rules, "rules");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Kernel kernel(const std::string& name, ObjectId object, std::uint64_t first = 0, std::uint64_t count = 4) {
  Kernel k;
  k.name = name;
  k.accesses.push_back({object, {{first, count, AccessMode::kRead}}});
  return k;
}

TEST(Hints, TensorsByName) {
  const std::vector<Record> out =
      hinted({ObjectAlloc{1, ObjectKind::kManaged, 8192, 0, 0}, TensorAlloc{2, 1000, 3, 1, 0, "layer.weight"},
              TensorAlloc{3, 2000, 3, 1, 1024, "activation"}, TensorFree{3}, TensorFree{2}},
             "tensor_alloc *weight pin   # stays\n\ntensor_free act* dont_need\n");
  ASSERT_EQ(out.size(), 7u);
  const auto& pin = std::get<Advise>(out[2]);
  EXPECT_EQ(pin.object, 2u);
  EXPECT_EQ(pin.bytes, 1000u);
  EXPECT_EQ(pin.advice, Advice::kSetPinned);
  const auto& discard = std::get<Discard>(out[4]);
  EXPECT_EQ(discard.object, 3u);
  EXPECT_EQ(discard.bytes, 2000u);
  EXPECT_EQ(discard.stream, 3u);
  EXPECT_EQ(std::get<TensorFree>(out[5]).id, 3u);
}

TEST(Hints, KernelsPrefetchWhatLaterOnesTouch) {
  const std::vector<Record> out =
      hinted({ObjectAlloc{1, ObjectKind::kManaged, 8192, 0, 0}, kernel("a", 1), kernel("b", 1, 2, 8),
              ObjectAlloc{2, ObjectKind::kManaged, 8192, 0, 0}, kernel("c", 2), kernel("d", 1, 12, 40)},
             "kernel * prefetch 1\n");
  // Kernel a prefetches for b; b for c, whose memory is not allocated yet; c for d, up to the end of the object.
  ASSERT_EQ(out.size(), 8u);
  const auto& first = std::get<Prefetch>(out[1]);
  EXPECT_EQ(first.object, 1u);
  EXPECT_EQ(first.offset, 1024u);
  EXPECT_EQ(first.bytes, 4096u);
  EXPECT_EQ(first.destination, 0);
  EXPECT_EQ(std::get<Kernel>(out[2]).name, "a");
  EXPECT_EQ(std::get<Kernel>(out[3]).name, "b");
  const auto& second = std::get<Prefetch>(out[5]);
  EXPECT_EQ(second.offset, 12 * 512u);
  EXPECT_EQ(second.bytes, 8192u - 12 * 512);
  EXPECT_EQ(std::get<Kernel>(out[6]).name, "c");
}

TEST(Hints, AKernelMayPrefetchItsOwn) {
  const std::vector<Record> out =
      hinted({ObjectAlloc{1, ObjectKind::kManaged, 8192, 0, 0}, kernel("a", 1)}, "kernel a prefetch\n");
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(std::get<Prefetch>(out[1]).bytes, 2048u);
}

TEST(Hints, ObjectsByNumberAndOnlyManagedOnes) {
  const std::vector<Record> out = hinted(
      {ObjectAlloc{7, ObjectKind::kManaged, 64, 0, 0}, ObjectAlloc{8, ObjectKind::kDevice, 64, 0, 0}, kernel("k", 8)},
      "object_alloc * read_mostly\nkernel * prefetch 0");
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(std::get<Advise>(out[1]).object, 7u);
}

TEST(Hints, DeviceMemoryIsTakenWhereAnIterationBegins) {
  const std::vector<Record> out =
      hinted({Range{RangeKind::kIterationBegin, "", 0}, kernel("a", 1), Range{RangeKind::kIterationEnd, "", 0},
              Range{RangeKind::kIterationBegin, "", 1}},
             "iteration 0 device_memory 4096\niteration 0 device_memory 5\n");
  ASSERT_EQ(out.size(), 6u);
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const auto& taken = std::get<ObjectAlloc>(out[i]);
    EXPECT_EQ(taken.id, 999 + i) << "numbers that the program does not use";
    EXPECT_EQ(taken.kind, ObjectKind::kDevice);
    EXPECT_EQ(taken.bytes, i == 1 ? 4096u : 5u);
  }
}

TEST(Hints, AllocationsBecomeOtherMemory) {
  std::size_t next = 0;
  const std::vector<Record> records = {ObjectAlloc{1, ObjectKind::kManaged, 8192, 0, 0},
                                       ObjectAlloc{12, ObjectKind::kDevice, 8192, 0, 0},
                                       ObjectAlloc{3, ObjectKind::kSystem, 8192, 0, 0}};
  HintedProgram program(
      [&](Record& record) {
        if (next == records.size()) return false;
        record = records[next++];
        return true;
      },
      Header{}, parse_hints("object_alloc 1* as_system\nobject_alloc 3 as_pinned\nobject_alloc * prefetch\n", "rules"),
      1000);
  std::vector<Record> out;
  Record record;
  while (program.next(record)) out.push_back(record);
  ASSERT_EQ(out.size(), 3u);  // memory that is no longer managed is not prefetched
  EXPECT_EQ(std::get<ObjectAlloc>(out[0]).kind, ObjectKind::kSystem);
  EXPECT_EQ(std::get<ObjectAlloc>(out[1]).kind, ObjectKind::kSystem);
  EXPECT_EQ(std::get<ObjectAlloc>(out[2]).kind, ObjectKind::kPinned);
  EXPECT_EQ(program.hints(), 3u);
}

TEST(Hints, AdviceOfPartsAndByNumber) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const auto out =
      hinted({ObjectAlloc{7, ObjectKind::kManaged, 10 * kMiB, 0, 0}, TensorAlloc{8, 8 * kMiB, 0, 7, 0, "w"},
              TensorAlloc{9, 8 * kMiB, 0, 7, 0, "w"}},
             "object_alloc 7 prefer_host 50-100%\ntensor_alloc @8 accessed_by\ntensor_alloc @9 prefer_gpu 0-30%");
  ASSERT_EQ(out.size(), 6u);
  const auto& half = std::get<Advise>(out[1]);
  EXPECT_EQ(half.advice, Advice::kSetPreferredLocation);
  EXPECT_EQ(half.device, -1);
  EXPECT_EQ(half.offset, 4 * kMiB);  // rounded down to 2 MiB
  EXPECT_EQ(half.bytes, 6 * kMiB);
  const auto& by = std::get<Advise>(out[3]);
  EXPECT_EQ(by.object, 8u);
  EXPECT_EQ(by.advice, Advice::kSetAccessedBy);
  EXPECT_EQ(by.bytes, 8 * kMiB);
  const auto& gpu = std::get<Advise>(out[5]);
  EXPECT_EQ(gpu.object, 9u);
  EXPECT_EQ(gpu.device, 0);
  EXPECT_EQ(gpu.bytes, 2 * kMiB);
}

TEST(Hints, RulesAreWrittenAsTheyAreRead) {
  for (const char* line :
       {"tensor_alloc @8 accessed_by", "object_alloc 3 prefer_host 0-50%", "kernel *gemm* prefetch 8",
        "tensor_free * dont_need", "object_alloc * as_system", "iteration 0 device_memory 4096"}) {
    EXPECT_EQ(hint_text(parse_hints(line, "rules").front()), line);
  }
}

TEST(Hints, MistakesAreNamed) {
  for (const char* part : {"50", "50-20%", "0-101%", "-%", "a-b%", "0-0%"}) {
    EXPECT_THAT(problem_of(std::string("object_alloc 3 prefer_host ") + part),
                HasSubstr("is no part; allowed: FIRST-END%"));
  }
  EXPECT_EQ(problem_of("tensor_alloc *"),
            "rules: line 1: 2 words; allowed: WHEN NAME DO, and a number after "
            "`prefetch` of a kernel and `device_memory`, or a part");
  EXPECT_EQ(problem_of("\nalloc * pin"),
            "rules: line 2: unknown word 'alloc' (did you mean 'tensor_alloc'?); allowed: tensor_alloc, tensor_free, "
            "object_alloc, kernel, iteration");
  EXPECT_THAT(problem_of("kernel * pin"), HasSubstr("'pin' after kernel; allowed: prefetch"));
  EXPECT_THAT(problem_of("kernel * prefetch 5000"), HasSubstr("0 to 4096 kernels ahead"));
  EXPECT_THAT(problem_of("tensor_free * dont_need 3"), HasSubstr("'3' is not allowed"));
  EXPECT_THAT(problem_of("iteration 0 pin"), HasSubstr("'pin' after iteration; allowed: `device_memory BYTES`"));
  EXPECT_THAT(problem_of("kernel * device_memory 5"), HasSubstr("'device_memory' after kernel; allowed: prefetch"));
  EXPECT_THAT(problem_of("tensor_free * device_memory 5"), HasSubstr("'device_memory' after tensor_free; allowed"));
  EXPECT_THAT(problem_of("iteration 0 device_memory"),
              HasSubstr("'no' bytes of device_memory; allowed: a number from 1"));
  EXPECT_THAT(problem_of("iteration 0 device_memory 0"), HasSubstr("'0' bytes of device_memory"));
  EXPECT_THAT(problem_of("iteration 0 device_memory 1MiB"), HasSubstr("'1MiB' bytes of device_memory"));
  EXPECT_EQ(problem_of("tensor_alloc * as_system"),
            "rules: line 1: 'as_system' after tensor_alloc; allowed: after object_alloc");
  EXPECT_EQ(problem_of("# nothing\n"), "rules: no rule; allowed: lines of WHEN NAME DO");
}

}  // namespace
}  // namespace uvmsim::trace
