// SPDX-License-Identifier: Apache-2.0
// Tests of Nsight Systems exports that the tests build table by table, with known content, and of impossible ones.
#include "sim/import/import_nsys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <fstream>

#include "sim/common/error.h"
#include "sim/import/nsys_faults.h"
#include "sim/trace/validate.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPid = std::to_string(std::int64_t{42} << 24);  // globalPid of process 42

class ImportNsys : public ::testing::Test {
 protected:
  // Runs statements on the report; the first one creates it.
  void sql(const std::string& statements) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);  // losing the file does no harm
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    sqlite3_close(database);
  }
  std::string path() const { return folder.path("report.sqlite"); }

  void strings() {
    sql("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
        "INSERT INTO StringIds VALUES (1, 'void scan<float>(float*)'), (2, 'cudaLaunchKernel_v7000'),"
        "(3, 'cudaDeviceSynchronize_v3020'), (4, 'cudaMemcpyAsync_v3020'), (5, 'cudaStreamSynchronize_v3020');");
  }
  void kernel_table() {
    sql("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT, contextId INT,"
        "streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT,"
        "gridZ INT, blockX INT, blockY INT, blockZ INT, registersPerThread INT, staticSharedMemory INT,"
        "dynamicSharedMemory INT);");
  }
  void kernel(int start, int end, int correlation = 0, const std::string& pid = kPid) {
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + "," + std::to_string(end) +
        ",0,1,7," + std::to_string(correlation) + "," + pid + ",1,1,10,2,1,128,1,1,32,100,1000);");
  }
  void memory_table() {
    sql("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, address INT, bytes INT,"
        "memKind INT, memoryOperationType INT);");
  }
  void memory(int start, std::uint64_t address, std::uint64_t bytes, int kind, int operation) {
    sql("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (" + std::to_string(start) + "," + kPid + ",0," +
        std::to_string(address) + "," + std::to_string(bytes) + "," + std::to_string(kind) + "," +
        std::to_string(operation) + ");");
  }
  void copy_table() {
    sql("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT,"
        "globalPid INT, bytes INT, copyKind INT, migrationCause INT, virtualAddress INT);");
  }
  void copy(int start, int end, std::uint64_t bytes, int kind, int cause, std::uint64_t address, int correlation = -1) {
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, bytes, "
        "copyKind, migrationCause, virtualAddress) VALUES (" +
        std::to_string(start) + "," + std::to_string(end) + ",0,3," + std::to_string(correlation) + "," + kPid + "," +
        std::to_string(bytes) + "," + std::to_string(kind) + "," + std::to_string(cause) + "," +
        std::to_string(address) + ");");
  }
  void gpu_fault_table() {
    sql("CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INT, end INT, globalPid INT, deviceId INT, address INT,"
        "numberOfPageFaults INT, faultAccessType INT);");
  }
  void gpu_fault(int start, int end, std::uint64_t address, int access) {
    sql("INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (" + std::to_string(start) + "," + std::to_string(end) + "," +
        kPid + ",0," + std::to_string(address) + ",3," + std::to_string(access) + ");");
  }
  void cpu_fault(int start, std::uint64_t address) {
    sql("CREATE TABLE IF NOT EXISTS CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INT, globalPid INT, address INT);"
        "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (" +
        std::to_string(start) + "," + kPid + "," + std::to_string(address) + ");");
  }
  void call(int start, int end, int correlation, int name) {
    sql("CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT,"
        "nameId INT); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" +
        std::to_string(start) + "," + std::to_string(end) + "," + kPid + "," + std::to_string(correlation) + "," +
        std::to_string(name) + ");");
  }

  std::vector<Record> import(const NsysImportOptions& options = {}) {
    NsysImporter importer(path(), options);
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
  std::string about(const NsysImportOptions& options = {}) {
    return message_of([&] { import(options); });
  }
  template <class T>
  static std::vector<T> all(const std::vector<Record>& records) {
    std::vector<T> out;
    for (const Record& record : records) {
      if (const auto* one = std::get_if<T>(&record)) out.push_back(*one);
    }
    return out;
  }
  static std::vector<std::size_t> kinds(const std::vector<Record>& records) {
    std::vector<std::size_t> out;
    for (const Record& record : records) out.push_back(record.index());
    return out;
  }
  static void expect_extents(const std::vector<Extent>& seen, const std::vector<Extent>& expected) {
    ASSERT_EQ(seen.size(), expected.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i].first, expected[i].first);
      EXPECT_EQ(seen[i].count, expected[i].count);
      EXPECT_EQ(seen[i].mode, expected[i].mode);
    }
  }

  const ScratchFolder folder;
  NsysImportSummary summary;
};

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint64_t kPageQuanta = 8;

