// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"
#include "sim/validate/validation_report.h"

namespace uvmsim::validate {

namespace {

using Cells = std::vector<std::string>;

constexpr std::uint64_t kNsPerMs = 1000000;

// Formats a value in the unit of its label; short times keep their microseconds.
std::string value_text(const FigureInfo& figure, std::uint64_t value) {
  if (figure.unit != kNsPerMs) return fmt::format("{}", (value + figure.unit / 2) / figure.unit);
  if (value < 10 * kNsPerMs) return report::format_ms(Nanoseconds(static_cast<std::int64_t>(value)));
  const std::uint64_t tenths = (value + kNsPerMs / 20) / (kNsPerMs / 10);
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

// Formats "measured / simulated +1.2 %".
std::string both_text(const FigureInfo& figure, const Pair& pair) {
  return fmt::format("{} / {} {}", value_text(figure, pair.measured), value_text(figure, pair.simulated),
                     pair.error_text());
}
std::string ratio_text(const Pair& permille) {
  return fmt::format("{} / {} {}", report::format_thousandths(permille.measured),
                     report::format_thousandths(permille.simulated), permille.error_text());
}

std::string cell(const CampaignStep& step, std::size_t index) {
  const FigureInfo& figure = kFigureTable[index];
  const std::string measured = step.measured[index] ? value_text(figure, *step.measured[index]) : "-";
  std::string text = fmt::format("{} / {}", measured, value_text(figure, *step.simulated[index]));
  const std::optional<Pair> pair = step.pair(index);
  if (pair && index == figure::kTime) text += " " + pair->error_text();
  return text;
}

std::string permille_text(std::uint64_t permille) { return fmt::format("{}.{}", permille / 10, permille % 10); }

// Formats the simulated percentage of fault bytes in, after the measured one if there is one.
std::string share_cell(const CampaignStep& step) {
  const std::uint64_t in = *step.simulated[figure::kBytesIn], by_fault = *step.simulated[figure::kFaultBytesIn];
  const auto share = step.fault_share_permille();
  return fmt::format("{} / {}", share ? permille_text(share->measured) : "-",
                     permille_text(in == 0 ? 0 : by_fault * 1000 / in));
}

// Copies in both directions, or copies in where only those were published.
std::size_t copies_figure(const CampaignRun& run) {
  return run.total.measured[figure::kCopiesIn] ? figure::kCopiesIn : figure::kCopies;
}

// All bytes out, or those of evictions where only those were published.
std::size_t out_figure(const CampaignRun& run) {
  const bool all = run.total.measured[figure::kBytesOut] || !run.total.measured[figure::kEvictedBytes];
  return all ? figure::kBytesOut : figure::kEvictedBytes;
}

bool measured_somewhere(const CampaignRun& run, std::size_t index) {
  return std::ranges::any_of(run.steps, [=](const CampaignStep& step) { return step.measured[index].has_value(); });
}

// Rows with time and bytes, and with other figures where a step has them. Redundant columns are left out.
std::vector<Cells> step_rows(const CampaignRun& run) {
  std::vector<std::size_t> columns{figure::kTime, figure::kBytesIn, figure::kBytesOut};
  for (const std::size_t index : {figure::kChunkAllocations, figure::kRepeatedServices}) {
    if (measured_somewhere(run, index)) columns.push_back(index);
  }
  if (measured_somewhere(run, figure::kBytesMoved)) columns.push_back(figure::kBytesMoved);
  columns.push_back(figure::kEvictions);
  columns.push_back(figure::kCopies);
  Cells head{"step"};
  for (const std::size_t index : columns) head.emplace_back(kFigureTable[index].label);
  head.emplace_back("% in by fault");
  std::vector<Cells> rows{std::move(head)};
  for (const CampaignStep& step : run.steps) {
    Cells& row = rows.emplace_back(Cells{step.name + (step.lost_records ? " *" : "")});
    for (const std::size_t index : columns) row.push_back(cell(step, index));
    row.push_back(share_cell(step));
  }
  return rows;
}

// Lines with the published figures of the whole run.
std::vector<std::string> totals_of(const CampaignRun& run) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < figure::kCount; ++i) {
    if (const auto pair = run.total.pair(i)) {
      lines.push_back(fmt::format("in all, {}: {}", kFigureTable[i].label, both_text(kFigureTable[i], *pair)));
    }
  }
  if (const auto share = run.total.fault_share_permille()) {
    lines.push_back(
        fmt::format("in all, % in by fault: {} / {}", permille_text(share->measured), permille_text(share->simulated)));
  }
  if (run.steady_ns) {
    const FigureInfo& time = kFigureTable[figure::kTime];
    lines.push_back(fmt::format("steady step, {}: {}", time.label, both_text(time, *run.steady_ns)));
  }
  if (run.finish_ns) {
    lines.push_back("until all processes ended, ms: " + both_text(kFigureTable[figure::kTime], *run.finish_ns));
  }
  if (run.ratio_permille) lines.push_back("steady / cold block: " + ratio_text(*run.ratio_permille));
  if (run.total.lost_records) lines.emplace_back("* the profiler lost records: only its time is judged");
  return lines;
}

std::string title_of(const Comparison& comparison) {
  const CampaignRun& run = *comparison.campaign;
  const std::string each =
      run.processes == 1 ? "" : fmt::format("; {} processes, figures are the mean of them", run.processes);
  return fmt::format("{}: {} blocks of 2 MB, {} fit{}", comparison.name, run.footprint_blocks, run.capacity_blocks,
                     each);
}
std::string verdict_of(const Comparison& comparison) {
  return comparison.within() ? "within its limits" : "outside: " + joined(comparison.failures);
}

}  // namespace

std::string campaign_text(const Comparison& comparison) {
  const std::vector<Cells> rows = step_rows(*comparison.campaign);
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = wrapped_line(title_of(comparison), 2) + "\n";
  for (const Cells& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}}", row[i], widths[i] + 1);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  for (const std::string& total : totals_of(*comparison.campaign)) text += "  " + total + "\n";
  return text + wrapped_line("  " + verdict_of(comparison), 4) + "\n";
}

std::string campaigns_markdown(const std::vector<Comparison>& comparisons) {
  const auto line = [](const Cells& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); };
  const Cells head{"campaign", "blocks (fit)", "first step ms", "steady step ms", "steady / cold block", "MiB in",
                   "MiB out",  "copies",       "% in by fault", "fault batches",  "CPU faults",          "verdict"};
  std::string text;
  for (const Comparison& comparison : comparisons) {
    if (!comparison.campaign) continue;
    const CampaignRun& run = *comparison.campaign;
    if (text.empty()) {
      text = line(head) + "|";
      for (std::size_t i = 0; i < head.size(); ++i) text += "---|";
      text += "\n";
    }
    const FigureInfo& time = kFigureTable[figure::kTime];
    text += line({comparison.name, fmt::format("{} ({})", run.footprint_blocks, run.capacity_blocks),
                  cell(run.steps.front(), figure::kTime), run.steady_ns ? both_text(time, *run.steady_ns) : "-",
                  run.ratio_permille ? ratio_text(*run.ratio_permille) : "-", cell(run.total, figure::kBytesIn),
                  cell(run.total, out_figure(run)), cell(run.total, copies_figure(run)), share_cell(run.total),
                  cell(run.total, figure::kFaultBatches), cell(run.total, figure::kCpuFaults),
                  comparison.within() ? "within" : joined(comparison.failures)});
  }
  return text;
}

}  // namespace uvmsim::validate
