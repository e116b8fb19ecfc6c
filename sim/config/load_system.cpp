// SPDX-License-Identifier: Apache-2.0
#include "sim/config/load_system.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/random.h"  // WideUnsigned
#include "sim/common/units.h"
#include "sim/common/wildcard.h"
#include "sim/config/coherence.h"
#include "sim/config/schema.h"
#include "sim/config/system_file.h"
#include "sim/formats/decimal.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"

namespace uvmsim::config {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kExtension = ".json";
constexpr char kOver = '+';
constexpr const char* kInherited = "inherited from ";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

bool is_path(const std::string& name_or_path) {
  return name_or_path.find('/') != std::string::npos || name_or_path.ends_with(kExtension);
}

class Loader {
 public:
  explicit Loader(const std::vector<std::string>& search_path) : search_path_(search_path) {}

  SystemConfig load(const fs::path& path) {
    const std::string file = path.string();
    const ordered_json document = read_json_file(path);
    open_.push_back(identity(path));

    SystemConfig config;
    if (document.is_object() && document.contains("extends")) config = load_base(document.at("extends"), path);
    config.name = path.stem().string();
    config.description.clear();
    apply_system_file(config, document, file);
    complete_system(config, file);
    check_system(config, file);
    open_.pop_back();
    return config;
  }

  // `folder` is searched before the search path, so that a file finds files beside it.
  fs::path find(const std::string& name, const std::optional<fs::path>& folder, const std::string& where) const {
    std::vector<std::string> folders = search_path_;
    if (folder) folders.insert(folders.begin(), folder->string());
    for (const std::string& candidate : folders) {
      const fs::path path = fs::path(candidate) / (name + kExtension);
      if (is_file(path)) return path;
    }
    std::vector<std::string> names;
    for (const SystemFile& system : list_systems(folders)) names.push_back(system.name);
    if (names.empty()) {
      throw_input_error("{}unknown system '{}': no system files in {}; name a file or set UVMSIM_CONFIG_PATH", where,
                        printable(name),
                        folders.empty() ? "an empty search path" : fmt::format("{}", fmt::join(folders, ", ")));
    }
    throw_input_error("{}unknown system '{}'{}; allowed: a file or one of {}", where, printable(name),
                      did_you_mean(name, names), fmt::join(names, ", "));
  }

  // Applies a file of configs/drivers to a system: another driver on the same machine.
  void lay_over(SystemConfig& config, const std::string& name) const {
    const fs::path path = find_overlay(name);
    const ordered_json document = read_json_file(path);
    const std::string base_name = config.name;
    const std::string base_description = config.description;
    config.description.clear();
    apply_system_file(config, document, path.string());
    config.name = base_name + kOver + path.stem().string();
    config.description = fmt::format("{}; {}", base_description, config.description);
    complete_system(config, path.string());
    check_system(config, path.string());
  }

 private:
  fs::path find_overlay(const std::string& name) const {
    if (is_path(name)) return name;
    std::vector<std::string> names;
    for (const std::string& folder : search_path_) {
      const fs::path drivers = fs::path(folder).parent_path() / "drivers";
      if (is_file(drivers / (name + kExtension))) return drivers / (name + kExtension);
      for (const SystemFile& driver : list_systems({drivers.string()})) names.push_back(driver.name);
    }
    throw_input_error("unknown driver '{}' after '{}'; allowed: {}", printable(name), kOver,
                      names.empty() ? "a file" : fmt::format("a file or one of {}", fmt::join(names, ", ")));
  }

  static fs::path identity(const fs::path& path) {
    std::error_code failed;
    const fs::path canonical = fs::weakly_canonical(path, failed);
    return failed ? path : canonical;
  }

  SystemConfig load_base(const ordered_json& extends, const fs::path& path) {
    const std::string where = path.string() + ": /extends: ";
    if (!extends.is_string() || extends.get_ref<const std::string&>().empty()) {
      throw_input_error("{}{} is not allowed; allowed: the name or file of another system", where,
                        json_excerpt(extends));
    }
    const auto& base_name = extends.get_ref<const std::string&>();
    const fs::path base =
        is_path(base_name) ? path.parent_path() / base_name : find(base_name, path.parent_path(), where);
    if (std::find(open_.begin(), open_.end(), identity(base)) != open_.end()) {
      throw_input_error("{}'{}' extends itself, directly or through others; allowed: a system that does not", where,
                        printable(base_name));
    }
    if (!is_file(base)) throw_input_error("{}there is no file '{}'", where, printable(base_name));
    SystemConfig config = load(base);
    for (auto& [key, source] : config.sources) {
      if (!source.starts_with(kInherited)) source = fmt::format("{}{}: {}", kInherited, config.name, source);
    }
    return config;
  }

