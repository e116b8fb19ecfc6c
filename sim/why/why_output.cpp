// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/common/plain_text.h"
#include "sim/common/version.h"
#include "sim/formats/printable.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"
#include "sim/why/why.h"

namespace uvmsim::why {
namespace {

using Json = nlohmann::ordered_json;
using report::format_bytes;
using report::format_count;
using report::format_ms;
using report::format_thousandths;

constexpr std::size_t kMostRows = 6, kLongestName = 44;
constexpr std::size_t kIndent = 2;

std::string ms(std::int64_t ns) { return format_ms(Nanoseconds(ns)); }

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || part <= 0) return "0 %";
  const std::uint64_t share =
      report::ratio_thousandths(static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(whole));
  return fmt::format("{} %", (share + 5) / 10);
}

const Counters& counters_of(const report::RunRecord& run, Counters& settled_counters) {
  const auto settled = report::settled_iterations(run.result);
  if (!settled) return run.result.counters;
  settled_counters = settled->counters;
  return settled_counters;
}

// Formats launches, or the size of one allocation; several allocations of one name have no size.
std::string size_text(const Waiting& row) {
  if (row.allocations == 0) return format_count(row.count);
  return row.allocations == 1 ? format_bytes(row.count) : "-";
}

const char* short_cause(Cause cause) {
  switch (cause) {
    case Cause::kCameBack:
      return "evicted";
    case Cause::kFirstLoad:
      return "first load";
    case Cause::kFirstTouch:
      return "new";
    case Cause::kOther:
      break;
  }
  return "other";
}

std::string rows_text(const Answer& answer, const std::vector<Waiting>& rows, const char* what, const char* count) {
  TextTable table({what, count, "waits (ms)", "of all", "in", "of it back", "mainly"});
  const std::int64_t all = answer.all.stall_ns;
  for (std::size_t i = 0; i < rows.size() && i < kMostRows && rows[i].stall_ns > 0; ++i) {
    const Waiting& row = rows[i];
    table.add_row({short_name(row.name), size_text(row), ms(row.stall_ns), percent(row.stall_ns, all),
                   format_bytes(row.in_bytes),
                   percent(static_cast<std::int64_t>(row.back_bytes), static_cast<std::int64_t>(row.in_bytes)),
                   short_cause(row.main_cause())});
  }
  return table.is_empty() ? "" : table.text(true, "  ") + "\n";
}

// Lists recommendations, the most important first.
std::vector<std::string> advice_of(const Answer& answer) {
  const report::RunRecord& run = answer.run;
  Counters storage;
  const Counters& c = counters_of(run, storage);
  const std::uint64_t time_ns = report::quoted_ns(run.result);
  const auto& by_cause = answer.all.by_cause_ns;
  std::vector<std::string> out;
  if (answer.all.stall_ns <= 0 || report::slowdown_thousandths(run) <= 1010) {
    out.push_back("Nothing waits: the run takes as long as with room for all.");
    return out;
  }
  const std::int64_t back = by_cause[static_cast<std::size_t>(Cause::kCameBack)];
  const std::int64_t first = by_cause[static_cast<std::size_t>(Cause::kFirstLoad)];
  const std::int64_t fresh = by_cause[static_cast<std::size_t>(Cause::kFirstTouch)];
  if (back >= first && back >= fresh) {
    out.push_back(
        fmt::format("Memory is evicted before it is used again: {} of {} that come in come back. A smaller footprint, "
                    "another order "
                    "of use, or an evictor that keeps what is used soon change that.",
                    format_bytes(answer.all.back_bytes), format_bytes(answer.all.in_bytes)));
  } else if (first >= fresh) {
    out.push_back(
        "Data come from the host for the first time: prefetch calls before their kernels hide that "
        "(`uvmsim trace hint` adds them).");
  } else {
    out.push_back("New memory is made in each iteration: an allocator that keeps its memory avoids that.");
  }
  const std::uint64_t link_ns = std::max(c.htod_busy_ns, c.dtoh_busy_ns);
  const std::string link = fmt::format("the busier direction of the link copies for {} of the time",
                                       percent(static_cast<std::int64_t>(link_ns), static_cast<std::int64_t>(time_ns)));
  if (link_ns * 10 >= time_ns * 8) {
    out.push_back(fmt::format("The link is the limit: {}. Fewer bytes help, a faster driver does not.", link));
  } else {
    const std::uint64_t pages = c.fault_batches == 0 ? 0 : c.htod_bytes() / kBasePageBytes / c.fault_batches;
    out.push_back(
        fmt::format("The driver's work per fault is the limit: {}, {} fault batches bring {} pages each, and the "
                    "driver serves them "
                    "for {} of the time. Larger pieces ahead of use help (prefetch policies, prefetch calls).",
                    link, format_count(c.fault_batches), format_count(pages),
                    percent(static_cast<std::int64_t>(c.fault_service_ns), static_cast<std::int64_t>(time_ns))));
  }
  const auto best = std::ranges::min_element(answer.alternatives, {}, &Alternative::time_ns);
  if (best != answer.alternatives.end()) {
    if (best->time_ns * 100 < time_ns * 97) {
      out.push_back(fmt::format("Policies can help: {} takes {} ms, {} of this time.", best->what,
                                format_ms(best->time_ns),
                                percent(static_cast<std::int64_t>(best->time_ns), static_cast<std::int64_t>(time_ns))));
    } else {
      out.push_back(
          "Policies hardly help: even those that know the future take as long. Change the program, or the memory.");
    }
  }
  return out;
}

