// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/validation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sim/common/error.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::validate {

namespace {

constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

const Row kHead{"experiment", "class",   "batches",       "transactions", "KiB in",
                "KiB out",    "time ms", "quiet time ms", "verdict"};

std::string pair_text(const Pair& pair, std::uint64_t unit) {
  if (pair.measured == 0 && pair.simulated == 0) return "-";
  return fmt::format("{} / {}", pair.measured / unit, pair.simulated / unit);
}

std::string time_text(const Pair& pair) {
  const auto ms = [](std::uint64_t ns) { return report::format_ms(Nanoseconds(static_cast<std::int64_t>(ns))); };
  return fmt::format("{} / {} {}", ms(pair.measured), ms(pair.simulated), pair.error_text());
}

bool time_counts(const Comparison& c) { return c.time_ns.measured != 0 || c.time_ns.simulated != 0; }

// Returns whether the times are of observed runs; the others are of unobserved runs.
bool is_observed(const Comparison& c) { return c.basis == TimeBasis::kObserved; }

std::string verdict_text(const Comparison& comparison) {
  if (!comparison.judged() && comparison.within()) return "not judged";
  std::string text = comparison.within() ? "within" : joined(comparison.failures);
  if (comparison.within() != comparison.quiet_failures.empty()) {
    text += comparison.within() ? "; quiet: " + joined(comparison.quiet_failures) : "; quiet: within";
  }
  return text;
}

// The verdict without the reasons, which follow below the table.
std::string short_verdict(const Comparison& comparison) {
  if (!comparison.within()) return "outside";
  return comparison.judged() ? "within" : "not judged";
}

Row row_of(const Comparison& c) {
  return {c.name,
          class_name(c.experiment_class),
          pair_text(c.batches, 1),
          pair_text(c.transactions, 1),
          pair_text(c.htod_bytes + c.dtod_bytes, 1024),
          pair_text(c.dtoh_bytes, 1024),
          time_counts(c) ? time_text(c.time_ns) + (is_observed(c) ? " (observed)" : "") : "-",
          time_counts(c) ? time_text(c.quiet_ns) : "-",
          verdict_text(c)};
}

// Returns the rows of all experiments but campaigns, which have their own tables.
std::vector<Row> rows_of(const Validation& validation) {
  std::vector<Row> rows;
  for (const Comparison& comparison : validation.comparisons) {
    if (!comparison.campaign) rows.push_back(row_of(comparison));
  }
  return rows;
}

// The table that fits a terminal. Empty when there are only campaigns.
std::string experiments_text(const Validation& validation) {
  TextTable table({"experiment", "batches", "KiB in", "KiB out", "ms", "verdict"});
  std::size_t count = 0;
  for (const Comparison& c : validation.comparisons) {
    if (c.campaign) continue;
    ++count;
    table.add_row({c.name, pair_text(c.batches, 1), pair_text(c.htod_bytes + c.dtod_bytes, 1024),
                   pair_text(c.dtoh_bytes, 1024),
                   time_counts(c) ? time_text(c.time_ns) + (is_observed(c) ? "*" : "") : "-", short_verdict(c)});
  }
  return count == 0 ? "" : table.text(true);
}

// The contents of batches where raw faults were recorded, with the medians of their errors; empty without any.
std::string raw_text(const Validation& validation) {
  struct Column {
    const char *head, *name;
    Pair Comparison::*pair;
  };
  constexpr std::array kRawColumns = {
      Column{"raw faults", "raw faults", &Comparison::raw_faults},
      Column{"raw per batch", "raw faults per batch", &Comparison::raw_faults_per_batch},
      Column{"pages per batch", "pages per batch", &Comparison::pages_per_batch},
      Column{"SMs per batch", "SMs per batch", &Comparison::sms_per_batch},
      Column{"raising ns", "time of raising per batch", &Comparison::raising_ns_per_batch}};
  std::vector<std::string> head{"experiment"};
  for (const Column& column : kRawColumns) head.emplace_back(column.head);
  TextTable table(head);
  std::array<std::vector<double>, kRawColumns.size()> errors;
  std::size_t count = 0;
  for (const Comparison& c : validation.comparisons) {
    if (c.raw_faults.measured == 0) continue;
    ++count;
    std::vector<std::string> row{c.name};
    for (std::size_t i = 0; i < kRawColumns.size(); ++i) {
      const Pair& pair = c.*kRawColumns[i].pair;
      row.push_back(pair_text(pair, 1));
      if (pair.measured != 0) errors[i].push_back(pair.error());
    }
    table.add_row(row);
  }
  if (count == 0) return "";
  std::vector<std::string> medians;
  for (std::size_t i = 0; i < kRawColumns.size(); ++i) {
    if (!errors[i].empty()) medians.push_back(fmt::format("{} {:.1f} %", kRawColumns[i].name, median(errors[i])));
  }
  return table.text(true) +
         fmt::format("median error of {} experiments: {} (shown, not judged)\n", count, fmt::join(medians, ", "));
}

// The order in which pages were raised, where that was recorded; empty without any.
std::string order_text(const Validation& validation) {
  TextTable table({"experiment", "pages raised on both sides", "order of all", "order within batches"});
  std::vector<double> all, within;
  for (const Comparison& c : validation.comparisons) {
    if (!c.page_order) continue;
    const PageOrder& order = *c.page_order;
    all.push_back(order.all);
    if (order.within_batches) within.push_back(*order.within_batches);
    table.add_row({c.name, fmt::to_string(order.pages), fmt::format("{:.3f}", order.all),
                   order.within_batches ? fmt::format("{:.3f}", *order.within_batches) : "-"});
  }
  if (all.empty()) return "";
  std::string text = fmt::format("median correlation of ranks: {:.3f} of {} experiments", median(all), all.size());
  if (!within.empty()) text += fmt::format(", within batches {:.3f} of {}", median(within), within.size());
  return table.text(true) + text + " (shown, not judged)\n";
}

std::string line_of(const std::string& text, std::size_t hang) { return wrapped_line(text, hang) + "\n"; }

Row class_row(const ClassSummary& s) {
  const auto spread = [](const Spread& s) { return fmt::format("{:.1f} %, {:.1f} %", s.median, s.worst); };
  return {class_name(s.experiment_class),
          fmt::to_string(s.experiments),
          fmt::to_string(s.exact),
          s.judged == 0 ? "not judged" : fmt::to_string(s.within),
          s.judged == 0 ? "-" : fmt::to_string(s.quiet_within),
          spread(s.time),
          spread(s.quiet),
          spread(s.batches),
          fmt::format("{:.1f} %", s.bytes.worst)};
}

// Describes the basis of the judged times.
std::string basis_text(const ClassSummary& s) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kTimeBasisNames.size(); ++i) {
    if (s.by_basis[i] > 0) parts.push_back(fmt::format("{} {}", s.by_basis[i], kTimeBasisNames[i]));
  }
  return fmt::format("times: {}", fmt::join(parts, ", "));
}

