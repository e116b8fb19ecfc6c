// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::cli {
namespace {

using report::format_bytes;
using report::format_count;
using report::format_factor;
using report::format_gib;
using report::format_ms;
using report::format_thousandths;
using report::RunRecord;

// What slowdowns divide by (sweep::baseline_of).
constexpr const char* kSlowdown = "slowdown against the driver's policies without limit";

// What a row shows of a run: the iterations to quote where the trace marks some. Found once: there may be a million.
struct Quoted {
  std::optional<report::SettledIterations> settled;
  std::uint64_t time_ns = 0;
  Counters counters;

  explicit Quoted(const RunRecord& record)
      : settled(report::settled_iterations(record.result)),
        time_ns(static_cast<std::uint64_t>((settled ? settled->duration : record.result.total).value)),
        counters(settled ? settled->counters : record.result.counters) {}
  bool has_settled() const { return settled && settled->is_settled; }
};

std::string factor_or_dash(std::uint64_t thousandths) {
  return thousandths == 0 ? "-" : format_thousandths(thousandths);
}

std::string capacity_note(const RunRecord& record) {
  if (!record.options.limited) return " (the GPU's own memory)";
  return report::has_hypothetical_capacity(record) ? " (hypothetical: the GPU has less)" : "";
}

// The factor asked for, and the one that ran where whole chunks make it differ by 1 % or more.
std::string osf_text(const RunRecord& record) {
  const std::uint64_t asked = record.options.osf_thousandths, ran = report::effective_osf_thousandths(record);
  if (record.options.capacity_bytes != 0 || !record.options.limited) return format_factor(ran);
  const std::uint64_t difference = asked > ran ? asked - ran : ran - asked;
  const std::string text = format_factor(asked);
  return difference * 100 < asked ? text : fmt::format("{} (ran {})", text, format_factor(ran));
}

// Iterations until the run settles, the most of several seeds; "no" where one has not.
std::string learning_text(std::span<const Quoted> seeds) {
  std::uint64_t most = 0;
  for (const Quoted& one : seeds) {
    if (!one.has_settled()) return "no";
    most = std::max(most, one.settled->learning);
  }
  return format_count(most);
}

std::string iterations_text(const report::SettledIterations& settled) {
  return settled.count == 1 ? fmt::format("iteration {}", settled.first_index)
                            : fmt::format("iterations {}-{}, mean", settled.first_index, settled.last_index);
}

// What the numbers of a table are about.
std::string quoted_text(const Quoted& first, std::uint64_t iterations, bool any_settled) {
  if (!first.settled) return "numbers of the whole run";
  if (any_settled) {
    return "numbers of settled iterations, after so many of learning; no: not settled, of the last one or all passes";
  }
  return fmt::format("numbers of {}; {}", iterations_text(*first.settled),
                     report::settled_text(*first.settled, iterations));
}

std::string heading(const RunRecord& record) {
  std::string text = fmt::format("{} on {}\n", record.trace.name, record.options.system.name);
  if (record.partial) text += fmt::format("partial trace: only its first {} records ran\n", record.result.records);
  text += policies_text(record);
  text += fmt::format("layout {}, seed {}{}\n", layout::given_text(record.options.layout), record.options.seed,
                      record.options.include_host_gaps ? "" : ", without host gaps");
  return text + time_scale_text(record);
}

// What of the footprint was used: of an arena that was taken ahead, and by touches.
std::string part_text(const RunRecord& record) {
  const std::uint64_t reached = record.result.arena_reached_bytes;
  std::string text = reached == 0 ? "" : fmt::format(" (tensors reached {} of the arena)", format_bytes(reached));
  if (record.touched_footprint_bytes) {
    text += fmt::format(", touched {}", format_bytes(*record.touched_footprint_bytes));
  }
  return text;
}

// "No limit" means little when the program does not fit the whole GPU either.
std::string unlimited_note(const RunRecord& record) {
  if (!record.unlimited || record.unlimited->evictions == 0) return "";
  return "no limit = this GPU's own memory, which is too small for this program and evicts as well\n";
}

}  // namespace

std::string policies_text(const RunRecord& record) {
  std::string text;
  for (const report::PolicyUsed& policy : record.policies) {
    text += fmt::format("{} {} ({})", policy.slot, policy.name, policy.information_class);
    for (const auto& [key, value] : policy.parameters) text += fmt::format(" {}={}", key, value);
    text += "\n";
  }
  return text;
}

