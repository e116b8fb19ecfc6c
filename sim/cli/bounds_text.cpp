// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_summary.h"

#include <fmt/format.h>

#include "sim/common/plain_text.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"
#include "sim/sweep/point.h"

namespace uvmsim::cli {
namespace {

using report::format_bytes;
using report::format_count;
using report::format_factor;
using report::format_gib;
using report::format_ms;
using report::format_thousandths;
using report::RunRecord;
using report::times_thousandths;

std::string limit_cell(const RunRecord& record) {
  if (!record.options.limited) return "none";
  if (record.options.capacity_bytes != 0) return format_factor(report::effective_osf_thousandths(record));
  return format_factor(record.options.osf_thousandths);
}

const std::optional<report::BestKnown>& best_known(const RunRecord& record) { return record.bounds->best_known; }

// Adds the last columns of a table: the best known time, its ratio to another time, and its policies.
void add_known(std::vector<std::string>& row, const report::BestKnown& best, std::uint64_t thousandths) {
  row.insert(row.end(), {format_ms(best.total), format_thousandths(thousandths),
                         sweep::policy_text(best.prefetch) + " " + sweep::policy_text(best.evict)});
}

// Describes the last part of the program that is limited by the links and not by computation; empty if there is none.
std::string hard_phase_text(const RunRecord& record) {
  const bounds::HardPhase& phase = record.bounds->bounds.hard_phase;
  if (phase.last_record == 0) return "";
  return fmt::format("OSF {}: records {} to {} are bound by the links: {} in, {} out, at least {} ms\n",
                     limit_cell(record), format_count(phase.first_record), format_count(phase.last_record),
                     format_bytes(phase.htod_bytes), format_bytes(phase.dtoh_bytes), format_ms(phase.link_time));
}

std::string bounds_heading(const RunRecord& record) {
  std::string text = fmt::format("{} on {}\n", plain_text(record.trace.name), plain_text(record.options.system.name));
  if (record.partial) text += fmt::format("partial trace: only its first {} records\n", record.result.records);
  text += fmt::format("layout {}{}\n", layout::given_text(record.options.layout),
                      record.options.include_host_gaps ? "" : ", without host gaps");
  text += time_scale_text(record);
  text += fmt::format("footprint {}", format_bytes(record.result.footprint_bytes));
  if (record.touched_footprint_bytes) {
    text += fmt::format(", touched {}, which the factors divide", format_bytes(*record.touched_footprint_bytes));
  }
  text += "\n";
  const std::uint64_t iterations = record.options.iterations;
  return text + fmt::format("lower bounds of the whole program{}, and the least that moves between GPU and host\n\n",
                            iterations == 0 ? "" : fmt::format(" with {} iterations", iterations));
}

}  // namespace

std::string bounds_summary(const std::vector<RunRecord>& records) {
  std::vector<std::string> header{"OSF",           "capacity (GiB)",   "compute (ms)", "cold (ms)",  "MIN (ms)",
                                  "windowed (ms)", "write-backs (ms)", "HtoD (GiB)",   "DtoH (GiB)", "cold (GiB)"};
  if (best_known(records.front())) header.insert(header.end(), {"best known (ms)", "/ bound", "by"});
  TextTable table(header);
  std::string phases;
  for (const RunRecord& record : records) {
    const bounds::Bounds& bounds = record.bounds->bounds;
    const bounds::TimeBounds& time = bounds.time;
    std::vector<std::string> row{limit_cell(record),
                                 format_gib(record.result.capacity_bytes),
                                 format_ms(time.compute),
                                 format_ms(time.cold),
                                 format_ms(time.min),
                                 format_ms(time.windowed),
                                 format_ms(time.write_backs),
                                 format_gib(bounds.bytes.htod),
                                 format_gib(bounds.bytes.dtoh),
                                 format_gib(bounds.bytes.cold_htod)};
    if (const auto& best = best_known(record)) add_known(row, *best, times_thousandths(best->total, time.best()));
    table.add_row(row);
    phases += hard_phase_text(record);
  }
  return bounds_heading(records.front()) + table.text(false) + (phases.empty() ? "" : "\n" + phases);
}

std::string distances_table(const std::vector<RunRecord>& records) {
  std::vector<std::string> header{"OSF",          "time (ms)",     "bound (ms)",
                                  "time / bound", "compute",       "necessary bytes",
                                  "excess bytes", "fault latency", "serialisation"};
  if (best_known(records.front())) header.insert(header.end(), {"best known (ms)", "time / best known", "by"});
  TextTable table(header);
  for (const RunRecord& record : records) {
    const bounds::TimeBounds& time = record.bounds->bounds.time;
    const bounds::Distance& distance = record.bounds->distance;
    const Nanoseconds total = record.result.total;
    std::vector<std::string> row{limit_cell(record),
                                 format_ms(total),
                                 format_ms(time.best()),
                                 format_thousandths(times_thousandths(total, time.best())),
                                 format_ms(time.compute),
                                 format_ms(distance.necessary_bytes),
                                 format_ms(distance.excess_bytes),
                                 format_ms(distance.fault_latency),
                                 format_ms(distance.serialisation)};
    if (const auto& best = best_known(record)) add_known(row, *best, times_thousandths(total, best->total));
    table.add_row(row);
  }
  return "\nthe whole run against the best lower bound; its time is the sum of what follows from `compute` on "
         "(ms)\n\n" +
         table.text(false);
}

}  // namespace uvmsim::cli