TEST_F(ImportNsys, AKernelWithFaultsHasThePagesThatMoved) {
  strings();
  kernel_table();
  memory_table();
  copy_table();
  gpu_fault_table();
  memory(100, kBase, 4 << 20, 4, 0);
  kernel(1000, 51000);
  gpu_fault(2000, 22000, kBase + 8192, 1);
  copy(10000, 11000, 4096, 11, 2, kBase + 8192);
  copy(11000, 12000, 8192, 11, 2, kBase + 40960);
  copy(12000, 13000, 61440, 11, 3, kBase + 49152);  // the driver's own prefetch
  gpu_fault(30000, 40000, kBase + (2 << 20), 2);    // nothing to move
  memory(60000, kBase, 4 << 20, 4, 1);
  const std::vector<Record> records = import();
  const std::vector<Kernel> kernels = all<Kernel>(records);
  ASSERT_EQ(kernels.size(), 1u);
  const Kernel& kernel = kernels[0];
  EXPECT_EQ(kernel.name, "void scan<float>(float*)");
  EXPECT_EQ(kernel.grid.count(), 20u);
  EXPECT_EQ(kernel.block.x, 128u);
  EXPECT_EQ(kernel.stream, 7u);
  EXPECT_EQ(kernel.registers_per_thread, 32u);
  EXPECT_EQ(kernel.shared_bytes_per_block, 1100u);
  EXPECT_EQ(kernel.duration_ns, 20000);  // 50 us less two batches of 20 and 10 us
  EXPECT_EQ(kernel.coverage, Coverage::kDeclared);
  ASSERT_EQ(kernel.accesses.size(), 1u);
  expect_extents(kernel.accesses[0].extents, {{2 * kPageQuanta, kPageQuanta, AccessMode::kRead},
                                              {10 * kPageQuanta, 17 * kPageQuanta, AccessMode::kRead},
                                              {512 * kPageQuanta, kPageQuanta, AccessMode::kWrite}});
  NsysImportOptions faulted;
  faulted.accesses = NsysAccesses::kFaulted;
  expect_extents(all<Kernel>(import(faulted))[0].accesses[0].extents,
                 {{2 * kPageQuanta, kPageQuanta, AccessMode::kRead},
                  {10 * kPageQuanta, 2 * kPageQuanta, AccessMode::kRead},
                  {512 * kPageQuanta, kPageQuanta, AccessMode::kWrite}});
  const std::vector<UvmCounter> counters = all<UvmCounter>(records);
  ASSERT_EQ(counters.size(), 5u);
  EXPECT_EQ(counters[0].kind, "gpu_fault");
  EXPECT_EQ(counters[0].offset, 8192u);
  EXPECT_EQ(counters[0].value, 3u);
  EXPECT_EQ(counters[0].start_ns, 1000);
  EXPECT_EQ(counters[0].end_ns, 21000);
  EXPECT_EQ(counters[3].kind, "htod");
  EXPECT_EQ(counters[3].flags, 3u);
  EXPECT_EQ(all<ObjectAlloc>(records).at(0).va, kBase);
  EXPECT_EQ(all<ObjectFree>(records).size(), 1u);
  EXPECT_EQ(summary.covered_kernels, 1u);
  EXPECT_EQ(summary.unattributed + summary.ambiguous + summary.outside + summary.inferred_objects, 0u);
  NsysImportOptions without;
  without.counters = false;
  EXPECT_TRUE(all<UvmCounter>(import(without)).empty());
}

