// SPDX-License-Identifier: Apache-2.0
// All records of the timing pass except accesses: kinds, gaps, copies, sets, hints, synchronisation, ranges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace::timeline_test {
namespace {

using ::testing::HasSubstr;
constexpr std::uint64_t kBase = 0x7f0000000000, kMiB = 1 << 20, kHost = 0x5500001234;

class TimelineTest : public ::testing::Test {
 protected:
  LogBuilder log{Pass::kTiming};
  Merged merge(const MergeOptions& options = {}) { return merge_logs(log.text(), "", options); }
};

TEST_F(TimelineTest, Header) {
  log.alloc(kBase, kMiB);
  log.alloc(kBase + kMiB, kMiB, "pinned");
  MergeOptions options;
  options.provenance = "made here";
  const trace::Header header = merge(options).header;
  EXPECT_EQ(header.quantum_bytes, 512u);
  EXPECT_EQ(header.minor, trace::kSchemaMinor);
  EXPECT_EQ(header.gpu, "NVIDIA Test");
  EXPECT_EQ(header.program, "./program -x");
  EXPECT_EQ(header.provenance, "made here");
  using Attribute = std::pair<std::string, std::string>;
  EXPECT_THAT(header.attributes, ::testing::Contains(Attribute{"recorded_allocations", "1 device, 1 pinned"}));
  EXPECT_THAT(header.attributes, ::testing::Contains(Attribute{"device_memory_as", "managed"}));
  EXPECT_THAT(header.attributes, ::testing::Contains(Attribute{"compute_capability", "9.0"}));
}

TEST_F(TimelineTest, KindsOfMemory) {
  std::uint64_t va = kBase;
  for (const char* kind : {"device", "pool", "vmm", "managed", "pinned"}) {
    log.alloc(va, kMiB, kind);
    va += kMiB;
  }
  using K = trace::ObjectKind;
  const auto kinds = [](const Merged& merged) {
    std::vector<K> out;
    for (const auto& object : merged.all<trace::ObjectAlloc>()) out.push_back(object.kind);
    return out;
  };
  EXPECT_EQ(kinds(merge()), (std::vector<K>{K::kManaged, K::kManaged, K::kManaged, K::kManaged, K::kPinned}));
  MergeOptions recorded;
  recorded.as_managed = false;
  EXPECT_EQ(kinds(merge(recorded)), (std::vector<K>{K::kDevice, K::kDevice, K::kDevice, K::kManaged, K::kPinned}));
}

TEST_F(TimelineTest, KernelWithoutTimes) {
  LogBuilder::LaunchSpec spec;
  spec.timed = false;
  log.launch(spec);
  const Merged merged = merge();
  EXPECT_EQ(merged.all<trace::Kernel>()[0].duration_ns, 0);
  EXPECT_EQ(merged.summary.untimed, 1u);
}

// A graph with two nodes of its own and two of a child graph, whose records have the numbers of the executable graph.
TEST_F(TimelineTest, TimesOfChildGraphs) {
  const auto node = [this](const char* type, std::uint64_t number) {
    JsonLine line = std::string_view(type) == "launch" ? log.host(type) : JsonLine(type);
    line.number("corr", 70).number("node", number);
    return line;
  };
  const auto launch = [&](std::uint64_t number, const char* name) {
    JsonLine line = node("launch", number);
    line.text("name", name).begin_list("grid").item(1).item(1).item(1).end_list();
    line.begin_list("block").item(1).item(1).item(1).end_list();
    log.add(std::move(line));
  };
  const auto record = [&](std::uint64_t number, std::int64_t duration_ns) {
    log.add(std::move(node("kernel", number).number("start_ns", 50000).number("end_ns", 50000 + duration_ns)));
  };
  constexpr std::uint64_t kGraph = std::uint64_t{3} << 32, kChild = std::uint64_t{4} << 32;
  launch(kGraph, "first");
  launch(kChild, "child's first");
  launch(kChild + 1, "child's second");
  launch(kGraph + 2, "last");
  const auto durations = [this] {
    std::vector<std::pair<std::string, std::int64_t>> out;
    for (const auto& kernel : merge().all<trace::Kernel>()) out.emplace_back(kernel.name, kernel.duration_ns);
    return out;
  };
  record(kGraph, 100);
  record(kGraph + 2, 200);
  record(kGraph + 4, 400);
  using Durations = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(durations(), (Durations{{"first", 100}, {"child's first", 0}, {"child's second", 0}, {"last", 200}}));
  record(kGraph + 3, 300);
  EXPECT_EQ(durations(), (Durations{{"first", 100}, {"child's first", 300}, {"child's second", 400}, {"last", 200}}));
}

// The process uses GPUs 1 and 3 of its machine.
TEST_F(TimelineTest, GpusAreNumberedByTheTrace) {
  const auto launch = [this](int device) {
    JsonLine line = log.host("launch");
    line.text("name", "kernel").begin_list("grid").item(1).item(1).item(1).end_list();
    line.begin_list("block").item(1).item(1).item(1).end_list();
    log.add(std::move(line.number("device", device)));
  };
  log.add(std::move(
      log.host("alloc").number("va", kBase).number("bytes", kMiB).text("kind", "managed").number("device", 3)));
  log.add(std::move(log.host("segment_alloc").number("va", kBase).number("bytes", kMiB).number("device", 3)));
  launch(3);
  launch(1);
  for (const int to : {1, -1}) {
    log.add(std::move(log.host("prefetch").number("va", kBase).number("bytes", kMiB).number("to", to)));
  }
  const Merged merged = merge();
  using Attribute = std::pair<std::string, std::string>;
  EXPECT_THAT(merged.header.attributes, ::testing::Contains(Attribute{"devices", "1, 3"}));
  EXPECT_EQ(merged.all<trace::ObjectAlloc>()[0].device, 1);
  EXPECT_EQ(merged.all<trace::Kernel>()[0].device, 1);
  EXPECT_EQ(merged.all<trace::Kernel>()[1].device, 0);
  EXPECT_EQ(merged.all<trace::Prefetch>()[0].destination, 0);
  EXPECT_EQ(merged.all<trace::Prefetch>()[1].destination, -1);
}

// Kernels of the builder end at 52,000 ns.
class UnseenWaits : public TimelineTest {
 protected:
  // Builds and merges a program: "k" is a kernel, "s" a wait for the device, "r" a recorded event, "(" and ")" are
  // marks. Returns the trace in the same letters.
  std::string merged(const std::string& program) {
    std::uint64_t index = 0;
    log.at(60000, 60100);
    for (const char c : program) {
      if (c == 'k') log.launch({});
      if (c == 's') log.sync();
      if (c == 'r') log.sync("event_record", 7);
      if (c == '(') log.iteration(index, true);
      if (c == ')') log.iteration(index++, false);
    }
    const Merged merged = merge();
    std::string out;
    for (const trace::Record& record : merged.records) {
      if (std::holds_alternative<trace::Kernel>(record)) out += "k";
      if (const auto* sync = std::get_if<trace::Sync>(&record)) {
        out += sync->kind == trace::SyncKind::kDevice ? "s" : "r";
      }
      if (const auto* range = std::get_if<trace::Range>(&record)) {
        out += range->kind == trace::RangeKind::kIterationBegin ? "(" : ")";
      }
    }
    return out;
  }
};

TEST_F(UnseenWaits, AreAddedWhereIterationsEnd) { EXPECT_EQ(merged("k(kk)(k)"), "k(kks)(ks)"); }

TEST_F(UnseenWaits, AreCountedInTheHeader) {
  merged("(k)(k)");
  using Attribute = std::pair<std::string, std::string>;
  EXPECT_THAT(merge().header.attributes,
              ::testing::Contains(Attribute{"unseen_waits", "2 added at ends of iterations"}));
}

TEST_F(UnseenWaits, NoneWhereTheProgramWaits) { EXPECT_EQ(merged("(ks)(ks)"), "(ks)(ks)"); }

TEST_F(UnseenWaits, TheLastIterationEndsBehindItsWork) { EXPECT_EQ(merged("(k)(krs"), "(ks)(ks)rs"); }

TEST_F(UnseenWaits, OrAtTheFirstWaitOfAProgramThatWaits) { EXPECT_EQ(merged("(ks)(krs"), "(ks)(krs)"); }

TEST_F(UnseenWaits, NoneWhileTheGpuIsAtWork) {
  log.iteration(0, true);
  log.at(10000, 10100).launch({});
  log.iteration(0, false);  // at 11,000
  EXPECT_TRUE(merge().all<trace::Sync>().empty());
}

// An allocation of a pool is a tensor in memory that is not freed.
TEST_F(TimelineTest, PoolsKeepTheirMemory) {
  log.alloc(kBase, kMiB, "pool");
  log.alloc(kBase + kMiB + 512, kMiB, "pool");
  log.free(kBase, "pool");
  log.alloc(kBase, kMiB / 2, "pool");
  log.alloc(kBase + 64 * kMiB, kMiB, "pool");  // another part of the pool
  log.free(kBase, "pool");
  const Merged merged = merge();
  const auto objects = merged.all<trace::ObjectAlloc>();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].bytes, 2 * kMiB + 512);
  EXPECT_EQ(objects[1].bytes, kMiB);
  EXPECT_TRUE(merged.all<trace::ObjectFree>().empty());
  const auto tensors = merged.all<trace::TensorAlloc>();
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[1].object, objects[0].id);
  EXPECT_EQ(tensors[1].offset, kMiB + 512);
  EXPECT_EQ(tensors[2].bytes, kMiB / 2);
  EXPECT_EQ(tensors[3].object, objects[1].id);
  EXPECT_EQ(merged.all<trace::TensorFree>().size(), 2u);
  EXPECT_EQ(merged.summary.repairs, 0u);
}

