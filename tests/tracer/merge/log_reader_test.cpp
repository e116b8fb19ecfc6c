// SPDX-License-Identifier: Apache-2.0
// Checks damaged logs, and logs with forbidden content.
#include "tracer/merge/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::string& text, std::optional<Pass> expected = std::nullopt) {
  try {
    read_log(text, "some.jsonl", expected);
  } catch (const uvmsim::InputError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    return error.what();
  }
  return "no error";
}

// Returns the error of a log whose third line is `line`.
std::string error_of_line(const std::string& line, Pass pass = Pass::kTiming) {
  LogBuilder log(pass);
  log.alloc(4096, 4096);
  log.raw(line);
  const std::string message = error_of(log.text());
  EXPECT_THAT(message, HasSubstr("some.jsonl: line 3: "));
  return message;
}

TEST(LogReader, ReadsEvents) {
  LogBuilder log(Pass::kTiming);
  log.alloc(0x10000, 4096);
  LogBuilder::LaunchSpec launch;
  launch.params = {0x10000};
  log.launch(launch);
  const PassLog read = read_log(log.text(), "a", Pass::kTiming);
  EXPECT_EQ(read.header.gpu, "NVIDIA Test");
  EXPECT_EQ(read.header.program, (std::vector<std::string>{"./program", "-x"}));
  EXPECT_EQ(read.header.compute_capability[0], 9u);
  ASSERT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.events[0].seq, 1u);
  EXPECT_EQ(read.events[0].line, 2u);
  ASSERT_EQ(read.launches.size(), 1u);
  EXPECT_EQ(read.names[read.launches[0].name], "kernel");
  EXPECT_EQ(read.launches[0].params, std::vector<std::uint64_t>{0x10000});
  EXPECT_EQ(read.kernel_times.at({1, 0}).registers, 40u);
  EXPECT_TRUE(read.complete);
  EXPECT_FALSE(read.cut_line);
}

TEST(LogReader, SortsBySequence) {
  LogBuilder log(Pass::kTiming);
  log.raw(R"({"t":"sync","seq":9,"tid":1,"kind":"device"})");
  log.raw(R"({"t":"sync","seq":3,"tid":0,"kind":"device"})");
  const PassLog read = read_log(log.text(), "a", std::nullopt);
  EXPECT_EQ(read.events[0].seq, 3u);
  EXPECT_EQ(read.events[1].seq, 9u);
}

TEST(LogReader, KilledProgram) {
  LogBuilder log(Pass::kTiming);
  log.alloc(0x10000, 4096);
  log.alloc(0x20000, 4096);
  const std::string whole = log.text(false);
  const std::size_t header_end = whole.find('\n') + 1;
  // Every prefix that includes the header can be read, and never gives more events than it holds.
  for (std::size_t length = header_end; length < whole.size(); ++length) {
    const PassLog read = read_log(std::string_view(whole).substr(0, length), "a", std::nullopt);
    EXPECT_FALSE(read.complete);
    EXPECT_LE(read.events.size(), 2u);
  }
  EXPECT_TRUE(read_log(whole.substr(0, whole.size() - 5), "a", std::nullopt).cut_line);
  EXPECT_THAT(error_of(whole.substr(0, header_end / 2)), HasSubstr("no header"));
  EXPECT_THAT(error_of(""), HasSubstr("no header"));
}

TEST(LogReader, UnknownKeysAndTypesAreSkipped) {
  LogBuilder log(Pass::kTiming);
  log.raw(R"({"t":"sync","seq":1,"tid":0,"kind":"device","colour":"red"})");
  log.raw(R"({"t":"weather","seq":2})");
  log.raw(R"({"t":"weather"})");
  const PassLog read = read_log(log.text(), "a", std::nullopt);
  EXPECT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.unknown_types.at("weather"), 2u);
}

TEST(LogReader, NamesOfAnyBytes) {
  LogBuilder log(Pass::kTiming);
  log.raw("{\"t\":\"push\",\"seq\":1,\"tid\":0,\"name\":\"\xff\xfe layer\"}");
  const PassLog read = read_log(log.text(), "a", std::nullopt);
  EXPECT_EQ(read.names[1], "?? layer");
}

TEST(LogReaderHostile, NotALog) {
  EXPECT_THAT(error_of("hello\n"), HasSubstr("line 1: not valid JSON"));
  EXPECT_THAT(error_of("{\"t\":\"alloc\"}\n"), HasSubstr("first line must be a header"));
  EXPECT_THAT(error_of("[1]\n"), HasSubstr("must be an object"));
  EXPECT_THAT(error_of("{\"t\":\"header\",\"version\":2,\"pass\":\"timing\"}\n"), HasSubstr("version 2"));
  EXPECT_THAT(error_of("{\"t\":\"header\",\"version\":1,\"pass\":\"third\"}\n"), HasSubstr("allowed: timing, access"));
  EXPECT_THAT(error_of("{\"t\":\"header\",\"version\":1,\"pass\":\"access\",\"quantum_bytes\":4096}\n"),
              HasSubstr("'quantum_bytes' is 4096"));
  EXPECT_THAT(error_of(LogBuilder(Pass::kAccess).text(), Pass::kTiming), HasSubstr("log of the access pass"));
}

