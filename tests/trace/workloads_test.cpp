// SPDX-License-Identifier: Apache-2.0
// The shipped recordings are valid, match workloads/README.md, and equal the converter's output from the raw files.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/import/import_raw.h"
#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "sim/trace/validate.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

struct Workload {
  const char* name;
  std::uint64_t objects, kernels, settled_kernels;
  std::int64_t settled_ms;
  std::uint64_t peak_mib;
};
class Workloads : public ::testing::TestWithParam<Workload> {
 protected:
  static std::string folder() { return UVMSIM_SOURCE_DIR "/workloads/"; }
  static std::string path() { return folder() + GetParam().name + ".uvmt"; }
};

TEST_P(Workloads, Valid) {
  TraceReader reader(path());
  EXPECT_EQ(validate(reader), "") << "every launch was recorded";
}

TEST_P(Workloads, WhatTheReadmeSays) {
  TraceReader reader(path());
  const TraceStatistics s = summarize(reader);
  EXPECT_EQ(s.objects, GetParam().objects);
  EXPECT_EQ(s.totals.kernels, GetParam().kernels);
  EXPECT_EQ(s.peak_managed_bytes >> 20, GetParam().peak_mib);
  EXPECT_EQ(s.peak_managed_bytes, s.peak_live_bytes);
  ASSERT_EQ(s.iterations.size(), 2u);
  EXPECT_EQ(s.iterations[1].totals.kernels, GetParam().settled_kernels);
  EXPECT_EQ(s.iterations[1].totals.duration_ns / 1000000, GetParam().settled_ms);
  EXPECT_FALSE(s.header.provenance.empty());
}

TEST_P(Workloads, MadeFromTheRawRecording) {
  TraceReader reader(path());
  RawImporter importer(folder() + "raw/" + GetParam().name + "_raw.jsonl.zst");
  Record shipped, imported;
  while (reader.next(shipped)) {
    ASSERT_TRUE(importer.next(imported));
    ASSERT_TRUE(same(shipped, imported)) << reader.position().text();
  }
  EXPECT_FALSE(importer.next(imported));
  EXPECT_EQ(importer.summary().pages_outside, 0u);
}

// The tracer's recordings are valid and complete, and have the accesses of all but one in a thousand launches, either
// recorded or known from their operators.
class Recordings : public ::testing::TestWithParam<const char*> {};

TEST_P(Recordings, ValidAndCovered) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/workloads/" + GetParam() + ".uvmt";
  {
    TraceReader reader(path);
    EXPECT_EQ(validate(reader), "");
  }
  TraceReader reader(path);
  EXPECT_EQ(reader.header().quantum_bytes, 512u);
  EXPECT_FALSE(reader.header().provenance.empty());
  std::uint64_t kernels = 0, uncertain = 0;
  Record record;
  while (reader.next(record)) {
    const auto* kernel = std::get_if<Kernel>(&record);
    if (kernel == nullptr) continue;
    ++kernels;
    const bool known = kernel->coverage == Coverage::kInstrumented || kernel->coverage == Coverage::kTensorMaps ||
                       kernel->coverage == Coverage::kOperatorSchema;
    if (!known) ++uncertain;
  }
  EXPECT_GT(kernels, 0u);
  EXPECT_LE(uncertain * 1000, kernels);
}

// The accessed bytes of bf16 programs are known from instrumentation and tensor maps.
class TensorMapRecordings : public ::testing::TestWithParam<const char*> {};
TEST_P(TensorMapRecordings, NeedNoOperators) {
  TraceReader reader(std::string(UVMSIM_SOURCE_DIR "/workloads/h100/") + GetParam() + ".uvmt");
  const TraceStatistics statistics = summarize(reader);
  const auto bytes = [&](Coverage coverage) {
    return statistics.bytes_by_coverage[static_cast<std::size_t>(coverage)];
  };
  EXPECT_GT(bytes(Coverage::kTensorMaps), 0u);
  EXPECT_GE(1000 * (bytes(Coverage::kInstrumented) + bytes(Coverage::kTensorMaps)),
            995 * statistics.totals.touched_bytes);
}
INSTANTIATE_TEST_SUITE_P(Shipped, TensorMapRecordings,
                         ::testing::Values("gpt_compiled", "jax_training", "llm_generate", "llm_train", "moe_generate",
                                           "unet"));

INSTANTIATE_TEST_SUITE_P(Shipped, Recordings,
                         ::testing::Values("alexnet", "alexnet_tf32", "bert", "bfs", "dlrm", "gpt2", "gpt2_b96",
                                           "h100/convnext_tiny", "h100/densenet121", "h100/efficientnet_b3",
                                           "h100/gpt2", "h100/gpt_compiled", "h100/graph_network", "h100/ivf_search",
                                           "h100/jax_training", "h100/llm_generate", "h100/llm_train",
                                           "h100/moe_generate", "h100/resnet50", "h100/swin_t", "h100/unet",
                                           "inception_v3", "llm_train", "pagerank", "paper/alexnet", "paper/bert",
                                           "paper/gpt2", "paper/gpt2_b64", "paper/gpt2_b72", "paper/gpt2_b76",
                                           "paper/gpt2_b80", "paper/gpt2_b88", "paper/gpt2_b96", "paper/resnet101",
                                           "paper/resnet50", "paper/whisper", "resnet101", "resnet101_tf32",
                                           "resnet152", "resnet50", "resnet50_tf32", "senet154", "stencil3d",
                                           "tiled_matmul", "vit", "whisper", "whisper_tf32"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(Shipped, Workloads,
                         ::testing::Values(Workload{"gpt2_h200", 2430, 1868, 941, 92, 10222},
                                           Workload{"resnet50_h200", 1683, 1916, 961, 212, 16261}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace uvmsim::trace
