#include "sim/recommend/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>

#include "sim/common/error.h"
#include "sim/config/json_file.h"
#include "sim/config/load_system.h"
#include "sim/policy/name_suggestion.h"

namespace uvmsim::recommend {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTables = 4096;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40;  // of a table
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::size_t kMostLayers = 64;

// A value of the file and its JSON pointer, for messages.
struct Value {
  const Json& json;
  const std::string& file;
  std::string pointer;

  [[noreturn]] void refuse(std::string_view allowed) const {
    throw_input_error("{}: {}: {} is not allowed; allowed: {}", file, pointer.empty() ? "/" : pointer,
                      config::json_excerpt(json), allowed);
  }
  // An object with no keys but these.
  void needs_keys(const std::vector<std::string>& keys) const {
    if (!json.is_object()) refuse("an object");
    for (const auto& [key, unused] : json.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw_input_error("{}: {}: unknown key '{}'{}; allowed: {}", file, pointer.empty() ? "/" : pointer, key,
                        policy::suggestion(key, keys), fmt::join(keys, ", "));
    }
  }
  Value at(const std::string& key) const {
    const auto found = json.find(key);
    if (found == json.end()) throw_input_error("{}: {}/{}: missing", file, pointer, key);
    return {*found, file, pointer + "/" + key};
  }
  bool has(const std::string& key) const { return json.contains(key); }
  std::uint64_t integer(std::uint64_t minimum, std::uint64_t maximum) const {
    const auto in_range = [&](std::uint64_t value) { return value >= minimum && value <= maximum; };
    if (!json.is_number_unsigned() || !in_range(json.get<std::uint64_t>())) {
      refuse(fmt::format("{} to {}", minimum, maximum));
    }
    return json.get<std::uint64_t>();
  }
  // A number with up to three decimals, in thousandths.
  std::uint32_t thousandths(std::uint32_t maximum) const {
    if (json.is_number() && json.get<double>() >= 0 && json.get<double>() * 1000 <= maximum) {
      const double scaled = json.get<double>() * 1000;
      const auto whole = static_cast<std::uint32_t>(scaled + 0.5);
      if (scaled - whole < 1e-6 && whole - scaled < 1e-6) return whole;
    }
    refuse(fmt::format("0 to {}, with up to three decimals", maximum / 1000));
  }
  std::size_t word(const std::vector<std::string>& words) const {
    const auto found = json.is_string() ? std::find(words.begin(), words.end(), json.get<std::string>()) : words.end();
    if (found == words.end()) refuse(fmt::format("one of {}", fmt::join(words, ", ")));
    return static_cast<std::size_t>(found - words.begin());
  }
  template <class Integer>
  std::vector<Integer> integers(std::size_t most, std::uint64_t minimum, std::uint64_t maximum) const {
    if (!json.is_array() || json.empty() || json.size() > most) refuse(fmt::format("a list of 1 to {} integers", most));
    std::vector<Integer> out;
    for (std::size_t i = 0; i < json.size(); ++i) {
      out.push_back(
          static_cast<Integer>(Value{json[i], file, fmt::format("{}/{}", pointer, i)}.integer(minimum, maximum)));
    }
    return out;
  }
  bool boolean() const {
    if (!json.is_boolean()) refuse("true or false");
    return json.get<bool>();
  }
  std::string text() const {
    if (!json.is_string()) refuse("a text");
    return json.get<std::string>();
  }
};

void read_tables(const Value& tables, Workload& out) {
  tables.needs_keys({"rows", "lookups", "dimension", "element_bytes"});
  out.rows = tables.at("rows").integers<std::uint64_t>(kMostTables, 1, kMostRows);
  const Value lookups = tables.at("lookups");
  if (lookups.json.is_array()) {
    out.lookups = lookups.integers<std::uint32_t>(kMostTables, 1, 65536);
    if (out.lookups.size() != out.rows.size()) {
      throw_input_error("{}: {}: {} numbers for {} tables; allowed: one number, or one per table", lookups.file,
                        lookups.pointer, out.lookups.size(), out.rows.size());
    }
  } else {
    out.lookups.assign(out.rows.size(), static_cast<std::uint32_t>(lookups.integer(1, 65536)));
  }
  out.dimension = static_cast<std::uint32_t>(tables.at("dimension").integer(1, 4096));
  if (tables.has("element_bytes")) {
    out.element_bytes = static_cast<std::uint32_t>(tables.at("element_bytes").integer(1, 8));
  }
  if (!std::has_single_bit(out.row_bytes()) || out.row_bytes() < 16 || out.row_bytes() > 4096) {
    throw_input_error("{}: {}: rows of {} bytes (dimension * element_bytes); allowed: a power of two from 16 to 4096",
                      tables.file, tables.pointer, out.row_bytes());
  }
  if (out.total_rows() > kMostBytes / out.row_bytes()) {
    throw_input_error("{}: {}: more than {} bytes of tables", tables.file, tables.pointer, kMostBytes);
  }
}

void read_ids(const Value& ids, Workload& out) {
  ids.needs_keys({"zipf_training", "zipf_inference", "range", "repeats_in_bag"});
  out.training_zipf_thousandths = ids.at("zipf_training").thousandths(4000);
  out.inference_zipf_thousandths = ids.at("zipf_inference").thousandths(4000);
  out.bounded = ids.has("range") && ids.at("range").word({"wrapped", "bounded"}) == 1;
  out.repeats_in_bag = ids.has("repeats_in_bag") && ids.at("repeats_in_bag").boolean();
}

void read_dense(const Value& dense, Workload& out) {
  dense.needs_keys({"bottom_mlp", "cross_layers", "cross_rank", "top_mlp", "precision"});
  constexpr std::uint64_t kWidest = 1u << 20;
  out.dense.bottom_mlp = dense.at("bottom_mlp").integers<std::uint32_t>(kMostLayers, 1, kWidest);
  if (out.dense.bottom_mlp.back() != out.dimension) {
    throw_input_error("{}: {}/bottom_mlp: ends with {}; allowed: the tables' dimension, {}", dense.file, dense.pointer,
                      out.dense.bottom_mlp.back(), out.dimension);
  }
  out.dense.top_mlp = dense.at("top_mlp").integers<std::uint32_t>(kMostLayers, 1, kWidest);
  if (dense.has("cross_layers")) {
    out.dense.cross_layers = static_cast<std::uint32_t>(dense.at("cross_layers").integer(0, 64));
    if (out.dense.cross_layers != 0) {
      out.dense.cross_rank = static_cast<std::uint32_t>(dense.at("cross_rank").integer(1, kWidest));
    }
  }
  out.dense.precision = static_cast<Precision>(dense.at("precision").word({"fp32", "tf32", "half"}));
}

Workload read_file(const std::string& file) {
  const Json json = config::read_json_file(file);
  const Value top{json, file, ""};
  top.needs_keys({"$schema", "description", "tables", "batch", "ids", "dense", "sources"});
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
  if (top.has("sources")) {
    const Value sources = top.at("sources");
    if (!sources.json.is_object()) sources.refuse("an object of texts by JSON pointer");
    for (const auto& [pointer, text] : sources.json.items()) {
      if (!text.is_string()) Value{text, file, "/sources/" + pointer}.refuse("a text");
      bool found = false;
      try {
        found = json.contains(Json::json_pointer(pointer));
      } catch (const Json::exception&) {  // no pointer at all
      }
      if (!found) throw_input_error("{}: /sources: '{}' names nothing in this file", file, pointer);
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