TEST_F(TimelineTest, PoolsOfAFrameworkWithTensorsStayObjects) {
  log.alloc(kBase, kMiB, "pool");
  log.tensor_alloc(kBase, 4096);
  log.free(kBase, "pool");
  EXPECT_EQ(merge().all<trace::ObjectFree>().size(), 1u);
}

TEST_F(TimelineTest, GapsLieBetweenCalls) {
  log.at(5000, 6000).launch({});
  log.at(6500, 9000).alloc(kBase, kMiB);       // 500 ns before it; its own 2500 ns are no gap
  log.at(9300, 9400).tensor_alloc(kBase, 16);  // a gap of 300 ns
  log.at(9400, 9500).launch({});
  log.at(9400, 9900).launch({});  // overlaps the previous call
  log.at(20000, 20100).sync();
  const Merged merged = merge();
  const auto kernels = merged.all<trace::Kernel>();
  EXPECT_EQ(kernels[0].host_gap_ns, 0);
  EXPECT_EQ(kernels[1].host_gap_ns, 800);
  EXPECT_EQ(kernels[2].host_gap_ns, 0);
  EXPECT_EQ(merged.all<trace::Sync>()[0].host_gap_ns, 10100);
}

// One thread waits while another one issues calls: that time is no gap.
TEST_F(TimelineTest, GapsOfSeveralThreads) {
  log.thread(0).at(1000, 1100).launch({});
  log.thread(1).at(1200, 1300).launch({});
  log.thread(1).at(5000, 9000).sync();
  log.thread(0).at(9100, 9200).launch({});
  const Merged merged = merge();
  const auto kernels = merged.all<trace::Kernel>();
  EXPECT_EQ(kernels[1].host_gap_ns, 100);
  EXPECT_EQ(merged.all<trace::Sync>()[0].host_gap_ns, 3700);
  EXPECT_EQ(kernels[2].host_gap_ns, 100);
}