// Without the host's write the page would be zeros, which are not copied.
TEST_F(ImportNsys, WhatComesFromTheHostFirstWasWrittenThere) {
  strings();
  kernel_table();
  memory_table();
  copy_table();
  memory(100, kBase, 4 << 20, 4, 0);
  cpu_fault(150, kBase);
  kernel(1000, 51000);
  copy(10000, 11000, 8192, 11, 2, kBase);           // the first page faulted on the CPU, the second did not
  copy(12000, 13000, 4096, 12, 4, kBase + 65536);   // populated on the GPU, evicted
  copy(14000, 15000, 4096, 11, 2, kBase + 65536);   // fetched again
  copy(16000, 17000, 8192, 11, 3, kBase + 131072);  // prefetched
  copy(18000, 19000, 8192, 11, 2, kBase + 131072);  // prefetched again
  memory(60000, kBase, 4 << 20, 4, 1);
  memory(61000, kBase, 4 << 20, 4, 0);  // other data at the same place
  kernel(70000, 80000);
  copy(71000, 72000, 4096, 11, 2, kBase);
  const std::vector<Record> records = import();
  std::vector<HostAccess> written;
  for (const HostAccess& access : all<HostAccess>(records)) {
    if (access.extents.front().mode == AccessMode::kWrite) written.push_back(access);
  }
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].object, 1u);
  expect_extents(written[0].extents, {{kPageQuanta, kPageQuanta, AccessMode::kWrite},
                                      {32 * kPageQuanta, 2 * kPageQuanta, AccessMode::kWrite}});
  EXPECT_EQ(written[1].object, 2u);
  expect_extents(written[1].extents, {{0, kPageQuanta, AccessMode::kWrite}});
  EXPECT_EQ(summary.implied_host_bytes, 4u * 4096);
  const auto is_host_data = [](const Record& record) { return std::holds_alternative<HostAccess>(record); };
  const auto is_kernel = [](const Record& record) { return std::holds_alternative<Kernel>(record); };
  EXPECT_LT(std::find_if(records.begin(), records.end(), is_host_data),
            std::find_if(records.begin(), records.end(), is_kernel));
}

TEST_F(ImportNsys, ManagedMemoryThatOnlyEventsSpeakOfIsInferred) {
  strings();
  kernel_table();
  copy_table();
  gpu_fault_table();
  kernel(1000, 9000);
  gpu_fault(2000, 3000, kBase + 4096, 2);
  copy(2100, 2200, 4096, 11, 2, kBase + (3 << 20));  // the next block
  gpu_fault(4000, 5000, kBase + (64 << 20), 3);      // far away
  const std::vector<ObjectAlloc> objects = all<ObjectAlloc>(import());
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].va, kBase);
  EXPECT_EQ(objects[0].bytes, 4u << 20);
  EXPECT_EQ(objects[1].va, kBase + (64 << 20));
  EXPECT_EQ(summary.inferred_objects, 2u);
}

TEST_F(ImportNsys, CallsGiveTheOrderTheGapsAndTheSynchronisations) {
  strings();
  kernel_table();
  memory_table();
  copy_table();
  sql("CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, streamId INT, correlationId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 2, 9, 14);");
  memory(50, kBase, 4096, 4, 0);
  call(100, 110, 11, 2);
  call(150, 160, 12, 2);
  call(170, 180, 13, 4);
  call(200, 900, 14, 5);
  call(910, 950, 15, 3);
  kernel(500, 600, 12);  // the second launch ran first
  kernel(650, 800, 11);
  copy(700, 710, 100, 1, 0, 0, 13);
  cpu_fault(1000, kBase + 5);
  const std::vector<Record> records = import();
  EXPECT_EQ(kinds(records),
            (std::vector<std::size_t>{Record(ObjectAlloc{}).index(), Record(Kernel{}).index(), Record(Kernel{}).index(),
                                      Record(Memcpy{}).index(), Record(Sync{}).index(), Record(Sync{}).index(),
                                      Record(UvmCounter{}).index(), Record(HostAccess{}).index()}));
  EXPECT_EQ(all<Kernel>(records)[0].duration_ns, 150);
  EXPECT_EQ(all<Kernel>(records)[0].coverage, Coverage::kNone);
  EXPECT_EQ(all<Kernel>(records)[1].host_gap_ns, 40);
  EXPECT_FALSE(all<Memcpy>(records)[0].blocking);
  EXPECT_EQ(all<Memcpy>(records)[0].kind, CopyKind::kHostToDevice);
  EXPECT_EQ(all<Sync>(records)[0].kind, SyncKind::kStream);
  EXPECT_EQ(all<Sync>(records)[0].stream, 9u);
  EXPECT_EQ(all<Sync>(records)[1].kind, SyncKind::kDevice);
  expect_extents(all<HostAccess>(records)[0].extents, {{0, 8, AccessMode::kReadWrite}});
}

