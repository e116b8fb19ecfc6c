// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>

#include "sim/common/plain_text.h"
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

// Names the run that slowdowns divide by (sweep::baseline_of).
std::string slowdown_name(const RunRecord& record) {
  constexpr const char* kSlowdown = "slowdown against the driver's policies with room for all";
  if (!record.unlimited || !record.unlimited->hypothetical) return kSlowdown;
  return fmt::format("{} (hypothetical: {})", kSlowdown, format_bytes(record.unlimited->capacity_bytes));
}

// Bytes moved in one direction, by cause: the causes below a sum add up to it. Causes without `always` are hidden if
// they are 0.
struct TransferCause {
  const char* name;
  std::uint64_t Counters::*bytes;
  bool always = false;
};
struct Transfers {
  const char* name;
  bool always;
  std::vector<TransferCause> causes;

  std::uint64_t bytes(const Counters& counters) const {
    std::uint64_t sum = 0;
    for (const TransferCause& cause : causes) sum += counters.*cause.bytes;
    return sum;
  }
};
const std::vector<Transfers> kTransfers = {{"HtoD (GiB)",
                                            true,
                                            {{"  for faults", &Counters::htod_fault_bytes, true},
                                             {"  prefetched", &Counters::htod_prefetch_bytes, true},
                                             {"  by calls of the program", &Counters::htod_user_bytes},
                                             {"  by access counters", &Counters::htod_counter_bytes}}},
                                           {"DtoH (GiB)",
                                            true,
                                            {{"  evicted", &Counters::dtoh_evict_bytes, true},
                                             {"  for faults of the host", &Counters::dtoh_fault_bytes},
                                             {"  prefetched", &Counters::dtoh_prefetch_bytes},
                                             {"  by calls of the program", &Counters::dtoh_user_bytes}}},
                                           {"between GPUs (GiB)",
                                            false,
                                            {{"  for faults", &Counters::dtod_fault_bytes},
                                             {"  prefetched", &Counters::dtod_prefetch_bytes},
                                             {"  by calls of the program", &Counters::dtod_user_bytes},
                                             {"  evicted", &Counters::dtod_evict_bytes}}}};

// The numbers that a row shows: those of the quoted iterations, if any. They are computed once, as there may be a
// million iterations.
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
  if (report::has_hypothetical_capacity(record)) return " (hypothetical: the GPU has less)";
  return record.options.limited ? "" : " (the GPU's own memory)";
}

// Returns the factor asked for, and the one that ran if whole chunks make it differ by 1 % or more.
std::string osf_text(const RunRecord& record) {
  const std::uint64_t asked = record.options.osf_thousandths, ran = report::effective_osf_thousandths(record);
  if (record.options.capacity_bytes != 0 || !record.options.limited) return format_factor(ran);
  const std::uint64_t difference = asked > ran ? asked - ran : ran - asked;
  const std::string text = format_factor(asked);
  return difference * 100 < asked ? text : fmt::format("{} (ran {})", text, format_factor(ran));
}

// Returns the number of iterations until the run settles, the largest of several seeds.
std::string learning_text(std::span<const Quoted> seeds) {
  std::uint64_t most = 0;
  for (const Quoted& one : seeds) {
    if (!one.has_settled()) return "not settled";
    most = std::max(most, one.settled->learning);
  }
  return format_count(most);
}

std::string iterations_text(const report::SettledIterations& settled) {
  return settled.count == 1 ? fmt::format("iteration {}", settled.first_index)
                            : fmt::format("iterations {}-{}, mean", settled.first_index, settled.last_index);
}

// Names the iterations that the numbers of a table are about.
std::string quoted_text(const Quoted& first) {
  return first.settled ? "means over settled iterations; learning: iterations before the first of them"
                       : "numbers of the whole run";
}

// Returns a text with the largest number of iterations that the run was allowed.
std::string length_text(const RunRecord& record) {
  const RunOptions& options = record.options;
  if (!record.not_repeated.empty()) return "as recorded, since " + record.not_repeated;
  if (options.iterations == 0) return "as recorded";
  return fmt::format("{}{}", options.until_settled ? "at most " : "", options.iterations);
}

// Returns the text about a run that has not settled: which iterations its numbers are means of, and how far apart these
// are.
std::string unsettled_text(const RunRecord& record, const Quoted& quoted, std::string text = "") {
  const report::SettledIterations& window = *quoted.settled;
  text += report::settled_text(window, record.result.iterations.size());
  text += fmt::format(" ({}): {}", length_text(record), iterations_text(window));
  if (window.count > 1) text += fmt::format(", {} to {} ms", format_ms(window.shortest), format_ms(window.longest));
  return wrapped_line(text, 2) + "\n";
}

