// SPDX-License-Identifier: Apache-2.0
// The sums of a profile equal the counters of its run, for all causes.
#include "sim/report/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/engine/program.h"
#include "tests/report/database.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim {
namespace {

using report::Profile;
using trace::Advice;
using trace::RangeKind;

class ProfiledRun : public ::testing::Test {
 protected:
  // Runs the program; the profile is in `p.sqlite`.
  Counters run(const Program& program, const RunOptions& options, report::ProfileGrid grid = {}) {
    Profile profile(folder.path("p.sqlite"), grid);
    report::RunRecord record;
    record.system_json = "{}";
    record.options = options;
    result = program.run(options, &profile);
    record.result = result;
    profile.finish(record);
    return result.counters;
  }
  TestDatabase database() const { return TestDatabase(folder.path("p.sqlite")); }

  void expect_sums(const Counters& counters) const { expect_sums(counters, ""); }
  void expect_sums_of_iteration(const Counters& counters, std::uint64_t index) const {
    expect_sums(counters, " WHERE iteration = " + std::to_string(index));
  }

  const ScratchFolder folder;
  RunResult result;

 private:
  void expect_sums(const Counters& c, const std::string& where) const {
    const TestDatabase db(folder.path("p.sqlite"));
    const std::pair<const char*, std::uint64_t> traffic[] = {
        {"read_faulting_pages + write_faulting_pages", c.faulting_pages},
        {"reloaded_pages", c.reloaded_pages},
        {"populated_pages", c.populated_pages},
        {"htod_fault_bytes", c.htod_fault_bytes},
        {"htod_prefetch_bytes", c.htod_prefetch_bytes},
        {"htod_user_bytes", c.htod_user_bytes},
        {"htod_counter_bytes", c.htod_counter_bytes},
        {"dtoh_fault_bytes", c.dtoh_fault_bytes},
        {"dtoh_prefetch_bytes", c.dtoh_prefetch_bytes},
        {"dtoh_user_bytes", c.dtoh_user_bytes},
        {"dtoh_evict_bytes", c.dtoh_evict_bytes},
        {"fault_service_ns", c.fault_service_ns},
    };
    for (const auto& [column, expected] : traffic) {
      for (const char* table : {"operations", "allocation_uses"}) {
        EXPECT_EQ(db.number("SELECT SUM(" + std::string(column) + ") FROM " + table + where), expected)
            << column << " of " << table << where;
      }
    }
    for (const auto& [column, expected] :
         {std::pair{"fault_batches", c.fault_batches}, {"raw_faults", c.raw_faults}, {"evictions", c.evictions}}) {
      EXPECT_EQ(db.number("SELECT SUM(" + std::string(column) + ") FROM operations" + where), expected) << column;
    }
    EXPECT_EQ(db.number("SELECT COUNT(*) FROM kernels" + where), c.kernels);
    EXPECT_EQ(db.number("SELECT SUM(duration_ns) FROM kernels" + where), c.kernel_ns);
    EXPECT_EQ(db.number("SELECT SUM(compute_ns) FROM kernels" + where), c.kernel_compute_ns);
    const std::string whole = where.empty() ? " WHERE layer = 0 AND nested" : where + " AND layer = 0 AND nested";
    EXPECT_EQ(db.number("SELECT SUM(fault_batches) FROM layer_sums" + whole), c.fault_batches);
    EXPECT_EQ(db.number("SELECT SUM(duration_ns) FROM layer_sums" + whole), c.kernel_ns);
    const std::string own = where.empty() ? " WHERE NOT nested" : where + " AND NOT nested";
    EXPECT_EQ(db.number("SELECT SUM(htod_fault_bytes) FROM layer_sums" + own), c.htod_fault_bytes);
  }
};

trace::Range range(RangeKind kind, std::string name, std::uint64_t index = 0) { return {kind, std::move(name), index}; }

// Three objects in turn, in memory for less than two of them.
Program oversubscribed() {
  Program program;
  const auto a = program.alloc(8 * kMiB), b = program.alloc(8 * kMiB), c = program.alloc(5 * kMiB);
  program.host(a);
  for (std::uint64_t i = 0; i < 3; ++i) {
    program.add(range(RangeKind::kIterationBegin, "", i));
    program.add(range(RangeKind::kPush, "forward"));
    program.kernel("first", 100000, {a}, {b});
    program.add(range(RangeKind::kPush, "inner"));
    program.kernel("second", 50000, {b}, {c});
    program.add(range(RangeKind::kPop, ""));
    program.add(range(RangeKind::kPop, ""));
    program.kernel("third", 50000, {c, a}, {b});
    program.add(range(RangeKind::kIterationEnd, "", i));
  }
  program.sync();
  program.host(b, trace::AccessMode::kRead);
  return program;
}

TEST_F(ProfiledRun, SumsAreTheCountersOfTheRunAndOfEachIteration) {
  const Counters counters = run(oversubscribed(), options_with(6));
  EXPECT_GT(counters.evictions, 0u);
  EXPECT_GT(counters.reloaded_pages, 0u);
  EXPECT_GT(counters.dtoh_fault_bytes, 0u);  // by the CPU
  expect_sums(counters);
  for (const IterationResult& iteration : result.iterations) {
    expect_sums_of_iteration(iteration.counters, iteration.index);
  }
}

TEST_F(ProfiledRun, SumsHoldForEveryPolicy) {
  for (const char* prefetch : {"none", "tree"}) {
    for (const char* evict : {"lrm", "lru"}) {
      RunOptions options = options_with(6);
      options.prefetch.name = prefetch;
      options.evict.name = evict;
      SCOPED_TRACE(std::string(prefetch) + " " + evict);
      expect_sums(run(oversubscribed(), options));
    }
  }
}

TEST_F(ProfiledRun, SumsHoldForPrefetchesHintsDiscardsAndFrees) {
  Program program;
  const auto a = program.alloc(6 * kMiB), b = program.alloc(6 * kMiB), shared = program.alloc(4 * kMiB);
  program.host(a);
  program.host(shared);
  program.advise(shared, Advice::kSetReadMostly);
  program.prefetch(a, 0);
  program.kernel("k", 10000, {a, shared}, {b});
  program.sync();
  program.prefetch(b, -1);
  program.kernel("again", 10000, {a}, {b, shared});
  program.sync();
  program.host(shared, trace::AccessMode::kRead);
  program.kernel("more", 10000, {shared}, {a});
  program.add(trace::Discard{a, 0, 4 * kMiB, 0});
  program.kernel("after", 10000, {a}, {b});
  program.sync();
  program.advise(shared, Advice::kUnsetReadMostly);
  program.free(b);
  const auto d = program.alloc(6 * kMiB);
  program.kernel("last", 10000, {}, {d});
  const Counters counters = run(program, options_with(5));
  EXPECT_GT(counters.htod_user_bytes, 0u);
  EXPECT_GT(counters.dtoh_user_bytes, 0u);
  EXPECT_GT(counters.discarded_pages, 0u);
  expect_sums(counters);
  const TestDatabase db = database();
  EXPECT_GT(db.number("SELECT SUM(htod_user_bytes) FROM operations WHERE kind = 'prefetch'"), 0);
  EXPECT_EQ(db.number("SELECT SUM(htod_user_bytes) FROM kernels"), 0);
  // Memory that the driver took back and allocated again belongs to its new owner.
  EXPECT_EQ(
      db.number("SELECT SUM(populated_pages) FROM allocation_uses JOIN allocations USING (allocation) WHERE id = 4"),
      6 * 256);
}

TEST_F(ProfiledRun, KernelsOfSeveralStreamsAnswerForTheirOwnPages) {
  Program program;
  const auto a = program.alloc(8 * kMiB), b = program.alloc(6 * kMiB);
  program.kernel("a", 100000, {}, {a}, 1);
  program.kernel("b", 100000, {}, {b}, 2);
  const Counters counters = run(program, options_with(0));
  expect_sums(counters);
  const TestDatabase db = database();
  const auto pages = [&](const char* kernel) {
    return db.number("SELECT SUM(populated_pages) FROM kernels WHERE name = '" + std::string(kernel) + "'");
  };
  EXPECT_EQ(pages("a"), 8 * 256);
  EXPECT_EQ(pages("b"), 6 * 256);
}

// If a framework reuses memory, a page belongs to the tensor that was last used there.
TEST_F(ProfiledRun, TensorsInTheSameMemoryAreToldApart) {
  Program program;
  const auto segment = program.alloc(4 * kMiB);
  const auto tensor = [&](trace::ObjectId id, const char* name) {
    program.add(trace::TensorAlloc{id, 4 * kMiB, 0, segment, 0, name});
  };
  const auto touch = [&](trace::ObjectId id, const char* kernel, trace::AccessMode mode) {
    trace::Kernel& k = program.kernel(kernel, 1000);
    k.accesses.push_back({id, {{0, 1024, mode}}});
    k.grid.x = 64;
  };
  tensor(10, "old");
  touch(10, "write old", trace::AccessMode::kWrite);
  program.add(trace::TensorFree{10});
  tensor(11, "new");
  touch(11, "write new", trace::AccessMode::kWrite);
  const auto other = program.alloc(4 * kMiB);
  program.kernel("push out", 1000, {}, {other});
  touch(11, "read new", trace::AccessMode::kRead);
  const Counters counters = run(program, options_with(2));
  expect_sums(counters);
  const TestDatabase db = database();
  const auto sum = [&](const char* column, const char* name) {
    return db.number("SELECT SUM(" + std::string(column) +
                     ") FROM allocation_uses JOIN allocations USING (allocation) WHERE name = '" + name + "'");
  };
  EXPECT_EQ(sum("populated_pages", "old"), 1024);
  EXPECT_EQ(sum("populated_pages", "new"), 0);
  EXPECT_EQ(sum("evicted_bytes", "old"), 0);
  EXPECT_EQ(sum("evicted_bytes", "new"), 4 << 20);
  EXPECT_EQ(sum("reloaded_pages", "new"), 1024);
  EXPECT_EQ(sum("operations", "new"), 2);
  EXPECT_EQ(sum("written_bytes", "new"), 4 << 20);
  EXPECT_EQ(sum("touched_bytes", "new"), 8 << 20);
}

TEST_F(ProfiledRun, LayersHoldWhatWasLaunchedInThem) {
  run(oversubscribed(), options_with(6));
  const TestDatabase db = database();
  const auto kernels = [&](const char* path, int nested) {
    return db.number("SELECT SUM(kernels) FROM layer_sums JOIN layers USING (layer) WHERE path = '" +
                     std::string(path) + "' AND nested = " + std::to_string(nested));
  };
  EXPECT_EQ(kernels("", 0), 3);
  EXPECT_EQ(kernels("", 1), 9);
  EXPECT_EQ(kernels("forward", 0), 3);
  EXPECT_EQ(kernels("forward", 1), 6);
  EXPECT_EQ(kernels("forward / inner", 0), 3);
  EXPECT_EQ(db.text("SELECT layer_path FROM kernels WHERE name = 'second' AND iteration = 2"), "forward / inner");
  EXPECT_EQ(db.number("SELECT COUNT(*) FROM layers"), 3);
}

TEST_F(ProfiledRun, StallsAreWhatKernelsTakeBeyondTheirComputeTime) {
  run(oversubscribed(), options_with(6));
  const TestDatabase db = database();
  EXPECT_EQ(db.number("SELECT COUNT(*) FROM operations WHERE stall_ns != duration_ns - compute_ns"), 0);
  EXPECT_GT(db.number("SELECT MIN(stall_ns) FROM kernels"), 0);
  EXPECT_EQ(db.number("SELECT SUM(stall_ns) FROM allocation_uses"), db.number("SELECT SUM(stall_ns) FROM kernels"));
}

// At no time are more pages resident than the GPU has, and the grid's touches and loads equal the counters.
TEST_F(ProfiledRun, HeatMapsAddUp) {
  const Counters counters = run(oversubscribed(), options_with(6), {64, 16});
  const TestDatabase db = database();
  EXPECT_LE(db.number("SELECT MAX(r) FROM (SELECT SUM(resident_bytes) AS r FROM heat GROUP BY time_bucket)"),
            6 * static_cast<std::int64_t>(kBlockBytes));
  EXPECT_GT(db.number("SELECT MAX(r) FROM (SELECT SUM(resident_bytes) AS r FROM heat GROUP BY time_bucket)"),
            4 * static_cast<std::int64_t>(kBlockBytes));
  EXPECT_EQ(db.number("SELECT SUM(loaded_bytes) FROM heat"), bytes_in(counters));
  EXPECT_EQ(db.number("SELECT SUM(faulted_bytes) FROM heat"), counters.faulting_pages * kPage);
  EXPECT_EQ(db.number("SELECT SUM(evicted_bytes) FROM heat"), db.number("SELECT SUM(evicted_bytes) FROM operations"));
  EXPECT_EQ(db.number("SELECT SUM(touched_bytes) FROM heat"),
            db.number("SELECT SUM(touched_bytes) FROM allocation_uses"));
  const auto grid = db.rows("SELECT end_ns, bucket_ns * time_buckets, time_buckets, address_buckets FROM heat_grid");
  ASSERT_EQ(grid.size(), 1u);
  EXPECT_EQ(grid[0][0], std::to_string(result.total.value));
  EXPECT_LE(std::stoll(grid[0][2]), 64);
  EXPECT_LE(std::stoll(grid[0][3]), 16);
}

TEST_F(ProfiledRun, FreedMemoryIsNotResident) {
  Program program;
  const auto a = program.alloc(8 * kMiB);
  program.kernel("write", 10000, {}, {a});
  program.sync();
  program.free(a);
  program.kernel("long", 900000000);
  run(program, options_with(0), {10, 4});
  const TestDatabase db = database();
  EXPECT_GT(db.number("SELECT SUM(resident_bytes) FROM heat WHERE time_bucket = 0"), 0);
  EXPECT_EQ(db.number("SELECT SUM(resident_bytes) FROM heat WHERE time_bucket > 1"), 0);
}

TEST_F(ProfiledRun, MigrationsByAccessCountersAreTheKernelsThatReadRemotely) {
  Program program;
  const auto a = program.alloc(4 * kMiB);
  program.host(a);
  program.advise(a, Advice::kSetAccessedBy);
  program.kernel("remote", 10000, {a});
  program.kernel("local", 10000, {a});
  program.sync();
  RunOptions options = options_with(0);
  options.system.driver.access_counter_migration = true;
  const Counters counters = run(program, options);
  EXPECT_EQ(counters.htod_counter_bytes, 4 * kMiB);
  expect_sums(counters);
  EXPECT_EQ(database().number("SELECT htod_counter_bytes FROM kernels WHERE name = 'remote'"), 4 << 20);
}

TEST_F(ProfiledRun, TellingDoesNotChangeTheRun) {
  const Counters told = run(oversubscribed(), options_with(6));
  const Counters changes = difference(told, oversubscribed().run(options_with(6)).counters);
  for_each_counter(changes, [](const char* name, std::uint64_t value) { EXPECT_EQ(value, 0u) << name; });
}

}  // namespace
}  // namespace uvmsim