TEST_F(ImportNsys, WithoutCallsAHostAccessAfterTheKernelsWaitsForThem) {
  strings();
  kernel_table();
  kernel(100, 200);
  cpu_fault(150, kBase);
  cpu_fault(300, kBase);
  cpu_fault(310, kBase + 4096);
  const std::vector<Record> records = import();
  EXPECT_EQ(all<Sync>(records).size(), 1u);
  const std::vector<HostAccess> accesses = all<HostAccess>(records);  // before and after the wait
  ASSERT_EQ(accesses.size(), 2u);
  expect_extents(accesses[0].extents, {{0, kPageQuanta, AccessMode::kReadWrite}});
  expect_extents(accesses[1].extents, {{0, 2 * kPageQuanta, AccessMode::kReadWrite}});
}

TEST_F(ImportNsys, OverlappingKernelsAndStrayEventsAreCounted) {
  strings();
  kernel_table();
  gpu_fault_table();
  kernel(100, 500);
  kernel(200, 400);
  gpu_fault(300, 310, kBase, 1);
  gpu_fault(450, 460, kBase + 4096, 1);
  gpu_fault(900, 910, kBase + 8192, 1);
  const std::vector<Kernel> kernels = all<Kernel>(import());
  EXPECT_EQ(summary.ambiguous, 1u);
  EXPECT_EQ(summary.unattributed, 1u);
  expect_extents(kernels[0].accesses.at(0).extents, {{0, 16, AccessMode::kRead}});
  EXPECT_TRUE(kernels[1].accesses.empty());
}

TEST_F(ImportNsys, AnAddressUsedAgainWasFreed) {
  strings();
  kernel_table();
  memory_table();
  kernel(10, 20);
  memory(1, kBase, 8192, 2, 0);
  memory(2, kBase + 4096, 8192, 4, 0);
  memory(3, kBase, 8192, 2, 1);  // freed already
  const std::vector<Record> records = import();
  EXPECT_EQ(all<ObjectFree>(records).size(), 1u);
  EXPECT_EQ(summary.missing_frees, 1u);
  EXPECT_EQ(all<ObjectAlloc>(records)[0].kind, ObjectKind::kDevice);
}

// The report is the output of `nsys profile` without further flags: no events of faults.
TEST_F(ImportNsys, WithoutFaultEventsMigrationsTellWhatWasTouchedAndHowLongItTook) {
  strings();
  kernel_table();
  copy_table();
  call(100, 110, 11, 2);
  call(120, 2000000, 12, 3);
  kernel(1000, 1500000, 11);
  copy(101000, 103000, 4096, 11, 2, kBase);  // 100 us of computing before it
  copy(103000, 108000, 61440, 11, 3, kBase + 4096);
  copy(150000, 152000, 65536, 11, 2, kBase + 65536);    // the driver paused for 42 us
  copy(400000, 410000, 131072, 11, 2, kBase + 131072);  // more computing in between
  copy(2100000, 2102000, 4096, 12, 2, kBase + 65536);   // the host reads
  copy(2102000, 2106000, 61440, 12, 3, kBase + 69632);
  const std::vector<Record> records = import();
  const std::vector<Kernel> kernels = all<Kernel>(records);
  ASSERT_EQ(kernels.size(), 1u);
  expect_extents(kernels[0].accesses.at(0).extents, {{0, 64 * kPageQuanta, AccessMode::kReadWrite}});
  const std::int64_t first = 152000 + kAfterCopiesNs - (101000 - kBeforeCopiesNs);
  const std::int64_t second = 410000 + kAfterCopiesNs - (400000 - kBeforeCopiesNs);
  EXPECT_EQ(kernels[0].duration_ns, 1499000 - first - second);
  std::vector<HostAccess> read;
  for (const HostAccess& access : all<HostAccess>(records)) {
    if (access.extents[0].mode == AccessMode::kReadWrite) read.push_back(access);
  }
  ASSERT_EQ(read.size(), 1u);
  expect_extents(read[0].extents, {{16 * kPageQuanta, 16 * kPageQuanta, AccessMode::kReadWrite}});
  EXPECT_TRUE(std::holds_alternative<HostAccess>(records.back()));
  EXPECT_EQ(summary.to_gpu.recorded, 262144u);
  EXPECT_EQ(summary.to_gpu.accounted, 262144u);
  EXPECT_EQ(summary.to_host.recorded, 65536u);
  EXPECT_EQ(summary.to_host.accounted, 65536u);
  EXPECT_EQ(summary.not_recorded.size(), 3u);  // faults of both sides, allocations
  const std::vector<std::pair<std::string, std::string>> attributes = NsysImporter(path()).header().attributes;
  EXPECT_THAT(attributes[1].second, HasSubstr("less the time of migrations"));
  EXPECT_THAT(attributes[2].second, HasSubstr("--cuda-um-gpu-page-faults=true"));
}