std::string time_scale_text(const RunRecord& record) {
  const TimeScaleResult& scale = record.result.time_scale;
  if (scale.rule == TimeScaleRule::kFixed) {
    return fmt::format("kernel durations times {}\n", report::format_millionths(scale.factor_millionths));
  }
  if (scale.rule == TimeScaleRule::kNone) {
    if (record.header.gpu.empty()) return "";
    return fmt::format("kernel durations as recorded on {}, which no system has; --recorded-on names one that does\n",
                       record.header.gpu);
  }
  bool same = true;
  std::string classes;
  for_each_time_scale_class(scale, [&](const char* name, std::uint64_t factor, const TimeScaleClass& c) {
    same = same && factor == 1000000;
    if (c.kernels == 0) return;
    classes +=
        fmt::format("  {:<7} x {:<8} {:>6} kernels, {} -> {} ms\n", name, format_thousandths((factor + 500) / 1000),
                    c.kernels, format_ms(c.recorded_ns), format_ms(c.scaled_ns));
  });
  if (same) return fmt::format("kernel durations as recorded on {}\n", scale.recorded_on);
  return fmt::format("kernel durations from {} by a roofline; what limits the kernels of the trace:\n{}",
                     scale.recorded_on, classes);
}

std::string run_summary(const RunRecord& record) {
  const RunResult& result = record.result;
  const auto settled = report::settled_iterations(result);
  std::vector<std::string> header{""};
  if (settled) header.push_back(iterations_text(*settled));
  header.emplace_back("whole run");
  TextTable table(header);
  const auto add = [&](const char* name, const std::string& of_settled, const std::string& of_run) {
    if (settled) {
      table.add_row({name, of_settled, of_run});
    } else {
      table.add_row({name, of_run});
    }
  };
  const Counters none;
  const Counters& s = settled ? settled->counters : none;
  const Counters& t = result.counters;
  const auto counts = [&](const char* name, std::uint64_t Counters::*counter) {
    add(name, format_count(s.*counter), format_count(t.*counter));
  };
  const auto times = [&](const char* name, std::uint64_t Counters::*counter) {
    add(name, format_ms(s.*counter), format_ms(t.*counter));
  };
  const auto sizes = [&](const char* name, std::uint64_t Counters::*counter) {
    add(name, format_gib(s.*counter), format_gib(t.*counter));
  };

  add("time (ms)", settled ? format_ms(settled->duration) : "", format_ms(result.total));
  if (settled && settled->count > 1) {
    add("  shortest and longest iteration",
        fmt::format("{} to {}", format_ms(settled->shortest), format_ms(settled->longest)), "");
  }
  add("slowdown against all resident", "", factor_or_dash(report::slowdown_thousandths(result)));
  if (record.unlimited) {
    const std::string slowdown = factor_or_dash(report::slowdown_to_unlimited_thousandths(record));
    add(kSlowdown, slowdown, settled ? "" : slowdown);
  }
  times("kernel sum (ms)", &Counters::kernel_ns);
  times("kernel sum, all resident (ms)", &Counters::kernel_compute_ns);
  times("driver serving faults (ms)", &Counters::fault_service_ns);
  times("host in allocation calls (ms)", &Counters::host_allocation_ns);
  counts("fault batches", &Counters::fault_batches);
  counts("faulting pages", &Counters::faulting_pages);
  add("HtoD (GiB)", format_gib(s.htod_bytes()), format_gib(t.htod_bytes()));
  sizes("  for faults", &Counters::htod_fault_bytes);
  sizes("  prefetched", &Counters::htod_prefetch_bytes);
  add("DtoH (GiB)", format_gib(s.dtoh_bytes()), format_gib(t.dtoh_bytes()));
  sizes("  evicted", &Counters::dtoh_evict_bytes);
  const std::uint64_t host_bytes = record.options.system.host.memory_bytes;
  if (host_bytes != 0) {
    sizes("host to SSD (GiB)", &Counters::ssd_write_bytes);
    sizes("SSD to host (GiB)", &Counters::ssd_read_bytes);
    add("left the host unwritten (GiB)", format_gib(s.host_clean_pages * kBasePageBytes),
        format_gib(t.host_clean_pages * kBasePageBytes));
    counts("waits for host memory", &Counters::host_waits);
  }
  add("first touch, zero-filled (GiB)", format_gib(s.populated_pages * kBasePageBytes),
      format_gib(t.populated_pages * kBasePageBytes));
  const RunOptions& options = record.options;
  const bool large = options.entry(policy::Slot::kEvict).chunk_bytes(options.evict.parameters) == kBlockBytes;
  counts(large ? "evictions (2 MiB chunks)" : "evictions (64 KiB chunks)", &Counters::evictions);
  counts("kernels", &Counters::kernels);

  std::string text = heading(record);
  const std::string host = host_bytes == 0 ? "" : ", host " + format_bytes(host_bytes);
  text +=
      fmt::format("footprint {}{}, capacity {}{}, OSF {}{}\n", format_bytes(result.footprint_bytes), part_text(record),
                  format_bytes(result.capacity_bytes), capacity_note(record), osf_text(record), host);
  if (settled) text += report::settled_text(*settled, result.iterations.size()) + "\n";
  text += "\n";
  text += table.text(true);
  const std::string note = unlimited_note(record);
  return note.empty() ? text : text + "\n" + note;
}

