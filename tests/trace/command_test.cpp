// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/report/scratch_folder.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TraceCommand : public ::testing::Test {
 protected:
  // Runs in the scratch folder; returns the exit code.
  int run(const std::string& arguments) {
    const std::string line = "cd '" + folder_.path() + "' && '" UVMSIM_COMMAND "' trace " + arguments + " >.out 2>.err";
    const int status = std::system(line.c_str());
    out_ = folder_.read(".out");
    error_ = folder_.read(".err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const std::string& name : folder_.names()) {
      if (!name.starts_with(".")) names.push_back(name);
    }
    return names;
  }

  ScratchFolder folder_;
  std::string out_, error_;
};

TEST_F(TraceCommand, Help) {
  EXPECT_EQ(run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("validate   check traces"));
  for (const char* verb : {"info", "dump", "pack", "validate", "import", "generate"}) {
    EXPECT_EQ(run(std::string(verb) + " --help"), 0) << verb;
    EXPECT_THAT(out_, StartsWith(std::string("usage: uvmsim trace ") + verb));
    EXPECT_THAT(out_, HasSubstr("Example"));
  }
  EXPECT_THAT(out_, HasSubstr("repeated_scan"));
}

TEST_F(TraceCommand, GenerateInfoDumpPackValidate) {
  ASSERT_EQ(run("generate zigzag --bytes 1MiB --repeats 2 --kernels 3 -o a.uvmt"), 0) << error_;
  ASSERT_EQ(run("info a.uvmt"), 0);
  EXPECT_THAT(out_, HasSubstr("synthetic zigzag"));
  ASSERT_EQ(run("info --json a.uvmt"), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["totals"]["kernels"], 6);
  ASSERT_EQ(run("dump a.uvmt"), 0);
  EXPECT_THAT(out_, StartsWith("{\"t\":\"header\","));
  folder_.write("b.jsonl", out_);
  ASSERT_EQ(run("dump a.uvmt -o c.jsonl"), 0);
  EXPECT_EQ(folder_.read("c.jsonl"), folder_.read("b.jsonl"));
  ASSERT_EQ(run("pack b.jsonl -o d.uvmt"), 0);
  EXPECT_EQ(folder_.read("d.uvmt"), folder_.read("a.uvmt"));
  ASSERT_EQ(run("validate a.uvmt b.jsonl"), 0);
  EXPECT_EQ(out_, "a.uvmt: 15 records, valid\nb.jsonl: 15 records, valid\n");
}

TEST_F(TraceCommand, Mistakes) {
  folder_.write("bad.jsonl", "{\"t\":\"header\",\"major\":1}\n{\"t\":\"object_free\",\"id\":4}\n");
  const auto expect = [this](const std::string& arguments, const std::string& message) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_THAT(error_, StartsWith("uvmsim: error: "));
    EXPECT_THAT(error_, HasSubstr(message));
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1);
    EXPECT_THAT(files(), ElementsAre("bad.jsonl"));
  };
  expect("", "no verb given");
  expect("inof x", "unknown verb 'inof' (did you mean 'info'?)");
  expect("info", "no trace given");
  expect("info none.uvmt", "none.uvmt: cannot be opened: No such file or directory");
  expect("info bad.jsonl --jsn", "--json");
  expect("validate bad.jsonl", "bad.jsonl: record 1 (line 2): object_free: object 4 was never allocated");
  expect("pack bad.jsonl -o x.uvmt", "object 4 was never allocated");
  expect("pack bad.jsonl", "no output given");
  expect("pack bad.jsonl -o x.jsonl", "pack writes .uvmt");
  expect("pack bad.jsonl -o none/x.uvmt", "none/x.uvmt");
  expect("pack bad.jsonl -o x.uvmt --level 20", "allowed: 1 to 19");
  expect("dump bad.jsonl -o x.uvmt", "dump writes JSON lines");
  expect("import bad.jsonl -o x.uvmt", "uvmsim trace import raw RECORDING");
  expect("import raw bad.jsonl -o x.uvmt", "bad.jsonl: line 1: not a raw recording");
  expect("import raw bad.jsonl -o x.uvmt --kind host", "--kind");
  expect("generate -o x.uvmt", "no pattern given");
  expect("generate zigzag", "no output given");
  expect("generate zigzag -o x.txt", "x.txt: the name of a trace must end in .uvmt or .jsonl");
  expect("generate zigzag -o x.uvmt --bytes many", "--bytes");
  expect("generate zigzag -o x.uvmt --kernels -1", "--kernels");
  expect("generate zigzag -o x.uvmt --block 99999999999", "--block: 99999999999 is too large");
  expect("generate zigzag -o x.uvmt --write-percent 101", "write-percent is 101; allowed: 0 to 100");
}

TEST_F(TraceCommand, Partial) {
  ASSERT_EQ(run("generate random --kernels 20 --touches 4000 -o a.uvmt"), 0);
  const std::string whole = folder_.read("a.uvmt");
  folder_.write("cut.uvmt", whole.substr(0, whole.size() * 2 / 3));
  for (const char* verb : {"info", "dump", "validate", "pack -o x.uvmt"}) {
    EXPECT_EQ(run(std::string(verb) + " cut.uvmt"), 2) << verb;
    EXPECT_THAT(error_, HasSubstr("--partial loads what is whole"));
    EXPECT_EQ(run(std::string(verb) + " cut.uvmt --partial"), 0) << error_;
    EXPECT_THAT(error_, HasSubstr("uvmsim: warning: cut.uvmt: after "));
  }
  EXPECT_EQ(run("validate x.uvmt --partial"), 2);  // the trace ends within an iteration
  EXPECT_THAT(error_, HasSubstr("iteration 0 has no end"));
}

TEST_F(TraceCommand, Pipes) {
  ASSERT_EQ(run("generate sequential -o a.uvmt"), 0);
  ASSERT_EQ(run("dump a.uvmt | '" UVMSIM_COMMAND "' trace pack - -o b.uvmt"), 0) << error_;
  EXPECT_EQ(folder_.read("b.uvmt"), folder_.read("a.uvmt"));
}

}  // namespace
}  // namespace uvmsim::trace