  const std::vector<std::string>& search_path_;
  std::vector<fs::path> open_;  // files being loaded, outermost first
};

template <class... Args>
[[noreturn]] void throw_check(const std::string& where, std::string_view key, fmt::format_string<Args...> problem,
                              Args&&... args) {
  throw_input_error("{}: {}: {}", where, json_pointer(key), fmt::format(problem, std::forward<Args>(args)...));
}

void check_tlb(const std::string& where, std::string_view level, std::uint32_t entries, std::uint32_t ways) {
  if (ways == 0 || entries % ways != 0) {
    throw_check(where, fmt::format("gmmu.{}_ways", level),
                "{} ways do not divide {} entries; allowed: a divisor of {}_entries", ways, entries, level);
  }
}

void check_joined(const std::string& where, const std::string& key, std::uint32_t first, std::uint32_t count,
                  std::size_t gpus) {
  if (first >= gpus || count > gpus - first) {
    throw_check(where, key, "GPUs {} to {} of {}; allowed: GPUs of the system", first, first + count - 1, gpus);
  }
}

void check_rates(const std::string& where, const std::string& key, const PeerRates& rates) {
  if (rates.copy_ramp_ns != 0 && rates.copy_ramp_bytes == 0) {
    throw_check(where, key + ".copy_ramp_bytes", "0 with copy_ramp_ns; allowed: the size from which it counts in full");
  }
}

// Two GPUs have at most one link to each other, and a GPU has at most one shared uplink.
void check_peers(const SystemConfig& config, const std::string& where) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
  const auto join = [&](const std::string& key, std::uint32_t a, std::uint32_t b) {
    if (!joined.emplace(std::min(a, b), std::max(a, b)).second) {
      throw_check(where, key, "GPUs {} and {} are joined twice; allowed: once", a, b);
    }
  };
  for (std::size_t i = 0; i < config.peer_links.size(); ++i) {
    const PeerLinkConfig& link = config.peer_links[i];
    const std::string key = fmt::format("peer_links.{}", i);
    for (const std::uint32_t gpu : {link.first_gpu, link.second_gpu}) {
      check_joined(where, key, gpu, 1, config.gpus.size());
    }
    if (link.first_gpu == link.second_gpu) throw_check(where, key, "both ends are one GPU; allowed: two GPUs");
    join(key, link.first_gpu, link.second_gpu);
    check_rates(where, key + ".each_way", link.each_way);
  }
  for (std::size_t i = 0; i < config.peer_switches.size(); ++i) {
    const PeerSwitchConfig& sw = config.peer_switches[i];
    const std::string key = fmt::format("peer_switches.{}", i);
    check_joined(where, key, sw.first_gpu, sw.gpu_count, config.gpus.size());
    check_rates(where, key + ".port", sw.port);
    for (std::uint32_t a = 0; a < sw.gpu_count; ++a) {
      for (std::uint32_t b = a + 1; b < sw.gpu_count; ++b) join(key, sw.first_gpu + a, sw.first_gpu + b);
    }
  }
  std::set<std::uint32_t> behind;
  for (std::size_t i = 0; i < config.uplinks.size(); ++i) {
    const UplinkConfig& uplink = config.uplinks[i];
    const std::string key = fmt::format("uplinks.{}", i);
    check_joined(where, key, uplink.first_gpu, uplink.gpu_count, config.gpus.size());
    for (std::uint32_t gpu = uplink.first_gpu; gpu < uplink.first_gpu + uplink.gpu_count; ++gpu) {
      if (!behind.insert(gpu).second) throw_check(where, key, "GPU {} is behind two uplinks; allowed: one", gpu);
    }
  }
}

// Refuses a limit for both directions together that a single direction exceeds: it belongs to another link.
void check_both_ways(const SystemConfig& config, const std::string& where) {
  const std::uint64_t both = config.runtime.remote_both_ways_bytes_per_us;
  for (std::size_t i = 0; both != 0 && i < config.host_links.size(); ++i) {
    const LinkConfig& link = config.host_links[i];
    const std::uint64_t one = std::max(link.zero_copy_read_bytes_per_us, link.zero_copy_write_bytes_per_us);
    if (both >= one) continue;
    throw_check(
        where, "runtime.remote_both_ways_bytes_per_us",
        "{} bytes/us for both directions together, less than one direction of host_links.{} alone, {}; allowed: "
        "0 (their sum), or at least one direction",
        both, i, one);
  }
}

