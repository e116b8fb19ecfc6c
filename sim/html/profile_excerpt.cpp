// SPDX-License-Identifier: Apache-2.0
#include "sim/html/profile_excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"
#include "sim/formats/sqlite_reader.h"
#include "sim/html/escape.h"
#include "sim/report/kernel_label.h"
#include "sim/report/profile_account.h"
#include "sim/why/why.h"

namespace uvmsim::html {
namespace {

using Json = nlohmann::ordered_json;
using Columns = std::vector<std::string>;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr int kLongestValueBytes = 256 << 20;  // large enough for the result of a run of many iterations
constexpr const char* kProfileSchema = "uvmsim.profile/1";

// Limits that a page can show and still open quickly.
constexpr std::size_t kMostRows = 500, kMostOperations = 400, kMostLaunches = 200, kLongestName = 240;
constexpr std::uint64_t kMostTimes = 512, kMostAddresses = 128;

// Empty for memory and operations outside of all iterations.
using Iteration = std::optional<std::int64_t>;

std::uint64_t count_at(const SqliteReader::Row& row, std::size_t column) {
  return static_cast<std::uint64_t>(row.integer(column, 0, kLargest, 0));
}
Iteration iteration_at(const SqliteReader::Row& row, std::size_t column) {
  return row.has(column) ? Iteration(row.required(column, 0, kLargest)) : std::nullopt;
}

std::string short_name(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, utf8_cut(name, kLongestName)) + "...";
}

// The sums saturate, as a file may hold any values.
template <class Number>
void add_to(Number& sum, Number value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<Number>::max();
}

// The common columns of kernels, layers and allocations.
struct Sums {
  std::int64_t duration_ns = 0, compute_ns = 0, stall_ns = 0;
  std::uint64_t count = 0;  // launches, kernels or operations
  std::uint64_t fault_batches = 0, evictions = 0, faulting_pages = 0, reloaded_pages = 0, populated_pages = 0;
  std::uint64_t htod_bytes = 0, dtoh_bytes = 0;

  Sums& operator+=(const Sums& other) {
    for (const auto member : {&Sums::duration_ns, &Sums::compute_ns, &Sums::stall_ns}) {
      add_to(this->*member, other.*member);
    }
    for (const auto member : {&Sums::count, &Sums::fault_batches, &Sums::evictions, &Sums::faulting_pages,
                              &Sums::reloaded_pages, &Sums::populated_pages, &Sums::htod_bytes, &Sums::dtoh_bytes}) {
      add_to(this->*member, other.*member);
    }
    return *this;
  }
};

// Appends the columns of traffic to a table's own.
Columns with_traffic(Columns own) {
  for (const auto& [name, member] : report::kTrafficColumns) own.emplace_back(name);
  return own;
}

// Adds the columns from `first` on, whose names are in kTrafficColumns.
void add_traffic(const SqliteReader::Row& row, std::size_t first, Sums& sums) {
  for (const auto& [name, member] : report::kTrafficColumns) {
    const std::uint64_t value = count_at(row, first++);
    const std::string_view text = name;
    if (text.ends_with("_faulting_pages")) add_to(sums.faulting_pages, value);
    if (text == "reloaded_pages") add_to(sums.reloaded_pages, value);
    if (text == "populated_pages") add_to(sums.populated_pages, value);
    if (text.starts_with("htod_")) add_to(sums.htod_bytes, value);
    if (text.starts_with("dtoh_")) add_to(sums.dtoh_bytes, value);
  }
}

// Reads "duration_ns", "compute_ns", "stall_ns", "fault_batches", "evictions" and traffic, from column `first` on.
Sums sums_at(const SqliteReader::Row& row, std::size_t first, std::int64_t longest_ns = kLargest) {
  Sums sums;
  sums.duration_ns = row.integer(first, 0, longest_ns, 0);
  sums.compute_ns = row.integer(first + 1, 0, kLargest, 0);
  sums.stall_ns = row.integer(first + 2, -kLargest, kLargest, 0);
  sums.fault_batches = count_at(row, first + 3);
  sums.evictions = count_at(row, first + 4);
  add_traffic(row, first + 5, sums);
  return sums;
}

struct Launch {
  std::uint64_t name = 0, layer = 0;
  std::int64_t stream = 0, device = 0, start_ns = 0;
  std::string kind;
  Sums sums;
};

struct Layer {
  std::string path;
  std::int64_t depth = 0;
  Sums own, nested;
  std::int64_t start_ns = -1, end_ns = -1;  // of the object's own kernels
};

struct Memory {
  std::string name, kind, lifetime;
  std::uint64_t number = 0, layer = 0, bytes = 0, address = 0;
  bool placed = false;
  std::int64_t allocated_ns = 0, freed_ns = -1;
  Sums sums;
};

template <class Rows, class SumsOf>
void longest_first(Rows& rows, SumsOf&& sums_of) {
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
    const Sums &x = sums_of(a), &y = sums_of(b);
    return std::tuple(x.stall_ns, x.htod_bytes) > std::tuple(y.stall_ns, y.htod_bytes);
  });
}

