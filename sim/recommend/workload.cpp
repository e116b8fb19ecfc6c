// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>

#include "sim/common/error.h"
#include "sim/config/load_system.h"
#include "sim/formats/json_value.h"

namespace uvmsim::recommend {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTables = 4096;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40;  // of a table
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::size_t kMostLayers = 64;

template <class Integer>
std::vector<Integer> integers(const JsonValue& list, std::size_t most, std::uint64_t least, std::uint64_t greatest) {
  std::vector<Integer> out;
  for (const JsonValue& item : list.items(fmt::format("a list of 1 to {} integers", most), 1, most)) {
    out.push_back(static_cast<Integer>(item.integer(least, greatest)));
  }
  return out;
}

void read_tables(const JsonValue& tables, Workload& out) {
  tables.check_keys({"rows", "lookups", "dimension", "element_bytes"});
  out.rows = integers<std::uint64_t>(tables.at("rows"), kMostTables, 1, kMostRows);
  const JsonValue lookups = tables.at("lookups");
  if (lookups.json().is_array()) {
    out.lookups = integers<std::uint32_t>(lookups, kMostTables, 1, 65536);
    if (out.lookups.size() != out.rows.size()) {
      lookups.fail("{} numbers for {} tables; allowed: one number, or one per table", out.lookups.size(),
                   out.rows.size());
    }
  } else {
    out.lookups.assign(out.rows.size(), static_cast<std::uint32_t>(lookups.integer(1, 65536)));
  }
  out.dimension = static_cast<std::uint32_t>(tables.at("dimension").integer(1, 4096));
  if (tables.has("element_bytes")) {
    out.element_bytes = static_cast<std::uint32_t>(tables.at("element_bytes").integer(1, 8));
  }
  if (!std::has_single_bit(out.row_bytes()) || out.row_bytes() < 16 || out.row_bytes() > 4096) {
    tables.fail("rows of {} bytes (dimension * element_bytes); allowed: a power of two from 16 to 4096",
                out.row_bytes());
  }
  if (out.total_rows() > kMostBytes / out.row_bytes()) tables.fail("more than {} bytes of tables", kMostBytes);
}

void read_ids(const JsonValue& ids, Workload& out) {
  ids.check_keys({"zipf_training", "zipf_inference", "range", "repeats_in_bag"});
  out.training_zipf_thousandths = ids.at("zipf_training").thousandths(4000);
  out.inference_zipf_thousandths = ids.at("zipf_inference").thousandths(4000);
  out.bounded = ids.has("range") && ids.at("range").word({"wrapped", "bounded"}) == 1;
  out.repeats_in_bag = ids.has("repeats_in_bag") && ids.at("repeats_in_bag").boolean();
}

void read_dense(const JsonValue& dense, Workload& out) {
  dense.check_keys({"bottom_mlp", "cross_layers", "cross_rank", "top_mlp", "precision"});
  constexpr std::uint64_t kWidest = 1u << 20;
  out.dense.bottom_mlp = integers<std::uint32_t>(dense.at("bottom_mlp"), kMostLayers, 1, kWidest);
  if (out.dense.bottom_mlp.back() != out.dimension) {
    dense.at("bottom_mlp")
        .fail("ends with {}; allowed: the tables' dimension, {}", out.dense.bottom_mlp.back(), out.dimension);
  }
  out.dense.top_mlp = integers<std::uint32_t>(dense.at("top_mlp"), kMostLayers, 1, kWidest);
  if (dense.has("cross_layers")) {
    out.dense.cross_layers = static_cast<std::uint32_t>(dense.at("cross_layers").integer(0, 64));
    if (out.dense.cross_layers != 0) {
      out.dense.cross_rank = static_cast<std::uint32_t>(dense.at("cross_rank").integer(1, kWidest));
    }
  }
  out.dense.precision = static_cast<Precision>(dense.at("precision").word({"fp32", "tf32", "half"}));
}

Workload read_file(const std::string& file) {
  const Json json = read_json_file(file);
  const JsonValue top(json, file);
  top.check_keys({"$schema", "description", "tables", "batch", "ids", "dense", "sources"});
  Workload out;
  out.name = fs::path(file).stem().string();
  out.description = top.at("description").text();
  read_tables(top.at("tables"), out);
  out.batch = top.at("batch").integer(1, kMostLookups);
  if (out.batch > kMostLookups / out.lookups_per_sample()) {
    throw_input_error("{}: /batch: {} samples of {} lookups; allowed: up to {} lookups in a step", file, out.batch,
                      out.lookups_per_sample(), kMostLookups);
  }
  read_ids(top.at("ids"), out);
  read_dense(top.at("dense"), out);
  if (const auto sources = top.find("sources")) {
    for (const auto& [pointer, text] : sources->members()) {
      text.text();
      bool found = false;
      try {
        found = json.contains(Json::json_pointer(pointer));
      } catch (const Json::exception&) {  // the text is not a JSON pointer
      }
      if (!found) sources->fail("'{}' names nothing in this file", pointer);
    }
  }
  return out;
}

std::string path_of(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return name;
  std::vector<std::string> names;
  for (const std::string& folder : config::default_search_path()) {
    const fs::path workloads = fs::path(folder).parent_path() / "recommendation";
    std::error_code error;
    if (fs::exists(workloads / (name + ".json"), error)) return (workloads / (name + ".json")).string();
    for (const auto& entry : fs::directory_iterator(workloads, error)) {
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  throw_input_error("no workload '{}'; allowed: a file, or one of {}", name, fmt::join(names, ", "));
}

}  // namespace

std::uint64_t Workload::total_rows() const { return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}); }

std::uint64_t Workload::lookups_per_sample() const {
  return std::accumulate(lookups.begin(), lookups.end(), std::uint64_t{0});
}

Workload read_workload(const std::string& name_or_path) { return read_file(path_of(name_or_path)); }

}  // namespace uvmsim::recommend
