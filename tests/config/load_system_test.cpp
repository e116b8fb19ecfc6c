// SPDX-License-Identifier: Apache-2.0
#include "sim/config/load_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/config/schema.h"
#include "sim/config/system_text.h"
#include "tests/config/system_files.h"

namespace uvmsim::config {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kShipped{UVMSIM_SOURCE_DIR "/configs/systems"};

TEST(ShippedSystems, AreThoseOfTheReadme) {
  std::vector<std::string> names;
  for (const SystemFile& file : list_systems(kShipped)) names.push_back(file.name);
  const std::vector<std::string> expected = {
      "a10-pcie4",       "a100-pcie-80g",  "a100-pcie-80g-nvme", "a100-sxm-40g",  "a30-pcie4",       "dgx-v100",
      "dgx-v100-x4",     "gb200",          "gh200-144gb",        "gh200-96gb",    "gtx1080ti-pcie3", "h100-hmm",
      "h100-sxm",        "h200-sxm-pcie5", "hgx-a100",           "hgx-h200-x2",   "l4-pcie4",        "l40s-pcie4",
      "p3-8xlarge",      "power9-v100",    "rtx3060-pcie4",      "rtx3090-pcie4", "rtx4080-pcie4",   "rtx4090-pcie4",
      "rtx5070ti-pcie5", "rtx5090-pcie5",  "t4-pcie3",           "titan-v-pcie3", "v100-pcie-16g",   "v100-pcie-32g"};
  EXPECT_EQ(names, expected);
}

TEST(ShippedSystems, LoadAndStateEverything) {
  for (const SystemFile& file : list_systems(kShipped)) {
    SCOPED_TRACE(file.name);
    SystemConfig config = load_system(file.name, kShipped);
    EXPECT_EQ(config.name, file.name);
    EXPECT_FALSE(config.description.empty());
    EXPECT_EQ(config.description.find('\n'), std::string::npos);
    EXPECT_GE(config.gpus.at(0).memory_bytes, std::uint64_t{8} << 30);
    for (const Parameter& parameter : parameters(config)) {
      if (parameter.needs_source()) {
        ASSERT_TRUE(config.sources.contains(parameter.key)) << parameter.key;
        EXPECT_THAT(config.sources.at(parameter.key), testing::Not(HasSubstr("uvmsim default")))
            << parameter.key << ": state it in " << file.name << ".json or the system that it extends";
      }
    }
  }
}

TEST(ShippedSystems, SurviveTheRoundTrip) {
  const TemporaryFolder folder;
  for (const SystemFile& file : list_systems(kShipped)) {
    SCOPED_TRACE(file.name);
    const SystemConfig config = load_system(file.name, kShipped);
    const std::string resolved = resolved_json(config);
    const SystemConfig again = load_system(folder.write("resolved.json", resolved), {});
    EXPECT_EQ(resolved_json(again), resolved);
    EXPECT_EQ(again.sources, config.sources);
    EXPECT_EQ(values_json(again), values_json(config));
  }
}

TEST(LoadSystem, ReadsUnitsAndSources) {
  const TemporaryFolder folder;
  ordered_json document = small_system();
  document["costs"] = ordered_json::parse(
      R"({"source": "the group", "batch_ns": "7 us", "block_ns": {"value": 5, "source": "its own"}})");
  const SystemConfig config = load_system(folder.write_json("small.json", document), {});
  EXPECT_EQ(config.name, "small");
  EXPECT_EQ(config.description, "a small system");
  EXPECT_EQ(config.gpus.at(0).memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(config.gpus.at(0).sm_clock_khz, 1500000u);
  EXPECT_EQ(config.host_links.at(0).host_to_device.latency_ns, 1600u);
  EXPECT_EQ(config.costs.batch_ns, 7000u);
  EXPECT_EQ(config.sources.at("costs.batch_ns"), "the group");
  EXPECT_EQ(config.sources.at("costs.block_ns"), "its own");
  EXPECT_EQ(config.sources.at("host_links.0.host_to_device.run_ns"), "test") << "the source of the group around";
  EXPECT_EQ(config.costs.replay_ns, DriverCosts{}.replay_ns);
  EXPECT_EQ(config.sources.at("costs.replay_ns"), "uvmsim default");
}

TEST(LoadSystem, AGroupMaySayWhereItsDefaultsComeFrom) {
  const TemporaryFolder folder;
  ordered_json document = small_system();
  document["costs"] =
      ordered_json::parse(R"({"source": "stated", "source_of_defaults": "fitted elsewhere", "batch_ns": 7})");
  const SystemConfig config = load_system(folder.write_json("small.json", document), {});
  EXPECT_EQ(config.sources.at("costs.batch_ns"), "stated");
  EXPECT_EQ(config.sources.at("costs.replay_ns"), "fitted elsewhere");
  EXPECT_EQ(config.costs.replay_ns, DriverCosts{}.replay_ns);
}

TEST(LoadSystem, SeveralGpus) {
  const TemporaryFolder folder;
  ordered_json document = small_system();
  document["gpus"].push_back(document["gpus"][0]);
  document["gpus"][1]["sm_count"] = 5;
  document["host_links"].push_back(document["host_links"][0]);
  const SystemConfig config = load_system(folder.write_json("two.json", document), {});
  ASSERT_EQ(config.gpus.size(), 2u);
  EXPECT_EQ(config.gpus[0].sm_count, 4u);
  EXPECT_EQ(config.gpus[1].sm_count, 5u);
  EXPECT_EQ(config.sources.at("gpus.1.sm_count"), "test");
}

TEST(LoadSystem, ExtendsInheritsGroups) {
  const TemporaryFolder folder;
  ordered_json base = small_system();
  base["costs"] = ordered_json::parse(R"({"source": "base", "batch_ns": 1, "block_ns": 2})");
  folder.write_json("base.json", base);
  folder.write("middle.json", R"({
    "description": "middle", "extends": "base",
    "costs": {"block_ns": {"value": 3, "source": "middle"}},
    "gmmu": {"source": "middle", "walkers": 9}
  })");
  ordered_json gpu = small_system()["gpus"];
  gpu[0]["model"] = "Another";
  gpu[0]["source"] = "top";
  const ordered_json top{{"$schema", "x"}, {"description", "top"}, {"extends", "middle"}, {"gpus", gpu}};
  const SystemConfig config = load_system(folder.write_json("top.json", top), {});
  EXPECT_EQ(config.name, "top");
  EXPECT_EQ(config.costs.batch_ns, 1u);
  EXPECT_EQ(config.sources.at("costs.batch_ns"), "inherited from base: base");
  EXPECT_EQ(config.costs.block_ns, 3u);
  EXPECT_EQ(config.sources.at("costs.block_ns"), "inherited from middle: middle");
  EXPECT_EQ(config.gmmu.walkers, 9u);
  EXPECT_EQ(config.gpus.at(0).model, "Another");
  EXPECT_EQ(config.sources.at("gpus.0.sm_count"), "top");
  EXPECT_EQ(config.sources.at("host_links.0.both_ways_bytes_per_us"), "inherited from base: test");
}

// The joint limit of reads and writes in place was measured on one link and does not apply to another.
TEST(LoadSystem, ALinkOfItsOwnInheritsNoLimitOfBothDirections) {
  const TemporaryFolder folder;
  ordered_json base = small_system();
  base["runtime"] = {{"source", "measured"}, {"remote_both_ways_bytes_per_us", "15 GB/s"}};
  folder.write_json("base.json", base);
  const auto limit_of = [&](const ordered_json& document) {
    return load_system(folder.write_json("mine.json", document), {}).runtime.remote_both_ways_bytes_per_us;
  };
  ordered_json mine = {{"description", "mine"}, {"extends", "./base.json"}};
  EXPECT_EQ(limit_of(mine), 15000u);
  mine["host_links"] = base["host_links"];
  mine["host_links"][0]["zero_copy_read_bytes_per_us"] = "360 GB/s";
  EXPECT_EQ(limit_of(mine), 0u);
  mine["runtime"] = {{"source", "measured"}, {"remote_both_ways_bytes_per_us", "500 GB/s"}};
  EXPECT_EQ(limit_of(mine), 500000u);
  // The limit for both directions is lower than one direction alone, so it belongs to another link.
  mine["runtime"]["remote_both_ways_bytes_per_us"] = "68 GB/s";
  try {
    limit_of(mine);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/runtime/remote_both_ways_bytes_per_us: 68000 bytes/us for both directions "
                                        "together, less than one direction of host_links.0 alone, 360000"));
  }
}

