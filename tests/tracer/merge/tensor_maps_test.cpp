// SPDX-License-Identifier: Apache-2.0
// Accesses that follow from a launch's tensor maps, and the result if these do not give all accesses.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace::tensor_maps_test {
namespace {

constexpr auto kR = trace::AccessMode::kRead, kW = trace::AccessMode::kWrite, kRw = trace::AccessMode::kReadWrite;
constexpr std::uint64_t kT = 0x7f0000000000, kA = 0x7e0000000000, kMiB = 1 << 20;
constexpr std::uint64_t kLeft = 0, kRight = 4 * kMiB, kOut = 8 * kMiB, kWorkspace = 12 * kMiB, kTensorBytes = 2 * kMiB;
const std::string kName = "matrix_product";

// Returns a map of rows of 1024 bf16, with as many rows as make `bytes`.
MapParameter map_at(std::uint32_t offset, std::uint64_t place, std::uint64_t bytes) {
  MapParameter out;
  out.offset = offset;
  out.map.va = kT + place;
  out.map.element_bits = 16;
  out.map.rank = 2;
  out.map.dims = {1024, bytes / 2048};
  out.map.strides = {2048};
  out.map.box = {64, 64};
  return out;
}

// Ids: 2 and 3 are read, 4 is written, 5 is a workspace; all in a segment with id 1.
class TensorMapsTest : public ::testing::Test {
 protected:
  TensorMapsTest() {
    for (auto [log, base] : {std::pair{&timing, kT}, std::pair{&access, kA}}) {
      log->alloc(base, 32 * kMiB);
      for (const std::uint64_t offset : {kLeft, kRight, kOut, kWorkspace}) {
        log->tensor_alloc(base + offset, kTensorBytes);
      }
    }
  }
  // [kind, sure, repeated, count, [offsets]], ...
  void copies(const std::string& list) {
    timing.raw(R"({"t":"tensor_copies","name":")" + kName + R"(","copies":[)" + list + "]}");
  }
  void launch(std::vector<MapParameter> maps, bool with_operator = true, std::vector<std::uint64_t> params = {}) {
    LogBuilder::LaunchSpec spec;
    spec.name = kName;
    spec.maps = std::move(maps);
    for (const std::uint64_t offset : params) spec.params.push_back(kT + offset);
    timing.launch(spec);
    if (with_operator) {
      access.operator_event("operator", {{kA + kLeft, kTensorBytes, kR}, {kA + kRight, kTensorBytes, kR}});
    }
    LogBuilder::LaunchSpec seen;
    seen.name = kName;
    seen.accesses = {{kA + kWorkspace, 65536, kRw}};
    access.launch(seen);
    if (with_operator) {
      access.operator_event("operator_outputs", {{kA + kOut, kTensorBytes, kW}});
      access.operator_event("operator_end", {});
    }
  }
  trace::Kernel last() {
    merged = merge_logs(timing.text(), access.text());
    return merged.all<trace::Kernel>().back();
  }
  // Returns object, quanta and mode of every extent.
  static std::string text(const trace::Kernel& kernel) {
    std::string out;
    for (const trace::ObjectAccess& access : kernel.accesses) {
      for (const trace::Extent& extent : access.extents) {
        out += (out.empty() ? "" : " ") + std::to_string(access.object) + ":" + std::to_string(extent.first) + "+" +
               std::to_string(extent.count) +
               (extent.mode == kR   ? "r"
                : extent.mode == kW ? "w"
                                    : "rw");
      }
    }
    return out;
  }

  LogBuilder timing{Pass::kTiming}, access{Pass::kAccess};
  Merged merged;
};
const std::string kProduct = "[1,1,1,2,[176]],[1,1,1,2,[240]],[2,1,1,8,[560]]";

TEST_F(TensorMapsTest, LoadsReadAndStoresWrite) {
  copies(kProduct);
  launch({map_at(176, kLeft, kTensorBytes), map_at(240, kRight, kMiB), map_at(560, kOut, kTensorBytes)});
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kTensorMaps);
  EXPECT_EQ(text(kernel), "2:0+4096r 3:0+2048r 4:0+4096w 5:0+128rw");
  EXPECT_EQ(merged.summary.by_tensor_maps, 1u);
  EXPECT_EQ(merged.summary.tensor_copies, 0u);
}