class ProfileReader {
 public:
  explicit ProfileReader(const std::string& path) : path_(path), database_(path, kLongestValueBytes) {}

  ProfileExcerpt read() {
    read_run();
    choose_iteration();
    read_names();
    read_layers();
    read_operations();
    read_allocations();
    read_waits();
    Json json;
    json["about"] = excerpt_.about;
    json["title"] = excerpt_.run.program + " on " + excerpt_.run.system;
    json["kernels"] = kernel_table();
    json["layers"] = layer_table();
    json["tensors"] = tensor_table();
    json["heat"] = heat_maps();
    json["timeline"] = timeline();
    excerpt_.json = embedded(json);
    return std::move(excerpt_);
  }

 private:
  void read_run() {
    bool any = false;
    database_.each("run", {"schema", "result"}, 2, [&](const SqliteReader::Row& row) {
      if (any) return;
      any = true;
      const std::string schema = row.text(0);
      if (schema != kProfileSchema) {
        throw_input_error("{}: schema '{}' cannot be read; allowed: {}", path_, schema, kProfileSchema);
      }
      const Json result = parse_or_discard<Json>(row.whole_text(1));
      if (result.is_discarded()) throw_input_error("{}: the result in table 'run' is not JSON", path_);
      excerpt_.run = point_of_result(result, path_);
    });
    if (!any) throw_input_error("{}: is no profile of `uvmsim run --profile`: table 'run' is empty", path_);
  }

  // Chooses the last iteration that the result quotes; without iterations, the whole run.
  void choose_iteration() {
    const ReportPoint& run = excerpt_.run;
    if (run.of_iterations) {
      iteration_ = static_cast<std::int64_t>(std::min<std::uint64_t>(run.last_iteration, kLargest));
    }
    excerpt_.about = iteration_ ? fmt::format("iteration {}", *iteration_) : "the whole run";
  }
  // Reads the causes for which kernels wait, and the memory that they wait for.
  void read_waits() {
    std::optional<std::uint64_t> iteration;
    if (iteration_) iteration = static_cast<std::uint64_t>(*iteration_);
    const why::Answer answer = why::read_waits(path_, iteration);
    for (const why::Cause cause : why::kCauses) {
      const std::int64_t ns = answer.all.by_cause_ns[static_cast<std::size_t>(cause)];
      if (ns > 0) excerpt_.causes.emplace_back(why::cause_text(cause), ns);
    }
    std::ranges::stable_sort(excerpt_.causes, std::ranges::greater{}, &Waiting::value_type::second);
    for (const why::Waiting& memory : answer.memory) excerpt_.memory.emplace_back(memory.name, memory.stall_ns);
  }
  bool is_chosen(const Iteration& iteration) const { return !iteration_ || iteration == iteration_; }

