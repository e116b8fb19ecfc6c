// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/advise/advise.h"
#include "sim/common/plain_text.h"
#include "sim/common/version.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::advise {
namespace {

using Json = nlohmann::ordered_json;
using report::format_ms;
using report::format_thousandths;

constexpr std::size_t kMostTriedInText = 8;
constexpr std::size_t kMostRulesInText = 20;
constexpr std::size_t kIndent = 2;

std::string signed_percent(std::int64_t thousandths) {
  const std::int64_t rounded = (thousandths + (thousandths < 0 ? -5 : 5)) / 10;
  return fmt::format("{} %", rounded);
}

const char* mark(const Measured& measured) { return measured.is_settled ? "" : "*"; }

std::string what_of(const Step& step) {
  std::string text;
  for (const Change* change : step.changes) text += (text.empty() ? "" : ", and ") + change->what;
  return text;
}

std::uint64_t percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : (report::ratio_thousandths(part, whole) + 5) / 10;
}

std::int64_t saved_of(std::uint64_t part, std::uint64_t whole) {
  return 1000 - static_cast<std::int64_t>(report::ratio_thousandths(part, whole));
}

// Returns the reasons why such changes save no more time.
std::vector<std::string> reasons_of(const Answer& answer) {
  std::vector<std::string> out;
  const report::RunRecord& run = answer.run;
  if (answer.waits_for_nothing()) {
    out.push_back("The run takes no longer than with everything resident: there is nothing to save.");
    return out;
  }
  const auto settled = report::settled_iterations(run.result);
  const Counters& c = settled ? settled->counters : run.result.counters;
  const std::uint64_t time_ns = report::quoted_ns(run.result);
  const std::uint64_t link = percent_of(std::max(c.htod_busy_ns, c.dtoh_busy_ns), time_ns);
  const std::uint64_t driver = percent_of(c.fault_service_ns, time_ns);
  if (link >= 60) {
    out.push_back(
        fmt::format("The link bounds it: its busier direction copies for {} % of the time. Fewer bytes help: a "
                    "smaller batch, smaller numbers, more memory.",
                    link));
  } else if (driver >= 50) {
    out.push_back(
        fmt::format("The driver bounds it: it serves faults for {} % of the time, the link copies for {} %. "
                    "Larger pieces ahead of use help, where a prefetch can know them.",
                    driver, link));
  } else {
    out.push_back(
        fmt::format("Neither the driver ({} % of the time in faults) nor the link ({} %) is busy all the time: "
                    "kernels and the host wait in turns.",
                    driver, link));
  }
  if (answer.knowing_ns != 0) {
    constexpr std::uint64_t kMuchPercent = 90;
    const std::uint64_t share = percent_of(answer.knowing_ns, time_ns);
    out.push_back(
        share < kMuchPercent
            ? fmt::format("An evictor that knew the future would take {} ms, {} % of this time: what is evicted "
                          "matters.",
                          format_ms(answer.knowing_ns), share)
            : fmt::format("Even an evictor that knew the future would take {} ms, {} % of this time: the order "
                          "in which memory is used is the limit.",
                          format_ms(answer.knowing_ns), share));
  }
  if (std::ranges::any_of(answer.rules(), [](const trace::HintRule& rule) {
        return rule.first_percent != 0 || rule.end_percent != 100;
      })) {
    out.push_back("Some rules name parts of objects; which parts kernels use may differ with other data.");
  }
  return out;
}

}  // namespace

