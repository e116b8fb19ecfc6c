// SPDX-License-Identifier: Apache-2.0
// The tables of a profile; PROFILE.md describes them.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/report/profile.h"
#include "sim/report/result_json.h"

namespace uvmsim::report {
namespace {

std::string_view kind_name(const std::optional<WorkKind>& kind) {
  constexpr std::string_view kNames[] = {"kernel", "copy", "prefetch", "discard"};
  return kind ? kNames[static_cast<std::size_t>(*kind)] : "host";
}

// Returns the lifetime class, the only hint in a trace at the purpose of a tensor.
std::string_view lifetime(const Allocation& allocation) {
  if (allocation.allocated_in == kNoIteration) return "program";
  if (allocation.freed_in == allocation.allocated_in && allocation.freed_ns >= 0) return "iteration";
  return "longer";
}

std::string traffic_columns() {
  std::string columns;
  for (const auto& [name, member] : kTrafficColumns) columns += fmt::format(", {} INTEGER", name);
  return columns;
}

// Creates a table; `columns` is their list in SQL.
SqliteFile::Rows new_table(SqliteFile& file, const std::string& name, const std::string& columns) {
  file.execute(fmt::format("CREATE TABLE {} ({})", name, columns));
  return {file, name, static_cast<int>(std::ranges::count(columns, ',')) + 1};
}

// Adds a row whose last columns are traffic_columns().
template <class... Values>
void add_row(SqliteFile::Rows& rows, const Traffic& traffic, const Values&... values) {
  (rows.add(values), ...);
  for (const auto& [name, member] : kTrafficColumns) rows.add(traffic.*member);
  rows.end();
}

std::optional<std::int64_t> unless_negative(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

}  // namespace

void Profile::finish(const RunRecord& record, Nanoseconds start) {
  SqliteFile::Rows run = new_table(file_, "run", "schema TEXT, result TEXT");
  std::string result = result_json(record);
  if (!result.empty() && result.back() == '\n') result.pop_back();
  run.row("uvmsim.profile/1", result);
  file_.execute("BEGIN");
  write_names_and_layers();
  write_operations();
  write_layer_sums();
  write_allocations();
  write_heat(start + record.result.total);
  file_.execute("COMMIT");
  file_.commit();
}

void Profile::write_names_and_layers() {
  SqliteFile::Rows names = new_table(file_, "names", "name_id INTEGER PRIMARY KEY, name TEXT");
  SqliteFile::Rows layers =
      new_table(file_, "layers", "layer INTEGER PRIMARY KEY, parent INTEGER, depth INTEGER, name TEXT, path TEXT");
  for (std::size_t i = 0; i < names_.size(); ++i) names.row(i, names_[i]);
  for (std::uint32_t i = 0; i < layers_.layers().size(); ++i) {
    const LayerTree::Layer& layer = layers_.layers()[i];
    const auto parent = i == 0 ? std::nullopt : std::optional<std::int64_t>(layer.parent);
    layers.row(i, parent, layer.depth, layer.name, layers_.path(i));
  }
}

void Profile::write_operations() {
  SqliteFile::Rows rows = new_table(
      file_, "operations",
      "operation INTEGER PRIMARY KEY, kind TEXT, name_id INTEGER, record INTEGER, "
      "iteration INTEGER, layer INTEGER, stream INTEGER, device INTEGER, start_ns INTEGER, duration_ns INTEGER, "
      "compute_ns INTEGER, stall_ns INTEGER, read_bytes INTEGER, written_bytes INTEGER, working_set_bytes INTEGER, "
      "fault_batches INTEGER, raw_faults INTEGER, evictions INTEGER, misfit INTEGER" +
          traffic_columns());
  file_.execute(
      "CREATE VIEW kernels AS SELECT names.name AS name, layers.path AS layer_path, operations.* FROM operations "
      "JOIN names USING (name_id) JOIN layers USING (layer) WHERE kind = 'kernel'");
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& o = operations_[i];
    // The first operation stands for the host outside of iterations, even if it is empty.
    const auto gpu_only = [&](std::int64_t value) { return o.kind ? std::optional(value) : std::nullopt; };
    add_row(rows, o.traffic, i, kind_name(o.kind), o.name, gpu_only(static_cast<std::int64_t>(o.record)),
            unless_negative(o.iteration), gpu_only(o.layer), gpu_only(o.stream), unless_negative(o.device),
            gpu_only(o.start_ns), gpu_only(o.end_ns - o.start_ns), gpu_only(o.compute_ns), gpu_only(o.stall_ns()),
            o.read_bytes, o.written_bytes, o.working_set_bytes, o.fault_batches, o.raw_faults, o.evictions, o.misfit);
  }
}

void Profile::write_layer_sums() {
  struct Sum {
    std::uint64_t kernels = 0, fault_batches = 0, raw_faults = 0, evictions = 0;
    std::int64_t duration_ns = 0, compute_ns = 0, stall_ns = 0;
    Traffic traffic;
  };
  // by layer, whether it includes inner layers, and iteration
  std::map<std::tuple<std::uint32_t, bool, std::int64_t>, Sum> sums;
  for (const Operation& o : operations_) {
    const auto add_to = [&](std::uint32_t layer, bool nested) {
      Sum& sum = sums[{layer, nested, o.iteration}];
      if (o.kind == WorkKind::kKernel) {
        ++sum.kernels;
        sum.duration_ns += o.end_ns - o.start_ns;
        sum.compute_ns += o.compute_ns;
        sum.stall_ns += o.stall_ns();
      }
      sum.fault_batches += o.fault_batches;
      sum.raw_faults += o.raw_faults;
      sum.evictions += o.evictions;
      sum.traffic += o.traffic;
    };
    add_to(o.layer, false);
    for (std::uint32_t layer = o.layer;; layer = layers_.layers()[layer].parent) {
      add_to(layer, true);
      if (layer == 0) break;
    }
  }
  SqliteFile::Rows rows =
      new_table(file_, "layer_sums",
                "layer INTEGER, nested INTEGER, iteration INTEGER, kernels INTEGER, "
                "duration_ns INTEGER, compute_ns INTEGER, stall_ns INTEGER, fault_batches INTEGER, raw_faults INTEGER, "
                "evictions INTEGER" +
                    traffic_columns());
  for (const auto& [key, sum] : sums) {
    const auto& [layer, nested, iteration] = key;
    add_row(rows, sum.traffic, layer, nested, unless_negative(iteration), sum.kernels, sum.duration_ns, sum.compute_ns,
            sum.stall_ns, sum.fault_batches, sum.raw_faults, sum.evictions);
  }
}

void Profile::write_allocations() {
  SqliteFile::Rows rows =
      new_table(file_, "allocations",
                "allocation INTEGER PRIMARY KEY, id INTEGER, kind TEXT, name TEXT, bytes INTEGER, "
                "address INTEGER, lifetime TEXT, layer INTEGER, allocated_ns INTEGER, freed_ns INTEGER, "
                "allocated_in INTEGER, freed_in INTEGER");
  SqliteFile::Rows uses =
      new_table(file_, "allocation_uses",
                "allocation INTEGER, iteration INTEGER, operations INTEGER, "
                "touched_bytes INTEGER, written_bytes INTEGER, fault_batches INTEGER, stall_ns INTEGER" +
                    traffic_columns());
  for (std::size_t i = 0; i < allocations_.size(); ++i) {
    const Allocation& a = allocations_[i];
    if (i == 0) {
      constexpr auto kNull = std::nullopt;
      rows.row(i, kNull, "none", "", 0, kNull, kNull, kNull, kNull, kNull, kNull, kNull);
    } else {
      const auto address = a.runs.empty() ? std::nullopt : std::optional<std::int64_t>(a.runs.front().address);
      rows.row(i, a.id, a.tensor ? "tensor" : "object", a.name, a.bytes, address, lifetime(a), a.layer, a.allocated_ns,
               unless_negative(a.freed_ns), unless_negative(a.allocated_in), unless_negative(a.freed_in));
    }
    for (const Allocation::Use& use : a.uses) {
      add_row(uses, use.traffic, i, unless_negative(use.iteration), use.operations, use.touched_bytes,
              use.written_bytes, use.fault_batches, use.stall_ns);
    }
  }
}

void Profile::write_heat(Nanoseconds end) {
  SqliteFile::Rows grids =
      new_table(file_, "heat_grid",
                "device INTEGER PRIMARY KEY, end_ns INTEGER, bucket_ns INTEGER, time_buckets INTEGER, "
                "bucket_bytes INTEGER, address_buckets INTEGER");
  file_.execute(
      "CREATE TABLE heat (device INTEGER, time_bucket INTEGER, address_bucket INTEGER, resident_bytes INTEGER, "
      "touched_bytes INTEGER, faulted_bytes INTEGER, loaded_bytes INTEGER, evicted_bytes INTEGER, "
      "PRIMARY KEY (device, time_bucket, address_bucket)) WITHOUT ROWID");
  SqliteFile::Rows rows(file_, "heat", 8);
  for (auto& [device, heat] : heats_) {
    heat.finish(end);
    std::uint32_t times = 0, addresses = 0;  // buckets in use
    for (std::uint32_t t = 0; t < heat.time_buckets(); ++t) {
      const std::int64_t start_ns = heat.bucket_time().value * t;
      const std::int64_t length = std::min(heat.bucket_time().value, end.value - start_ns);
      for (std::uint32_t a = 0; a < heat.address_buckets(); ++a) {
        const HeatGrid::Cell& cell = heat.cell(t, a);
        if (cell.empty()) continue;
        times = t + 1;
        addresses = std::max(addresses, a + 1);
        std::uint64_t resident = 0;  // average over the bucket
        if (length > 0) {
          const auto ns = static_cast<std::uint64_t>(length);
          resident = cell.resident_page_ns / ns * kBasePageBytes + cell.resident_page_ns % ns * kBasePageBytes / ns;
        }
        rows.row(device, t, a, resident, cell.touched_bytes, cell.faulted_bytes, cell.loaded_bytes, cell.evicted_bytes);
      }
    }
    grids.row(device, end.value, heat.bucket_time().value, times, heat.bucket_bytes(), addresses);
  }
}

}  // namespace uvmsim::report