  void read_names() {
    database_.each("names", {"name_id", "name"}, 2,
                   [&](const SqliteReader::Row& row) { names_[count_at(row, 0)] = row.text(1); });
  }
  std::string name_of(std::uint64_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? "" : found->second;
  }
  // The long name is shown on lines of its own, and if the labels of several kernels are equal.
  std::string long_name_of(std::uint64_t id) const { return short_name(report::demangled_name(name_of(id))); }
  std::string label_of(std::uint64_t id) const { return short_name(report::kernel_label(name_of(id))); }

  void read_layers() {
    database_.each("layers", {"layer", "depth", "path"}, 3, [&](const SqliteReader::Row& row) {
      Layer& layer = layers_[count_at(row, 0)];
      layer.depth = row.integer(1, 0, kLargest, 0);
      layer.path = short_name(row.text(2));
      if (count_at(row, 0) == 0) layer.path = "(outside of all layers)";
    });
    const Columns columns = with_traffic({"layer", "nested", "iteration", "kernels", "duration_ns", "compute_ns",
                                          "stall_ns", "fault_batches", "evictions"});
    database_.each("layer_sums", columns, columns.size(), [&](const SqliteReader::Row& row) {
      const auto layer = layers_.find(count_at(row, 0));
      if (layer == layers_.end() || !is_chosen(iteration_at(row, 2))) return;
      const std::uint64_t kernels = count_at(row, 3);
      Sums sums = sums_at(row, 4);
      sums.count = kernels;
      (count_at(row, 1) == 0 ? layer->second.own : layer->second.nested) += sums;
    });
  }

  void read_operations() {
    const Columns columns = with_traffic({"kind", "name_id", "iteration", "layer", "stream", "device", "start_ns",
                                          "duration_ns", "compute_ns", "stall_ns", "fault_batches", "evictions"});
    database_.each("operations", columns, columns.size(), [&](const SqliteReader::Row& row) {
      const Iteration iteration = iteration_at(row, 2);
      if (!row.has(6)) return;  // the host
      Launch one;
      one.start_ns = row.required(6, 0, kLargest / 2);
      if (iteration) {
        const auto [mark, fresh] = iteration_starts_.try_emplace(*iteration, one.start_ns);
        if (!fresh) mark->second = std::min(mark->second, one.start_ns);
      }
      if (!is_chosen(iteration)) return;
      one.kind = row.text(0);
      one.name = count_at(row, 1);
      one.layer = count_at(row, 3);
      one.stream = row.integer(4, 0, kLargest, 0);
      one.device = row.integer(5, 0, kLargest, 0);
      one.sums = sums_at(row, 7, kLargest / 2);
      one.sums.count = 1;
      if (one.kind == "kernel") {
        add_to(excerpt_.kernel_ns, one.sums.duration_ns);
        add_to(excerpt_.compute_ns, one.sums.compute_ns);
        add_to(excerpt_.stall_ns, one.sums.stall_ns);
        ++excerpt_.launches;
        if (const auto layer = layers_.find(one.layer); layer != layers_.end()) {
          Layer& of = layer->second;
          of.start_ns = of.start_ns < 0 ? one.start_ns : std::min(of.start_ns, one.start_ns);
          of.end_ns = std::max(of.end_ns, one.start_ns + one.sums.duration_ns);
        }
      }
      add_to(excerpt_.loaded_pages, one.sums.htod_bytes / kBasePageBytes);
      add_to(excerpt_.reloaded_pages, one.sums.reloaded_pages);
      launches_.push_back(std::move(one));
    });
    std::ranges::stable_sort(launches_, {}, &Launch::start_ns);
  }