std::string advise_text(const Answer& answer) {
  const report::RunRecord& run = answer.run;
  const std::uint64_t time_ns = report::quoted_ns(run.result);
  const bool iterates = report::settled_iterations(run.result).has_value();
  std::string text =
      wrapped_line(fmt::format("{} on {}, {} of memory for {}: {} takes {} ms, {} times as long as with room for all.",
                               plain_text(run.trace.name), plain_text(run.options.system.name),
                               report::format_bytes(run.result.capacity_bytes),
                               report::format_bytes(run.result.footprint_bytes), iterates ? "an iteration" : "the run",
                               format_ms(time_ns), format_thousandths(report::slowdown_thousandths(run))),
                   kIndent);
  text += "\n";
  if (answer.steps.empty()) {
    text += fmt::format("\nNothing that was tried saves 1 % of it ({} runs).\n", answer.runs);
  } else {
    text += wrapped_line(fmt::format("With the changes below {} takes {} ms, {} % of that ({} runs).",
                                     iterates ? "an iteration" : "the run", format_ms(answer.best_ns()),
                                     percent_of(answer.best_ns(), time_ns), answer.runs),
                         kIndent) +
            "\n\n";
    TextTable steps({"change", "time (ms)", "saves", "on other machines", "confidence"});
    for (std::size_t i = 0; i < answer.steps.size(); ++i) {
      const Step& step = answer.steps[i];
      steps.add_row(
          {std::to_string(i + 1), format_ms(step.with.time_ns) + mark(step.with),
           signed_percent(step.saves_thousandths),
           fmt::format("{} to {}", signed_percent(std::min(step.fastest_thousandths, step.slowest_thousandths)),
                       signed_percent(std::max(step.fastest_thousandths, step.slowest_thousandths))),
           confidence_text(step.confidence)});
    }
    text += steps.text(true, "  ");
    for (std::size_t i = 0; i < answer.steps.size(); ++i) {
      text += "\n" + wrapped_line(fmt::format("{}. {}", i + 1, what_of(answer.steps[i])), 3) + "\n";
      for (const Change* change : answer.steps[i].changes) {
        for (const std::string& line : change->cuda) text += fmt::format("   CUDA C++  {}\n", line);
        for (const std::string& line : change->pytorch) text += fmt::format("   PyTorch   {}\n", line);
      }
    }
    text += "\nThe rules for `uvmsim trace hint`:\n";
    const std::vector<trace::HintRule> rules = answer.rules();
    for (std::size_t i = 0; i < rules.size() && i < kMostRulesInText; ++i) {
      text += fmt::format("  {}\n", trace::hint_text(rules[i]));
    }
    if (rules.size() > kMostRulesInText) {
      text +=
          fmt::format("  # and {} more, which --json lists and --output puts in\n", rules.size() - kMostRulesInText);
    }
    if (!answer.layout().empty()) text += fmt::format("  and run with --layout {}\n", answer.layout());
  }
  if (!answer.tried.empty()) {
    text += "\nEach change alone, the fastest first:\n";
    TextTable tried({"change", "time (ms)", "saves"});
    for (std::size_t i = 0; i < answer.tried.size() && i < kMostTriedInText; ++i) {
      const Tried& one = answer.tried[i];
      tried.add_row({one.change->what, format_ms(one.alone.time_ns) + mark(one.alone),
                     signed_percent(saved_of(one.alone.time_ns, time_ns))});
    }
    text += tried.text(true, "  ");
  }
  text += "\n";
  for (const std::string& sentence : reasons_of(answer)) text += wrapped_line("- " + sentence, kIndent) + "\n";
  return text;
}

std::string advise_json(const Answer& answer) {
  const report::RunRecord& run = answer.run;
  Json out = {{"schema", "uvmsim.advise/1"},
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
              {"best_ns", answer.best_ns()},
              {"knowing_ns", answer.knowing_ns},
              {"varied", answer.varied},
              {"runs", answer.runs},
              {"layout", answer.layout()},
              {"rules", Json::array()},
              {"steps", Json::array()},
              {"tried", Json::array()},
              {"reasons", reasons_of(answer)}};
  for (const trace::HintRule& rule : answer.rules()) out["rules"].push_back(trace::hint_text(rule));
  for (const Step& step : answer.steps) {
    Json cuda = Json::array(), pytorch = Json::array();
    for (const Change* change : step.changes) {
      for (const std::string& line : change->cuda) cuda.push_back(line);
      for (const std::string& line : change->pytorch) pytorch.push_back(line);
    }
    out["steps"].push_back({{"change", what_of(step)},
                            {"time_ns", step.with.time_ns},
                            {"is_settled", step.with.is_settled},
                            {"alone_ns", step.alone_ns},
                            {"saves_thousandths", step.saves_thousandths},
                            {"fastest_thousandths", step.fastest_thousandths},
                            {"slowest_thousandths", step.slowest_thousandths},
                            {"confidence", confidence_text(step.confidence)},
                            {"cuda", std::move(cuda)},
                            {"pytorch", std::move(pytorch)}});
  }
  for (const Tried& one : answer.tried) {
    out["tried"].push_back(
        {{"change", one.change->what}, {"time_ns", one.alone.time_ns}, {"is_settled", one.alone.is_settled}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::advise
