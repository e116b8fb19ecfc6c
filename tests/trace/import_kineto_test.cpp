// SPDX-License-Identifier: Apache-2.0
// Tests of profiles of PyTorch: one recorded on an H200 (tests/trace/recordings), and others written here.
#include "sim/import/import_kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/common/error.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/imported.h"

namespace uvmsim::trace::import_kineto_test {
namespace {

using ::testing::HasSubstr;

auto import(const std::string& path) { return import_all(KinetoImporter(path)); }

// The program runs two steps of a convolution, three linear layers and Adam, batch 64.
TEST(ImportKineto, ATrainingStepHasItsTensorsAndKernels) {
  const auto step = import((UVMSIM_SOURCE_DIR "/tests/trace/recordings/kineto_two_steps_h200.json.zst"));
  EXPECT_EQ(step.header.gpu, "NVIDIA H200");
  EXPECT_EQ(step.summary.kernels, 88u);
  EXPECT_EQ(step.summary.tensors, 76u);  // equals the count of the allocator's own history of the same steps
  EXPECT_TRUE(step.summary.shapes);
  EXPECT_GE(step.summary.covered_kernels * 100, step.summary.kernels * 95);
  // Adam's lists and the layers name weights, biases, optimizer states of gradients and inputs.
  std::map<std::uint64_t, int> earlier;
  for (const TensorAlloc& tensor : step.all<TensorAlloc>()) {
    if (tensor.name == "allocated before") ++earlier[tensor.bytes];
  }
  EXPECT_EQ(earlier[64 * 3 * 32 * 32 * 4], 1);  // the images
  EXPECT_GE(earlier[8192 * 512 * 4], 2);        // the largest weight and at least one of its two moments
  EXPECT_LE(step.summary.earlier_bytes, step.summary.earlier_total_bytes);
  // The first convolution reads the images and its weights and writes 64 x 32 x 32 x 32 floats.
  const std::vector<Kernel> kernels = step.all<Kernel>();
  std::uint64_t read = 0, written = 0;
  for (const ObjectAccess& access : kernels.at(0).accesses) {
    for (const Extent& extent : access.extents) {
      (extent.mode == AccessMode::kWrite ? written : read) += extent.count * 512;
    }
  }
  EXPECT_THAT(kernels[0].name, HasSubstr("fprop_implicit_gemm"));
  EXPECT_EQ(written, 64u * 32 * 32 * 32 * 4);
  EXPECT_GE(read, 64u * 3 * 32 * 32 * 4 + 32 * 3 * 3 * 3 * 4);
  EXPECT_EQ(kernels[0].coverage, Coverage::kOperatorSchema);
  EXPECT_EQ(kernels[0].duration_ns, 13728);
}

TEST(ImportKineto, CopiesGraphsAndStreams) {
  const auto streams = import((UVMSIM_SOURCE_DIR "/tests/trace/recordings/kineto_streams_h200.json.zst"));
  const std::vector<Memcpy> copies = streams.all<Memcpy>();
  ASSERT_GE(copies.size(), 1u);
  EXPECT_EQ(copies[0].bytes, 4u << 20);
  EXPECT_EQ(copies[0].kind, CopyKind::kHostToDevice);
  std::map<std::uint32_t, int> by_stream;
  for (const Kernel& kernel : streams.all<Kernel>()) ++by_stream[kernel.stream];
  EXPECT_GE(by_stream.size(), 2u);
}

class ImportKinetoText : public ::testing::Test {
 protected:
  void operation(int start, int end, int number, const std::string& name, const std::string& dims) {
    add(R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":1,"tid":1,"ts":)" + std::to_string(start) +
        R"(,"dur":)" + std::to_string(end - start) + R"(,"args":{"External id":)" + std::to_string(number) + dims +
        "}}");
  }
  void allocation(int time, int bytes, std::uint64_t address, int total) {
    add(R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":)" + std::to_string(time) +
        R"(,"args":{"Total Allocated":)" + std::to_string(total) + R"(,"Bytes":)" + std::to_string(bytes) +
        R"(,"Device Id":0,"Device Type":1,"Addr":)" + std::to_string(address) + "}}");
  }
  void kernel(int start, int operation) {
    add(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" + std::to_string(start) +
        R"(,"dur":1.5,"args":{"External id":)" + std::to_string(operation) +
        R"(,"device":0,"stream":7,"grid":[2,1,1],"block":[64,1,1]}})");
  }
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  auto import_events() {
    folder.write("p.json", "{\"schemaVersion\": 1, \"traceEvents\": [" + events_ + "]}");
    return import(folder.path("p.json"));
  }
  std::string about(const std::string& text) {
    folder.write("p.json", text);
    return message_of([&] { import(folder.path("p.json")); });
  }
  static std::string floats(const std::string& dims) {
    std::string types;
    for (const char letter : dims) types += letter == '[' ? std::string(types.empty() ? "" : ",") + "\"float\"" : "";
    return R"(,"Input Dims":[)" + dims + R"(],"Input type":[)" + types + "]";
  }

