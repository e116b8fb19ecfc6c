// SPDX-License-Identifier: Apache-2.0
// Tests of logs of NVBit's mem_trace and kernels of Accel-Sim, written here from the descriptions of their formats.
#include "sim/import/import_warp_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/common/error.h"
#include "sim/trace/validate.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::trace::import_warp_log_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportWarpLog : public ::testing::Test {
 protected:
  std::vector<Record> import(const std::string& tool, const std::string& path, ObjectKind kind = ObjectKind::kManaged) {
    const auto log = tool == "nvbit" ? open_nvbit_log(path) : open_accelsim_kernels(path);
    WarpLogImporter importer(*log, tool, path, {kind, ""});
    Validator validator("log", importer.header());
    std::vector<Record> records;
    for (Record record; importer.next(record);) {
      validator.check(record);
      records.push_back(record);
    }
    validator.finish();
    summary = importer.summary();
    return records;
  }
  std::vector<Record> import_text(const std::string& tool, const std::string& text) {
    folder.write("log", text);
    return import(tool, folder.path("log"));
  }
  std::string about(const std::string& tool, const std::string& text) {
    return message_of([&] { import_text(tool, text); });
  }
  template <class T>
  static std::vector<T> all(const std::vector<Record>& records) {
    std::vector<T> out;
    for (const Record& record : records) {
      if (const auto* one = std::get_if<T>(&record)) out.push_back(*one);
    }
    return out;
  }

  const ScratchFolder folder;
  WarpImportSummary summary;
};

constexpr const char* kLaunch =
    "MEMTRACE: CTX 0x000055d0 - LAUNCH - Kernel pc 0x00007f00 - Kernel name add(float*, float - x) - grid launch id 3 "
    "- "
    "grid size 2,1,1 - block size 64,1,1 - nregs 16 - shmem 128 - cuda stream id 94108\n";
const std::string kAccess = "MEMTRACE: CTX 0x000055d0 - grid_launch_id 3 - ";

TEST_F(ImportWarpLog, NvbitHasEveryAddressByThreadBlock) {
  const std::vector<Record> records = import_text(
      "nvbit", std::string("the program prints too\n") + kLaunch + kAccess +
                   "CTA 0,0,0 - warp 0 - LDG.E - 0x00007e0000000200 0x0000000000000000 0x00007e0000000204 \n" +
                   kAccess + "CTA 1,0,0 - warp 1 - STG.E.128 - 0x00007e00000011f8 \n" + kAccess +
                   "CTA 1,0,0 - warp 1 - LDS.U - 0x0000000000000040 \n" + kAccess +
                   "CTA 1,0,0 - warp 0 - RED.E.ADD.STRONG.GPU - 0x00007e0000200000 \n");
  const std::vector<ObjectAlloc> objects = all<ObjectAlloc>(records);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].va, 0x7e0000000000u);
  EXPECT_EQ(objects[0].bytes, 4u << 20);
  const std::vector<Kernel> kernels = all<Kernel>(records);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "add(float*, float - x)");
  EXPECT_EQ(kernels[0].grid.x, 2u);
  EXPECT_EQ(kernels[0].block.x, 64u);
  EXPECT_EQ(kernels[0].registers_per_thread, 16u);
  EXPECT_EQ(kernels[0].coverage, Coverage::kInstrumented);
  // 16 bytes at 0x11f8 lie in two units.
  EXPECT_THAT(std::vector<Extent>(kernels[0].accesses.at(0).extents),
              ElementsAre(Extent{1, 1, AccessMode::kRead}, Extent{8, 2, AccessMode::kWrite},
                          Extent{4096, 1, AccessMode::kReadWrite}));
  ASSERT_EQ(kernels[0].phases.size(), 2u);
  EXPECT_EQ(kernels[0].phases[0].first_block, 0u);
  EXPECT_THAT(kernels[0].phases[0].accesses.at(0).extents, ElementsAre(Extent{1, 1, AccessMode::kRead}));
  EXPECT_EQ(kernels[0].phases[1].first_block, 1u);
  EXPECT_EQ(summary.instructions, 3u);
  // Memory that is read before it is written was written by the host.
  const std::vector<HostAccess> written = all<HostAccess>(records);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_THAT(std::vector<Extent>(written[0].extents),
              ElementsAre(Extent{1, 1, AccessMode::kWrite}, Extent{4096, 1, AccessMode::kWrite}));
}

