// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim layouts`, layouts with parameters in `run`, and the footprints of `trace info`.
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;

class Layouts : public CommandTest {};

// A segment of 20 MiB with adjacent tensors of 3 and 2 MiB, and another allocation of 4 MiB.
constexpr const char* kTrace = R"({"t":"header","major":1,"minor":0,"quantum_bytes":512}
{"t":"object_alloc","id":1,"bytes":20971520}
{"t":"tensor_alloc","id":2,"bytes":3145728,"object":1}
{"t":"kernel","name":"a","grid":[8,1,1],"block":[256,1,1],"duration_ns":1000,"accesses":[[2,[[0,6144,"w"]]]]}
{"t":"tensor_free","id":2}
{"t":"tensor_alloc","id":3,"bytes":2097152,"object":1}
{"t":"kernel","name":"b","grid":[8,1,1],"block":[256,1,1],"duration_ns":1000,"accesses":[[3,[[0,4096,"w"]]]]}
{"t":"tensor_free","id":3}
{"t":"object_alloc","id":4,"bytes":4194304}
{"t":"kernel","name":"c","grid":[8,1,1],"block":[256,1,1],"duration_ns":1000,"accesses":[[4,[[0,8192,"w"]]]]}
)";

TEST_F(Layouts, AreListedWithTheirParameters) {
  const CommandResult list = run({"layouts"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  for (const char* name : {"expandable_segments", "none", "preallocating", "pytorch_caching", "recorded"}) {
    EXPECT_THAT(list.out, HasSubstr(name));
  }
  const CommandResult one = run({"layouts", "pytorch_caching"});
  EXPECT_THAT(one.out, HasSubstr("garbage_collection_threshold"));
  EXPECT_THAT(one.out, HasSubstr("footprint"));
  EXPECT_THAT(run({"layouts", "recorded"}).out, HasSubstr("no parameters"));
  const auto json = nlohmann::json::parse(run({"layouts", "none", "--json"}).out);
  EXPECT_EQ(json["layouts"][0]["parameters"][0]["name"], "small_alignment_bytes");
  expect_one_line_error(run({"layouts", "pytorch"}), {"unknown layout 'pytorch'", "allowed: expandable_segments"});
  EXPECT_THAT(run({"layouts", "--help"}).out, HasSubstr("--layout NAME"));
}

TEST_F(Layouts, TraceInfoPrintsTheFootprintUnderEach) {
  folder.write("t.jsonl", kTrace);
  const CommandResult info = run({"trace", "info", "t.jsonl"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("footprint    expandable_segments 24.00 MiB (25165824 bytes)"));
  const auto json = nlohmann::json::parse(run({"trace", "info", "t.jsonl", "--json"}).out);
  EXPECT_EQ(
      json["footprint_bytes"].dump(),
      R"({"expandable_segments":25165824,"none":4194304,"preallocating":null,"pytorch_caching":25165824,"recorded":25165824})");
}

TEST_F(Layouts, TraceInfoSaysWhyALayoutCannotBe) {
  folder.write("t.jsonl", R"({"t":"header","major":1,"minor":0,"quantum_bytes":512}
{"t":"object_alloc","id":1,"bytes":4194304,"va":4194304}
{"t":"object_alloc","id":2,"bytes":4194304,"va":6291456}
{"t":"object_alloc","id":3,"bytes":35184372088832}
)");
  const CommandResult info = run({"trace", "info", "t.jsonl"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("recorded            cannot be: allocation of 4194304 bytes at 0x600000 overlaps"));
  EXPECT_THAT(info.out, HasSubstr("none                cannot be: more than 549755813888 bytes are live"));
  const auto json = nlohmann::json::parse(run({"trace", "info", "t.jsonl", "--json"}).out);
  EXPECT_TRUE(json["footprint_bytes"]["recorded"].is_null());
}

// In an arena of 64 MiB, 8 MiB are touched twice, then 4 others once, after the last touch of the first.
TEST_F(Layouts, TouchedFootprintIsWhatFactorsDivideWhenAsked) {
  const std::string trace =
      trace_of({alloc(1, 64 << 20), kernel(1, 0, 2048), kernel(1, 0, 2048), kernel(1, 8192, 1024)});
  const auto json_of = [&](const CommandResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const auto touched = json_of(run_trace(trace, {"--footprint", "touched", "--osf", "2", "--json", "-"}));
  EXPECT_EQ(touched["footprint_bytes"], 64 << 20);
  EXPECT_EQ(touched["touched_footprint_bytes"], 8 << 20);
  EXPECT_EQ(touched["limit"]["footprint"], "touched");
  EXPECT_EQ(touched["capacity_bytes"], 4 << 20);
  EXPECT_EQ(touched["osf_thousandths"], 2000);
  EXPECT_THAT(touched["command"].get<std::string>(), HasSubstr(" --footprint touched"));
  const auto allocated = json_of(run_trace(trace, {"--footprint", "allocated", "--osf", "2", "--json", "-"}));
  EXPECT_EQ(allocated["capacity_bytes"], 32 << 20);
  EXPECT_FALSE(allocated.contains("touched_footprint_bytes"));
  EXPECT_FALSE(allocated["limit"].contains("footprint"));
  EXPECT_THAT(run_trace(trace, {"--footprint", "touched", "--osf", "2"}).out,
              HasSubstr("footprint 64.00 MiB, touched 8.00 MiB, capacity 4.00 MiB, OSF 2"));

  const std::vector<std::string> bounds = {"bounds", "trace.jsonl", "--system",    "h200-sxm-pcie5",
                                           "--osf",  "2",           "--footprint", "touched"};
  EXPECT_THAT(run(bounds).out, HasSubstr("footprint 64.00 MiB, touched 8.00 MiB, which the factors divide"));
  const auto info = json_of(run({"trace", "info", "trace.jsonl", "--json"}));
  EXPECT_EQ(info["touched_footprint_bytes"], 8 << 20);
  EXPECT_THAT(run({"trace", "info", "trace.jsonl"}).out, HasSubstr("touched             8.00 MiB (8388608 bytes)"));

  expect_one_line_error(run_trace(trace, {"--footprint", "used"}), {"--footprint", "used", "allocated, touched"});
  expect_one_line_error(run_trace(trace, {"--footprint", "touched", "--footprint-bytes", "8MiB", "--osf", "2"}),
                        {"--footprint touched", "--footprint-bytes"});
  expect_one_line_error(run_trace(trace, {"--footprint", "touched", "--osf", "5"}), {"--osf", "8.00 MiB", "at most 4"});
}

TEST_F(Layouts, RunWritesTheResolvedParameters) {
  const CommandResult result =
      run_trace(kTrace, {"--layout", "pytorch_caching:max_split_size_bytes=64MiB", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["layout"], "pytorch_caching");
  EXPECT_EQ(json["layout_parameters"]["max_split_size_bytes"], "67108864");
  EXPECT_EQ(json["layout_parameters"]["record_stream"], "inferred");
  EXPECT_EQ(json["footprint_bytes"], 25165824);
  EXPECT_THAT(run_trace(kTrace, {"--layout", "pytorch_caching:max_split_size_bytes=64MiB"}).out,
              HasSubstr("layout pytorch_caching:max_split_size_bytes=64MiB, seed 1"));
  const auto plain = nlohmann::json::parse(run_trace(kTrace, {"--json", "-"}).out);
  EXPECT_EQ(plain["layout"], "recorded");
  EXPECT_EQ(plain["layout_parameters"], nlohmann::json::object());
}

TEST_F(Layouts, TwoLayoutsCompareAtEqualCapacity) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--capacity-bytes", "12MiB"}, {"--footprint-bytes", "24MiB", "--osf", "2"}}) {
    for (const char* layout : {"none", "pytorch_caching", "expandable_segments"}) {
      std::vector<std::string> arguments{"--layout", layout, "--json", "-"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      const CommandResult result = run_trace(kTrace, arguments);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      const auto json = nlohmann::json::parse(result.out);
      EXPECT_EQ(json["capacity_bytes"], 12 << 20) << layout;
      EXPECT_EQ(json["footprint_bytes"], layout == std::string("none") ? 4 << 20 : 24 << 20) << layout;
    }
  }
}

// The footprint is the arena and a separate allocation of 4 MiB: a factor divides reserved memory. Tensors reach 3 MiB
// of the arena.
TEST_F(Layouts, AnArenaIsReservedWhole) {
  const std::vector<std::string> options{"--layout", "preallocating:arena_bytes=64MiB", "--osf", "2"};
  std::vector<std::string> to_json = options;
  to_json.insert(to_json.end(), {"--json", "-"});
  const CommandResult result = run_trace(kTrace, to_json);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["footprint_bytes"], 68 << 20);
  EXPECT_EQ(json["capacity_bytes"], 34 << 20);
  EXPECT_EQ(json["arena_reached_bytes"], 3 << 20);
  EXPECT_EQ(json["counters"]["evictions"], 0) << "what is used fits";
  EXPECT_THAT(run_trace(kTrace, options).out,
              HasSubstr("footprint 68.00 MiB (tensors reached 3.00 MiB of the arena), "));
  const auto other = nlohmann::json::parse(run_trace(kTrace, {"--layout", "none", "--json", "-"}).out);
  EXPECT_FALSE(other.contains("arena_reached_bytes"));
}

TEST_F(Layouts, AnArenaIsAShareOfTheSystemsGpu) {
  const auto arena_and_gpu = [&](const char* layout) {
    const auto json = nlohmann::json::parse(run_trace(kTrace, {"--layout", layout, "--json", "-"}).out);
    const std::uint64_t gpu = json["system"]["gpus"][0]["memory_bytes"];
    return std::pair(std::stoull(json["layout_parameters"]["arena_bytes"].get<std::string>()), gpu);
  };
  for (const auto& [layout, eighths] : {std::pair{"preallocating", 6}, {"preallocating:memory_fraction=1.5", 12}}) {
    const auto [arena, gpu] = arena_and_gpu(layout);
    EXPECT_EQ(arena, gpu * static_cast<std::uint64_t>(eighths) / 8 >> 21 << 21) << layout;
  }
}

TEST_F(Layouts, BadOnesAreOneLine) {
  expect_one_line_error(run_trace(kTrace, {"--layout", "preallocating:arena_bytes=2MiB"}),
                        {"trace.jsonl", "record 2", "the preallocated arena is out of memory", "arena_bytes"});
  folder.write("t.jsonl", kTrace);
  expect_one_line_error(
      run({"trace", "export", "oracle-general", "t.jsonl", "-o", "t.oracleGeneral", "--layout", "preallocating"}),
      {"no GPU is known here", "allowed: arena_bytes=SIZE"});
  expect_one_line_error(run_trace(kTrace, {"--layout", "pytorch_caching:size=4"}),
                        {"--layout", "unknown parameter 'size'", "allowed: max_split_size_bytes"});
  expect_one_line_error(run_trace(kTrace, {"--layout", "pytorch_caching:memory_limit_bytes=10MiB"}),
                        {"trace.jsonl", "record 2", "out of memory"});
}

}  // namespace
}  // namespace uvmsim
