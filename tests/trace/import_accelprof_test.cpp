// SPDX-License-Identifier: Apache-2.0
// Tests of logs as AccelProf's tools write them, with known content, and of logs that they never write.
#include "sim/import/import_accelprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/trace/validate.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::trace {
namespace {

using ::testing::HasSubstr;

const std::string kAdvisorHead =
    "--------------------------------------------------------------------------------\n"
    "[Memory]     max_size: 8388608 (8.00 MB)\n"
    "[Op]         count: 2         \n"
    "--------------------------------------------------------------------------------\n"
    "================================================================================\n";

class ImportAccelprof : public ::testing::Test {
 protected:
  std::vector<Record> import(const std::string& name = "log", const AccelprofImportOptions& options = {}) {
    AccelprofImporter importer(folder.path(name), options);
    Validator validator("r", importer.header());
    std::vector<Record> records;
    for (Record record; importer.next(record);) {
      validator.check(record);
      records.push_back(record);
    }
    validator.finish();
    summary = importer.summary();
    return records;
  }
  std::string about(const std::string& content) {
    folder.write("log", content);
    return message_of([&] { import(); });
  }
  template <class T>
  static std::vector<T> all(const std::vector<Record>& records) {
    std::vector<T> out;
    for (const Record& record : records) {
      if (const auto* one = std::get_if<T>(&record)) out.push_back(*one);
    }
    return out;
  }
  static std::string text(const Kernel& kernel) {
    std::string out;
    for (const ObjectAccess& access : kernel.accesses) {
      out += std::to_string(access.object) + ":";
      for (const Extent& extent : access.extents) {
        out += " " + std::to_string(extent.first) + "+" + std::to_string(extent.count) + "/" +
               std::to_string(static_cast<int>(extent.mode));
      }
      out += ";";
    }
    return out;
  }

  const ScratchFolder folder;
  AccelprofImportSummary summary;
};

TEST_F(ImportAccelprof, UvmAdvisorNamesWholeObjectsAndTensors) {
  folder.write("log", kAdvisorHead +
                          "Op - aten::linear, op_id: 1, pending_ops: 2, pending_kernels: 2, pending_mem_alloc: 0, "
                          "pending_ten_alloc: 0\n"
                          "   Kernel: void gemm<float, 128, kernel_id: 7\n"
                          "       MemAlloc (2): 1:(1048576, 4194304), 2:(8388608, 1024), \n"
                          "       TenAlloc (1): 5:(2097152, 2097152), \n"
                          "   Kernel: relu, kernel_id: 8\n"
                          "       MemAlloc (1): 1:(1048576, 4194304), \n"
                          "       TenAlloc (0): \n"
                          "Op - aten::relu, op_id: 2, pending_ops: 1, pending_kernels: 1, pending_mem_alloc: 0, "
                          "pending_ten_alloc: 0\n"
                          "   Kernel: other, kernel_id: 9\n"
                          "       MemAlloc (1): 3:(2097152, 1024), \n"  // at the address of the first one
                          "       TenAlloc (0): \n");
  const std::vector<Record> records = import();
  EXPECT_EQ(summary.tool, "uvm_advisor");
  const std::vector<Kernel> kernels = all<Kernel>(records);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "void gemm<float, 128");
  // The tensor replaces its allocation; the second allocation has no tensor and is listed itself.
  EXPECT_EQ(text(kernels[0]), "1: 2048+4096/3;2: 0+2/3;");
  EXPECT_EQ(text(kernels[1]), "1: 0+8192/3;");
  EXPECT_EQ(text(kernels[2]), "4: 0+2/3;");
  EXPECT_EQ(kernels[0].coverage, Coverage::kDeclared);
  EXPECT_EQ(kernels[1].duration_ns, 2000 + 4194);
  EXPECT_EQ(all<TensorAlloc>(records).at(0).offset, 1048576u);
  EXPECT_EQ(all<TensorFree>(records).size(), 1u);
  EXPECT_EQ(all<ObjectFree>(records).size(), 1u);
  EXPECT_EQ(all<Range>(records).at(0).name, "aten::linear");
}