std::string runs_table(const std::vector<RunRecord>& records, std::size_t seeds) {
  const std::vector<Quoted> quoted(records.begin(), records.end());
  const bool any_settled = std::ranges::any_of(quoted, &Quoted::has_settled);
  std::vector<std::string> header = {"OSF", "capacity (GiB)", "time (ms)"};
  if (seeds > 1) header.insert(header.end(), {"shortest (ms)", "longest (ms)"});
  header.emplace_back("slowdown");
  if (any_settled) header.emplace_back("learning");
  if (seeds == 1) header.emplace_back("kernel sum (ms)");
  header.insert(header.end(), {"fault batches", "HtoD (GiB)", "DtoH (GiB)", "evictions"});
  TextTable table(header);
  for (std::size_t at = 0; at < records.size(); at += seeds) {
    const std::span<const RunRecord> group = std::span(records).subspan(at, seeds);
    const std::span<const Quoted> numbers = std::span(quoted).subspan(at, seeds);
    const RunRecord& record = group.front();
    const auto mean = [&](const auto& of, auto&& value) {
      std::uint64_t sum = 0;
      for (const auto& one : of) sum += value(one);
      return (sum + seeds / 2) / seeds;
    };
    const auto count = [&](auto&& value) {
      return mean(numbers, [&](const Quoted& one) { return std::uint64_t{value(one.counters)}; });
    };
    const auto [shortest, longest] = std::ranges::minmax_element(numbers, {}, &Quoted::time_ns);
    const std::uint64_t time_ns = mean(numbers, [](const Quoted& one) { return one.time_ns; });
    std::vector<std::string> row = {osf_text(record), format_gib(record.result.capacity_bytes), format_ms(time_ns)};
    if (seeds > 1) row.insert(row.end(), {format_ms(shortest->time_ns), format_ms(longest->time_ns)});
    row.push_back(factor_or_dash(mean(group, report::slowdown_to_unlimited_thousandths)));
    if (any_settled) row.push_back(learning_text(numbers));
    if (seeds == 1) row.push_back(format_ms(numbers.front().counters.kernel_ns));
    row.insert(row.end(), {format_count(count([](const Counters& c) { return c.fault_batches; })),
                           format_gib(count([](const Counters& c) { return c.htod_bytes(); })),
                           format_gib(count([](const Counters& c) { return c.dtoh_bytes(); })),
                           format_count(count([](const Counters& c) { return c.evictions; }))});
    table.add_row(std::move(row));
  }
  const RunRecord& first = records.front();
  std::string text = heading(first);
  text += fmt::format("footprint {}{}\n", format_bytes(first.result.footprint_bytes), part_text(first));
  if (seeds > 1) text += fmt::format("means of {} seeds; ", seeds);
  text += quoted_text(quoted.front(), first.result.iterations.size(), any_settled) + "\n";
  text += first.unlimited ? fmt::format("{}\n\n", kSlowdown) : "\n";
  const bool hypothetical = std::ranges::any_of(records, report::has_hypothetical_capacity);
  return text + table.text(false) + unlimited_note(first) +
         (hypothetical ? "some capacities are hypothetical: the GPU has less\n" : "");
}

}  // namespace uvmsim::cli
