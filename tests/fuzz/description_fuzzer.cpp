// SPDX-License-Identifier: Apache-2.0
// Feeds any bytes to the readers of all files that describe a simulation or its results: a system, a sweep, a plan, a
// scenario, a workload of embedding tables, a baseline, results, measured experiments. A key in the bytes selects the
// reader.
//
// Random bytes are seldom JSON, so most mutations replace one value by another.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>

#include "sim/baseline/baseline.h"
#include "sim/common/sha256.h"
#include "sim/compare/read_runs.h"
#include "sim/config/load_system.h"
#include "sim/recommend/workload.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/scenario.h"
#include "sim/sweep/spec.h"
#include "sim/validate/experiment.h"
#include "tests/folder.h"
#include "tests/fuzz/refused.h"

namespace {

constexpr std::string_view kValues[] = {"0",
                                        "1",
                                        "-1",
                                        "0.5",
                                        "2147483648",
                                        "4294967295",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "1e308",
                                        "1e-308",
                                        "true",
                                        "null",
                                        "[]",
                                        "{}",
                                        "[[]]",
                                        "\"\"",
                                        "\"0\"",
                                        "\"1 TiB\"",
                                        "\"16 EiB\"",
                                        "\"-1 ns\"",
                                        "\"1e30 GB/s\"",
                                        "\"tree\"",
                                        "\"lrm:x=1\"",
                                        "\"*\"",
                                        "\"\\n\\u0000\"",
                                        "\"\xff\""};

// Returns the first number or text that begins at or after `from`.
std::string_view value_at(std::string_view text, std::size_t from) {
  constexpr std::string_view kNumber = "+-.0123456789eE";
  const std::size_t begin = text.find_first_of("-0123456789\"", from);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text[begin] == '"' ? text.find('"', begin + 1) : text.find_first_not_of(kNumber, begin) - 1;
  return text.substr(begin, end == std::string_view::npos ? end : end + 1 - begin);
}

// Writes a planned sweep, which is two files: the first line is one, the rest the other. Corrects its checksum.
void write_plan(const uvmsim::Folder& folder, std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string_view points = bytes.substr(std::min(end + 1, bytes.size()));
  nlohmann::json header = nlohmann::json::parse(bytes.substr(0, end), nullptr, false);
  if (header.is_object()) header["points_sha256"] = uvmsim::sha256(points);
  folder.write("sweep.json", header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  folder.write("points.jsonl", points);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t largest);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t largest,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string_view old = value_at(text, size == 0 ? 0 : random() % size);
  const std::string_view value = kValues[random() % std::size(kValues)];
  const std::size_t new_size = size - old.size() + value.size();
  if (random() % 4 == 0 || old.empty() || new_size > largest) return LLVMFuzzerMutate(data, size, largest);
  const auto begin = static_cast<std::size_t>(old.data() - text.data());
  const std::string changed = text.substr(0, begin) + std::string(value) + text.substr(begin + old.size());
  std::copy(changed.begin(), changed.end(), data);
  return new_size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim;
  static const Folder folder("fuzz");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string file = folder.write("input.json", bytes);
  bool known = false;
  const auto read = [&](std::string_view key, auto&& reader) {
    if (bytes.find(key) == std::string_view::npos) return;
    known = true;
    fuzz::taken(reader);
  };
  read("\"systems\"", [&] { sweep::read_spec(file); });
  read("\"scenarios\"", [&] { sweep::read_spec(file); });
  read("\"programs\"", [&] { scenario::read_scenario(file); });
  read("\"tables\"", [&] { recommend::read_workload(file); });
  read("\"points\"", [&] { baseline::read_baseline(file); });
  read("\"counters\"", [&] { compare::read_runs(file); });
  read("\"mode\"", [&] { validate::parse_experiments(bytes, "input"); });
  read("\"points_sha256\"", [&] { write_plan(folder, bytes), sweep::read_plan(folder.path()); });
  if (!known) fuzz::taken([&] { config::load_system(file); });
  return 0;
}