TEST_F(TimelineTest, CopiesAndWhoWaits) {
  log.alloc(kBase, 16 * kMiB);
  log.alloc(kHost & ~4095ull, 2 * kMiB, "pinned");
  const std::uint64_t pageable = 0x66000000;
  log.copy(kBase + 512, pageable, kMiB, "htod");         // 0 waits
  log.copy(kBase, pageable, kMiB, "htod", true);         // 1 pageable: waits
  log.copy(kBase, pageable, 65536, "htod", true);        // 2 small: staged at once
  log.copy(kBase, kHost, kMiB, "htod", true);            // 3 pinned: does not wait
  log.copy(pageable, kBase, 16, "dtoh", true);           // 4 pageable: waits
  log.copy(kHost, kBase, 16, "dtoh", true);              // 5 pinned: does not wait
  log.copy(kHost, kBase, 16, "dtoh");                    // 6 waits
  log.copy(kBase, kBase + kMiB, kMiB, "dtod");           // 7 never waits
  log.copy(kBase, kHost, kMiB, "unknown");               // 8 to the device
  log.copy(kBase + kMiB, kBase, kMiB, "unknown", true);  // 9 on the device
  log.copy(pageable, pageable + kMiB, 4096, "htoh");     // does not concern the GPU
  const auto copies = merge().all<trace::Memcpy>();
  ASSERT_EQ(copies.size(), 10u);
  const std::vector<bool> blocking = {true, true, false, false, true, false, true, false, true, false};
  for (std::size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i].blocking, blocking[i]) << i;
  EXPECT_EQ(copies[0].dst.object, 1u);
  EXPECT_EQ(copies[0].dst.offset, 512u);
  EXPECT_EQ(copies[0].src.object, trace::kNoObject);
  EXPECT_EQ(copies[3].src.object, 2u);
  EXPECT_EQ(copies[3].src.offset, kHost % 4096);
  EXPECT_EQ(copies[8].kind, trace::CopyKind::kHostToDevice);
  EXPECT_EQ(copies[9].kind, trace::CopyKind::kDeviceToDevice);
}

