// SPDX-License-Identifier: Apache-2.0
#include "bpf/host/parameters.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <limits>
#include <string>

#include "sim/common/error.h"

namespace uvmsim::bpf {
namespace {

// number of entries of an array whose entries are parameters; larger arrays hold state
constexpr unsigned kMostEntries = 16;

bool has_parameters(const uvmsim_bpf_map& map) {
  return map.type == kArray && map.integer_value != 0 && map.max_entries <= kMostEntries;
}

std::string parameter_name(const uvmsim_bpf_map& map, std::uint64_t key) {
  std::string name = fmt::format("{}_{}", map.name, key);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

std::int64_t most_of(const uvmsim_bpf_map& map) {
  return map.value_bytes >= 8 ? std::numeric_limits<std::int64_t>::max()
                              : (std::int64_t{1} << (8 * map.value_bytes)) - 1;
}

std::int64_t built_in(const uvmsim_bpf_map& map, std::uint64_t key) {
  for (unsigned i = 0; i < uvmsim_bpf_program.setting_count; ++i) {
    const uvmsim_bpf_setting& setting = uvmsim_bpf_program.settings[i];
    if (std::strcmp(setting.map, map.name) == 0 && setting.key == key) return static_cast<std::int64_t>(setting.value);
  }
  return 0;
}

}  // namespace

policy::ParameterTable parameters_of_maps() {
  policy::ParameterTable table;
  for (unsigned i = 0; i < uvmsim_bpf_program.map_count; ++i) {
    const uvmsim_bpf_map& map = uvmsim_bpf_program.maps[i];
    for (std::uint64_t key = 0; has_parameters(map) && key < map.max_entries; ++key) {
      table.push_back(policy::integer(parameter_name(map, key), built_in(map, key), {0, most_of(map)},
                                      fmt::format("what the loader writes into {}[{}]", map.name, key)));
    }
  }
  return table;
}

void fill_maps(const policy::Parameters& parameters, const std::vector<std::unique_ptr<Map>>& maps) {
  for (unsigned i = 0; i < uvmsim_bpf_program.setting_count; ++i) {
    const uvmsim_bpf_setting& setting = uvmsim_bpf_program.settings[i];
    for (const auto& map : maps) {
      if (std::strcmp(map->declared().name, setting.map) != 0) continue;
      if (map->set(setting.key, setting.value) != 0) {
        throw_input_error("{}: --map {}[{}]: the map has no room for it; it has {} entries", uvmsim_bpf_program.name,
                          setting.map, setting.key, map->declared().max_entries);
      }
    }
  }
  for (const auto& map : maps) {
    const uvmsim_bpf_map& declared = map->declared();
    for (std::uint64_t key = 0; has_parameters(declared) && key < declared.max_entries; ++key) {
      static_cast<void>(map->set(key, static_cast<std::uint64_t>(parameters.integer(parameter_name(declared, key)))));
    }
  }
}

}  // namespace uvmsim::bpf