TEST_F(ImportNsys, NothingIsSubtractedWhereNothingFaulted) {
  strings();
  kernel_table();
  kernel(10, 20);
  EXPECT_EQ(NsysImporter(path()).header().attributes[1].second, "recorded");
}

// No migration fetched the memory, so a kernel wrote it.
TEST_F(ImportNsys, WhatComesBackFirstWasWrittenByTheLastKernelThatHadBegun) {
  strings();
  kernel_table();
  copy_table();
  memory_table();
  memory(1, kBase, 2 << 20, 4, 0);
  kernel(100, 200);
  kernel(300, 400);
  kernel(9000, 9100);
  copy(500, 600, 8192, 12, 2, kBase + 4096);
  copy(700, 800, 4096, 11, 1, kBase + 65536);
  copy(850, 860, 4096, 12, 1, kBase + 65536);  // fetched by a migration
  const std::vector<Kernel> kernels = all<Kernel>(import());
  EXPECT_TRUE(kernels[0].accesses.empty());
  expect_extents(kernels[1].accesses.at(0).extents, {{kPageQuanta, 2 * kPageQuanta, AccessMode::kWrite}});
  EXPECT_TRUE(kernels[2].accesses.empty());
  EXPECT_EQ(summary.implied_gpu_bytes, 8192u);
}

TEST_F(ImportNsys, CallsThatPrefetchAreTheirMigrations) {
  strings();
  sql("INSERT INTO StringIds VALUES (6, 'cudaMemPrefetchAsync_v8000');");
  kernel_table();
  copy_table();
  memory_table();
  memory(1, kBase, 8 << 20, 4, 0);
  call(100, 900, 10, 6);  // moves two blocks before the call returns
  copy(200, 300, 2 << 20, 11, 1, kBase);
  copy(300, 400, 2 << 20, 11, 1, kBase + (2 << 20));
  call(1000, 1010, 11, 2);
  kernel(1005, 5000, 11);
  call(1100, 1110, 12, 6);  // moves them back, behind the kernel
  call(1200, 1210, 13, 6);  // moves nothing
  copy(5100, 5200, 1 << 20, 12, 1, kBase + (1 << 20));
  const std::vector<Record> records = import();
  const std::vector<Prefetch> prefetches = all<Prefetch>(records);
  ASSERT_EQ(prefetches.size(), 2u);
  EXPECT_EQ(prefetches[0].offset, 0u);
  EXPECT_EQ(prefetches[0].bytes, 4u << 20);
  EXPECT_EQ(prefetches[0].destination, 0);
  EXPECT_EQ(prefetches[0].stream, 7u);  // the stream of the following launch
  EXPECT_EQ(prefetches[1].offset, 1u << 20);
  EXPECT_EQ(prefetches[1].bytes, 1u << 20);
  EXPECT_EQ(prefetches[1].destination, -1);
  EXPECT_EQ(prefetches[1].host_gap_ns, 90);
  std::vector<std::size_t> order;
  for (const Record& record : records) {
    if (std::holds_alternative<Prefetch>(record) || std::holds_alternative<Kernel>(record)) {
      order.push_back(record.index());
    }
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{Record(Prefetch{}).index(), Record(Kernel{}).index(),
                                             Record(Prefetch{}).index()}));
  EXPECT_EQ(summary.prefetch_calls, 3u);
  EXPECT_EQ(summary.idle_prefetch_calls, 1u);
  EXPECT_EQ(summary.to_gpu.accounted, 4u << 20);
  EXPECT_EQ(summary.to_host.accounted, 1u << 20);
}

TEST_F(ImportNsys, GraphsRecordedAsWholesAreCounted) {
  strings();
  kernel_table();
  kernel(10, 20);
  sql("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, graphId INT, globalPid INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100, 1100, 0, 1, " +
      kPid + "), (1200, 3200, 0, 1, " + kPid + ");");
  import();
  EXPECT_EQ(summary.graphs, 2u);
  EXPECT_EQ(summary.graph_ns, 3000);
  EXPECT_THAT(summary.not_recorded, ::testing::ElementsAre(HasSubstr("calls"), HasSubstr("--cuda-graph-trace=node")));
  sql("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  EXPECT_THAT(about(),
              AllOf(HasSubstr("2 graph launches (0.003 ms of GPU time)"), HasSubstr("--cuda-graph-trace=node")));
}

