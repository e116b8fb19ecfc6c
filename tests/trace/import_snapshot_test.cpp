// SPDX-License-Identifier: Apache-2.0
// Tests of memory snapshots of PyTorch: two recorded on an H200 (tests/trace/recordings), and others written here.
#include "sim/import/import_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/common/error.h"
#include "sim/import/pickle.h"
#include "sim/import/whole_file.h"
#include "sim/trace/foreign.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/imported.h"

namespace uvmsim::trace::import_snapshot_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRecordings = UVMSIM_SOURCE_DIR "/tests/trace/recordings/";

auto import(const std::string& path, SnapshotAccesses accesses = SnapshotAccesses::kNone) {
  return import_all(SnapshotImporter(path, {ObjectKind::kManaged, accesses, ""}));
}

// The program creates a convolution, two linear layers and Adam, and trains two steps; the history covers all of it.
TEST(ImportSnapshot, AWholeHistoryHasSegmentsTensorsAndNames) {
  const auto out = import(kRecordings + "memory_snapshot_h200.pickle.zst");
  // These are the counts of Python on the same snapshot.
  EXPECT_EQ(out.summary.segments, 6u);
  EXPECT_EQ(out.summary.tensors, 77u);
  EXPECT_EQ(out.summary.earlier_tensors, 0u);
  EXPECT_EQ(out.summary.unplaced, 0u);
  EXPECT_EQ(out.summary.most_bytes, 110531276u);
  EXPECT_TRUE(out.summary.history);
  EXPECT_EQ(out.all<TensorFree>().size(), 48u);
  EXPECT_EQ(out.all<ObjectFree>().size(), 1u);
  std::uint64_t segment_bytes = 0;
  for (const ObjectAlloc& segment : out.all<ObjectAlloc>()) segment_bytes += segment.bytes;
  EXPECT_EQ(segment_bytes, 132120576u);
  const std::vector<TensorAlloc> tensors = out.all<TensorAlloc>();
  EXPECT_EQ(tensors[0].bytes, 16u * 3 * 3 * 3 * 4);  // the convolution's weight
  EXPECT_EQ(tensors[0].name, "network (train.py:7)");
  EXPECT_EQ(tensors[0].object, out.all<ObjectAlloc>()[0].id);
  EXPECT_EQ(tensors[1].offset, 2048u);
  EXPECT_TRUE(out.all<Kernel>().empty());
}

TEST(ImportSnapshot, JsonSaysTheSameAsThePickle) {
  const auto pickle = import(kRecordings + "memory_snapshot_h200.pickle.zst");
  const auto json = import(kRecordings + "memory_snapshot_h200.json.zst");
  EXPECT_EQ(pickle.records.size(), json.records.size());
  const std::vector<TensorAlloc> a = pickle.all<TensorAlloc>(), b = json.all<TensorAlloc>();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::tie(a[i].id, a[i].bytes, a[i].object, a[i].offset, a[i].name),
              std::tie(b[i].id, b[i].bytes, b[i].object, b[i].offset, b[i].name));
  }
}

// The history has the last 60 events; most of the memory was allocated before them.
TEST(ImportSnapshot, WhatTheHistoryHasLostWasAllocatedBefore) {
  const auto out = import(kRecordings + "memory_snapshot_wrapped_h200.pickle.zst");
  EXPECT_EQ(out.summary.segments, 7u);
  EXPECT_EQ(out.summary.tensors - out.summary.earlier_tensors, 19u);
  EXPECT_EQ(out.all<TensorFree>().size(), 20u);
  EXPECT_EQ(out.summary.tensors - out.all<TensorFree>().size(), 29u);  // live when the snapshot was taken
  std::map<std::uint32_t, int> by_stream;
  for (const TensorAlloc& tensor : out.all<TensorAlloc>()) ++by_stream[tensor.stream];
  EXPECT_EQ(by_stream.size(), 2u);
}

TEST(ImportSnapshot, AccessesAreOnlyAssumedWhenAskedFor) {
  const std::string path = kRecordings + "memory_snapshot_h200.pickle.zst";
  const auto out = import(path, SnapshotAccesses::kLifetimes);
  const std::vector<Kernel> kernels = out.all<Kernel>();
  ASSERT_EQ(kernels.size(), 77u + 48u);
  EXPECT_EQ(kernels[0].name, "assumed first use");
  EXPECT_EQ(kernels[0].coverage, Coverage::kDeclared);
  EXPECT_EQ(kernels[0].accesses.at(0).extents[0], (Extent{0, 4, AccessMode::kWrite}));
  EXPECT_THAT(out.header.attributes.at(0).second, HasSubstr("assumed"));
  EXPECT_THAT(import(path).header.attributes.at(0).second, HasSubstr("none"));
}