TEST_F(TensorMapsTest, ReductionsReadAndWrite) {
  copies("[3,1,0,1,[176]]");
  launch({map_at(176, kLeft, kMiB)}, false);
  EXPECT_EQ(text(last()), "2:0+2048rw 5:0+128rw");
}

// The map of a copy is not among the parameters: the operator gives the accesses, and the trace records that it did.
TEST_F(TensorMapsTest, WhatIsNotExplainedComesFromTheOperator) {
  copies(kProduct);
  launch({map_at(176, kLeft, kTensorBytes), map_at(240, kRight, kMiB)});
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kOperatorSchema);
  EXPECT_EQ(text(kernel), "2:0+4096r 3:0+2048r 4:0+4096w 5:0+128rw");
  EXPECT_EQ(merged.summary.tensor_copies, 1u);
}

TEST_F(TensorMapsTest, NoMapsAtAllAreNoReasonToBelieveThatNothingIsCopied) {
  copies(kProduct);
  launch({}, true);
  EXPECT_EQ(last().coverage, trace::Coverage::kOperatorSchema);
}

TEST_F(TensorMapsTest, WithoutOperatorTheParametersSay) {
  copies(kProduct);
  launch({map_at(176, kLeft, kTensorBytes), map_at(240, kRight, kMiB)}, false, {kLeft, kRight, kOut});
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kParameters);
  EXPECT_EQ(text(kernel), "2:0+4096r 3:0+2048r 4:0+4096rw 5:0+128rw");
}

// The launch does not execute this copy: all that the operator names is known nevertheless.
TEST_F(TensorMapsTest, ACopyWithoutMapThatNothingMisses) {
  copies(kProduct + ",[2,1,1,2,[624]]");
  launch({map_at(176, kLeft, kTensorBytes), map_at(240, kRight, kMiB), map_at(560, kOut, kTensorBytes)});
  EXPECT_EQ(last().coverage, trace::Coverage::kTensorMaps);
}

TEST_F(TensorMapsTest, TheOutputTwice) {
  copies("[1,0,1,2,[496]],[1,1,1,2,[176]],[1,1,1,2,[240]],[2,1,1,8,[560]]");
  const std::vector<MapParameter> maps = {map_at(176, kLeft, kTensorBytes), map_at(240, kRight, kMiB),
                                          map_at(496, kOut, kTensorBytes), map_at(560, kOut, kTensorBytes)};
  launch(maps);
  EXPECT_EQ(text(last()), "2:0+4096r 3:0+2048r 4:0+4096w 5:0+128rw");
  EXPECT_EQ(merged.summary.undirected_maps, 0u);
  launch(maps, false);
  EXPECT_EQ(text(last()), "2:0+4096r 3:0+2048r 4:0+4096rw 5:0+128rw");
  EXPECT_EQ(merged.summary.undirected_maps, 1u);
}

TEST_F(TensorMapsTest, CodeThatWasNotRead) {
  launch({map_at(176, kLeft, kMiB), map_at(240, kRight, kMiB), map_at(560, kOut, kMiB)});
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kTensorMaps);
  EXPECT_EQ(text(kernel), "2:0+2048r 3:0+2048r 4:0+2048w 5:0+128rw");
}

TEST_F(TensorMapsTest, AChoiceTakesAllAndAnUnsureStoreNoneThatIsLoaded) {
  copies("[1,1,1,1,[176,240]],[2,0,1,1,[176,560]]");
  launch({map_at(176, kLeft, kMiB), map_at(240, kRight, kMiB), map_at(560, kOut, kMiB)});
  EXPECT_EQ(text(last()), "2:0+2048r 3:0+2048r 4:0+2048w 5:0+128rw");
}