TEST_F(ImportWarpLog, NvbitLinesThatCannotBeAreRefusedByLine) {
  EXPECT_THAT(about("nvbit", "hello\n"), HasSubstr("no line says LAUNCH"));
  EXPECT_THAT(about("nvbit", std::string(kLaunch) + "CTX 0x1 - grid_launch_id 9 - CTA 0,0,0 - warp 0 - LDG.E - 0x1\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("grid_launch_id 9 was not launched")));
  EXPECT_THAT(about("nvbit", kLaunch + kAccess + "CTA 2,0,0 - warp 0 - LDG.E - 0x7e00\n"),
              HasSubstr("beyond the grid"));
  EXPECT_THAT(about("nvbit", kLaunch + kAccess + "CTA 0,0,0 - warp 0 - LDG.E - 0x7eg0\n"), HasSubstr("is no address"));
  EXPECT_THAT(about("nvbit", kLaunch + kAccess + "CTA 0,0,0 - warp 0 - LDG.E - 0xfffffffffffffff0\n"),
              HasSubstr("beyond the address space"));
  EXPECT_THAT(about("nvbit", "{\"traceEvents\": []}"), HasSubstr("trace import kineto"));
}

constexpr const char* kHeader =
    "-kernel name = _Z3addPf\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 12\n"
    "-binary version = 80\n-cuda stream id = 0\n-shmem base_addr = 0x00007f5900000000\n"
    "-local mem base_addr = 0x00007f5800000000\n-nvbit version = 1.7\n-accelsim tracer version = 4\n\n"
    "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] "
    "[mem_addresses]\n\n";

TEST_F(ImportWarpLog, AccelsimHasThreeFormsOfAddresses) {
  const std::vector<Record> records = import_text(
      "accelsim", std::string(kHeader) +
                      "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 5\n"
                      "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 \n"
                      "0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7e0000000000 32 \n"  // one unit per 16 threads
                      "0020 00000003 1 R2 LDG.E.64 1 R4 8 0 0x7e0000001000 0x7e0000002000 \n"
                      "0030 00000007 0 STG.E.U8 2 R4 R2 1 2 0x7e0000003000 512 -512 \n"
                      "0040 ffffffff 1 R2 LDS 1 R4 4 1 0x10 4 \n\n#END_TB\n\n"
                      "#BEGIN_TB\n\nthread block = 1,0,0\n\nwarp = 0\ninsts = 2\n"
                      "0010 00000001 1 R2 LD.E 1 R4 4 1 0x7f5900000010 4 \n"  // shared memory by a generic address
                      "0020 00000000 1 R2 LDG.E 1 R4 4 0 \n\n#END_TB\n");
  const std::vector<Kernel> kernels = all<Kernel>(records);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "_Z3addPf");
  EXPECT_THAT(std::vector<Extent>(kernels[0].accesses.at(0).extents),
              ElementsAre(Extent{0, 2, AccessMode::kRead}, Extent{8, 1, AccessMode::kRead},
                          Extent{16, 1, AccessMode::kRead}, Extent{24, 2, AccessMode::kWrite}));
  EXPECT_EQ(summary.instructions, 4u);
}

TEST_F(ImportWarpLog, AListOfKernelsHasCopiesBetweenThem) {
  folder.write("kernelslist.g",
               "MemcpyHtoD,0x00007e0000000000,1024\nkernel-1.traceg\n\nMemcpyHtoD,0x00007e0000400000,512\n");
  folder.write("kernel-1.traceg", std::string(kHeader) +
                                      "#BEGIN_TB\nthread block = 1,0,0\nwarp = 0\ninsts = 1\n"
                                      "0010 00000001 1 R2 LDG.E 1 R4 4 1 0x7e0000000000 4\n#END_TB\n");
  const std::string path = std::filesystem::path(folder.path("kernelslist.g")).parent_path().string();
  const std::vector<Record> managed = import("accelsim", path);
  EXPECT_EQ(all<HostAccess>(managed).size(), 2u);  // the two copies; no other memory is read first
  EXPECT_TRUE(all<Memcpy>(managed).empty());
  EXPECT_EQ(summary.implied_host_bytes, 0u);
  EXPECT_EQ(all<Kernel>(managed).size(), 1u);
  const std::vector<Memcpy> copies = all<Memcpy>(import("accelsim", path, ObjectKind::kDevice));
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].bytes, 1024u);
  EXPECT_EQ(copies[0].kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copies[1].dst.object, 2u);
}

TEST_F(ImportWarpLog, TracesThatAreNotGroupedNameTheirThreadBlock) {
  const std::vector<Kernel> kernels = all<Kernel>(
      import_text("accelsim", std::string(kHeader) + "1 0 0 0 0010 00000001 1 R2 LDG.E 1 R4 4 1 0x7e0000000000 4 \n"));
  EXPECT_EQ(kernels.at(0).accesses.size(), 1u);
}

TEST_F(ImportWarpLog, AccelsimRefusesWhatCannotBe) {
  EXPECT_THAT(about("accelsim", "hello\n"), HasSubstr("no kernel of Accel-Sim"));
  EXPECT_THAT(about("accelsim", ""), HasSubstr("the file is empty"));
  EXPECT_THAT(about("accelsim", std::string(kLaunch)), HasSubstr("trace import nvbit"));
  EXPECT_THAT(about("accelsim", std::string(kHeader) + "#BEGIN_TB\n0010 1 0 LDG.E 0 4 1 0x7e00 4\n"),
              HasSubstr("outside of a thread block"));
  EXPECT_THAT(about("accelsim", std::string(kHeader) + "#BEGIN_TB\nthread block = 5,0,0\n"),
              HasSubstr("beyond the grid"));
  EXPECT_THAT(about("accelsim", std::string(kHeader) + "#BEGIN_TB\nthread block = 0,0,0\n0010 1 99 R1\n"),
              HasSubstr("99 registers"));
  EXPECT_THAT(message_of([&] { open_accelsim_kernels(std::filesystem::temp_directory_path().string()); }),
              HasSubstr("holds neither kernelslist.g nor kernelslist"));
}

}  // namespace
}  // namespace uvmsim::trace::import_warp_log_test