class ImportSnapshotText : public ::testing::Test {
 protected:
  auto import_text(const std::string& text) {
    folder.write("s.json", text);
    return import(folder.path("s.json"));
  }
  std::string about(const std::string& text) {
    return message_of([&] { import_text(text); });
  }
  static std::string history(const std::string& events, const std::string& segments = "") {
    return R"({"segments":[)" + segments + R"(],"device_traces":[[)" + events + "]]}";
  }
  static std::string event(const std::string& action, std::uint64_t address, std::uint64_t bytes, int time) {
    return R"({"action":")" + action + R"(","addr":)" + std::to_string(address) + R"(,"size":)" +
           std::to_string(bytes) + R"(,"stream":0,"time_us":)" + std::to_string(time) + "}";
  }

  const ScratchFolder folder;
};

TEST_F(ImportSnapshotText, TensorsLiveFromTheirAllocationToTheCompletedFree) {
  const auto out = import_text(history(
      event("segment_alloc", 4096, 65536, 1) + "," + event("alloc", 4096, 1000, 2) + "," +
          event("alloc", 8192, 500, 3) + "," + event("free_requested", 4096, 1000, 4) + "," +
          event("free_completed", 4096, 1000, 6) + "," + event("alloc", 4096, 700, 7) + "," + event("oom", 0, 5, 8),
      R"({"device":0,"address":4096,"total_size":65536,"blocks":[{"size":512,"state":"active_allocated"}]})"));
  const std::vector<TensorAlloc> tensors = out.all<TensorAlloc>();
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[2].bytes, 700u);
  EXPECT_EQ(out.all<TensorFree>().at(0).id, tensors[0].id);
  EXPECT_EQ(out.summary.most_bytes, 1500u);
  EXPECT_EQ(out.summary.earlier_tensors, 0u);
  EXPECT_EQ(out.summary.out_of_memory, 1u);
}

TEST_F(ImportSnapshotText, ASnapshotWithoutHistoryHasWhatItHolds) {
  const auto out = import_text(
      R"({"segments":[{"address":4096,"total_size":65536,"blocks":[{"size":1024,"requested_size":1000,"state":)"
      R"("active_allocated","frames":[{"name":"f","filename":"/x/torch/nn.py","line":1},{"name":"g","filename":)"
      R"("/home/a.py","line":7}]},{"size":512,"state":"inactive"},{"size":512,"state":"active_awaiting_free"}]}]})");
  EXPECT_FALSE(out.summary.history);
  const std::vector<TensorAlloc> tensors = out.all<TensorAlloc>();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "before: g (a.py:7)");
  EXPECT_EQ(tensors[0].bytes, 1000u);
  EXPECT_EQ(tensors[1].offset, 1536u);
}

TEST_F(ImportSnapshotText, PiecesOfExpandableSegmentsAreNoObjects) {
  const auto out = import_text(history(event("segment_map", 4096, 65536, 1) + "," + event("alloc", 4096, 1000, 2)));
  EXPECT_EQ(out.summary.segments, 0u);
  EXPECT_EQ(out.summary.unplaced, 1u);
}