TEST_F(ImportNsys, WithoutKernelsTheMessageSaysWhatTheFileIs) {
  sql("CREATE TABLE StringTable (_id_ INT, value TEXT); CREATE TABLE Version (version INT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (_id_ INT, start INT, end INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 10, 20);");
  EXPECT_THAT(about(), HasSubstr("an export of nvprof (tables StringTable, Version), not of Nsight Systems"));
  std::filesystem::remove(path());
  sql("CREATE TABLE songs (title TEXT)");
  EXPECT_THAT(about(), HasSubstr("no report of Nsight Systems (its tables: songs)"));
  std::filesystem::remove(path());
  strings();
  EXPECT_THAT(about(), HasSubstr("record with --trace=cuda"));
  call(100, 110, 1, 3);
  EXPECT_THAT(about(), AllOf(HasSubstr("CUDA was traced (1 calls)"), ::testing::Not(HasSubstr("--trace=cuda"))));
}

TEST_F(ImportNsys, EventsStreamsAndTheHostWaitForWhatTheReportNames) {
  strings();
  sql("INSERT INTO StringIds VALUES (6, 'cudaEventRecord_v3020'), (7, 'cudaStreamWaitEvent_v3020'),"
      "(8, 'cudaEventSynchronize_v3020');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId INT, correlationId INT, eventId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (9, 20, 5);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (streamId INT, correlationId INT, syncType INT, eventId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (11, 21, 2, 5), (4294967295, 22, 1, 5),"
      "(4294967295, 23, 1, 4294967295), (11, 24, 2, 77);");
  kernel_table();
  kernel(10, 20);
  call(100, 101, 20, 6);
  call(200, 201, 21, 7);
  call(300, 301, 22, 8);
  call(400, 401, 23, 3);
  call(500, 501, 24, 7);  // for an event that was not recorded
  call(600, 601, 25, 5);  // for a stream that no row names
  const std::vector<Sync> waits = all<Sync>(import());
  ASSERT_EQ(waits.size(), 5u);
  EXPECT_EQ(waits[0].kind, SyncKind::kEventRecord);
  EXPECT_EQ(waits[0].stream, 9u);
  EXPECT_EQ(waits[1].kind, SyncKind::kEventWait);
  EXPECT_EQ(waits[1].stream, 11u);
  EXPECT_EQ(waits[1].event, waits[0].event);
  EXPECT_EQ(waits[2].kind, SyncKind::kEventSynchronize);
  EXPECT_EQ(waits[2].event, waits[0].event);
  EXPECT_EQ(waits[3].kind, SyncKind::kDevice);  // whatever syncType says
  EXPECT_EQ(waits[4].kind, SyncKind::kDevice);
  EXPECT_EQ(summary.lost_waits, 1u);
  EXPECT_EQ(summary.vague_waits, 1u);
}

TEST_F(ImportNsys, CopiesAndFillsOfManagedMemoryFindTheirObjectBySize) {
  strings();
  kernel_table();
  memory_table();
  memory(1, kBase, 8192, 4, 0);
  memory(2, kBase + (2 << 20), 65536, 4, 0);
  memory(3, kBase + (4 << 20), 65536, 4, 0);
  kernel(10, 20);
  sql("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, bytes INT, copyKind INT, srcKind INT, dstKind INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (30, 31, 8192, 1, 0, 4), (40, 41, 65536, 2, 4, 0),"
      "(50, 51, 100, 8, 2, 2);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, bytes INT, streamId INT, memKind INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (60, 61, 8192, 7, 4), (70, 71, 512, 7, 2), (80, 81, 65536, 7, "
      "4);");
  const std::vector<Record> records = import();
  const std::vector<Memcpy> copies = all<Memcpy>(records);
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].dst.object, 1u);
  EXPECT_EQ(copies[1].src.object, kNoObject);  // two objects have this size
  const std::vector<Memset> fills = all<Memset>(records);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(fills[0].object, 1u);
  EXPECT_EQ(fills[0].bytes, 8192u);
  EXPECT_EQ(summary.unplaced_copies, 1u);
  EXPECT_EQ(summary.fills_left_out, 2u);
}