TEST(LoadSystem, OneFigureOfAGpuOrLinkCanBeChanged) {
  const TemporaryFolder folder;
  folder.write_json("base.json", small_system());
  const std::string changed = folder.write("changed.json", R"({
    "description": "more memory", "extends": "base",
    "gpus": [{"memory_bytes": {"value": "1 GiB", "source": "here"}}],
    "host_links": [{"host_to_device": {"bytes_per_us": {"value": 7, "source": "here"}}}]
  })");
  const SystemConfig base = load_system("base", {folder.path()}), config = load_system(changed, {folder.path()});
  EXPECT_EQ(config.gpus.at(0).memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(config.gpus.at(0).sm_count, base.gpus.at(0).sm_count);
  EXPECT_EQ(config.sources.at("gpus.0.memory_bytes"), "here");
  EXPECT_EQ(config.sources.at("gpus.0.sm_count"), "inherited from base: test");
  EXPECT_EQ(config.host_links.at(0).host_to_device.bytes_per_us, 7u);
  EXPECT_EQ(config.host_links.at(0).device_to_host.bytes_per_us, base.host_links.at(0).device_to_host.bytes_per_us);
  // Values of one GPU do not apply to another GPU.
  const std::string other = folder.write("other.json", R"({
    "description": "another GPU", "extends": "base",
    "gpus": [{"model": "Another", "memory_bytes": {"value": "1 GiB", "source": "here"}}]
  })");
  EXPECT_THAT(input_error_of([&] { load_system(other, {folder.path()}); }), testing::HasSubstr("keys are missing"));
}

