// SPDX-License-Identifier: Apache-2.0
// Mistakes in hand-written traces: each error is one line that names the line, the key and what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policy/message_of.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace::json_error_test {
namespace {

using ::testing::HasSubstr;

const std::string kHeader = "{\"t\":\"header\",\"major\":1}\n";

// Returns the message about one record on line 2.
std::string about(const std::string& line) {
  return message_of([&] { decode(kHeader + line + "\n"); });
}

TEST(JsonErrors, NamesRecordAndLine) {
  EXPECT_EQ(about("{\"t\":\"object_free\"}"), "t: record 1 (line 2): object_free: key 'id' is missing");
  EXPECT_THAT(message_of([] { decode(kHeader + "\n\n{\"t\":\"sync\",\"kind\":\"device\"}\n\n{\"t\":\"x\"}\n"); }),
              HasSubstr("t: record 2 (line 6): unknown record type 'x'"));
}

TEST(JsonErrors, AMisspeltKeyIsNotOnlyAMissingOne) {
  EXPECT_THAT(about("{\"t\":\"object_free\",\"idd\":1}"), HasSubstr("key 'id' is missing; is 'idd' meant to be it?"));
}

TEST(JsonErrors, UnknownType) {
  EXPECT_THAT(about("{\"t\":\"kernal\"}"),
              HasSubstr("unknown record type 'kernal' (did you mean 'kernel'?); allowed: object_alloc, object_free, "));
  EXPECT_THAT(about("{\"t\":\"alloc\"}"), HasSubstr("unknown record type 'alloc' (did you mean"));
  EXPECT_THAT(about("{\"t\":7}"), HasSubstr("'t' must be text, not an integer"));
  EXPECT_THAT(about(kHeader.substr(0, kHeader.size() - 1)), HasSubstr("a second header"));
}

TEST(JsonErrors, UnknownKey) {
  EXPECT_THAT(about("{\"t\":\"object_alloc\",\"id\":1,\"byte\":2}"), HasSubstr("object_alloc: key 'bytes' is missing"));
  EXPECT_EQ(about("{\"t\":\"object_alloc\",\"id\":1,\"bytes\":2,\"devise\":0}"),
            "t: record 1 (line 2): object_alloc: unknown key 'devise' (did you mean 'device'?); allowed: t, id, kind, "
            "bytes, va, device");
  EXPECT_THAT(about("{\"t\":\"kernel\",\"name\":\"k\",\"duration\":5,\"accesses\":[]}"),
              HasSubstr("kernel: key 'duration_ns' is missing"));
  EXPECT_THAT(message_of([] { decode("{\"t\":\"header\",\"major\":1,\"quantum\":512}\n"); }),
              HasSubstr("t: line 1: header: unknown key 'quantum' (did you mean 'quantum_bytes'?)"));
  EXPECT_THAT(about("{\"t\":\"object_free\",\"id\":1,\"id\":2}"), HasSubstr("key 'id' is given twice"));
}

TEST(JsonErrors, WrongTypeOrRange) {
  const auto alloc = [](const std::string& rest) { return about("{\"t\":\"object_alloc\",\"id\":1," + rest + "}"); };
  EXPECT_THAT(alloc("\"bytes\":\"4096\""),
              HasSubstr("object_alloc: 'bytes' must be an integer from 0 to 18446744073709551615, not text"));
  EXPECT_THAT(alloc("\"bytes\":4096.0"), HasSubstr("not a number that is no integer"));
  EXPECT_THAT(alloc("\"bytes\":-1"), HasSubstr("'bytes' is -1; allowed: 0 to 18446744073709551615"));
  EXPECT_THAT(alloc("\"bytes\":18446744073709551616"), HasSubstr("not a number that is no integer"));
  EXPECT_THAT(alloc("\"bytes\":1,\"device\":-2"), HasSubstr("'device' is -2; allowed: -1 to 1023"));
  EXPECT_THAT(alloc("\"bytes\":1,\"device\":null"), HasSubstr("must be an integer from -1 to 1023, not null"));
  EXPECT_THAT(
      alloc("\"bytes\":1,\"kind\":\"unmanaged\""),
      HasSubstr("object_alloc: 'kind': unknown 'unmanaged' (did you mean 'managed'?); allowed: managed, device"));
  EXPECT_THAT(about("{\"t\":\"memcpy\",\"bytes\":1,\"blocking\":1}"),
              HasSubstr("memcpy: 'blocking' must be true or false, not an integer"));
  EXPECT_THAT(about("{\"t\":\"memcpy\",\"bytes\":1,\"dst\":[1]}"), HasSubstr("must be a list of 2 items, not of 1"));
  EXPECT_THAT(about("{\"t\":\"sync\",\"kind\":\"device\",\"host_gap_ns\":-5}"), HasSubstr("'host_gap_ns' is -5"));
  EXPECT_THAT(about("{\"t\":\"sync\",\"kind\":\"device\",\"stream\":4294967296}"),
              HasSubstr("allowed: 0 to 4294967295"));
}

std::string kernel(const std::string& rest) {
  return about("{\"t\":\"kernel\",\"name\":\"k\",\"duration_ns\":1," + rest + "}");
}

TEST(JsonErrors, Extents) {
  EXPECT_THAT(kernel("\"accesses\":[[1,[[0,1]]]]"), HasSubstr("an extent [first, count, mode] must be a list of 3"));
  EXPECT_THAT(kernel("\"accesses\":[[1,[[0,1,\"x\"]]]]"), HasSubstr("unknown access mode 'x'; allowed: r, w, rw"));
  EXPECT_THAT(kernel("\"accesses\":[[1,[]],[2,[[0,0,\"r\"]]]]"),
              HasSubstr("accesses[1]: extent 0 is empty; counts are at least 1"));
  EXPECT_THAT(kernel("\"accesses\":[[1,[[4,2,\"r\"],[5,1,\"w\"]]]]"),
              HasSubstr("accesses[0]: extent 1 starts at quantum 5, inside or before the one that ends at 6"));
  EXPECT_THAT(kernel("\"accesses\":[[1,[[1152921504606846976,1,\"r\"]]]]"), HasSubstr("ends beyond quantum 2^60"));
  EXPECT_THAT(kernel("\"accesses\":[[1,[[1152921504606846977,1,\"r\"]]]]"), HasSubstr("first of an extent is"));
}

TEST(JsonErrors, TouchesAndPhases) {
  const std::string access = "\"accesses\":[[1,[[0,4,\"r\"]]]],";
  EXPECT_THAT(kernel(access + "\"touches\":[[1,0,\"r\"]]"),
              HasSubstr("touch 0 names slot 1, but the kernel has 1 accesses"));
  EXPECT_THAT(kernel(access + "\"phases\":[[0,1,[]],[1,1,[[4,[]]]]]"),
              HasSubstr("phase 1 names slot 4, but the kernel has 1 accesses"));
  EXPECT_THAT(kernel(access + "\"grid\":[1,0,1]"), HasSubstr("grid 1x0x1 has a dimension of 0"));
  EXPECT_THAT(kernel(access + "\"block\":[]"), HasSubstr("'block' must be a list [x, y, z] of 1 to 3 integers"));
}

TEST(JsonErrors, Syntax) {
  EXPECT_THAT(about("{\"t\":\"sync\",}"), HasSubstr("t: record 1 (line 2): not valid JSON at character 13"));
  EXPECT_THAT(about("[1]"), HasSubstr("a record must be an object {\"t\":...}, not a list"));
  EXPECT_THAT(about("{\"t\":\"range\",\"kind\":\"push\",\"name\":\"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(about("{\"t\":" + std::string(100, '[')), HasSubstr("nested deeper than 16 levels"));
}

TEST(JsonErrors, LinesHaveLimits) {
  std::string many = "{\"t\":\"kernel\",\"accesses\":[";
  for (int i = 0; i < 12000000; ++i) many += "1,";
  EXPECT_THAT(about(many + "1]}"), HasSubstr("more than 12000000 values in one line"));
  EXPECT_THAT(about(std::string(130 << 20, ' ') + "{}"), HasSubstr("line 2 is longer than 134217728 bytes"));
}

TEST(JsonErrors, DefaultsAndShortForms) {
  const Trace trace = decode(kHeader +
                             "{\"t\":\"kernel\",\"name\":\"k\",\"duration_ns\":9,\"grid\":[5],\"accesses\":[]}\n"
                             "{\"t\":\"memcpy\",\"bytes\":1}\r\n"
                             "  {\"t\" : \"object_alloc\", \"bytes\" : 8, \"id\" : 3}");
  ASSERT_EQ(trace.records.size(), 3u);
  EXPECT_EQ(trace.header.quantum_bytes, 512u);
  Kernel kernel;
  kernel.name = "k";
  kernel.duration_ns = 9;
  kernel.grid.x = 5;
  EXPECT_TRUE(same(trace.records[0], kernel));
  EXPECT_TRUE(same(trace.records[1], Memcpy{{}, {}, 1, CopyKind::kDefault, 0, true, 0}));
  EXPECT_TRUE(same(trace.records[2], ObjectAlloc{3, ObjectKind::kManaged, 8, 0, 0}));
}

}  // namespace
}  // namespace uvmsim::trace::json_error_test