TEST_F(TimelineTest, CopiesReachTensorsAndWholeObjects) {
  log.alloc(kBase, kMiB);
  log.tensor_alloc(kBase + 512, 1024);
  log.copy(kBase + 1024, 16, 512, "htod");  // lies in the tensor
  log.copy(kBase + 1024, 16, 513, "htod");  // reaches beyond it, so it is the object's
  const auto copies = merge().all<trace::Memcpy>();
  EXPECT_EQ(copies[0].dst.object, 2u);
  EXPECT_EQ(copies[0].dst.offset, 512u);
  EXPECT_EQ(copies[1].dst.object, 1u);
  EXPECT_EQ(copies[1].dst.offset, 1024u);
}

TEST_F(TimelineTest, PitchedCopies) {
  log.alloc(kBase, 16 * kMiB);
  const auto pitched = [&](std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t dst_pitch,
                           std::uint64_t src_pitch) {
    log.add(std::move(log.host("memcpy")
                          .number("corr", 1)
                          .number("dst", kBase)
                          .number("src", 4096)
                          .number("bytes", rows * row_bytes)
                          .text("kind", "htod")
                          .boolean("async", false)
                          .number("rows", rows)
                          .number("row_bytes", row_bytes)
                          .number("dst_pitch", dst_pitch)
                          .number("src_pitch", src_pitch)));
  };
  pitched(3, 1000, 4096, 1000);
  pitched(4, 1000, 1000, 1000);
  pitched(1000, 100, 512, 512);
  const auto copies = merge().all<trace::Memcpy>();
  ASSERT_EQ(copies.size(), 3u + 1u + 250u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(copies[i].dst.offset, i * 4096);
    EXPECT_EQ(copies[i].bytes, 1000u);
    EXPECT_EQ(copies[i].blocking, i == 2);
    EXPECT_EQ(copies[i].host_gap_ns != 0, i == 0);
  }
  EXPECT_EQ(copies[3].bytes, 4000u);
  EXPECT_EQ(copies[4].bytes, 400u);  // four rows each
  EXPECT_EQ(copies[253].dst.offset, 996u * 512);
  EXPECT_TRUE(copies[253].blocking);
}