TEST_F(ImportAccelprof, MemTraceNamesEveryAddress) {
  std::filesystem::create_directory(folder.path("traces"));
  // The columns are page, address, size, time, flags, warp.
  folder.write("traces/kernel_0.txt",
               "256 1048576 4 1 1 0\n256 1048580 4 2 1 0\n256 1049088 16 3 2 5\n9999 40960000 4 4 1 0\n\n"
               "ALLOCATION:  1048576 8192\nALLOCATION:  2097152 512\n\nTENSOR:  1049600 512\nTENSOR:  77 512\n\n"
               "KERNEL: 0 5\n");
  folder.write("traces/kernel_10.txt", "\nALLOCATION:  1048576 8192\n\n\nKERNEL: 7 8\n");
  folder.write("traces/kernel_2.txt", "256 1048576 4 1 6 8\n\nALLOCATION:  1048576 8192\n\n\nKERNEL: 5 6\n");
  folder.write("traces/notes.txt", "not a kernel\n");
  const std::vector<Record> records = import("traces");
  const std::vector<Kernel> kernels = all<Kernel>(records);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "kernel_0");
  EXPECT_EQ(kernels[1].name, "kernel_2");
  EXPECT_EQ(kernels[2].name, "kernel_10");
  EXPECT_EQ(text(kernels[0]), "1: 0+1/1 1+1/2;");
  EXPECT_EQ(text(kernels[1]), "1: 0+1/3;");  // an atomic
  EXPECT_EQ(kernels[0].coverage, Coverage::kInstrumented);
  EXPECT_EQ(kernels[2].coverage, Coverage::kNone);
  EXPECT_EQ(kernels[1].grid.x, 2u);                 // nine warps
  EXPECT_EQ(all<ObjectFree>(records).size(), 1u);   // no longer listed in the log
  EXPECT_EQ(all<TensorAlloc>(records).size(), 1u);  // one tensor lies in no allocation
  EXPECT_EQ(summary.bytes_outside, 4u);
}

TEST_F(ImportAccelprof, ManyScatteredAccessesAreJoined) {
  std::string lines;
  for (std::uint64_t i = 0; i < 200000; ++i) {  // every second word of 64 KB, over and over, backwards
    const std::uint64_t address = 1048576 + (8191 - i % 8192) * 8;
    lines += "256 " + std::to_string(address) + " 4 1 " + (i % 2 == 0 ? "1" : "2") + " 3\n";
  }
  folder.write("log", lines + "\nALLOCATION:  1048576 1048576\n\n\nKERNEL: 0 5\n");
  EXPECT_EQ(text(all<Kernel>(import()).at(0)), "1: 0+128/3;");
}

TEST_F(ImportAccelprof, HotAnalysisNamesRanges) {
  folder.write("log",
               "Tensor start ------------------------------------------4194304\n"
               "4194304 6291456 12\n6291456 8388608 0\n"
               "Tensor end ------------------------------------------8388608\n"
               "8388608 8388708 1\n\n4194304 4194304\n8388608 100\n\n4194304 1000\n");
  const std::vector<Record> records = import();
  EXPECT_EQ(summary.tool, "hot_analysis");
  EXPECT_EQ(text(all<Kernel>(records).at(0)), "1: 0+4096/3;2: 0+1/3;");
}

TEST_F(ImportAccelprof, AllocationsCanBeDeviceMemory) {
  folder.write("log", "256 1048576 4 1 1 0\n\nALLOCATION:  1048576 8192\n\n\nKERNEL: 0 5\n");
  AccelprofImportOptions options;
  options.kind = ObjectKind::kDevice;
  EXPECT_EQ(all<ObjectAlloc>(import("log", options)).at(0).kind, ObjectKind::kDevice);
}