Json waiting_json(const Waiting& waiting, const char* count) {
  Json out = {{"name", waiting.name},
              {count, waiting.count},
              {"allocations", waiting.allocations},
              {"stall_ns", waiting.stall_ns},
              {"in_bytes", waiting.in_bytes},
              {"back_bytes", waiting.back_bytes},
              {"populated_bytes", waiting.populated_bytes}};
  constexpr const char* kNames[] = {"came_back_ns", "first_load_ns", "first_touch_ns", "other_ns"};
  for (std::size_t i = 0; i < kCauses.size(); ++i) out[kNames[i]] = waiting.by_cause_ns[i];
  return out;
}

}  // namespace

std::string short_name(const std::string& name) {
  const std::string plain = plain_text(name);
  return plain.size() <= kLongestName ? plain : plain.substr(0, utf8_cut(plain, kLongestName - 3)) + "...";
}

std::string why_text(const Answer& answer) {
  const report::RunRecord& run = answer.run;
  const std::uint64_t time_ns = report::quoted_ns(run.result);
  const auto settled = report::settled_iterations(run.result);
  std::string text = wrapped_line(
      fmt::format("{} on {}, {} of memory for {}: {} takes {} ms, {} times as long as under the driver's own policies "
                  "with room for all.",
                  plain_text(run.trace.name), plain_text(run.options.system.name),
                  format_bytes(run.result.capacity_bytes), format_bytes(run.result.footprint_bytes),
                  settled ? "an iteration" : "the run", format_ms(time_ns),
                  format_thousandths(report::slowdown_thousandths(run))),
      kIndent);
  text += "\n";
  if (settled && !settled->is_settled) {
    text += fmt::format("It has {}: numbers are means of the later half of the passes.\n",
                        report::settled_text(*settled, run.result.iterations.size()));
  }
  text += fmt::format("\nKernels wait {} ms, summed over all that run side by side:\n", ms(answer.all.stall_ns));
  TextTable causes({"cause", "waits (ms)", "of all"});
  for (const Cause cause : kCauses) {
    const std::int64_t ns = answer.all.by_cause_ns[static_cast<std::size_t>(cause)];
    if (ns > 0) causes.add_row({cause_text(cause), ms(ns), percent(ns, answer.all.stall_ns)});
  }
  if (!causes.is_empty()) text += causes.text(true, "  ");
  text += "\n" + rows_text(answer, answer.kernels, "kernels", "launches");
  text += rows_text(answer, answer.memory, "memory", "size");
  if (!answer.alternatives.empty()) {
    text += "What policies could save:\n";
    TextTable others({"policies", "time (ms)", "of this"});
    const auto row = [&](const std::string& what, std::uint64_t ns, const char* mark) {
      others.add_row(
          {what, format_ms(ns) + mark, percent(static_cast<std::int64_t>(ns), static_cast<std::int64_t>(time_ns))});
    };
    row("these", time_ns, "");
    for (const Alternative& one : answer.alternatives) {
      row(one.what, one.time_ns, one.is_settled ? "" : " (not settled)");
    }
    text += others.text(true, "  ");
    if (answer.bound_ns != 0) {
      text += fmt::format("  No policy takes less than {} of the whole run's time.\n",
                          percent(static_cast<std::int64_t>(answer.bound_ns), run.result.total.value));
    }
    text += "\n";
  }
  for (const std::string& sentence : advice_of(answer)) text += wrapped_line("- " + sentence, kIndent) + "\n";
  return text;
}

std::string why_json(const Answer& answer) {
  const report::RunRecord& run = answer.run;
  Json out = {{"schema", "uvmsim.why/1"},
              {"uvmsim_version", version()},
              {"uvmsim_commit", commit()},
              {"model_version", run.provenance.model_version},
              {"command", run.provenance.command},
              {"trace", {{"file", run.trace.name}, {"sha256", run.trace.sha256}}},
              {"system", run.options.system.name},
              {"capacity_bytes", run.result.capacity_bytes},
              {"footprint_bytes", run.result.footprint_bytes},
              {"time_ns", report::quoted_ns(run.result)},
              {"slowdown_thousandths", report::slowdown_thousandths(run)},
              {"iterations", answer.iterations},
              {"bound_ns", answer.bound_ns},
              {"all", waiting_json(answer.all, "launches")},
              {"kernels", Json::array()},
              {"memory", Json::array()},
              {"alternatives", Json::array()},
              {"advice", advice_of(answer)}};
  for (const Waiting& kernel : answer.kernels) out["kernels"].push_back(waiting_json(kernel, "launches"));
  for (const Waiting& memory : answer.memory) out["memory"].push_back(waiting_json(memory, "bytes"));
  for (const Alternative& one : answer.alternatives) {
    out["alternatives"].push_back({{"what", one.what}, {"time_ns", one.time_ns}, {"is_settled", one.is_settled}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::why