TEST_F(ImportSnapshotText, RefusesWhatCannotBe) {
  EXPECT_THAT(about("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(about("[]"), HasSubstr("it is no dictionary"));
  EXPECT_THAT(about("{}"), HasSubstr("neither 'segments' nor 'device_traces'"));
  EXPECT_THAT(about(R"({"segments":5})"), HasSubstr("'segments' is no list"));
  EXPECT_THAT(about(R"({"segments":[5]})"), HasSubstr("segment 1: it is no dictionary"));
  EXPECT_THAT(about(R"({"segments":[{"address":4096}]})"), HasSubstr("'total_size' is missing"));
  EXPECT_THAT(about(history("7")), HasSubstr("event 1 of device 0: it is no dictionary"));
  EXPECT_THAT(about(history(R"({"action":"alloc","addr":-1,"size":1})")), HasSubstr("'addr' is -1; allowed"));
  EXPECT_THAT(about(history(R"({"action":"alloc","addr":1e300,"size":1})")), HasSubstr("'addr' is 1e+300"));
  EXPECT_THAT(about(history(R"({"action":"alloc","addr":"x","size":1})")), HasSubstr("'addr' is no number"));
  EXPECT_THAT(about(history(R"({"action":3})")), HasSubstr("'action' is no text"));
  EXPECT_THAT(about(history(event("alloc", 4096, 18446744073709551615u, 1))), HasSubstr("'size' is"));
  EXPECT_THAT(about(history(event("alloc", 4096, 4096, 1) + "," + event("alloc", 5000, 4096, 2))),
              HasSubstr("overlaps a live one"));
  EXPECT_THAT(about(R"({"traceEvents": [], "segments": []})"), HasSubstr("trace import kineto"));
  EXPECT_THAT(about(std::string(100, '[')), HasSubstr("nested too deep"));
}

std::string about_pickle(const std::string& bytes) {
  return message_of([&] {
    PlainValues values;
    read_pickle(bytes, values);
  });
}

TEST(Pickle, NothingOfAFileIsEverRun) {
  using namespace std::string_literals;
  EXPECT_THAT(about_pickle("\x80\x02"s + "cos\nsystem\n(U\x02lstR."), HasSubstr("byte 2: the instruction GLOBAL"));
  EXPECT_THAT(about_pickle("\x80\x04\x8c\x02os\x8c\x06system\x93."s), HasSubstr("the instruction STACK_GLOBAL"));
  EXPECT_THAT(about_pickle("\x80\x04NNR."s), HasSubstr("the instruction REDUCE"));
  EXPECT_THAT(about_pickle("\x80\x04NNb."s), HasSubstr("the instruction BUILD"));
  EXPECT_THAT(about_pickle("\x80\x04\x81."s), HasSubstr("the instruction NEWOBJ"));
  EXPECT_THAT(about_pickle("\x80\x04\xfe."s), HasSubstr("0xfe is not one of plain values"));
  EXPECT_THAT(about_pickle("\x80\x07."s), HasSubstr("protocol 7; allowed: 2 to 5"));
}

TEST(Pickle, RefusesWhatLacksItsOperands) {
  using namespace std::string_literals;
  EXPECT_THAT(about_pickle("\x80\x04."s), HasSubstr("the stack is empty"));
  EXPECT_THAT(about_pickle("\x80\x04h\x05."s), HasSubstr("nothing was remembered at 5"));
  EXPECT_THAT(about_pickle("\x80\x04NNa."s), HasSubstr("no list"));
  EXPECT_THAT(about_pickle("\x80\x04}(Nu."s), HasSubstr("a key without a value"));
  EXPECT_THAT(about_pickle("\x80\x04]e."s), HasSubstr("no mark is set"));
  EXPECT_THAT(about_pickle("\x80\x04(N."s), HasSubstr("ends within a list"));
  EXPECT_THAT(about_pickle("\x80\x04X\xff\xff\xff\xff"s), HasSubstr("ends too early"));
  EXPECT_THAT(about_pickle("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s), HasSubstr("ends too early"));
}

TEST(Pickle, NumbersAreThoseThatPythonWrites) {
  using namespace std::string_literals;
  PlainValues values;
  const auto number = [&](const std::string& bytes) {
    return values.integer_of(read_pickle("\x80\x04" + bytes + ".", values));
  };
  EXPECT_EQ(number("K\xff"s), 255);
  EXPECT_EQ(number("M\x01\x02"s), 513);
  EXPECT_EQ(number("J\xff\xff\xff\xff"s), -1);
  EXPECT_EQ(number("\x8a\x01\x80"s), -128);
  EXPECT_EQ(number("\x8a\x02\xff\x00"s), 255);
  EXPECT_EQ(number("\x8a\x00"s), 0);
  const PlainValues::Id huge = read_pickle("\x80\x04\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s, values);
  EXPECT_EQ(values.kind(huge), PlainValues::Kind::kReal);
  EXPECT_EQ(values.real_of(huge), 18446744073709551616.0);
  EXPECT_EQ(values.real_of(read_pickle("\x80\x04G\x3f\xf8\x00\x00\x00\x00\x00\x00."s, values)), 1.5);
}

TEST(Pickle, ACutFileIsRefusedAtEveryByte) {
  const std::string whole = read_whole_file(kRecordings + "memory_snapshot_wrapped_h200.pickle.zst");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    PlainValues values;
    EXPECT_THROW(read_pickle(std::string_view(whole).substr(0, bytes), values), InputError) << bytes;
  }
}

TEST(Pickle, DamagedFilesImportOrAreRefused) {
  const std::string whole = read_whole_file(kRecordings + "memory_snapshot_wrapped_h200.pickle.zst");
  const ScratchFolder folder;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 29) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      folder.write("s.pickle", damaged);
      try {
        import(folder.path("s.pickle"));
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100u);
}

// Thirty nested lists, each with the previous one twice, would expand to a thousand million elements.
TEST(Pickle, SharedValuesAreKeptOnce) {
  std::string bytes = "\x80\x04]\x94";
  for (char i = 0; i < 30; ++i) bytes += std::string("]\x94(h") + i + "h" + i + "e";
  PlainValues values;
  EXPECT_EQ(values.items_of(read_pickle(bytes + ".", values)).size(), 2u);
  // A list of events that every device shares: the file's size limits the number of rows.
  const ScratchFolder folder;
  std::string shared =
      "\x80\x04}(\x8c\x08segments]\x8c\x0d"
      "device_traces](](";
  const std::string row =
      "}(\x8c\x06"
      "action\x8c\x03oomu";
  for (int i = 0; i < 100; ++i) shared += row;
  shared += "e\x94";
  for (int i = 0; i < 500; ++i) shared += std::string("h") + '\0';
  folder.write("s.pickle", shared + "eu.");
  EXPECT_THAT(message_of([&] { import(folder.path("s.pickle")); }), HasSubstr("more rows than the file has bytes"));
}

TEST(Foreign, SnapshotsAreRecognisedByTheirContent) {
  EXPECT_THAT(describe_foreign("\x80\x04\x95 and so on", "x.uvmt"), HasSubstr("trace import snapshot"));
  EXPECT_THAT(describe_foreign("{\"segments\": [], \"device_traces\": []}", "x.uvmt"),
              HasSubstr("trace import snapshot"));
}

}  // namespace
}  // namespace uvmsim::trace::import_snapshot_test