  void read_allocations() {
    database_.each("allocations",
                   {"allocation", "kind", "name", "bytes", "address", "lifetime", "layer", "allocated_ns", "freed_ns"},
                   9, [&](const SqliteReader::Row& row) {
                     Memory& one = memory_[count_at(row, 0)];
                     one.number = count_at(row, 0);
                     one.kind = row.text(1);
                     one.name = short_name(row.text(2));
                     one.bytes = count_at(row, 3);
                     one.placed = row.has(4);
                     one.address = count_at(row, 4);
                     one.lifetime = row.text(5);
                     one.layer = count_at(row, 6);
                     one.allocated_ns = row.integer(7, 0, kLargest, 0);
                     one.freed_ns = row.integer(8, 0, kLargest, -1);
                   });
    const Columns columns = with_traffic({"allocation", "iteration", "operations", "fault_batches", "stall_ns"});
    database_.each("allocation_uses", columns, columns.size(), [&](const SqliteReader::Row& row) {
      const auto found = memory_.find(count_at(row, 0));
      if (found == memory_.end() || !is_chosen(iteration_at(row, 1))) return;
      Sums sums;
      sums.count = count_at(row, 2);
      sums.fault_batches = count_at(row, 3);
      sums.stall_ns = row.integer(4, -kLargest, kLargest, 0);
      add_traffic(row, 5, sums);
      found->second.sums += sums;
    });
  }