TEST(LoadSystem, ExtendsAFileByPath) {
  const TemporaryFolder folder;
  folder.write_json("base/small.json", small_system());
  const std::string file = folder.write("own/mine.json", R"({"description": "mine", "extends": "../base/small.json"})");
  EXPECT_EQ(load_system(file, {}).gpus.at(0).model, "Test GPU");
}

TEST(LoadSystem, NamesAreFoundInTheSearchPathFirstWins) {
  const TemporaryFolder folder;
  ordered_json document = small_system();
  document["description"] = "first";
  folder.write_json("first/same.json", document);
  document["description"] = "second";
  folder.write_json("second/same.json", document);
  folder.write_json("second/other.json", document);
  const std::vector<std::string> path{folder.path() + "/first", folder.path() + "/missing", folder.path() + "/second"};
  EXPECT_EQ(load_system("same", path).description, "first");
  EXPECT_EQ(load_system("other", path).description, "second");
  const std::vector<SystemFile> systems = list_systems(path);
  ASSERT_EQ(systems.size(), 2u);
  EXPECT_EQ(systems[0].name, "other");
  EXPECT_EQ(systems[1].path, folder.path() + "/first/same.json");
}

TEST(SearchPath, ListsTheUsersFoldersAndTheSourceTree) {
  const TemporaryFolder folder;
  folder.write_json("above/configs/systems/a.json", small_system());
  folder.write_json("configs/systems/b.json", small_system());
  folder.write_json("plain/c.json", small_system());
  const std::string root = folder.path();
  const std::string variable = root + "/above:" + root + "/configs::" + root + "/missing:" + root + "/plain";
  ASSERT_EQ(setenv("UVMSIM_CONFIG_PATH", variable.c_str(), 1), 0);
  const std::vector<std::string> path = default_search_path();
  unsetenv("UVMSIM_CONFIG_PATH");
  ASSERT_GE(path.size(), 4u);
  EXPECT_EQ(path[0], root + "/above/configs/systems");
  EXPECT_EQ(path[1], root + "/configs/systems");
  EXPECT_EQ(path[2], root + "/plain");
  EXPECT_THAT(path, testing::Contains(UVMSIM_SOURCE_DIR "/configs/systems"));
  EXPECT_EQ(load_system("h200-sxm-pcie5").gpus.at(0).sm_count, 132u);
}