// Says how a range was found.
std::string uncertainty_note(const RunRecord& record) {
  if (!record.uncertainty) return "";
  return wrapped_line(fmt::format("ranges: {}; driver costs of this system: {}", record.uncertainty->varied,
                                  record.uncertainty->calibration),
                      2) +
         "\n";
}

// Says how many kernels are played by a coarser access pattern than the one of their name.
std::string misfits_text(const RunRecord& record) {
  const RunResult& result = record.result;
  if (result.misfits.empty()) return "";
  const std::string text = fmt::format(
      "kernels that do not fit the access pattern of their name: {}, {} of {} launches (played as plain slices or "
      "tiles)",
      format_count(result.misfits.size()), format_count(result.misfit_launches()),
      format_count(result.counters.kernels));
  return wrapped_line(text, 2) + "\n";
}

std::string heading(const RunRecord& record) {
  std::string text = fmt::format("{} on {}\n", plain_text(record.trace.name), plain_text(record.options.system.name));
  if (record.partial) text += fmt::format("partial trace: only its first {} records ran\n", record.result.records);
  text += policies_text(record);
  text += fmt::format("layout {}, seed {}{}\n", layout::given_text(record.options.layout), record.options.seed,
                      record.options.include_host_gaps ? "" : ", without host gaps");
  return text + time_scale_text(record) + misfits_text(record);
}

// Returns the text about the part of the footprint that was used: of an arena that was allocated in advance, and by
// touches.
std::string part_text(const RunRecord& record) {
  const std::uint64_t reached = record.result.arena_reached_bytes;
  std::string text = reached == 0 ? "" : fmt::format(" (tensors reached {} of the arena)", format_bytes(reached));
  if (record.touched_footprint_bytes) {
    text += fmt::format(", touched {}", format_bytes(*record.touched_footprint_bytes));
  }
  return text;
}

// Returns the other reading of each oversubscription factor: device memory within the capacity, or in addition to it.
std::string device_memory_note(std::span<const RunRecord> records) {
  const RunRecord& first = records.front();
  if (first.result.unmanaged_bytes == 0) return "";
  const bool beside = first.options.system.runtime.device_memory_beside;
  std::vector<std::string> factors;
  for (const RunRecord& record : records) {
    const report::OsfReadings osf = report::osf_readings(record);
    factors.push_back(format_factor(beside ? osf.before_loading_thousandths : osf.managed_thousandths));
    if (factors.size() > 1 && factors.back() == factors[factors.size() - 2]) factors.pop_back();
  }
  return fmt::format("device memory of the program {}, {} the capacity; OSF of {}: {}\n",
                     format_bytes(first.result.unmanaged_bytes), beside ? "beside" : "part of",
                     beside ? "what is free before it is loaded" : "what is left for managed memory",
                     fmt::join(factors, ", "));
}

// Warns about a run whose slowdown is meaningless.
std::string nothing_touched_note(const RunRecord& record) {
  if (!record.result.touches_nothing()) return "";
  return "No kernel of this trace touches managed memory: what they touch was not recorded (coverage none), so that "
         "the "
         "run says nothing about memory.\n";
}

std::string unlimited_note(const RunRecord& record) {
  if (!record.unlimited) return "";
  std::string text;
  if (record.unlimited->hypothetical) {
    text += fmt::format(
        "this GPU's own memory is too small for the program: slowdowns divide by a hypothetical run with {}\n",
        format_bytes(record.unlimited->capacity_bytes));
  }
  if (!record.unlimited->is_settled) text += "the run that slowdowns divide by has not settled\n";
  return text;
}

}  // namespace

std::string policies_text(const RunRecord& record) {
  std::string text;
  for (const report::PolicyUsed& policy : record.policies) {
    text += fmt::format("{} {} ({})", policy.slot, policy.name, policy.information_class);
    for (const auto& [key, value] : policy.parameters) text += fmt::format(" {}={}", key, plain_text(value));
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
                       plain_text(record.header.gpu));
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
  if (same) return fmt::format("kernel durations as recorded on {}\n", plain_text(scale.recorded_on));
  return fmt::format("kernel durations from {} by a roofline; what limits the kernels of the trace:\n{}",
                     plain_text(scale.recorded_on), classes);
}

