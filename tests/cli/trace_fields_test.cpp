// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim trace fields`: it lists exactly the keys that records have in the JSON-lines form.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/trace/samples.h"

namespace uvmsim {
namespace {

class TraceFields : public CommandTest {};

using Keys = std::map<std::string, std::set<std::string>>;  // by record type

TEST_F(TraceFields, ListsTheKeysThatRecordsHaveAndNoOthers) {
  Keys written;
  std::vector<trace::Record> records = trace::sample_records();
  records.emplace_back(trace::Discard{1, 4096, 4096, 1});  // the sample's offset is 0
  std::istringstream lines(trace::encode({trace::sample_header(), records}, trace::TraceFormat::kJsonLines));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    for (const auto& [key, value] : record.items()) {
      if (key != "t") written[record["t"]].insert(key);
    }
  }
  Keys listed;
  const auto document = nlohmann::json::parse(run({"trace", "fields", "--json"}).out);
  for (const auto& field : document["fields"]) listed[field["record"]].insert(field["key"].get<std::string>());
  EXPECT_EQ(listed, written);
}

TEST_F(TraceFields, OfOneRecordSaysWhatAKeyMayBe) {
  const CommandResult kernel = run({"trace", "fields", "kernel"});
  EXPECT_EQ(kernel.exit_code, 0) << kernel.err;
  EXPECT_THAT(kernel.out, ::testing::HasSubstr("duration_ns"));
  EXPECT_THAT(kernel.out, ::testing::HasSubstr("block_linear, grid_stride, thread_chunk, tiled"));
  EXPECT_THAT(kernel.out, ::testing::Not(::testing::HasSubstr("advice")));
  expect_one_line_error(run({"trace", "fields", "kernels"}), {"unknown record type 'kernels'", "kernel"});
}

}  // namespace
}  // namespace uvmsim