TEST(LogReaderHostile, BadLines) {
  EXPECT_THAT(error_of_line("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_line("{}"), HasSubstr("'t' is missing"));
  EXPECT_THAT(error_of_line(R"({"t":5})"), HasSubstr("'t' must be text"));
  EXPECT_THAT(error_of_line(R"({"t":"header","version":1,"pass":"timing"})"), HasSubstr("second header"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","va":4096,"bytes":1,"kind":"device"})"), HasSubstr("'seq' is missing"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","seq":1,"bytes":1,"kind":"device"})"), HasSubstr("'va' is missing"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","seq":1,"va":1,"bytes":1,"kind":"devise"})"),
              HasSubstr("did you mean 'device'"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","seq":1,"va":1,"bytes":-1,"kind":"device"})"), HasSubstr("'bytes'"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","seq":1,"va":1,"bytes":1e3,"kind":"device"})"), HasSubstr("'bytes'"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","seq":1,"va":1,"bytes":18446744073709551615,"kind":"device"})"),
              HasSubstr("'bytes'"));
  EXPECT_THAT(error_of_line(R"({"t":"alloc","seq":1,"va":18446744073709551615,"bytes":4096,"kind":"device"})"),
              HasSubstr("'va'"));
  EXPECT_THAT(error_of_line(R"({"t":"sync","seq":1,"kind":"device","begin_ns":9223372036854775807})"),
              HasSubstr("'begin_ns'"));
  EXPECT_THAT(error_of_line(R"({"t":"sync","seq":1,"kind":"device","stream":4000000000})"), HasSubstr("'stream'"));
  EXPECT_THAT(error_of_line(R"({"t":"advise","seq":1,"va":1,"bytes":1,"advice":"good"})"), HasSubstr("advice"));
  EXPECT_THAT(error_of_line(R"({"t":"push","seq":1,"name":")" + std::string(70000, 'x') + "\"}"),
              HasSubstr("a name of"));
}

TEST(LogReaderHostile, NothingAfterTheEnd) {
  std::string text = LogBuilder(Pass::kTiming).text();
  text += R"({"t":"note","text":"more"})"
          "\n";
  EXPECT_THAT(error_of(text), HasSubstr("line 3: note after the end"));
}

std::string launch_with(const std::string& fields) {
  return R"({"t":"launch","seq":5,"tid":0,"corr":1,"name":"k","grid":[4,1,1],"block":[32,1,1],"stream":0)" + fields +
         "}";
}

TEST(LogReaderHostile, BadLaunches) {
  const auto error = [](const std::string& fields) { return error_of_line(launch_with(fields), Pass::kAccess); };
  EXPECT_THAT(error(R"(,"accesses":5)"), HasSubstr("must be a list"));
  EXPECT_THAT(error(R"(,"accesses":[[1,2]])"), HasSubstr("list of 3 items"));
  EXPECT_THAT(error(R"(,"accesses":[[1,2,0]])"), HasSubstr("access mode 0"));
  EXPECT_THAT(error(R"(,"accesses":[[1,2,4]])"), HasSubstr("access mode"));
  EXPECT_THAT(error(R"(,"accesses":[[1,0,1]])"), HasSubstr("run 0"));
  EXPECT_THAT(error(R"(,"accesses":[[5,2,1],[6,2,1]])"), HasSubstr("run 1"));
  EXPECT_THAT(error(R"(,"accesses":[[281474976710656,1,1]])"), HasSubstr("'accesses'"));
  EXPECT_THAT(error(R"(,"accesses":[[1,18446744073709551615,1]])"), HasSubstr("'accesses'"));
  EXPECT_THAT(error(R"(,"accesses":[],"phases":[[0,5,[]]])"), HasSubstr("count of blocks"));
  EXPECT_THAT(error(R"(,"accesses":[],"phases":[[0,2,[]],[1,1,[]]])"), HasSubstr("phase 1"));
  EXPECT_THAT(error(R"(,"accesses":[],"phases":[[0,0,[]]])"), HasSubstr("phase 0"));
  EXPECT_THAT(error(R"(,"accesses":[],"phases":[[0,1,[[3,1,1],[2,1,1]]]])"), HasSubstr("run 1"));
  EXPECT_THAT(error(R"(,"accesses":[],"order":["x"])"), HasSubstr("page of the order"));
  EXPECT_THAT(error(R"(,"accesses":[],"counts":[[1]])"), HasSubstr("list of 2 items"));
  EXPECT_THAT(error(R"(,"params":[-5])"), HasSubstr("parameters"));
  const std::string start = R"({"t":"launch","seq":5,"name":"k","grid":)";
  EXPECT_THAT(error_of_line(start + R"([0,1,1],"block":[32,1,1]})"), HasSubstr("dimension of 0"));
  EXPECT_THAT(error_of_line(start + R"([1,70000,1],"block":[32,1,1]})"), HasSubstr("CUDA allows"));
  EXPECT_THAT(error_of_line(start + R"([1,1,1],"block":[4294967295,4294967295,4294967295]})"),
              HasSubstr("CUDA allows"));
  EXPECT_THAT(error_of_line(start + R"([1,1],"block":[32,1,1]})"), HasSubstr("list of 3 items"));
}

TEST(LogReaderHostile, CopiesThatOverflow) {
  const std::string start = R"({"t":"memcpy","seq":5,"corr":1,"dst":18446744073709551615,"src":18446744073709551615,)";
  EXPECT_THAT(error_of_line(start + R"("bytes":1,"kind":"dtod","rows":140737488355328,"row_bytes":140737488355328})"),
              HasSubstr("'row_bytes'"));
  EXPECT_THAT(error_of_line(start + R"("bytes":1,"kind":"dtod","rows":2,"row_bytes":5,"dst_pitch":140737488355328})"),
              HasSubstr("'dst_pitch'"));
  EXPECT_THAT(error_of_line(start + R"("bytes":1,"kind":"sideways"})"), HasSubstr("kind"));
}

}  // namespace
}  // namespace uvmtrace