std::string run_summary(const RunRecord& record) {
  const RunResult& result = record.result;
  const auto settled = report::settled_iterations(result);
  std::vector<std::string> header{""};
  if (settled) header.push_back(iterations_text(*settled));
  header.emplace_back("whole run");
  TextTable table(header);
  const auto add = [&](const std::string& name, const std::string& of_settled, const std::string& of_run) {
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
  const auto slowdown = [&](const std::string& name, std::uint64_t thousandths) {
    const std::string text = factor_or_dash(thousandths);
    add(name, text, settled ? "" : text);
  };
  if (record.unlimited) slowdown(slowdown_name(record), report::slowdown_thousandths(record));
  if (record.uncertainty) {
    const report::Uncertainty& range = *record.uncertainty;
    const auto add_range = [&](const char* name, const std::string& text) { add(name, text, settled ? "" : text); };
    add_range("  time on other machines (ms)",
              fmt::format("{} to {}", format_ms(range.low_ns), format_ms(range.high_ns)));
    if (record.unlimited) {
      add_range("  slowdown on other machines",
                fmt::format("{} to {}", format_thousandths(range.low_slowdown_thousandths),
                            format_thousandths(range.high_slowdown_thousandths)));
    }
  }
  slowdown("slowdown against all resident at no cost", report::slowdown_ideal_thousandths(record));
  times("kernel sum (ms)", &Counters::kernel_ns);
  times("kernel sum, all resident (ms)", &Counters::kernel_compute_ns);
  times("driver serving faults (ms)", &Counters::fault_service_ns);
  times("host in allocation calls (ms)", &Counters::host_allocation_ns);
  counts("fault batches", &Counters::fault_batches);
  counts("faulting pages", &Counters::faulting_pages);
  for (const Transfers& transfers : kTransfers) {
    if (!transfers.always && transfers.bytes(s) + transfers.bytes(t) == 0) continue;
    add(transfers.name, format_gib(transfers.bytes(s)), format_gib(transfers.bytes(t)));
    for (const TransferCause& cause : transfers.causes) {
      if (cause.always || s.*cause.bytes + t.*cause.bytes != 0) sizes(cause.name, cause.bytes);
    }
  }
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
  text += device_memory_note({&record, 1});
  if (settled && settled->is_settled) {
    text += fmt::format("{} ({})\n", report::settled_text(*settled, result.iterations.size()), length_text(record));
  } else if (settled) {
    text += unsettled_text(record, Quoted(record));
  }
  text += "\n";
  text += table.text(true);
  const std::string note = nothing_touched_note(record) + unlimited_note(record) + uncertainty_note(record);
  return note.empty() ? text : text + "\n" + note;
}

std::string runs_table(const std::vector<RunRecord>& records, std::size_t seeds) {
  const std::vector<Quoted> quoted(records.begin(), records.end());
  const bool has_iterations = quoted.front().settled.has_value();
  std::string unsettled;
  std::vector<std::string> header = {"OSF", "capacity (GiB)", "time (ms)"};
  if (seeds > 1) header.insert(header.end(), {"shortest (ms)", "longest (ms)"});
  header.emplace_back("slowdown");
  const bool has_ranges = records.front().uncertainty.has_value();
  if (has_ranges) header.insert(header.end(), {"time range (ms)", "slowdown range"});
  if (has_iterations) header.emplace_back("learning");
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
    row.push_back(factor_or_dash(mean(group, report::slowdown_thousandths)));
    if (has_ranges) {
      const auto range = [&](std::uint64_t report::Uncertainty::*low, std::uint64_t report::Uncertainty::*high,
                             auto&& text) {
        std::uint64_t least = (*group.front().uncertainty).*low, most = 0;
        for (const RunRecord& one : group) {
          least = std::min(least, (*one.uncertainty).*low);
          most = std::max(most, (*one.uncertainty).*high);
        }
        return fmt::format("{}-{}", text(least), text(most));
      };
      using report::Uncertainty;
      row.push_back(range(&Uncertainty::low_ns, &Uncertainty::high_ns, [](std::uint64_t ns) { return format_ms(ns); }));
      row.push_back(record.unlimited
                        ? range(&Uncertainty::low_slowdown_thousandths, &Uncertainty::high_slowdown_thousandths,
                                [](std::uint64_t factor) { return format_thousandths(factor); })
                        : "-");
    }
    if (has_iterations) row.push_back(learning_text(numbers));
    for (std::size_t i = 0; i < seeds; ++i) {
      if (!numbers[i].settled || numbers[i].has_settled()) continue;
      const std::string seed = seeds > 1 ? fmt::format(", seed {}", group[i].options.seed) : "";
      unsettled += unsettled_text(group[i], numbers[i], fmt::format("OSF {}{}: ", osf_text(record), seed));
    }
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
  text += device_memory_note(records);
  if (seeds > 1) text += fmt::format("means of {} seeds; ", seeds);
  text += quoted_text(quoted.front());
  text += has_iterations ? fmt::format("; iterations: {}\n", length_text(first)) : "\n";
  text += first.unlimited ? slowdown_name(first) + "\n\n" : "\n";
  const bool hypothetical = std::ranges::any_of(records, report::has_hypothetical_capacity);
  return text + table.text(false) + unsettled + nothing_touched_note(first) + unlimited_note(first) +
         uncertainty_note(first) + (hypothetical ? "some capacities are hypothetical: the GPU has less\n" : "");
}

}  // namespace uvmsim::cli