// A link without faults requires the address mode that uses it, and the reverse.
void check_coherence(const SystemConfig& config, const std::string& where) {
  const CoherenceConfig& coherence = config.coherence;
  const std::string& mode = coherence.address_mode;
  const bool in_place = uses_system_memory_in_place(config);
  for (std::size_t i = 0; i < config.host_links.size(); ++i) {
    const std::string& kind = config.host_links[i].kind;
    if (in_place ? kind == "pcie" : kind == "c2c") {
      throw_check(where, "coherence.address_mode", "\"{}\" over host_links.{}, which is {}; allowed: {}", mode, i, kind,
                  in_place ? "nvlink or c2c links with ats and cdmm" : "ats or cdmm with a c2c link");
    }
    if (mode == "hmm" && kind != "pcie") {
      throw_check(where, "coherence.address_mode", "\"hmm\" over host_links.{}, which is {}; allowed: pcie links", i,
                  kind);
    }
  }
  if (coherence.host_page_bytes != kBasePageBytes && (coherence.host_page_bytes != kBigPageBytes || mode == "hmm")) {
    throw_check(where, "coherence.host_page_bytes", "{}; allowed: 4 KiB{}", coherence.host_page_bytes,
                mode == "hmm" ? " with hmm" : " or 64 KiB");
  }
  if (in_place && config.driver.access_counter_migration) {
    throw_check(where, "driver.access_counter_migration",
                "true with coherence.address_mode \"{}\", where the driver's version decides; allowed: false", mode);
  }
  if (in_place && config.runtime.remote_latency_ns < coherence.local_latency_ns) {
    throw_check(where, "coherence.local_latency_ns",
                "{} ns, more than runtime.remote_latency_ns, {} ns; allowed: at most that", coherence.local_latency_ns,
                config.runtime.remote_latency_ns);
  }
  if (mode != "none" && config.host.memory_bytes != 0) {
    throw_check(where, "host.memory_bytes", "{} with coherence.address_mode \"{}\"; allowed: 0 (no limit)",
                config.host.memory_bytes, mode);
  }
}

void check_page(const std::string& where, std::string_view key, std::uint64_t bytes) {
  if (bytes != kBasePageBytes && bytes != kBigPageBytes && bytes != kBlockBytes) {
    throw_check(where, key, "{} is no size of a page; allowed: 4 KiB, 64 KiB or 2 MiB", bytes);
  }
}

bool same_text(const std::string& a, const std::string& b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<GpuConfig> find_in(const SystemConfig& system, const std::string& model) {
  for (const GpuConfig& gpu : system.gpus) {
    if (same_text(gpu.model, model)) return gpu;
  }
  return std::nullopt;
}

// Returns the text of a --set as the JSON scalar that a file would contain: digits become an integer, true and false a
// switch.
ordered_json scalar(const Parameter& parameter, const std::string& text) {
  if (!parameter.is_integer() && !parameter.is_boolean()) return text;
  if (text == "true" || text == "false") return text == "true";
  const bool is_number = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) == std::string::npos;
  const ordered_json number = is_number ? ordered_json::parse(text, nullptr, false) : ordered_json();
  return number.is_number() ? number : ordered_json(text);
}

// Returns whether the text is a factor for a number, such as "x1.25". Parameters that are texts have no factors.
bool is_factor(const Parameter& parameter, const std::string& text) {
  return (parameter.is_integer() || parameter.is_boolean()) && text.starts_with('x');
}

void multiply(const Parameter& parameter, const std::string& text, const std::string& where) {
  constexpr std::uint64_t kMillion = 1'000'000, kLargest = 1000;
  const auto millionths = parse_decimal(std::string_view(text).substr(1), 6, kLargest * kMillion);
  if (!parameter.is_integer()) {
    throw_input_error("{}: {} is true or false, and a factor multiplies numbers; allowed: {}", where, parameter.key,
                      allowed_text(parameter));
  }
  if (!millionths || *millionths == 0) {
    throw_input_error("{}: '{}' is no factor; allowed: x and a number above 0, at most {}, such as x1.25", where, text,
                      kLargest);
  }
  const WideUnsigned product = WideUnsigned{std::get<std::uint64_t>(value_of(parameter))} * *millionths;
  const WideUnsigned rounded = (product + kMillion / 2) / kMillion;
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  assign(parameter, rounded > kMost ? kMost : static_cast<std::uint64_t>(rounded), where);
}

}  // namespace

