// SPDX-License-Identifier: Apache-2.0
// Tables sharded over several GPUs: the rows of each GPU, the traffic between GPUs, and the state of an optimizer.
#include "sim/recommend/sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/common/error.h"
#include "sim/recommend/study.h"
#include "sim/trace/validate.h"
#include "tests/recommend/small_workload.h"

namespace uvmsim::recommend {
namespace {

constexpr unsigned kGpuCounts[] = {1, 2, 4, 8};

Workload workload_of(std::vector<std::uint64_t> rows, std::uint32_t lookups = 1) {
  Workload workload = small_workload();
  workload.lookups.assign(rows.size(), lookups);
  workload.rows = std::move(rows);
  return workload;
}

// Returns a workload with enough tables for eight GPUs.
Workload sharded_workload() {
  Workload workload = workload_of({200000, 3, 60000, 1500, 9000, 20000, 800, 40000, 77});
  workload.lookups = {4, 1, 2, 1, 3, 1, 1, 2, 1};
  workload.batch = 64;
  return workload;
}

std::vector<std::uint64_t> rows_of(const ShardMap& map) {
  std::vector<std::uint64_t> rows;
  for (const ShardMap::Share& share : map.shares()) rows.push_back(share.rows);
  return rows;
}

ProgramOptions sharded_options(const Workload& workload, unsigned gpus, const char* sharding = "table_bytes",
                               const char* optimizer = "sgd") {
  ProgramOptions options;
  options.steps = 2;
  options.warm_up = 3;
  options.gpus = gpus;
  options.sharding = &find_sharding(sharding);
  options.optimizer = &find_optimizer(optimizer);
  options.gpu_bytes = std::max<std::uint64_t>(workload.bytes() / gpus, 32 << 20);
  return options;
}

PlacementResult run_sharded(const Workload& workload, const char* placement, const ProgramOptions& options,
                            const config::SystemConfig& system = config::load_system("hgx-a100")) {
  PlacementResult result = run_placement(workload, find_placement(placement), options, system);
  EXPECT_EQ(result.refused, "");
  return result;
}

// The example of TorchRec's greedy_partition: the heaviest first, each to the GPU with the least so far.
TEST(ShardMap, PlacesTablesGreedily) {
  const ShardMap map(workload_of({10, 20, 30, 40, 200, 300}), find_sharding("table_bytes"), 3);
  EXPECT_EQ(rows_of(map), (std::vector<std::uint64_t>{300, 200, 100}));
  EXPECT_EQ(map.shares()[2].tables, 4u);
}

TEST(ShardMap, BalancesLookupsWhereAsked) {
  Workload workload = workload_of({1000, 10, 10, 10});
  workload.lookups = {1, 3, 2, 2};
  EXPECT_EQ(rows_of(ShardMap(workload, find_sharding("table_bytes"), 2)), (std::vector<std::uint64_t>{1000, 30}));
  // Weights: 3 to the first GPU; 2 to the second; 2 to the second, as 2 < 3; 1 to the first.
  EXPECT_EQ(rows_of(ShardMap(workload, find_sharding("table_lookups"), 2)), (std::vector<std::uint64_t>{1010, 20}));
}

// The rows per GPU are 3, 3, 3, 1, not 3, 3, 2, 2: TorchRec's blocks.
TEST(ShardMap, CutsRowsInBlocks) {
  EXPECT_EQ(rows_of(ShardMap(workload_of({10}), find_sharding("row"), 4)), (std::vector<std::uint64_t>{3, 3, 3, 1}));
  EXPECT_THROW(ShardMap(workload_of({5}), find_sharding("row"), 4), InputError);
  EXPECT_THROW(ShardMap(workload_of({5, 5, 5}), find_sharding("table_bytes"), 4), InputError);
}

TEST(ShardMap, HasEveryByteOnce) {
  const Workload workload = sharded_workload();
  for (const Sharding& sharding : shardings()) {
    for (const unsigned gpus : kGpuCounts) {
      ProgramOptions options = sharded_options(workload, gpus, "row", "adagrad");
      options.sharding = &sharding;
      std::uint64_t tables = 0, state = 0;
      for (const GpuShare& gpu : gpu_shares(workload, options)) {
        tables += gpu.table_bytes;
        state += gpu.state_bytes;
      }
      EXPECT_EQ(tables, workload.bytes()) << sharding.name << gpus;
      EXPECT_EQ(state, workload.total_rows() * workload.dimension * 4) << sharding.name << gpus;
    }
  }
}

// Each row has one place, and no place has two rows.
TEST(ShardMap, NumbersRowsOnTheirGpu) {
  const Workload workload = workload_of({9, 4, 25, 16});
  std::vector<std::uint64_t> lookups;  // every sample looks up the next row of each table
  for (std::uint64_t base = 0, t = 0; t < 4; base += workload.rows[t++]) {
    for (std::uint64_t i = 0; i < 25; ++i) lookups.push_back(base + i % workload.rows[t]);
  }
  for (const Sharding& sharding : shardings()) {
    for (const unsigned gpus : {1u, 2u, 3u, 4u}) {
      const ShardMap map(workload, sharding, gpus);
      std::vector<std::vector<std::uint64_t>> parts;
      map.split(lookups, parts);
      std::size_t all = 0;
      for (unsigned gpu = 0; gpu < gpus; ++gpu) {
        all += parts[gpu].size();
        const std::set<std::uint64_t> different(parts[gpu].begin(), parts[gpu].end());
        EXPECT_EQ(different.size(), map.shares()[gpu].rows) << sharding.name << gpus;
        EXPECT_EQ(*different.rbegin(), map.shares()[gpu].rows - 1) << sharding.name << gpus;
      }
      EXPECT_EQ(all, lookups.size());
      if (gpus == 1) {
        EXPECT_EQ(parts[0], lookups);
      }
    }
  }
}

TEST(ShardMap, SharesUniformLookupsEquallyByRows) {
  Workload workload = workload_of({80000, 16000}, 4);
  workload.training_zipf_thousandths = 0;
  workload.batch = 4096;
  for (const unsigned gpus : {2u, 4u, 8u}) {
    const ShardMap map(workload, find_sharding("row"), gpus);
    std::vector<std::uint64_t> lookups;
    BatchStream(workload, true, 1).draw(0, lookups);
    std::vector<std::vector<std::uint64_t>> parts;
    map.split(lookups, parts);
    for (unsigned gpu = 0; gpu < gpus; ++gpu) {
      EXPECT_EQ(map.shares()[gpu].rows, 96000 / gpus);
      // The expected share of 32768, within five standard deviations.
      const double expected = 32768.0 / gpus;
      EXPECT_NEAR(static_cast<double>(parts[gpu].size()), expected, 5 * std::sqrt(expected)) << gpus;
    }
  }
}

TEST(Sharded, IsAValidTrace) {
  const Workload workload = sharded_workload();
  for (const char* placement : {"device", "managed", "vanilla", "caching_lru", "caching_lfu_prefetch"}) {
    for (const Sharding& sharding : shardings()) {
      for (const Optimizer& optimizer : optimizers()) {
        ProgramOptions options = sharded_options(workload, 4);
        options.sharding = &sharding;
        options.optimizer = &optimizer;
        Program program(workload, find_placement(placement), options, config::load_system("hgx-a100"));
        trace::Validator validator(placement, program.header());
        for (trace::Record record; program.next(record);) EXPECT_NO_THROW(validator.check(record)) << placement;
        EXPECT_NO_THROW(validator.finish());
      }
    }
  }
}

TEST(Sharded, IsTheSameEveryTime) {
  const Workload workload = sharded_workload();
  for (const char* placement : {"vanilla", "caching_lru_prefetch"}) {
    const ProgramOptions options = sharded_options(workload, 4, "row", "adagrad");
    EXPECT_EQ(run_sharded(workload, placement, options).numbers(), run_sharded(workload, placement, options).numbers());
  }
}

// With one GPU, every sharding keeps all rows there, sends nothing, and gives the program without sharding.
TEST(Sharded, OneGpuIsUnsharded) {
  const Workload workload = sharded_workload();
  for (const char* placement : {"managed", "vanilla", "caching_lru"}) {
    const PlacementResult plain = run_sharded(workload, placement, sharded_options(workload, 1));
    EXPECT_EQ(plain.sent.pooled_rows + plain.sent.row_gradients + plain.sent.dense_gradients, 0u);
    EXPECT_EQ(plain.rows.lookups, 2 * workload.batch * workload.lookups_per_sample());
    for (const char* sharding : {"table_lookups", "row"}) {
      EXPECT_EQ(run_sharded(workload, placement, sharded_options(workload, 1, sharding)).numbers(), plain.numbers());
    }
  }
}

// The pooled rows are those of every GPU's samples of every table, sent by all owners of the table except itself.
TEST(Sharded, SendsWhatTheClosedFormSays) {
  const Workload workload = sharded_workload();
  const std::uint64_t steps = 2, pooled = workload.batch * workload.rows.size() * workload.dimension * 4;
  // Linear layers 13-64-128 and 173-64-1: 173 inputs are 128 numbers and the products of 10 features.
  const std::uint64_t dense = (13 * 64 + 64 + 64 * 128 + 128 + 173 * 64 + 64 + 64 + 1) * 4;
  EXPECT_EQ(dense_parameter_bytes(workload), dense);
  for (const unsigned gpus : {2u, 4u, 8u}) {
    for (const Sharding& sharding : shardings()) {
      ProgramOptions options = sharded_options(workload, gpus);
      options.sharding = &sharding;
      const PlacementResult result = run_sharded(workload, "device", options);
      const std::uint64_t owners = sharding.by_rows() ? gpus : 1;
      EXPECT_EQ(result.sent.pooled_rows, steps * owners * (gpus - 1) * pooled) << sharding.name << gpus;
      EXPECT_EQ(result.sent.row_gradients, result.sent.pooled_rows);
      EXPECT_EQ(result.sent.dense_gradients, steps * 2 * (gpus - 1) * dense);
      options.training = false;
      const PlacementResult inference = run_sharded(workload, "device", options);
      EXPECT_EQ(inference.sent.pooled_rows, result.sent.pooled_rows);
      EXPECT_EQ(inference.sent.row_gradients + inference.sent.dense_gradients, 0u);
    }
  }
}

// Each row is looked up once wherever it is; the sharding only decides which GPU does it.
TEST(Sharded, LooksUpTheSameRows) {
  const Workload workload = sharded_workload();
  for (const unsigned gpus : {2u, 8u}) {
    const RowStatistics by_table = run_sharded(workload, "managed", sharded_options(workload, gpus)).rows;
    const PlacementResult by_row = run_sharded(workload, "managed", sharded_options(workload, gpus, "row"));
    EXPECT_EQ(by_table.lookups, 2 * gpus * workload.batch * workload.lookups_per_sample());
    EXPECT_EQ(by_row.rows.lookups, by_table.lookups);
    EXPECT_EQ(by_row.rows.unique, by_table.unique);
    EXPECT_EQ(by_row.rows.host_read_bytes, by_table.host_read_bytes);
    EXPECT_EQ(by_row.counters.remote_access_bytes, by_row.rows.host_read_bytes + by_row.rows.host_written_bytes);
    ASSERT_EQ(by_row.gpus.size(), gpus);
    std::uint64_t lookups = 0;
    for (const RowStatistics& gpu : by_row.gpus) lookups += gpu.lookups;
    EXPECT_EQ(lookups, by_row.rows.lookups);
  }
}

TEST(Sharded, ImbalanceIsTheMostOverTheMean) {
  EXPECT_EQ(imbalance_thousandths({4, 4, 4}), 1000u);
  EXPECT_EQ(imbalance_thousandths({9, 0, 0}), 3000u);
  EXPECT_EQ(imbalance_thousandths({6, 2}), 1500u);
  // The largest table, with one of a sample's three lookups, is alone on a GPU.
  Workload workload = workload_of({200000, 30000, 30000});
  const PlacementResult result = run_sharded(workload, "device", sharded_options(workload, 2));
  EXPECT_EQ(result.lookup_imbalance_thousandths(), 1333u);
}

// A slower link adds the extra time of its bytes: both exchanges wait for all messages of a GPU.
TEST(Sharded, MessagesTakeTheTimeOfTheirLinks) {
  Workload workload = workload_of({50000, 50000, 50000, 50000});
  workload.batch = 8192;
  config::SystemConfig system = config::load_system("hgx-a100");
  std::uint64_t& rate = system.peer_switches.front().port.bytes_per_us;
  for (const char* sharding : {"table_bytes", "row"}) {
    const ProgramOptions options = sharded_options(workload, 4, sharding);
    rate = 200000;
    const PlacementResult fast = run_sharded(workload, "device", options, system);
    rate = 50000;
    const PlacementResult slow = run_sharded(workload, "device", options, system);
    const double out =
        static_cast<double>(fast.sent.pooled_rows + fast.sent.row_gradients) / 4 / 2;  // per GPU and step
    const double longer = out * 1000 / 50000 - out * 1000 / 200000;
    EXPECT_NEAR(static_cast<double>((slow.step - fast.step).value), longer, 0.1 * longer) << sharding;
  }
}

// Optimizer state in GPU memory adds nothing to the link; state of a number per element is placed and moved like the
// row itself.
TEST(Optimizer, MovesItsStateWithUpdates) {
  const Workload workload = sharded_workload();
  for (const unsigned gpus : {1u, 4u}) {
    const auto rows_of_run = [&](const char* placement, const char* optimizer) {
      const PlacementResult result =
          run_sharded(workload, placement, sharded_options(workload, gpus, "row", optimizer));
      EXPECT_EQ(result.counters.remote_access_bytes, result.rows.host_read_bytes + result.rows.host_written_bytes);
      return result.rows;
    };
    for (const char* placement : {"managed", "caching_lru"}) {
      const RowStatistics none = rows_of_run(placement, "sgd"), row = rows_of_run(placement, "rowwise_adagrad"),
                          element = rows_of_run(placement, "adagrad");
      EXPECT_EQ(row.host_read_bytes, none.host_read_bytes);
      EXPECT_EQ(row.device_bytes, none.device_bytes + 2 * 32 * none.unique);  // one sector each
      EXPECT_EQ(element.host_read_bytes, none.host_read_bytes + none.unique * workload.row_bytes());
      EXPECT_EQ(element.host_written_bytes, none.host_written_bytes + none.unique * workload.row_bytes());
    }
    const RowStatistics none = rows_of_run("device", "sgd"), element = rows_of_run("device", "adagrad");
    EXPECT_EQ(element.device_bytes, none.device_bytes + 2 * none.unique * workload.row_bytes());
  }
}

// The state of rows half as wide is twice their size.
TEST(Optimizer, StateIsAlwaysFp32) {
  Workload workload = sharded_workload();
  workload.element_bytes = 2;
  EXPECT_EQ(find_optimizer("adagrad").bytes_per_row(workload), 512u);
  EXPECT_EQ(find_optimizer("rowwise_adagrad").bytes_per_row(workload), 4u);
  EXPECT_EQ(find_optimizer("sgd").bytes_per_row(workload), 0u);
  const PlacementResult none = run_sharded(workload, "managed", sharded_options(workload, 2, "row"));
  const PlacementResult some = run_sharded(workload, "managed", sharded_options(workload, 2, "row", "adagrad"));
  EXPECT_EQ(some.rows.host_read_bytes - none.rows.host_read_bytes, none.rows.unique * 512);
  EXPECT_EQ(some.counters.remote_access_bytes, some.rows.host_read_bytes + some.rows.host_written_bytes);
}

// State doubles the footprint in the same memory, so that programs that fitted fault.
TEST(Optimizer, StateTakesRoomFromTables) {
  Workload workload = workload_of({100000, 100000, 100000, 100000});
  workload.batch = 1024;
  ProgramOptions options = sharded_options(workload, 4, "row");
  options.gpu_bytes = workload.bytes() / 4 + (8 << 20);
  EXPECT_EQ(run_sharded(workload, "vanilla", options).counters.faulting_pages, 0u);
  options.optimizer = &find_optimizer("rowwise_adagrad");
  EXPECT_EQ(run_sharded(workload, "vanilla", options).counters.faulting_pages, 0u);
  options.optimizer = &find_optimizer("adagrad");
  EXPECT_GT(run_sharded(workload, "vanilla", options).counters.faulting_pages, 0u);
  EXPECT_GT(run_sharded(workload, "vanilla", options).counters.dtoh_evict_bytes, 0u);
}

TEST(Sharded, SaysWhatCannotBe) {
  const Workload workload = sharded_workload();
  const auto refused = [&](const char* placement, const ProgramOptions& options, const char* system) {
    return run_placement(workload, find_placement(placement), options, config::load_system(system)).refused;
  };
  EXPECT_NE(refused("device", sharded_options(workload, 2), "h200-sxm-pcie5"), "");
  EXPECT_NE(refused("device", sharded_options(workload, 8), "dgx-v100"),
            "");  // a hybrid cube mesh joins no more than four
  EXPECT_EQ(refused("device", sharded_options(workload, 4), "dgx-v100"), "");
  EXPECT_NE(
      run_placement(workload, find_placement("ssd"), sharded_options(workload, 1, "row", "adagrad"), system_with_ssd())
          .refused,
      "");
  ProgramOptions options = sharded_options(workload, 2, "row", "rowwise_adagrad");
  options.gpu_bytes = 1000;
  EXPECT_NE(refused("vanilla", options, "hgx-a100"), "");
}

}  // namespace
}  // namespace uvmsim::recommend
