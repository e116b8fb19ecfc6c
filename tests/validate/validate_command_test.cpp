// SPDX-License-Identifier: Apache-2.0
// The command as a user runs it: exit codes, messages, outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string output;  // standard output and error
};

Outcome run(const std::string& arguments, const std::string& redirect = "2>&1") {
  const std::string command = std::string(UVMSIM_COMMAND) + " validate " + arguments + " " + redirect;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), [](std::FILE*) { return 0; });
  Outcome outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe.get());
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class ValidateCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("uvmsim_validate_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Touches one page of unpopulated memory: on any system this takes one batch and no copies.
  std::string one_fault(const std::string& offset_of_fault = "0") const {
    std::ofstream(path("one.jsonl")) << R"({"name":"one","mode":"ordered","bytes":4194304,"va_offset_in_2m":0,)"
                                     << R"("advise":"none","host_populated":[],"gpu_resident":[],"touches":[[0,"w"]],)"
                                     << R"("events":[["kernel",0,300000,-1,0,0],["gpu_fault",900,299000,)"
                                     << offset_of_fault << ",1,2]]}\n";
    return path("one.jsonl") +
           " --system h200-sxm-pcie5 --tolerance ordered_time=1000 "
           "--tolerance ordered_time_median=1000 ";
  }

  std::filesystem::path folder_;
};

TEST_F(ValidateCommand, WithinTolerancesIsZeroOutsideIsOne) {
  const Outcome within = run(one_fault());
  EXPECT_EQ(within.code, 0) << within.output;
  EXPECT_THAT(within.output, HasSubstr("0 of 1 experiments are outside"));
  const Outcome outside = run(one_fault("65536"));
  EXPECT_EQ(outside.code, 1) << outside.output;
  EXPECT_THAT(outside.output, HasSubstr("one: pages"));
}

TEST_F(ValidateCommand, WritesJsonAndMarkdown) {
  std::ofstream(path("table.md")) << "# Head\n<!-- validate:begin -->\n<!-- validate:end -->\nfoot\n";
  const Outcome outcome = run(one_fault() + "--json " + path("out.json") + " --markdown " + path("table.md"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(read("out.json"))["experiments"][0]["fault_batches"]["simulated"], 1);
  EXPECT_THAT(read("table.md"), HasSubstr("| one | ordered | 1 / 1 |"));
  EXPECT_THAT(read("table.md"), HasSubstr("<!-- validate:end -->\nfoot\n"));
  const Outcome standard = run(one_fault() + "--json -", "");
  EXPECT_EQ(nlohmann::json::parse(standard.output)["within"], true) << "nothing else on standard output";
}

TEST_F(ValidateCommand, MistakesAreOneLineAndTwo) {
  const auto expect_error = [](const Outcome& outcome, const std::string& text) {
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(text));
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
  };
  expect_error(run(""), "no file of experiments");
  expect_error(run(path("missing.jsonl") + " --system h200-sxm-pcie5"), "missing.jsonl");
  expect_error(run(one_fault() + "--only 'two*'"), "no experiment matches 'two*'; the first one of");
  expect_error(run(one_fault() + "--tolerance time=3"), "unknown tolerance 'time'; allowed: ordered_time");
  expect_error(run(one_fault() + "--tolerance library_time=x"), "allowed: 0 to 1000");
  expect_error(run(path("one.jsonl")), "--system is missing");
  expect_error(run(one_fault() + "--json " + path("no/such/folder.json")), "folder.json");
  std::ofstream(path("bad.jsonl")) << "{\n";
  expect_error(run(path("bad.jsonl") + " --system h200-sxm-pcie5"), "bad.jsonl: line 1: ");
}

TEST_F(ValidateCommand, HelpTeaches) {
  const Outcome outcome = run("--help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("Examples:"));
  EXPECT_THAT(outcome.output, HasSubstr("ordered_time_median (8)"));
}

}  // namespace