TEST_F(ImportNsys, FillsBlockTheHostAsTheirCallsDo) {
  strings();
  kernel_table();
  memory_table();
  memory(1, kBase, 8192, 4, 0);
  kernel(10, 20);
  sql("INSERT INTO StringIds VALUES (6, 'cudaMemset_v3020'), (7, 'cudaMemsetAsync_v3020');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, bytes INT, streamId INT, memKind INT, "
      "correlationId "
      "INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (60, 61, 8192, 7, 4, 20), (70, 71, 8192, 7, 4, 21),"
      "(80, 81, 8192, 7, 4, 22);");
  call(50, 62, 20, 6);
  call(65, 66, 21, 7);
  const std::vector<Memset> fills = all<Memset>(import());
  ASSERT_EQ(fills.size(), 3u);
  EXPECT_TRUE(fills[0].blocking);
  EXPECT_FALSE(fills[1].blocking);
  EXPECT_FALSE(fills[2].blocking) << "its call was not recorded";
}

class ImportNsysRanges : public ImportNsys {
 protected:
  void range(int start, int end, const std::string& name, int type = 59) {
    sql("CREATE TABLE IF NOT EXISTS NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT, globalTid "
        "INT);"
        "INSERT INTO NVTX_EVENTS VALUES (" +
        std::to_string(start) + "," + std::to_string(end) + "," + std::to_string(type) + ",'" + name + "',NULL," +
        kPid + ");");
  }
  std::vector<std::string> ranges(const NsysImportOptions& options = {}) {
    std::vector<std::string> out;
    for (const Range& range : all<Range>(import(options))) {
      constexpr std::array kSigns = {"<", ">", "[", "]"};
      out.push_back(kSigns.at(static_cast<std::size_t>(range.kind)) + range.name);
    }
    return out;
  }
  void SetUp() override {
    strings();
    kernel_table();
    kernel(110, 120);
    kernel(210, 220);
    kernel(310, 320);
    range(50, 400, "train");
    range(100, 200, "step 1");
    range(105, 130, "forward");
    range(200, 300, "step 2");
    range(300, 400, "step 13");
    range(1, 2, "mark", 34);
  }
};

TEST_F(ImportNsysRanges, ThoseThatRepeatAndHoldTheKernelsAreIterations) {
  EXPECT_THAT(ranges(), ::testing::ElementsAre("<train", "[", "<forward", ">", "]", "[", "]", "[", "]", ">"));
  EXPECT_EQ(summary.iteration, "step #");
  EXPECT_EQ(summary.iterations, 3u);
}

TEST_F(ImportNsysRanges, AnotherNameMayBeWanted) {
  NsysImportOptions options;
  options.iterations = "forward";
  EXPECT_THAT(ranges(options),
              ::testing::ElementsAre("<train", "<step 1", "[", "]", ">", "<step 2", ">", "<step 13", ">", ">"));
  options.iterations = "steps";
  EXPECT_THAT(about(options), AllOf(HasSubstr("no NVTX ranges 'steps'"), HasSubstr("step #")));
}

TEST_F(ImportNsys, FaultsGoToTheKernelOfTheirGpu) {
  strings();
  kernel_table();
  copy_table();
  kernel(100, 500);
  sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 400, 1, 1, 7, 0, " + kPid +
      ", 1, 1, 10, 2, 1, 128, 1, 1, 32, 100, 1000); ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN dstDeviceId "
      "INT;");
  copy(300, 310, 4096, 11, 2, kBase);
  copy(320, 330, 4096, 11, 2, kBase + 8192);
  sql("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET dstDeviceId = 1 WHERE start = 320");
  const std::vector<Kernel> kernels = all<Kernel>(import());
  ASSERT_EQ(kernels.size(), 2u);
  expect_extents(kernels[0].accesses.at(0).extents, {{0, kPageQuanta, AccessMode::kReadWrite}});
  expect_extents(kernels[1].accesses.at(0).extents, {{2 * kPageQuanta, kPageQuanta, AccessMode::kReadWrite}});
  EXPECT_EQ(kernels[1].device, 1);
  EXPECT_EQ(summary.ambiguous, 0u);
}

TEST_F(ImportNsys, SeveralProcessesNeedAChoice) {
  strings();
  kernel_table();
  kernel(10, 20);
  kernel(11, 21, 0, std::to_string(std::int64_t{77} << 24));
  EXPECT_THAT(about(), AllOf(HasSubstr("2 processes"), HasSubstr("42, 77")));
  NsysImportOptions options;
  options.process = 77;
  EXPECT_EQ(all<Kernel>(import(options)).size(), 1u);
  options.process = 5;
  EXPECT_THAT(about(options), HasSubstr("process 5 launched no kernel"));
}