TEST(SystemFileSchema, IsUpToDate) {
  EXPECT_TRUE(file_text(UVMSIM_SOURCE_DIR "/configs/system.schema.json") == system_file_schema())
      << "write it again: uvmsim systems --schema > configs/system.schema.json";
}

TEST(SystemFileSchema, KnowsEveryParameter) {
  const ordered_json schema = ordered_json::parse(system_file_schema());
  SystemConfig config;
  config.gpus.resize(1);
  config.host_links.resize(1);
  for (const Parameter& parameter : parameters(config)) {
    std::string key = without_indices(parameter.key);
    const ordered_json* at = &schema;
    while (!key.empty()) {
      const std::string part = key.substr(0, key.find('.'));
      key.erase(0, part.size() + 1);
      at = &at->at("properties").at(part);
      at = at->contains("items") ? &at->at("items") : at;
    }
    const std::string reference = at->at("$ref");
    EXPECT_TRUE(schema.at("$defs").contains(reference.substr(std::string("#/$defs/").size()))) << reference;
  }
}

TEST(Report, ShowsValueUnitSourceAndMeaning) {
  const std::string report = system_report(load_system("h200-sxm-pcie5", kShipped));
  EXPECT_THAT(report, testing::StartsWith("h200-sxm-pcie5: one H200"));
  EXPECT_THAT(report, testing::ContainsRegex("sm_count +132 +\\[1\\]  streaming multiprocessors\n"));
  EXPECT_THAT(report, testing::ContainsRegex("batch_ns +[0-9]+ ns +\\[[0-9]+\\]  fetch and preprocess a batch\n"));
  EXPECT_THAT(report, HasSubstr("\nsources\n   [1] measured: cudaGetDeviceProperties"));
}

// Traces name the GPU that they were recorded on.
TEST(FindGpu, ByTheNameInATrace) {
  const SystemConfig a100 = load_system("a100-pcie-80g", kShipped);
  const auto found = find_gpu("NVIDIA H200", a100, kShipped);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sm_count, 132u);
  EXPECT_EQ(find_gpu("tesla v100-pcie-16gb", a100, kShipped)->sm_count, 80u);
  EXPECT_FALSE(find_gpu("NVIDIA H2000", a100, kShipped));
  EXPECT_FALSE(find_gpu("", a100, kShipped));
}

TEST(FindGpu, TheSystemAtHandComesFirst) {
  SystemConfig mine = load_system("h200-sxm-pcie5", kShipped);
  mine.gpus.front().memory_bytes_per_us = 4000000;
  EXPECT_EQ(find_gpu("NVIDIA H200", mine, kShipped)->memory_bytes_per_us, 4000000u);
}

TEST(FindGpu, ABrokenFileIsLeftOut) {
  const TemporaryFolder folder;
  folder.write("a-broken.json", "{");
  const SystemConfig a100 = load_system("a100-pcie-80g", kShipped);
  EXPECT_TRUE(find_gpu("NVIDIA H200", a100, {folder.path(), kShipped.front()}));
}

}  // namespace
}  // namespace uvmsim::config
