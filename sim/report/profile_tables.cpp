// SPDX-License-Identifier: Apache-2.0
// The tables of a profile; PROFILE.md says what they hold.
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

// How long it lives, which is all that a trace says of a tensor's purpose.
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

// Makes a table; `columns` is their list in SQL.
SqliteFile::Rows new_table(SqliteFile& file, const std::string& name, const std::string& columns) {
  file.execute(fmt::format("CREATE TABLE {} ({})", name, columns));
  return {file, name, static_cast<int>(std::count(columns.begin(), columns.end(), ',')) + 1};
}

void add_traffic(SqliteFile::Rows& rows, const Traffic& traffic) {
  for (const auto& [name, member] : kTrafficColumns) rows.add(traffic.*member);
}

std::optional<std::int64_t> unless_negative(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

}  // namespace

void Profile::finish(const RunRecord& record, Nanoseconds start) {
  SqliteFile::Rows run = new_table(file_, "run", "schema TEXT, result TEXT");
  std::string result = result_json(record);
  if (!result.empty() && result.back() == '\n') result.pop_back();
  run.add("uvmsim.profile/1").add(result).end();
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
  for (std::size_t i = 0; i < names_.size(); ++i) names.add(std::uint64_t{i}).add(names_[i]).end();
  for (std::uint32_t i = 0; i < layers_.layers().size(); ++i) {
    const LayerTree::Layer& layer = layers_.layers()[i];
    layers.add(std::uint64_t{i});
    i == 0 ? layers.add_null() : layers.add(std::uint64_t{layer.parent});
    layers.add(std::uint64_t{layer.depth}).add(layer.name).add(layers_.path(i)).end();
  }
}

void Profile::write_operations() {
  SqliteFile::Rows rows = new_table(
      file_, "operations",
      "operation INTEGER PRIMARY KEY, kind TEXT, name_id INTEGER, record INTEGER, "
      "iteration INTEGER, layer INTEGER, stream INTEGER, device INTEGER, start_ns INTEGER, duration_ns INTEGER, "
      "compute_ns INTEGER, stall_ns INTEGER, read_bytes INTEGER, written_bytes INTEGER, working_set_bytes INTEGER, "
      "fault_batches INTEGER, raw_faults INTEGER, evictions INTEGER" +
          traffic_columns());
  file_.execute(
      "CREATE VIEW kernels AS SELECT names.name AS name, layers.path AS layer_path, operations.* FROM operations "
      "JOIN names USING (name_id) JOIN layers USING (layer) WHERE kind = 'kernel'");
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& o = operations_[i];
    // The first stands for the host outside of iterations, whether it did anything or not.
    const auto gpu_only = [&](std::int64_t value) { return o.kind ? std::optional(value) : std::nullopt; };
    rows.add(std::uint64_t{i}).add(kind_name(o.kind)).add(std::uint64_t{o.name});
    rows.add(gpu_only(static_cast<std::int64_t>(o.record))).add(unless_negative(o.iteration));
    rows.add(gpu_only(o.layer)).add(gpu_only(o.stream)).add(unless_negative(o.device));
    rows.add(gpu_only(o.start_ns)).add(gpu_only(o.end_ns - o.start_ns));
    rows.add(gpu_only(o.compute_ns)).add(gpu_only(o.stall_ns()));
    rows.add(o.read_bytes).add(o.written_bytes).add(o.working_set_bytes);
    rows.add(o.fault_batches).add(o.raw_faults).add(o.evictions);
    add_traffic(rows, o.traffic);
    rows.end();
  }
}

void Profile::write_layer_sums() {
  struct Sum {
    std::uint64_t kernels = 0, fault_batches = 0, raw_faults = 0, evictions = 0;
    std::int64_t duration_ns = 0, compute_ns = 0, stall_ns = 0;
    Traffic traffic;
  };
  // By layer, whether it includes the layers within, and iteration.
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
    rows.add(std::uint64_t{layer}).add(std::int64_t{nested}).add(unless_negative(iteration)).add(sum.kernels);
    rows.add(sum.duration_ns).add(sum.compute_ns).add(sum.stall_ns);
    rows.add(sum.fault_batches).add(sum.raw_faults).add(sum.evictions);
    add_traffic(rows, sum.traffic);
    rows.end();
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
    rows.add(std::uint64_t{i});
    if (i == 0) {
      rows.add_null().add("none").add("").add(std::uint64_t{0});
      for (int column = 5; column < 12; ++column) rows.add_null();
      rows.end();
    } else {
      rows.add(a.id).add(a.tensor ? "tensor" : "object").add(a.name).add(a.bytes);
      a.runs.empty() ? rows.add_null() : rows.add(a.runs.front().address);
      rows.add(lifetime(a)).add(std::uint64_t{a.layer}).add(a.allocated_ns).add(unless_negative(a.freed_ns));
      rows.add(unless_negative(a.allocated_in)).add(unless_negative(a.freed_in)).end();
    }
    for (const Allocation::Use& use : a.uses) {
      uses.add(std::uint64_t{i}).add(unless_negative(use.iteration)).add(use.operations);
      uses.add(use.touched_bytes).add(use.written_bytes).add(use.fault_batches).add(use.stall_ns);
      add_traffic(uses, use.traffic);
      uses.end();
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
    std::uint32_t times = 0, addresses = 0;  // in use
    for (std::uint32_t t = 0; t < heat.time_buckets(); ++t) {
      const std::int64_t start_ns = heat.bucket_time().value * t;
      const std::int64_t length = std::min(heat.bucket_time().value, end.value - start_ns);
      for (std::uint32_t a = 0; a < heat.address_buckets(); ++a) {
        const HeatGrid::Cell& cell = heat.cell(t, a);
        if (cell.empty()) continue;
        times = t + 1;
        addresses = std::max(addresses, a + 1);
        std::uint64_t resident = 0;  // on average over the bucket
        if (length > 0) {
          const auto ns = static_cast<std::uint64_t>(length);
          resident = cell.resident_page_ns / ns * kBasePageBytes + cell.resident_page_ns % ns * kBasePageBytes / ns;
        }
        rows.add(std::int64_t{device}).add(std::uint64_t{t}).add(std::uint64_t{a}).add(resident);
        rows.add(cell.touched_bytes).add(cell.faulted_bytes).add(cell.loaded_bytes).add(cell.evicted_bytes).end();
      }
    }
    grids.add(std::int64_t{device}).add(end.value).add(heat.bucket_time().value).add(std::uint64_t{times});
    grids.add(heat.bucket_bytes()).add(std::uint64_t{addresses}).end();
  }
}

}  // namespace uvmsim::report