TEST_F(ImportNsys, OldReportsWithFewColumnsDo) {
  sql("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (end INT, start INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 10);");
  const std::vector<Kernel> kernels = all<Kernel>(import());
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].duration_ns, 10);
  EXPECT_EQ(kernels[0].name, "");
}

TEST_F(ImportNsys, RefusesWhatIsNoReport) {
  EXPECT_THAT(about(), HasSubstr("cannot be read as an SQLite database"));
  folder.write("report.sqlite", "this is a text");
  EXPECT_THAT(about(), HasSubstr("cannot be read as an SQLite database"));
  folder.write("report.sqlite", std::string("SQLite format 3\0", 16) + std::string(2000, 'x'));
  EXPECT_THAT(about(), HasSubstr("report.sqlite"));
  folder.write("report.sqlite", std::string("SQLite format 3\0", 16));
  EXPECT_THAT(about(), HasSubstr("report.sqlite"));
}

TEST_F(ImportNsys, RefusesValuesThatCannotBe) {
  struct Bad {
    std::string statements;
    std::string message;
  };
  const std::string update = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET ";
  const std::vector<Bad> all_bad = {
      {update + "start = 'soon'", "row 1: start is no integer"},
      {update + "start = NULL", "start is missing"},  // only a writer promises NOT NULL
      {update + "start = 1.5", "start is no integer"},
      {update + "start = -1", "start is -1; allowed"},
      {update + "end = 5", "end is 5; allowed: 10"},
      {update + "end = 9223372036854775807", "end is 9223372036854775807"},
      {update + "gridX = 0", "gridX is 0; allowed: 1"},
      {update + "gridY = 4294967296", "gridY is"},
      {update + "streamId = -3", "streamId is -3"},
      {update + "deviceId = 5000", "deviceId is 5000"},
      {update + "dynamicSharedMemory = 99999999999", "dynamicSharedMemory"},
      {update + "blockX = x'00'", "blockX is no integer"},
      {"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "no kernels"},
      {"DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "no kernels"},
      {"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN end TO ende", "has no column end"},
      {"UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET address = -4096", "address is -4096"},
      {"UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET address = 0", "address is 0"},
      {"UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET end = 1", "end is 1"},
      {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = -1", "bytes is -1"},
      {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 9000000000000000000", "bytes is 9000000000000000000"},
      {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET virtualAddress = NULL", "virtualAddress is missing"},
      {"UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET bytes = 'many'", "bytes is no integer"},
      {"UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET address = 9000000000000000000", "address is 9000000000000000000"},
      {"UPDATE StringIds SET value = x'ff'", "value is no text"},
  };
  for (const Bad& bad : all_bad) {
    std::filesystem::remove(path());
    strings();
    kernel_table();
    if (bad.message == "start is missing") {
      sql("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20);");
    } else {
      kernel(10, 20);
    }
    memory_table();
    memory(1, kBase, 4096, 4, 0);
    copy_table();
    copy(12, 13, 4096, 11, 2, kBase);
    gpu_fault_table();
    gpu_fault(11, 14, kBase, 1);
    sql(bad.statements);
    EXPECT_THAT(about(), HasSubstr(bad.message)) << bad.statements;
  }
}

TEST_F(ImportNsys, AnEnormousAllocationEndsBeyondTheAddressSpace) {
  strings();
  kernel_table();
  kernel(10, 20);
  memory_table();
  memory(1, (std::uint64_t{1} << 57) - 4096, 8192, 4, 0);
  EXPECT_THAT(about(), HasSubstr("an allocation of 8192 bytes"));
}

TEST_F(ImportNsys, ViewsAndVirtualTablesAreNotRead) {
  strings();
  sql("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start, end) AS (SELECT 1, 2 UNION ALL "
      "SELECT start, end FROM c) SELECT start, end FROM c;");
  EXPECT_THAT(about(), HasSubstr("no kernels"));
}

TEST_F(ImportNsys, EveryPrefixIsAnErrorOrATrace) {
  strings();
  kernel_table();
  kernel(10, 20);
  const std::string whole = folder.read("report.sqlite");
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 509) {
    folder.write("report.sqlite", whole.substr(0, bytes));
    try {
      import();
    } catch (const InputError&) {
    }
  }
  for (std::size_t at = 100; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    folder.write("report.sqlite", damaged);
    try {
      import();
    } catch (const InputError&) {
    }
  }
}

}  // namespace
}  // namespace uvmsim::trace