std::string summary_line(const ClassSummary& s) {
  if (s.experiment_class == ExperimentClass::kCampaign) {
    return fmt::format("campaign  {:>3} experiments, {} within their limits; time median {:.1f} % worst {:.1f} % ({})",
                       s.experiments, s.within, s.time.median, s.time.worst, s.time.worst_name);
  }
  std::string text = fmt::format(
      "{:<9} {:>3} experiments ({}), {} exact, {}; time median {:.1f} % worst {:.1f} % ({}); "
      "quiet time median {:.1f} % worst {:.1f} % ({}); batches median {:.1f} % worst {:.1f} %; bytes worst {:.1f} %",
      class_name(s.experiment_class), s.experiments, basis_text(s), s.exact,
      s.judged == 0 ? "not judged" : fmt::format("{} within tolerances (quiet {})", s.within, s.quiet_within),
      s.time.median, s.time.worst, s.time.worst_name, s.quiet.median, s.quiet.worst, s.quiet.worst_name,
      s.batches.median, s.batches.worst, s.bytes.worst);
  if (!s.failures.empty()) text += "; OUTSIDE: " + joined(s.failures);
  return text;
}

}  // namespace

std::string validation_text(const Validation& validation) {
  std::string text =
      line_of(fmt::format("{} on {}: measured / simulated", fmt::join(validation.files, ", "), validation.system), 2);
  text += experiments_text(validation) + "\n";
  if (const std::string raw = raw_text(validation); !raw.empty()) text += raw + "\n";
  if (const std::string order = order_text(validation); !order.empty()) text += order + "\n";
  if (std::ranges::any_of(validation.comparisons, is_observed)) {
    text += "* measured under CUPTI, which delays the driver; simulated with such a listener\n\n";
  }
  for (const Comparison& comparison : validation.comparisons) {
    if (comparison.campaign) text += campaign_text(comparison) + "\n";
  }
  for (const ClassSummary& summary : validation.classes) text += line_of(summary_line(summary), 10);
  std::string outside, only_quiet;
  std::size_t outside_count = 0;
  for (const Comparison& comparison : validation.comparisons) {
    const std::string line = line_of(fmt::format("  {}: {}", comparison.name, verdict_text(comparison)), 4);
    if (!comparison.within()) {
      ++outside_count;
      outside += line;
    } else if (!comparison.quiet_failures.empty()) {
      only_quiet += line;
    }
  }
  text +=
      fmt::format("\n{} of {} experiments are outside the tolerances\n", outside_count, validation.comparisons.size());
  return text + outside + (only_quiet.empty() ? "" : "outside by the quiet time only:\n" + only_quiet);
}

std::string validation_markdown(const Validation& validation) {
  const auto line = [](const auto& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); };
  std::string text = fmt::format("Measured / simulated on `{}`:\n\n", validation.system);
  const std::vector<Row> rows = rows_of(validation);
  if (!rows.empty()) {
    text += line(std::vector<std::string>{"class", "experiments", "exact", "within", "within (quiet)",
                                          "time: median, worst", "quiet time: median, worst", "batches: median, worst",
                                          "bytes: worst"});
    text += "|---|---|---|---|---|---|---|---|---|\n";
    for (const ClassSummary& s : validation.classes) {
      if (s.experiment_class != ExperimentClass::kCampaign) text += line(class_row(s));
    }
    text += "\n" + line(kHead) + "|---|---|---|---|---|---|---|---|---|\n";
    for (const Row& row : rows) text += line(row);
  }
  const std::string campaigns = campaigns_markdown(validation.comparisons);
  return rows.empty() || campaigns.empty() ? text + campaigns : text + "\n" + campaigns;
}

std::string with_table(const std::string& document, const std::string& table, const std::string& mark) {
  const std::string begin_line = fmt::format("<!-- {}:begin -->", mark),
                    end_line = fmt::format("<!-- {}:end -->", mark);
  const std::string begin = begin_line + "\n", end = end_line + "\n";
  const std::size_t from = document.find(begin), to = document.find(end);
  if (from == std::string::npos && to == std::string::npos) return table;
  if (from == std::string::npos || to == std::string::npos || to < from) {
    throw_input_error("the document has only one of the lines '{}' and '{}'", begin_line, end_line);
  }
  return document.substr(0, from + begin.size()) + table + document.substr(to);
}

}  // namespace uvmsim::validate