TEST_F(ImportAccelprof, RefusesOtherLogs) {
  EXPECT_THAT(message_of([&] { import("missing"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(about(""), HasSubstr("not a log that can be imported"));
  EXPECT_THAT(about("Tensor Stats:\n  Alloc Count: 3\n"), HasSubstr("not a log that can be imported"));
  EXPECT_THAT(about("1 2 3 4 5\n"), HasSubstr("not a log that can be imported"));   // time_hotness_cpu
  EXPECT_THAT(about("4096\n8192\n"), HasSubstr("not a log that can be imported"));  // event_trace
  std::filesystem::create_directory(folder.path("empty"));
  EXPECT_THAT(message_of([&] { import("empty"); }), HasSubstr("no kernel_N.txt"));
  std::filesystem::create_directory(folder.path("mixed"));
  folder.write("mixed/kernel_0.txt", "256 1048576 4 1 1 0\n");
  folder.write("mixed/kernel_1.txt", "4194304 6291456 12\n");
  EXPECT_THAT(message_of([&] { import("mixed"); }), HasSubstr("unlike those before"));
}

TEST_F(ImportAccelprof, RefusesLinesThatCannotBe) {
  const std::string op = kAdvisorHead + "Op - o, op_id: 1, pending_ops: 1\n   Kernel: k, kernel_id: 1\n";
  const std::vector<std::pair<std::string, std::string>> all_bad = {
      {kAdvisorHead + "Op - o\n", "line 6: an operator without op_id"},
      {kAdvisorHead + "   Kernel: k\n", "a kernel without kernel_id"},
      {kAdvisorHead + "what is this\n", "'what is this' is no line of uvm_advisor"},
      {op, "ends within a kernel"},
      {op + "       MemAlloc (0): \n", "ends within a kernel"},
      {op + "       MemAlloc (1): \n       TenAlloc (0): \n", "MemAlloc (1) lists 0"},
      {op + "       MemAlloc (1): 1:(4096), \n", "no list of 'MemAlloc"},
      {op + "       MemAlloc (1): 1:(4096, -5), \n", "no list of 'MemAlloc"},
      {op + "       MemAlloc (1): 1:(99999999999999999999999, 5), \n", "no list of 'MemAlloc"},
      {op + "       MemAlloc (1): 1:(0, 5), \n", "5 bytes at 0; allowed"},
      {op + "       MemAlloc (1): 1:(4096, 18446744073709551615), \n", "bytes at 4096; allowed"},
      {op + "       TenAlloc (0): \n", "no list of 'MemAlloc"},
      {"256 1048576 4 1 1 0\n1 2 3\n", "line 2: an access needs six numbers"},
      {"256 1048576 4 1 1 0\n256 1048576 0 1 1 0\n", "an access of 0 bytes"},
      {"256 1048576 4 1 1 0\n256 1048576 4 1 1 99999999999\n", "by warp 99999999999"},
      {"256 1048576 4 1 1 0\n256 18446744073709551615 4 1 1 0\n", "allowed: 1 to"},
      {"256 1048576 4 1 1 0\nALLOCATION: 5\n", "needs an address and a size"},
      {"4194304 6291456 12\n6291456 6291456 3\n", "a range needs start, end and count"},
      {"4194304 6291456 12\n\n1 2 3\n", "needs an address and a size"},
      {"256 1048576 4 1 1 0\n\nALLOCATION: 1048576 8192\nALLOCATION: 1052672 8192\n\n\nKERNEL: 0 1\n", ""},
  };
  for (const auto& [content, words] : all_bad) {
    if (words.empty()) {  // the allocations overlap: the later one wins
      folder.write("log", content);
      EXPECT_EQ(all<ObjectFree>(import()).size(), 1u);
      continue;
    }
    EXPECT_THAT(about(content), HasSubstr(words)) << content;
  }
}

}  // namespace
}  // namespace uvmsim::trace