TEST_F(TimelineTest, SetsAndHints) {
  log.alloc(kBase, 16 * kMiB, "managed");
  const auto event = [&](const char* type, std::uint64_t va, std::uint64_t bytes) {
    return std::move(log.host(type).number("va", va).number("bytes", bytes));
  };
  log.add(std::move(event("memset", kBase + 512, 1024).number("stream", 3)));
  log.add(std::move(event("memset", kBase, 200).number("rows", 2).number("row_bytes", 100).number("pitch", 4096)));
  log.add(event("memset", 4096, 200));  // unknown memory
  log.add(std::move(event("prefetch", kBase + 4096, 8192).number("to", -1).number("stream", 1)));
  log.add(std::move(event("advise", kBase, kMiB).text("advice", "set_read_mostly").number("to", 0)));
  log.add(std::move(event("discard", kBase, kMiB).number("stream", 0).boolean("prefetch", true)));
  log.add(std::move(event("prefetch", kBase + 15 * kMiB, 2 * kMiB).number("to", 0)));  // beyond its end
  const Merged merged = merge();
  const auto sets = merged.all<trace::Memset>();
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[0].offset, 512u);
  EXPECT_EQ(sets[0].stream, 3u);
  EXPECT_EQ(sets[2].offset, 4096u);
  EXPECT_EQ(sets[2].bytes, 100u);
  const auto prefetches = merged.all<trace::Prefetch>();
  ASSERT_EQ(prefetches.size(), 2u);
  EXPECT_EQ(prefetches[0].destination, -1);
  EXPECT_EQ(prefetches[1].bytes, kMiB);
  EXPECT_EQ(merged.all<trace::Advise>()[0].advice, trace::Advice::kSetReadMostly);
  EXPECT_EQ(merged.all<trace::Discard>().size(), 1u);
  EXPECT_EQ(merged.summary.unplaced_calls, 2u);
}

TEST_F(TimelineTest, Synchronisation) {
  log.sync("event_wait", 0xaaaa);  // never recorded, so CUDA does not wait
  log.sync("event_record", 0xbbbb, 2);
  log.sync("event_wait", 0xbbbb, 3);
  log.sync("event_synchronize", 0xbbbb);
  log.sync("stream", 0, 2);
  const auto syncs = merge().all<trace::Sync>();
  ASSERT_EQ(syncs.size(), 4u);
  EXPECT_EQ(syncs[0].kind, trace::SyncKind::kEventRecord);
  EXPECT_EQ(syncs[0].event, 1u);
  EXPECT_EQ(syncs[0].stream, 2u);
  EXPECT_EQ(syncs[1].event, 1u);
  EXPECT_EQ(syncs[2].event, 1u);
  EXPECT_EQ(syncs[3].kind, trace::SyncKind::kStream);
}

// --- ranges and iterations; merge() checks that they nest

std::string text_of(const Merged& merged) {
  std::string out;
  for (const auto& range : merged.all<trace::Range>()) {
    switch (range.kind) {
      case trace::RangeKind::kPush:
        out += "(" + range.name;
        break;
      case trace::RangeKind::kPop:
        out += ")";
        break;
      case trace::RangeKind::kIterationBegin:
        out += "[" + std::to_string(range.index);
        break;
      case trace::RangeKind::kIterationEnd:
        out += "]";
    }
  }
  return out;
}

TEST_F(TimelineTest, Ranges) {
  log.range("push", "a");
  log.range("push", "b");
  log.range("pop");
  log.range("pop");
  log.range("pop");  // no range is open
  log.range("push", "open");
  EXPECT_EQ(text_of(merge()), "(a(b))(open)");
}

TEST_F(TimelineTest, RangesOfTwoThreads) {
  log.thread(0).range("push", "a");
  log.thread(1).range("push", "b");
  log.thread(0).range("pop");
  log.thread(1).range("pop");
  EXPECT_EQ(text_of(merge()), "(a(b))(b)");
}

