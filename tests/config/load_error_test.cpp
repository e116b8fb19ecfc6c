// SPDX-License-Identifier: Apache-2.0
// Every mistake that a system file can contain gives one line that names the file, the key and what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/config/load_system.h"
#include "tests/config/system_files.h"

namespace uvmsim::config {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Returns the message for a file with this text, without the file's name, which must come first.
std::string error_of_text(const std::string& text) {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.json", text);
  const std::string message = input_error_of([&] { load_system(file, {}); });
  EXPECT_THAT(message, StartsWith(file + ": "));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message.substr(std::min(message.size(), file.size() + 2));
}

// Does the same for the small system with one value changed. `value` is JSON text.
std::string error_of(const std::string& pointer, const std::string& value) {
  ordered_json document = small_system();
  document[ordered_json::json_pointer(pointer)] = ordered_json::parse(value);
  return error_of_text(document.dump());
}

TEST(LoadError, File) {
  EXPECT_THAT(input_error_of([] { load_system("/nowhere/x.json", {}); }),
              AllOf(StartsWith("/nowhere/x.json: cannot be opened: "), HasSubstr("No such file")));
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/folder.json");
  EXPECT_THAT(input_error_of([&] { load_system(folder.path() + "/folder.json", {}); }),
              EndsWith("is a directory, not a JSON file"));
  EXPECT_THAT(error_of_text(std::string((std::size_t{4} << 20) + 1, ' ')), "is larger than 4 MiB");
}

TEST(LoadError, Name) {
  EXPECT_THAT(
      input_error_of([] { load_system("h200-sxm-pci5", {UVMSIM_SOURCE_DIR "/configs/systems"}); }),
      AllOf(StartsWith("unknown system 'h200-sxm-pci5' (did you mean 'h200-sxm-pcie5'?); allowed: a file or one "
                       "of a10-pcie4, a100-pcie-80g, "),
            EndsWith("v100-pcie-32g")));
  EXPECT_EQ(input_error_of([] { load_system("any", {"/nowhere"}); }),
            "unknown system 'any': no system files in /nowhere; name a file or set UVMSIM_CONFIG_PATH");
}

TEST(LoadError, NotJson) {
  EXPECT_THAT(error_of_text(""), StartsWith("is not JSON: parse error at line 1, column 1: "));
  EXPECT_THAT(error_of_text("{\n \"name\": }"), StartsWith("is not JSON: parse error at line 2, column 10: "));
  EXPECT_THAT(error_of_text("{} {}"), StartsWith("is not JSON: "));
  EXPECT_THAT(error_of_text("{\"name\": \"\xff\"}"), StartsWith("is not JSON: "));
  EXPECT_THAT(error_of_text("{\"name\": 1e999}"), StartsWith("is not JSON: "));
  EXPECT_THAT(error_of_text(std::string(100000, '[')), StartsWith("is nested deeper than 64 levels"));
  EXPECT_EQ(error_of_text("[]"), "is an array; allowed: an object that describes a system");
}

TEST(LoadError, KeyTwice) {
  EXPECT_EQ(error_of_text(R"({"name": "a", "name": "b"})"), "/name: the key is there twice");
  EXPECT_EQ(error_of_text(R"({"gpus": [{}, {"sm_count": 1, "model": "x", "sm_count": 2}]})"),
            "/gpus/1/sm_count: the key is there twice");
}

TEST(LoadError, UnknownKey) {
  EXPECT_THAT(error_of("/cost", "{}"), StartsWith("/cost: unknown key (did you mean 'costs'?); allowed: name, "));
  EXPECT_THAT(error_of("/costs", R"({"source": "x", "bacth_ns": 1})"),
              StartsWith("/costs/bacth_ns: unknown key (did you mean 'batch_ns'?); allowed: source, "));
  EXPECT_THAT(error_of("/gpus/0/sms", "1"),
              StartsWith("/gpus/0/sms: unknown key; allowed: source, count, fp32_flops_per_us,"));
  EXPECT_THAT(error_of("/host_links/0/host_to_devise", "{}"),
              StartsWith("/host_links/0/host_to_devise: unknown key (did you mean 'host_to_device'?); allowed: "));
  EXPECT_THAT(error_of("/costs.batch_ns", "1"),
              StartsWith("/costs.batch_ns: unknown key (did you mean 'costs'?); allowed: "));
}

TEST(LoadError, StaysOneLine) {
  EXPECT_THAT(error_of("/a\nb", "1"), StartsWith("/a?b: unknown key; allowed: name, description,"));
  EXPECT_THAT(error_of("/gpus/0/sm_clock_khz", R"("6\n us")"),
              StartsWith("/gpus/0/sm_clock_khz: '6? us' has the unit"));
  EXPECT_THAT(error_of("/" + std::string(1000, 'k'), "1"), StartsWith("/" + std::string(80, 'k') + "...: unknown key"));
  EXPECT_THAT(error_of_text(R"({"extends": "a\nb"})"), StartsWith("/extends: unknown system 'a?b'"));
  EXPECT_THAT(error_of_text(R"({"a\nb": 1, "a\nb": 2})"), "/a?b: the key is there twice");
  EXPECT_EQ(error_of("/description", R"("a\nb")"), R"(/description: "a\nb" is not allowed; allowed: one line of text)");
  EXPECT_EQ(error_of("/gpus/0/model", R"("a\tb")"),
            R"(/gpus/0/model: "a\tb" is not allowed; allowed: one line of text)");
}

TEST(LoadError, WrongType) {
  EXPECT_EQ(error_of("/costs", "[]"), "/costs: is an array; allowed: an object with the keys of 'costs'");
  EXPECT_EQ(error_of("/gpus", "{}"), "/gpus: is an object; allowed: an array of 1 to 64 objects");
  EXPECT_EQ(error_of("/gpus", "[]"), "/gpus: is an array of 0; allowed: an array of 1 to 64 objects");
  EXPECT_EQ(error_of("/gpus/0", "7"), "/gpus/0: is an integer; allowed: an object with the keys of 'gpus'");
  EXPECT_EQ(error_of("/gpus/0/sm_count", "true"), "/gpus/0/sm_count: true is true or false; allowed: 1 to 4096");
  EXPECT_EQ(error_of("/gpus/0/sm_count", "[1]"), "/gpus/0/sm_count: [1] is an array; allowed: 1 to 4096");
  EXPECT_EQ(error_of("/gpus/0/sm_count", "null"), "/gpus/0/sm_count: null is null; allowed: 1 to 4096");
  EXPECT_EQ(error_of("/gpus/0/sm_count", "4.0"),
            "/gpus/0/sm_count: 4.0 is a number with a fraction or exponent; allowed: 1 to 4096");
  EXPECT_EQ(error_of("/gpus/0/model", "7"), "/gpus/0/model: 7 is an integer; allowed: one line of text");
  EXPECT_EQ(error_of("/gpus/0/model", "\"\""), "/gpus/0/model: \"\" is not allowed; allowed: one line of text");
  EXPECT_EQ(error_of("/host_links/0/kind", "\"usb\""),
            "/host_links/0/kind: \"usb\" is not allowed; allowed: one of pcie, nvlink, c2c");
  // A coherent link without a mode that uses its coherence would be run as a PCIe link of its bandwidth.
  EXPECT_EQ(error_of("/host_links/0/kind", "\"c2c\""),
            "/coherence/address_mode: \"none\" over host_links.0, which is c2c; allowed: ats or cdmm with a c2c link");
  EXPECT_EQ(error_of("/driver", R"({"source": "x", "fault_coalesce": 1})"),
            "/driver/fault_coalesce: 1 is an integer; allowed: true or false");
  EXPECT_EQ(error_of("/driver", R"({"source": "x", "fault_replay_policy": "once"})"),
            "/driver/fault_replay_policy: \"once\" is not allowed; allowed: one of batch, batch_flush");
  EXPECT_EQ(error_of("/name", "7"), "/name: 7 is not allowed; allowed: one line of text");
  EXPECT_EQ(error_of("/name", "\"a b\""),
            "/name: 'a b' is not allowed; allowed: letters, digits, '-', '_', '.' and '+'");
}

TEST(LoadError, WrongValue) {
  const std::string cost_forms = "0 to 10000000000 ns, as an integer or as text in ns, us, ms, s";
  const auto cost = [](const std::string& value) {
    return error_of("/costs", R"({"source": "x", "batch_ns": )" + value + "}");
  };
  EXPECT_EQ(cost("-5"), "/costs/batch_ns: -5 is negative; allowed: " + cost_forms);
  EXPECT_EQ(cost("-0.5"), "/costs/batch_ns: -0.5 is negative; allowed: " + cost_forms);
  EXPECT_EQ(cost("10000000001"), "/costs/batch_ns: 10000000001 is out of range; allowed: 0 to 10000000000 ns");
  EXPECT_EQ(cost("18446744073709551615"),
            "/costs/batch_ns: 18446744073709551615 is out of range; allowed: 0 to 10000000000 ns");
  EXPECT_THAT(cost("99999999999999999999"), HasSubstr("is a number with a fraction or exponent"));
  EXPECT_EQ(cost("\"11 s\""), "/costs/batch_ns: \"11 s\" is out of range; allowed: 0 to 10000000000 ns");
  EXPECT_EQ(cost("\"6 MB\""), "/costs/batch_ns: '6 MB' has the unit 'MB'; allowed: " + cost_forms);
  EXPECT_EQ(cost("\"6\""), "/costs/batch_ns: '6' has no unit; allowed: " + cost_forms);
  EXPECT_EQ(cost("\"0.5 ns\""), "/costs/batch_ns: '0.5 ns' is not a whole number of ns; allowed: " + cost_forms);
  EXPECT_THAT(error_of("/gpus/0/memory_bytes", "2097151"),
              "/gpus/0/memory_bytes: 2097151 is out of range; allowed: 2097152 to 1125899906842624 bytes");
  EXPECT_THAT(error_of("/gpus/0/model", "[\"" + std::string(200, 'x') + "\"]"), HasSubstr("xxx... is an array"));
}

TEST(LoadError, NoSource) {
  EXPECT_EQ(error_of("/costs", R"({"batch_ns": 6000})"),
            "/costs/batch_ns: has no source; allowed: {\"value\": 6000, \"source\": \"where it comes from\"}, or a "
            "\"source\" for the whole group");
  EXPECT_THAT(error_of("/driver", R"({"fault_coalesce": true})"), StartsWith("/driver/fault_coalesce: has no source"));
  EXPECT_THAT(error_of("/driver", R"({"fault_replay_policy": {"value": "batch"}})"),
              StartsWith("/driver/fault_replay_policy: has no source"));
  EXPECT_EQ(error_of("/costs", R"({"source": "", "batch_ns": 1})"),
            "/costs/source: \"\" is not allowed; allowed: a line of text that says where the number comes from");
  EXPECT_EQ(error_of("/costs", R"({"batch_ns": {"value": 1, "source": 7}})"),
            "/costs/batch_ns/source: 7 is not allowed; allowed: a line of text that says where the number comes from");
  EXPECT_EQ(error_of("/costs", R"({"batch_ns": {"source": "x"}})"),
            "/costs/batch_ns: has no 'value'; allowed: 0 to 10000000000 ns");
  EXPECT_EQ(error_of("/costs", R"({"batch_ns": {"value": 1, "unit": "ns"}})"),
            "/costs/batch_ns/unit: unknown key; allowed: 'value' and 'source'");
  EXPECT_EQ(
      error_of("/costs", R"({"source_of_defaults": 1})"),
      "/costs/source_of_defaults: 1 is not allowed; allowed: a line of text that says where the number comes from");
  EXPECT_EQ(error_of("/gpus/0/source_of_defaults", "\"x\""),
            "/gpus/0/source_of_defaults: the whole group is stated; allowed: in a group with parameters left at their "
            "defaults");
}

TEST(LoadError, Missing) {
  const auto without = [](const std::string& group, const std::string& key) {
    ordered_json document = small_system();
    document[ordered_json::json_pointer(group)].erase(key);
    return error_of_text(document.dump());
  };
  EXPECT_EQ(without("/gpus/0", "sm_count"), "/gpus/0/sm_count: missing; allowed: 1 to 4096");
  EXPECT_EQ(without("/gpus/0", "reserved_bytes"),
            "/gpus/0/reserved_bytes: missing; allowed: 0 to 1125899906842624 bytes")
      << "hardware has no defaults";
  EXPECT_EQ(without("/gpus/0", "model"), "/gpus/0/model: missing; allowed: one line of text");
  EXPECT_EQ(without("/host_links/0/host_to_device", "run_ns"),
            "/host_links/0/host_to_device/run_ns: missing; allowed: 0 to 10000000000 ns");
  EXPECT_EQ(without("/host_links/0", "device_to_host"),
            "3 keys are missing: /host_links/0/device_to_host/latency_ns, /host_links/0/device_to_host/run_ns, "
            "/host_links/0/device_to_host/bytes_per_us; `uvmsim systems --schema` says what is allowed");
  EXPECT_EQ(without("", "host"), "/host/pageable_copy_bytes_per_us: missing; allowed: 1 to 100000000 bytes/us");
  EXPECT_EQ(without("", "gpus"), "/gpus: missing; allowed: an array of 1 to 64 objects");
  EXPECT_EQ(without("", "host_links"), "/host_links: missing; allowed: an array of 1 to 64 objects");
  EXPECT_EQ(without("", "description"), "/description: missing; allowed: one line that says what the system is");
}

TEST(LoadError, ParametersThatContradict) {
  ordered_json two = small_system();
  two["gpus"].push_back(two["gpus"][0]);
  EXPECT_EQ(error_of_text(two.dump()), "/host_links: 1 links for 2 GPUs; allowed: one per GPU");
  EXPECT_EQ(error_of("/gpus/0/reserved_bytes", "\"1 GiB\""),
            "/gpus/0/reserved_bytes: 1073741824 of 1073741824 bytes are reserved; allowed: less than memory_bytes");
  EXPECT_EQ(error_of("/gmmu", R"({"source": "x", "l1_tlb_entries": 20})"),
            "/gmmu/l1_tlb_ways: 16 ways do not divide 20 entries; allowed: a divisor of l1_tlb_entries");
  EXPECT_EQ(error_of("/gmmu", R"({"source": "x", "l2_tlb_ways": 3})"),
            "/gmmu/l2_tlb_ways: 3 ways do not divide 1024 entries; allowed: a divisor of l2_tlb_entries");
  EXPECT_EQ(error_of("/ssd", R"({"source": "x", "memory_bytes": "1 TB", "read_bytes_per_us": 7000})"),
            "/ssd/write_bytes_per_us: 0 for an SSD with capacity; allowed: its bandwidth");
}

TEST(LoadError, Extends) {
  EXPECT_EQ(error_of_text(R"({"extends": 7})"),
            "/extends: 7 is not allowed; allowed: the name or file of another system");
  EXPECT_EQ(error_of_text(R"({"extends": "bad"})"),
            "/extends: 'bad' extends itself, directly or through others; allowed: a system that does not");
  EXPECT_THAT(error_of_text(R"({"extends": "nothing"})"), StartsWith("/extends: unknown system 'nothing'"));
  EXPECT_THAT(error_of_text(R"({"extends": "./no.json"})"), StartsWith("/extends: there is no file "));
}

TEST(LoadError, ExtendsInACircle) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.json", R"({"description": "a", "extends": "b"})");
  folder.write("b.json", R"({"description": "b", "extends": "./c.json"})");
  const std::string c =
      folder.write("c.json", R"({"description": "c", "extends": "../)" +
                                 std::filesystem::path(folder.path()).filename().string() + R"(/a.json"})");
  EXPECT_THAT(input_error_of([&] { load_system(a, {}); }),
              AllOf(HasSubstr("c.json: /extends: '../"), HasSubstr("extends itself, directly or through others")));
}

TEST(LoadError, OfABaseNamesTheBase) {
  const TemporaryFolder folder;
  const std::string base = folder.write("base.json", R"({"description": "base", "gpus": 7})");
  const std::string top = folder.write("top.json", R"({"description": "top", "extends": "base"})");
  EXPECT_EQ(input_error_of([&] { load_system(top, {}); }),
            base + ": /gpus: is an integer; allowed: an array of 1 to 64 objects");
}

}  // namespace
}  // namespace uvmsim::config