  const ScratchFolder folder;

 private:
  std::string events_;
};

TEST_F(ImportKinetoText, InputsAreTheLastUsedOfTheirSizeAndOutputsWhatWasAllocated) {
  operation(10, 20, 1, "aten::a", "");
  allocation(12, 4096, 0x7f0000000000, 1048576 + 4096);
  kernel(15, 1);
  operation(30, 40, 2, "aten::b", floats("[1024],[32,16]"));
  allocation(32, 1024, 0x7f0000002000, 1048576 + 5120);
  kernel(35, 2);
  operation(50, 60, 3, "aten::add_", floats("[256]"));
  kernel(55, 3);
  add(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":1,"ts":28,"dur":40})");
  const auto out = import_events();
  const std::vector<TensorAlloc> tensors = out.all<TensorAlloc>();
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "allocated before");  // 2048 bytes that no event of the profile allocated
  EXPECT_EQ(tensors[0].bytes, 2048u);
  const std::vector<Kernel> kernels = out.all<Kernel>();
  ASSERT_EQ(kernels.size(), 3u);
  ASSERT_EQ(kernels[0].accesses.size(), 1u);
  EXPECT_EQ(kernels[0].accesses[0].extents[0], (Extent{0, 8, AccessMode::kWrite}));
  ASSERT_EQ(kernels[1].accesses.size(), 3u);
  EXPECT_EQ(kernels[1].accesses[0].extents[0], (Extent{0, 8, AccessMode::kRead}));
  EXPECT_EQ(kernels[1].accesses[1].extents[0], (Extent{0, 2, AccessMode::kWrite}));
  EXPECT_EQ(kernels[1].accesses[2].object, tensors[0].id);
  ASSERT_EQ(kernels[2].accesses.size(), 1u);  // in place
  EXPECT_EQ(kernels[2].accesses[0].object, kernels[1].accesses[1].object);
  EXPECT_EQ(kernels[2].accesses[0].extents[0].mode, AccessMode::kReadWrite);
  EXPECT_EQ(kernels[2].duration_ns, 1500);
  EXPECT_EQ(out.summary.iterations, 1u);
  EXPECT_EQ(out.summary.earlier_total_bytes, 1048576u);
}

TEST_F(ImportKinetoText, WhatFitsNothingIsCounted) {
  operation(10, 20, 1, "aten::a", floats("[1024]"));
  allocation(12, 512, 0x7f0000000000, 512);  // the allocator held nothing before
  kernel(15, 1);
  EXPECT_EQ(import_events().summary.unmatched, 1u);
}

TEST_F(ImportKinetoText, RefusesWhatCannotBe) {
  EXPECT_THAT(about("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(about("{\"traceEvents\": []}"), HasSubstr("it has no events"));
  kernel(15, 1);
  EXPECT_THAT(message_of([&] { import_events(); }), HasSubstr("record with profile_memory=True"));
  EXPECT_THAT(about(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":"soon","dur":1}]})"),
              HasSubstr("event 1: 'ts' is no time"));
  EXPECT_THAT(about(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":-5}]})"),
              HasSubstr("'dur' is -5"));
  EXPECT_THAT(about(std::string(R"({"traceEvents":)") + std::string(100, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(about("\x80\x04\x95 and so on"), HasSubstr("a pickle of Python"));
}

}  // namespace
}  // namespace uvmsim::trace::import_kineto_test
