#include "sim/validate/campaign_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "sim/report/numbers.h"

namespace uvmsim::validate {

namespace {

using Row = std::vector<std::string>;

constexpr std::uint64_t kNsPerMs = 1000000;

// In the unit of its label; short times with all their microseconds.
std::string value_text(const FigureInfo& figure, std::uint64_t value) {
  if (figure.unit != kNsPerMs) return fmt::format("{}", value / figure.unit);
  if (value < 10 * kNsPerMs) return report::format_ms(Nanoseconds(static_cast<std::int64_t>(value)));
  return fmt::format("{}.{}", value / kNsPerMs, value % kNsPerMs / (kNsPerMs / 10));
}

std::string error_text(const Pair& pair) {
  return fmt::format("{}{:.1f} %", pair.simulated >= pair.measured ? "+" : "-", pair.error());
}

std::string cell(const CampaignStep& step, std::size_t index) {
  const FigureInfo& figure = kFigureTable[index];
  const std::string measured = step.measured[index] ? value_text(figure, *step.measured[index]) : "-";
  std::string text = fmt::format("{} / {}", measured, value_text(figure, *step.simulated[index]));
  const std::optional<Pair> pair = step.pair(index);
  if (pair && figure.kind == FigureKind::kTime) text += " " + error_text(*pair);
  return text;
}

std::string permille_text(std::uint64_t permille) { return fmt::format("{}.{}", permille / 10, permille % 10); }

// Simulated bytes in by fault in percent, behind the measured share where there is one.
std::string share_cell(const CampaignStep& step) {
  const std::uint64_t in = *step.simulated[figure::kBytesIn], by_fault = *step.simulated[figure::kFaultBytesIn];
  const auto share = step.fault_share_permille();
  return fmt::format("{} / {}", share ? permille_text(share->measured) : "-",
                     permille_text(in == 0 ? 0 : by_fault * 1000 / in));
}

bool measured_somewhere(const CampaignRun& run, std::size_t index) {
  return std::any_of(run.steps.begin(), run.steps.end(),
                     [=](const CampaignStep& step) { return step.measured[index].has_value(); });
}

// Time and bytes always; other figures where a step has them. Columns that only repeat others are left out.
std::vector<Row> rows_of(const CampaignRun& run) {
  std::vector<std::size_t> columns{figure::kTime, figure::kBytesIn, figure::kBytesOut};
  if (measured_somewhere(run, figure::kBytesMoved)) columns.push_back(figure::kBytesMoved);
  columns.push_back(figure::kEvictions);
  columns.push_back(figure::kCopies);
  Row head{"step"};
  for (const std::size_t index : columns) head.emplace_back(kFigureTable[index].label);
  head.emplace_back("% in by fault");
  std::vector<Row> rows{std::move(head)};
  for (const CampaignStep& step : run.steps) {
    Row& row = rows.emplace_back(Row{step.name + (step.lost_records ? " *" : "")});
    for (const std::size_t index : columns) row.push_back(cell(step, index));
    row.push_back(share_cell(step));
  }
  return rows;
}

// Lines of the whole run: what was published of it.
std::vector<std::string> totals_of(const CampaignRun& run) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < figure::kCount; ++i) {
    if (const auto pair = run.total.pair(i)) {
      lines.push_back(fmt::format("in all, {}: {} / {} {}", kFigureTable[i].label, value_text(kFigureTable[i], pair->measured),
                                  value_text(kFigureTable[i], pair->simulated), error_text(*pair)));
    }
  }
  if (const auto share = run.total.fault_share_permille()) {
    lines.push_back(fmt::format("in all, % in by fault: {} / {}", permille_text(share->measured),
                                permille_text(share->simulated)));
  }
  if (run.steady_ns) {
    const FigureInfo& time = kFigureTable[figure::kTime];
    lines.push_back(fmt::format("steady step, {}: {} / {} {}", time.label, value_text(time, run.steady_ns->measured),
                                value_text(time, run.steady_ns->simulated), error_text(*run.steady_ns)));
  }
  if (run.ratio_permille) {
    lines.push_back(fmt::format("steady / cold block: {} / {} {}", report::format_thousandths(run.ratio_permille->measured),
                                report::format_thousandths(run.ratio_permille->simulated),
                                error_text(*run.ratio_permille)));
  }
  const bool lost = std::any_of(run.steps.begin(), run.steps.end(), [](const auto& step) { return step.lost_records; });
  if (lost) lines.emplace_back("* the profiler lost records: only its time is judged");
  return lines;
}

std::string title_of(const Comparison& comparison) {
  return fmt::format("{}: {} blocks of 2 MB, {} fit", comparison.name, comparison.campaign->footprint_blocks,
                     comparison.campaign->capacity_blocks);
}
std::string verdict_of(const Comparison& comparison) {
  return comparison.within() ? "within its limits" : "outside: " + joined(comparison.failures);
}

}  // namespace

std::string campaign_text(const Comparison& comparison) {
  const std::vector<Row> rows = rows_of(*comparison.campaign);
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = title_of(comparison) + "\n";
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}}", row[i], widths[i] + 1);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  for (const std::string& total : totals_of(*comparison.campaign)) text += "  " + total + "\n";
  return text + "  " + verdict_of(comparison) + "\n";
}

std::string campaign_markdown(const Comparison& comparison) {
  const auto line = [](const Row& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); };
  const std::vector<Row> rows = rows_of(*comparison.campaign);
  std::string text = fmt::format("**{}**: {}\n\n", title_of(comparison), verdict_of(comparison)) + line(rows.front()) + "|";
  for (std::size_t i = 0; i < rows.front().size(); ++i) text += "---|";
  text += "\n";
  for (std::size_t i = 1; i < rows.size(); ++i) text += line(rows[i]);
  for (const std::string& total : totals_of(*comparison.campaign)) text += "\n- " + total;
  return text + "\n";
}

}  // namespace uvmsim::validate