SystemConfig load_system(const std::string& name_or_path, const std::vector<std::string>& search_path) {
  Loader loader(search_path);
  const auto load = [&](const std::string& name) {
    return loader.load(is_path(name) ? fs::path(name) : loader.find(name, std::nullopt, ""));
  };
  std::size_t over = name_or_path.find(kOver);
  if (over == std::string::npos || is_file(name_or_path)) return load(name_or_path);
  SystemConfig config = load(name_or_path.substr(0, over));
  while (over != std::string::npos) {
    const std::size_t next = name_or_path.find(kOver, over + 1);
    loader.lay_over(config, name_or_path.substr(over + 1, next == std::string::npos ? next : next - over - 1));
    over = next;
  }
  return config;
}

std::optional<GpuConfig> find_gpu(const std::string& model, const SystemConfig& likely,
                                  const std::vector<std::string>& search_path) {
  if (model.empty()) return std::nullopt;
  if (const auto gpu = find_in(likely, model)) return gpu;
  for (const SystemFile& file : list_systems(search_path)) {
    try {
      if (const auto gpu = find_in(load_system(file.path, search_path), model)) return gpu;
    } catch (const InputError&) {  // a broken file must not prevent a run of another system
    }
  }
  return std::nullopt;
}

void apply_override(SystemConfig& config, const std::string& assignment) {
  const std::string where = "--set " + assignment;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw_input_error("{}: is not an assignment; allowed: key=value, as costs.batch_ns=7000", where);
  }
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const bool is_pattern = key.find_first_of("*?") != std::string::npos;
  std::vector<std::string> keys;
  bool found = false;
  SystemConfig changed = config;  // changes all parameters that match, or none
  for (const Parameter& parameter : parameters(changed)) {
    keys.push_back(parameter.key);
    if (is_pattern ? !matches(key, parameter.key) : parameter.key != key) continue;
    const std::string place = is_pattern ? fmt::format("{}: {}", where, parameter.key) : where;
    if (is_factor(parameter, value)) {
      multiply(parameter, value, place);
    } else {
      assign(parameter, scalar(parameter, value), place);
    }
    changed.sources[parameter.key] = where;
    found = true;
  }
  if (found) {
    config = std::move(changed);
    return;
  }
  if (is_pattern) throw_input_error("{}: no key matches '{}'; `uvmsim systems {}` lists them", where, key, config.name);
  throw_input_error("{}: unknown key '{}'{}; `uvmsim systems {}` lists them", where, key, did_you_mean(key, keys),
                    config.name);
}

void apply_overrides(SystemConfig& config, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) apply_override(config, assignment);
  if (!assignments.empty()) check_system(config, fmt::format("--set {}", fmt::join(assignments, " --set ")));
}

void check_system(const SystemConfig& config, const std::string& where) {
  if (config.host_links.size() != config.gpus.size()) {
    throw_check(where, "host_links", "{} links for {} GPUs; allowed: one per GPU", config.host_links.size(),
                config.gpus.size());
  }
  check_peers(config, where);
  check_both_ways(config, where);
  for (std::size_t i = 0; i < config.gpus.size(); ++i) {
    const GpuConfig& gpu = config.gpus[i];
    if (gpu.reserved_bytes >= gpu.memory_bytes) {
      throw_check(where, fmt::format("gpus.{}.reserved_bytes", i),
                  "{} of {} bytes are reserved; allowed: less than memory_bytes", gpu.reserved_bytes, gpu.memory_bytes);
    }
  }
  check_tlb(where, "l1_tlb", config.gmmu.l1_tlb_entries, config.gmmu.l1_tlb_ways);
  check_tlb(where, "l2_tlb", config.gmmu.l2_tlb_entries, config.gmmu.l2_tlb_ways);
  const SsdConfig& ssd = config.ssd;
  if (ssd.memory_bytes > 0 && (ssd.read_bytes_per_us == 0 || ssd.write_bytes_per_us == 0)) {
    throw_check(where, ssd.read_bytes_per_us == 0 ? "ssd.read_bytes_per_us" : "ssd.write_bytes_per_us",
                "0 for an SSD with capacity; allowed: its bandwidth");
  }
  const HostConfig& host = config.host;
  if (host.memory_bytes > 0 && host.memory_bytes < kBlockBytes) {
    throw_check(where, "host.memory_bytes",
                "{} is too small; allowed: 0 (no limit), or at least {} bytes (one 2 MiB block)", host.memory_bytes,
                kBlockBytes);
  }
  check_page(where, "host.reclaim_bytes", host.reclaim_bytes);
  check_page(where, "driver.page_bytes", config.driver.page_bytes);
  check_coherence(config, where);
}

}  // namespace uvmsim::config