  // Returns the rows to show, and how much is left out. `row` creates a row; rows are ordered by `sums_of`.
  template <class Rows, class SumsOf, class MakeRow>
  static Json table_of(Rows& rows, const Json& columns, SumsOf&& sums_of, MakeRow&& row) {
    longest_first(rows, sums_of);
    Json out = {{"columns", columns}, {"rows", Json::array()}};
    std::int64_t rest_ns = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i < kMostRows) {
        out["rows"].push_back(row(rows[i]));
      } else {
        add_to(rest_ns, sums_of(rows[i]).stall_ns);
      }
    }
    out["left_out"] = rows.size() > kMostRows ? rows.size() - kMostRows : 0;
    out["left_out_stall_ns"] = rest_ns;
    return out;
  }

  Json kernel_table() {
    struct Kernel {
      std::string name, label;
      Sums sums;
      Json starts = Json::array();  // of each launch: [start, end]
    };
    std::map<std::uint64_t, Kernel> by_name;
    for (const Launch& one : launches_) {
      if (one.kind != "kernel") continue;
      Kernel& kernel = by_name[one.name];
      kernel.sums += one.sums;
      if (kernel.starts.size() < kMostLaunches) {
        kernel.starts.push_back({one.start_ns, one.start_ns + one.sums.duration_ns});
      }
    }
    std::vector<Kernel> rows;
    for (auto& [id, kernel] : by_name) {
      kernel.name = long_name_of(id);
      kernel.label = label_of(id);
      rows.push_back(std::move(kernel));
    }
    Json table = table_of(
        rows,
        {"name", "launches", "duration_ns", "compute_ns", "stall_ns", "fault_batches", "faulting_pages",
         "reloaded_pages", "htod_bytes", "dtoh_bytes", "evictions", "spans"},
        [](const Kernel& kernel) -> const Sums& { return kernel.sums; },
        [](const Kernel& kernel) {
          const Sums& s = kernel.sums;
          return Json{kernel.name,      s.count,          s.duration_ns, s.compute_ns, s.stall_ns,  s.fault_batches,
                      s.faulting_pages, s.reloaded_pages, s.htod_bytes,  s.dtoh_bytes, s.evictions, kernel.starts};
        });
    for (const Kernel& kernel : rows) excerpt_.kernels.emplace_back(kernel.label, kernel.sums.stall_ns);
    return table;
  }

  Json layer_table() {
    std::vector<const Layer*> rows;
    for (const auto& [id, layer] : layers_) {
      if (layer.own.count != 0 || layer.nested.count != 0) rows.push_back(&layer);
    }
    Json table = table_of(
        rows,
        {"path", "depth", "kernels", "duration_ns", "compute_ns", "stall_ns", "nested_stall_ns", "fault_batches",
         "reloaded_pages", "htod_bytes", "dtoh_bytes", "evictions", "spans"},
        [](const Layer* layer) -> const Sums& { return layer->own; },
        [](const Layer* layer) {
          const Sums& s = layer->own;
          Json spans = Json::array();
          if (layer->start_ns >= 0) spans.push_back({layer->start_ns, layer->end_ns});
          return Json{layer->path,
                      layer->depth,
                      s.count,
                      s.duration_ns,
                      s.compute_ns,
                      s.stall_ns,
                      layer->nested.stall_ns,
                      s.fault_batches,
                      s.reloaded_pages,
                      s.htod_bytes,
                      s.dtoh_bytes,
                      s.evictions,
                      std::move(spans)};
        });
    for (const Layer* layer : rows) excerpt_.layers.emplace_back(layer->path, layer->own.stall_ns);
    return table;
  }

  std::string layer_path(std::uint64_t layer) const {
    const auto found = layers_.find(layer);
    return found == layers_.end() ? "" : found->second.path;
  }

  Json tensor_table() {
    std::vector<const Memory*> rows;
    std::map<std::string, std::int64_t> by_lifetime;
    for (const auto& [id, memory] : memory_) {
      const Sums& s = memory.sums;
      if (s.count == 0 && s.stall_ns == 0 && s.htod_bytes == 0 && s.dtoh_bytes == 0) continue;
      rows.push_back(&memory);
      add_to(by_lifetime[memory.kind == "none" ? "none" : memory.lifetime], s.stall_ns);
    }
    Json table = table_of(
        rows,
        {"name", "kind", "lifetime", "layer", "bytes", "stall_ns", "operations", "fault_batches", "faulting_pages",
         "reloaded_pages", "htod_bytes", "dtoh_bytes", "area"},
        [](const Memory* memory) -> const Sums& { return memory->sums; },
        [&](const Memory* memory) {
          const Sums& s = memory->sums;
          Json area = nullptr;
          if (memory->placed) {
            area = {memory->allocated_ns, memory->freed_ns < 0 ? Json(nullptr) : Json(memory->freed_ns),
                    memory->address, memory->bytes};
          }
          const bool named = !memory->name.empty();
          return Json{named                    ? memory->name
                      : memory->kind == "none" ? "(no allocation)"
                                               : fmt::format("{} {} (no name)", memory->kind, memory->number),
                      memory->kind,
                      memory->lifetime,
                      memory->kind == "none" ? "" : layer_path(memory->layer),
                      memory->bytes,
                      s.stall_ns,
                      s.count,
                      s.fault_batches,
                      s.faulting_pages,
                      s.reloaded_pages,
                      s.htod_bytes,
                      s.dtoh_bytes,
                      std::move(area)};
        });
    excerpt_.lifetimes.assign(by_lifetime.begin(), by_lifetime.end());
    std::ranges::stable_sort(excerpt_.lifetimes, std::greater{}, &Waiting::value_type::second);
    return table;
  }

  // Merges cells until the map fits. Residency is the mean of the cells; the other values are sums.
  Json heat_maps() {
    constexpr std::int64_t kMostBuckets = 1 << 16;
    Json maps = Json::array();
    database_.each("heat_grid", {"device", "end_ns", "bucket_ns", "time_buckets", "bucket_bytes", "address_buckets"}, 6,
                   [&](const SqliteReader::Row& row) {
                     const std::int64_t device = row.required(0, 0, 63);
                     const std::int64_t bucket_ns = row.required(2, 1, kLargest / kMostBuckets);
                     const std::int64_t bucket_bytes = row.required(4, 1, kLargest / kMostBuckets);
                     const auto times = static_cast<std::uint64_t>(row.required(3, 0, kMostBuckets)),
                                addresses = static_cast<std::uint64_t>(row.required(5, 0, kMostBuckets));
                     if (times == 0 || addresses == 0) return;
                     const std::uint64_t by_time = (times + kMostTimes - 1) / kMostTimes,
                                         by_address = (addresses + kMostAddresses - 1) / kMostAddresses;
                     const std::uint64_t columns = (times + by_time - 1) / by_time,
                                         lines = (addresses + by_address - 1) / by_address;
                     Json map = {{"device", device},
                                 {"end_ns", row.required(1, 0, kLargest)},
                                 {"columns", columns},
                                 {"lines", lines},
                                 {"cell_ns", static_cast<std::uint64_t>(bucket_ns) * by_time},
                                 {"cell_bytes", static_cast<std::uint64_t>(bucket_bytes) * by_address},
                                 {"marks", Json::array()}};
                     for (const auto& [iteration, start] : iteration_starts_) {
                       map["marks"].push_back({iteration, start});
                     }
                     for (const auto& [name, values] : heat_values(device, times, addresses, by_time, by_address)) {
                       map[name] = values;
                     }
                     maps.push_back(std::move(map));
                   });
    return maps;
  }

  std::map<std::string, std::vector<std::uint64_t>> heat_values(std::int64_t device, std::uint64_t times,
                                                                std::uint64_t addresses, std::uint64_t by_time,
                                                                std::uint64_t by_address) const {
    const Columns measures = {"resident_bytes", "touched_bytes", "faulted_bytes", "loaded_bytes", "evicted_bytes"};
    const std::uint64_t columns = (times + by_time - 1) / by_time, lines = (addresses + by_address - 1) / by_address;
    std::map<std::string, std::vector<std::uint64_t>> values;
    for (const std::string& name : measures) values[name].resize(columns * lines);
    Columns names = {"device", "time_bucket", "address_bucket"};
    names.insert(names.end(), measures.begin(), measures.end());
    database_.each("heat", names, names.size(), [&](const SqliteReader::Row& row) {
      if (row.required(0, 0, kLargest) != device) return;
      const std::uint64_t time = count_at(row, 1), address = count_at(row, 2);
      if (time >= times || address >= addresses) return;
      const std::uint64_t cell = address / by_address * columns + time / by_time;
      for (std::size_t i = 0; i < measures.size(); ++i) add_to(values[measures[i]][cell], count_at(row, 3 + i));
    });
    // The values are in KiB: a page is 4.
    for (auto& [name, cells] : values) {
      const std::uint64_t divisor = 1024 * (name == "resident_bytes" ? by_time : 1);
      for (std::uint64_t& cell : cells) cell /= divisor;
    }
    return values;
  }

  // Shows consecutive operations, at the place where they waited longest.
  Json timeline() const {
    const std::size_t count = std::min(launches_.size(), kMostOperations);
    const auto waited = [&](std::size_t i) {
      return std::clamp<std::int64_t>(launches_[i].sums.stall_ns, 0, kLargest / std::int64_t{2 * kMostOperations});
    };
    std::int64_t sum = 0, most = -1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      sum += waited(i);
      if (i >= count) sum -= waited(i - count);
      if (i + 1 >= count && sum > most) {
        most = sum;
        begin = i + 1 - count;
      }
    }
    Json names = Json::array(), rows = Json::array();
    std::map<std::string, std::size_t> index;
    const auto index_of = [&](const std::string& text) {
      const auto [found, fresh] = index.try_emplace(text, names.size());
      if (fresh) names.push_back(text);
      return found->second;
    };
    for (std::size_t i = begin; i < begin + count; ++i) {
      const Launch& one = launches_[i];
      rows.push_back({index_of(one.kind), index_of(label_of(one.name)), index_of(layer_path(one.layer)), one.device,
                      one.stream, one.start_ns, one.sums.duration_ns, one.sums.stall_ns, one.sums.fault_batches,
                      one.sums.htod_bytes, one.sums.dtoh_bytes});
    }
    return {{"names", std::move(names)}, {"operations", launches_.size()}, {"rows", std::move(rows)}};
  }

  std::string path_;
  SqliteReader database_;
  ProfileExcerpt excerpt_;
  Iteration iteration_;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint64_t, Layer> layers_;
  std::map<std::uint64_t, Memory> memory_;
  std::vector<Launch> launches_;  // of the chosen iteration, by start
  std::map<std::int64_t, std::int64_t> iteration_starts_;
};

}  // namespace

ProfileExcerpt read_profile(const std::string& path) { return ProfileReader(path).read(); }

bool is_profile(const std::string& path) {
  const SqliteReader database(path, kLongestValueBytes);
  return database.has_table("run") && database.has_table("operations");
}

}  // namespace uvmsim::html