TEST_F(TimelineTest, RangesAcrossIterations) {
  log.range("push", "outer");
  log.iteration(0, true);
  log.range("push", "inner");
  log.iteration(0, false);
  log.range("push", "between");
  log.range("pop");  // between
  log.range("pop");  // an inner range, which the end of its iteration closed
  log.iteration(1, true);
  log.range("pop");
  log.iteration(2, true);  // no line ends iteration 1
  log.iteration(7, false);
  EXPECT_EQ(text_of(merge()), "(outer[0(inner)](between)[1])[2]");
}

TEST_F(TimelineTest, PopOfAnOuterRangeInsideAnIterationWaits) {
  log.range("push", "outer");
  log.iteration(3, true);
  log.range("pop");
  log.launch({});
  log.iteration(3, false);
  EXPECT_EQ(text_of(merge()), "(outer[3])");
}

TEST_F(TimelineTest, UvmEventsComeWhereTheyHappened) {
  log.at(1000, 1100).alloc(kBase, kMiB, "managed");
  log.at(2000, 2100).launch({});
  log.at(9000, 9100).free(kBase, "managed");
  for (const std::int64_t start : {10000, 3000}) {
    JsonLine line("uvm");
    line.text("counter", "gpu_fault").number("va", kBase + 4096).number("value", 3).number("flags", 2);
    log.add(std::move(line.number("start_ns", start).number("end_ns", start + 10)));
  }
  const Merged merged = merge();
  ASSERT_EQ(merged.records.size(), 5u);
  const auto& counter = std::get<trace::UvmCounter>(merged.records[2]);
  EXPECT_EQ(counter.object, 1u);
  EXPECT_EQ(counter.offset, 4096u);
  EXPECT_EQ(std::get<trace::UvmCounter>(merged.records[4]).object, trace::kNoObject);
}

// The program may synchronise again seconds later, before it exits.
TEST_F(TimelineTest, LastIterationEndsWithTheSynchronisationBehindItsWork) {
  log.alloc(kBase, kMiB);
  log.iteration(0, true);
  log.launch({});
  log.sync();
  log.launch({});
  log.sync();
  log.sync();
  const Merged merged = merge();
  ASSERT_EQ(merged.records.size(), 8u);
  EXPECT_EQ(std::get<trace::Range>(merged.records[6]).kind, trace::RangeKind::kIterationEnd);
  EXPECT_TRUE(std::holds_alternative<trace::Sync>(merged.records[5]));
  EXPECT_TRUE(std::holds_alternative<trace::Sync>(merged.records[7]));
}

TEST_F(TimelineTest, AnIterationThatTheProgramEndsEndsThere) {
  log.iteration(0, true);
  log.launch({});
  log.sync();
  log.sync();
  log.iteration(0, false);
  EXPECT_EQ(std::get<trace::Range>(merge().records.back()).kind, trace::RangeKind::kIterationEnd);
}

TEST_F(TimelineTest, KilledProgram) {
  log.alloc(kBase, kMiB);
  log.iteration(0, true);
  log.range("push", "layer");
  log.launch({});
  const std::string whole = log.text(false);
  for (std::size_t length = whole.find('\n') + 1; length <= whole.size(); ++length) {
    merge_logs(whole.substr(0, length), "");  // checks that the records are consistent
  }
  using Attribute = std::pair<std::string, std::string>;
  EXPECT_THAT(merge_logs(whole, "").header.attributes,
              ::testing::Contains(Attribute{"incomplete", "the program ended before its log did"}));
}

TEST_F(TimelineTest, TimesThatAddUpToTooMuch) {
  LogBuilder::LaunchSpec spec;
  spec.duration_ns = std::int64_t{1} << 60;
  log.launch(spec);
  log.launch(spec);
  log.launch(spec);
  try {
    merge();
    FAIL();
  } catch (const uvmsim::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("add up to more than"));
  }
}

}  // namespace
}  // namespace uvmtrace::timeline_test