// 2048 threads that copy one box each cover an eighth of a map of 16384 boxes.
TEST_F(TensorMapsTest, TheGridBoundsWhatIsCopiedOutsideOfLoops) {
  MapParameter map = map_at(176, kLeft, kTensorBytes);
  map.map.rank = 1;
  map.map.dims = {kTensorBytes / 2};
  map.map.strides = {};
  map.map.box = {64};
  copies("[1,1,0,1,[176]]");
  launch({map}, false);
  EXPECT_EQ(text(last()), "2:0+512r 5:0+128rw");
  copies("[1,1,1,1,[176]]");
  launch({map}, false);
  EXPECT_EQ(text(last()), "2:0+4096r 5:0+128rw");
}

TEST_F(TensorMapsTest, TheHeaderSaysWhatTheMapsAreWorth) {
  const auto said = [](const std::string& line) {
    LogBuilder log{Pass::kTiming};
    log.raw(line);
    for (const auto& [key, value] : merge_logs(log.text(), "").header.attributes) {
      if (key == "tensor_maps") return value;
    }
    return std::string();
  };
  EXPECT_EQ(said(R"({"t":"tensor_maps","verified":387})"), "decoded, 387 encodings verified");
  EXPECT_EQ(said(R"({"t":"tensor_maps","verified":0,"why":"the driver does not encode any"})"),
            "not decoded: the driver does not encode any");
}

TEST_F(TensorMapsTest, HostileMapsAreRefused) {
  const auto read = [](const std::string& line) {
    LogBuilder log{Pass::kTiming};
    log.raw(line);
    return read_log(log.text(), "timing", Pass::kTiming);
  };
  const auto launch = [&](const std::string& maps) {
    return read(
        R"({"t":"launch","seq":1,"tid":0,"begin_ns":1,"end_ns":2,"corr":1,"name":"k","grid":[1,1,1],"block":[1,1,1],)"
        R"("shared_bytes":0,"stream":0,"params":[],"maps":)" +
        maps + "}");
  };
  EXPECT_EQ(launch("[[176,4096,16,0,[64,2],[128],[64,1]]]").launches[0].maps.size(), 1u);
  for (const char* maps : {"7", "[7]", "[[176,4096,16,0,[64,2],[128]]]", "[[176,4096,16,0,[],[],[]]]",
                           "[[176,4096,16,0,[64,2],[],[64,1]]]", "[[176,4096,16,0,[64,2],[128],[64]]]",
                           "[[176,4096,16,0,[64,0],[128],[64,1]]]", "[[176,4096,16,0,[64,2],[120],[64,1]]]",
                           "[[176,4096,99,0,[64,2],[128],[64,1]]]", "[[176,4096,16,0,[64,2],[128],[64,999]]]",
                           "[[176,18446744073709551600,16,0,[64,2],[128],[64,1]]]",
                           "[[176,4096,16,0,[64,4294967296,4294967296],[1099511627760,1099511627760],[64,1,1]]]",
                           "[[176,4096,16,0,[1,1,1,1,1,1],[16,16,16,16,16],[64,1,1,1,1,1]]]",
                           "[[99999999,4096,16,0,[64,2],[128],[64,1]]]"}) {
    EXPECT_THROW(launch(maps), uvmsim::InputError) << maps;
  }
  for (const char* copies : {"7", "[[1,1,1,1]]", "[[0,1,1,1,[]]]", "[[4,1,1,1,[]]]", "[[1,2,1,1,[]]]",
                             "[[1,1,1,99999999999,[]]]", "[[1,1,1,1,[99999999999]]]", "[[1,1,1,1,7]]"}) {
    EXPECT_THROW(read(std::string(R"({"t":"tensor_copies","name":"k","copies":)") + copies + "}"), uvmsim::InputError)
        << copies;
  }
}

}  // namespace
}  // namespace uvmtrace::tensor_maps_test
