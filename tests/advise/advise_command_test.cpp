// SPDX-License-Identifier: Apache-2.0
// `uvmsim advise`: programs whose remedy is known; the promised time against the time of the written program.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string reader(std::uint64_t object, std::uint64_t first, std::uint64_t pages, std::uint64_t ns = 20000) {
  return fmt::format(R"({{"t":"kernel","name":"reader","grid":[{},1,1],"block":[256,1,1],"duration_ns":{},)"
                     R"("accesses":[[{},[[{},{},"r"]]]]}})",
                     std::max<std::uint64_t>(1, pages / 4), ns, object, first, pages);
}
std::string by_host(std::uint64_t object, std::uint64_t pages, const char* mode) {
  return fmt::format(R"({{"t":"host_access","object":{},"extents":[[0,{},"{}"]]}})", object, pages, mode);
}
constexpr const char* kSync = R"({"t":"sync","kind":"device"})";

class Advise : public CommandTest {
 protected:
  // Advises, and checks properties of every answer: no recommendation is slower than no change, and the written program
  // takes the promised time within 2 %.
  Json advised(const std::string& trace, const std::string& osf) {
    folder.write("trace.jsonl", trace);
    const CommandResult result = run({"advise", "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", osf, "--json",
                                      "-", "--output", "advised.uvmt"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    if (result.exit_code != 0) return {};
    const Json answer = Json::parse(result.out);
    EXPECT_LE(answer["best_ns"], answer["time_ns"]);
    std::uint64_t before = answer["time_ns"];
    for (const Json& step : answer["steps"]) {
      EXPECT_LT(step["time_ns"].get<std::uint64_t>() * 100, before * 99 + 100);
      before = step["time_ns"];
      EXPECT_FALSE(step["cuda"].empty());
      EXPECT_FALSE(step["pytorch"].empty());
    }
    EXPECT_EQ(before, answer["best_ns"]);
    const Json again = ran("advised.uvmt", osf, answer["layout"]);
    const auto promised = answer["best_ns"].get<double>(), taken = quoted(again);
    EXPECT_NEAR(taken / promised, 1, 0.02);
    EXPECT_EQ(quoted(ran("trace.jsonl", osf, "")), answer["time_ns"].get<double>());
    return answer;
  }
  Json ran(const std::string& file, const std::string& osf, const std::string& layout) {
    std::vector<std::string> arguments{"run", file, "--system", "h200-sxm-pcie5", "--osf", osf, "--json", "-"};
    if (!layout.empty()) arguments.insert(arguments.end(), {"--layout", layout});
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }
  static double quoted(const Json& result) {
    return result["settled"].is_null() ? result["total_ns"].get<double>()
                                       : result["settled"]["duration_ns"].get<double>();
  }
  static bool recommends(const Json& answer, const std::string& words) {
    return std::ranges::any_of(answer["steps"], [&](const Json& step) {
      return step["change"].get<std::string>().find(words) != std::string::npos;
    });
  }
};

// Every iteration reads a matrix that the host wrote once. Nothing writes it, so that no eviction has to copy it back.
TEST_F(Advise, AMatrixThatIsOnlyRead) {
  constexpr std::uint64_t kPages = 8192;  // 32 MiB
  std::vector<std::string> lines{alloc(1, kPages * 4096), by_host(1, kPages, "w")};
  for (unsigned i = 0; i < 3; ++i) {
    lines.insert(lines.end(), {iteration("begin", i), reader(1, 0, kPages), kSync, iteration("end", i)});
  }
  const Json answer = advised(trace_of(lines), "2");
  EXPECT_TRUE(recommends(answer, "read-mostly") || recommends(answer, "on the host")) << answer["steps"];
  EXPECT_LT(answer["best_ns"].get<double>(), 0.6 * answer["time_ns"].get<double>());
}

// A scan that is a little larger than memory: an LRU evicts every page just before it is used again.
TEST_F(Advise, ACyclicScan) {
  constexpr std::uint64_t kPages = 10240;
  std::vector<std::string> lines{alloc(1, kPages * 4096), by_host(1, kPages, "w")};
  for (unsigned i = 0; i < 3; ++i) {
    lines.push_back(iteration("begin", i));
    lines.push_back(
        fmt::format(R"({{"t":"kernel","name":"scan","grid":[2560,1,1],"block":[256,1,1],"duration_ns":20000,)"
                    R"("accesses":[[1,[[0,{},"rw"]]]]}})",
                    kPages));
    lines.insert(lines.end(), {kSync, iteration("end", i)});
  }
  const Json answer = advised(trace_of(lines), "1.25");
  EXPECT_FALSE(answer["steps"].empty());
  EXPECT_LT(answer["best_ns"].get<double>(), 0.7 * answer["time_ns"].get<double>());
}

// Everything fits, but the host writes a part of it anew in every iteration.
TEST_F(Advise, DataThatTheHostProduces) {
  constexpr std::uint64_t kPages = 4096;
  std::vector<std::string> lines{alloc(1, kPages * 4096), alloc(2, kPages * 4096)};
  for (unsigned i = 0; i < 3; ++i) {
    lines.insert(lines.end(), {iteration("begin", i), by_host(1, kPages, "w"), reader(1, 0, kPages),
                               kernel(2, 0, kPages), kSync, iteration("end", i)});
  }
  const Json answer = advised(trace_of(lines), "1.5");
  EXPECT_TRUE(recommends(answer, "prefetch") || recommends(answer, "on the host") || recommends(answer, "mapped"))
      << answer["steps"];
}

// CPU and GPU alternately write the same pages.
TEST_F(Advise, PingPong) {
  constexpr std::uint64_t kPages = 2048;
  std::vector<std::string> lines{alloc(1, kPages * 4096), alloc(2, kPages * 4096)};
  for (unsigned i = 0; i < 3; ++i) {
    lines.push_back(iteration("begin", i));
    for (int turn = 0; turn < 3; ++turn) {
      lines.insert(lines.end(), {by_host(1, kPages, "rw"), kernel(1, 0, kPages), kSync});
    }
    lines.insert(lines.end(), {kernel(2, 0, kPages), iteration("end", i)});
  }
  const Json answer = advised(trace_of(lines), "1.5");
  EXPECT_FALSE(answer["steps"].empty());
}

// Each step reads a few rows of a large table: moving 2 MiB for a row costs more than reading the row on the host.
TEST_F(Advise, EmbeddingTables) {
  constexpr std::uint64_t kPages = 16384, kRows = 200;  // 64 MiB
  std::vector<std::string> lines{alloc(1, kPages * 4096), by_host(1, kPages, "w")};
  std::uint64_t place = 1;
  for (unsigned i = 0; i < 4; ++i) {
    lines.push_back(iteration("begin", i));
    std::vector<std::uint64_t> rows;
    for (std::uint64_t row = 0; row < kRows; ++row) {
      place = place * 6364136223846793005u + 1442695040888963407u;
      rows.push_back((place >> 33) % kPages);
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::string extents;
    for (const std::uint64_t row : rows) extents += fmt::format("{}[{},1,\"r\"]", extents.empty() ? "" : ",", row);
    lines.push_back(
        fmt::format(R"({{"t":"kernel","name":"lookup","grid":[200,1,1],"block":[64,1,1],"duration_ns":10000,)"
                    R"("accesses":[[1,[{}]]]}})",
                    extents));
    lines.insert(lines.end(), {kSync, iteration("end", i)});
  }
  const Json answer = advised(trace_of(lines), "4");
  EXPECT_TRUE(recommends(answer, "on the host")) << answer["steps"];
  EXPECT_LT(answer["best_ns"].get<double>(), 0.5 * answer["time_ns"].get<double>());
}

// Twenty matrices are read once in each iteration, as a language model reads its weights for each token. An LRU evicts
// each before it is used again and moves all of them, 80 MiB; the third that does not fit is enough.
TEST_F(Advise, WeightsThatDoNotFitStayOnTheHost) {
  constexpr std::uint64_t kObjects = 20, kPages = 1024;
  std::vector<std::string> lines;
  for (std::uint64_t id = 1; id <= kObjects; ++id) {
    lines.insert(lines.end(), {alloc(id, kPages * 4096), by_host(id, kPages, "w")});
  }
  for (unsigned i = 0; i < 4; ++i) {
    lines.push_back(iteration("begin", i));
    for (std::uint64_t id = 1; id <= kObjects; ++id) lines.push_back(reader(id, 0, kPages));
    lines.insert(lines.end(), {kSync, iteration("end", i)});
  }
  const Json answer = advised(trace_of(lines), "1.5");
  EXPECT_TRUE(recommends(answer, "that kernels touch least per byte")) << answer["steps"];
  EXPECT_LT(answer["best_ns"].get<double>(), 0.5 * answer["time_ns"].get<double>());
}

TEST_F(Advise, NothingHelpsWhereNothingWaits) {
  const Json answer = advised(two_iterations(16), "1");
  EXPECT_TRUE(answer["steps"].empty());
  EXPECT_EQ(answer["runs"], 0);
  EXPECT_THAT(answer["reasons"][0], HasSubstr("nothing to save"));
}

TEST_F(Advise, TheTextHasTheLinesAndTheRulesWork) {
  folder.write("trace.jsonl", two_iterations(32));
  const CommandResult text =
      run({"advise", "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "1.5", "-o", "a.uvmt"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("CUDA C++  cudaMem"));
  EXPECT_THAT(text.out, HasSubstr("PyTorch   cudart."));
  const std::string title = "The rules for `uvmsim trace hint`:\n";
  const std::size_t begin = text.out.find(title) + title.size();
  folder.write("rules.hints", text.out.substr(begin, text.out.find("\n\n", begin) - begin) + "\n");
  ASSERT_EQ(run({"trace", "hint", "trace.jsonl", "--hints", "rules.hints", "-o", "b.uvmt"}).exit_code, 0);
  EXPECT_EQ(quoted(ran("a.uvmt", "1.5", "")), quoted(ran("b.uvmt", "1.5", "")));
}

TEST_F(Advise, Mistakes) {
  folder.write("trace.jsonl", two_iterations(16));
  const auto advise = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "advise");
    return run(options);
  };
  expect_one_line_error(advise({}), {"no trace given"});
  expect_one_line_error(advise({"trace.jsonl"}), {"--system"});
  expect_one_line_error(advise({"trace.jsonl", "--system", "h200-sxm-pcie5"}), {"one --osf"});
  expect_one_line_error(advise({"trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "1.5,2"}), {"one --osf"});
  expect_one_line_error(advise({"-", "--system", "h200-sxm-pcie5", "--osf", "2"}), {"standard input"});
  expect_one_line_error(advise({"trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2", "-o", "a.jsonl"}),
                        {".uvmt"});
  expect_one_line_error(advise({"none.uvmt", "--system", "h200-sxm-pcie5", "--osf", "2"}), {"none.uvmt"});
}

}  // namespace
}  // namespace uvmsim
