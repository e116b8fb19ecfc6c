// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/cliff/cliff.h"
#include "sim/common/plain_text.h"
#include "sim/common/version.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::cliff {
namespace {

using Json = nlohmann::ordered_json;
using report::format_bytes;
using report::format_ms;
using report::format_thousandths;

constexpr std::size_t kMostRows = 5, kHang = 2;

std::string wait_ms(std::int64_t ns) { return format_ms(Nanoseconds(ns)); }

bool all_settled(const Answer& answer) {
  return answer.run.unlimited->is_settled && std::ranges::all_of(answer.places, &Place::is_settled);
}

std::string places_text(const Answer& answer) {
  TextTable table({"factor", "memory (MiB)", "time (ms)", "slowdown", "ms per MiB less", ""});
  for (std::size_t i = 0; i < answer.places.size(); ++i) {
    const Place& place = answer.places[i];
    std::string steepness = "-";
    if (i != 0) {
      const Place& more = answer.places[i - 1];
      const double rise_ms = (static_cast<double>(place.time_ns) - static_cast<double>(more.time_ns)) / 1e6;
      steepness =
          fmt::format("{:.3f}", rise_ms / static_cast<double>((more.capacity_bytes - place.capacity_bytes) >> 20));
    }
    table.add_row({format_thousandths(place.osf_thousandths), std::to_string(place.capacity_bytes >> 20),
                   format_ms(place.time_ns) + (place.is_settled ? "" : "*"),
                   format_thousandths(place.slowdown_thousandths), steepness, i == answer.after ? "<- steepest" : ""});
  }
  return table.text(true, "  ");
}

std::string growth_text(const std::vector<Growth>& rows, const char* what) {
  TextTable table({what, "waits (ms)", "then", "came back", "then", "main cause of the growth"});
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i) {
    const Growth& row = rows[i];
    table.add_row({why::short_name(row.name), wait_ms(row.before.stall_ns), wait_ms(row.after.stall_ns),
                   format_bytes(row.before.back_bytes), format_bytes(row.after.back_bytes),
                   why::cause_text(row.main_cause())});
  }
  return table.is_empty() ? "" : table.text(true, "  ") + "\n";
}

std::string verdict_text(const Answer& answer) {
  const Place &before = answer.places[answer.before], &after = answer.places[answer.after];
  const std::string step = fmt::format(
      "from {} to {} MiB of memory (factor {} to {}) {} goes from {} to {} ms", before.capacity_bytes >> 20,
      after.capacity_bytes >> 20, format_thousandths(before.osf_thousandths), format_thousandths(after.osf_thousandths),
      report::settled_iterations(answer.run.result) ? "the time of an iteration" : "the run's time",
      format_ms(before.time_ns), format_ms(after.time_ns));
  if (answer.steepness_thousandths == 0) return "No cliff: the time does not rise as memory is taken away.";
  return fmt::format("{}: {}, {} times as much per byte as on average over the range.",
                     answer.is_cliff ? "Cliff" : "No cliff; the steepest step", step,
                     format_thousandths(answer.steepness_thousandths));
}

std::string mechanism_text(const Answer& answer) {
  const Growth& all = answer.all;
  if (answer.steepness_thousandths == 0 || all.stall_ns() <= 0) return "";
  std::string text = fmt::format(
      "There kernels wait {} instead of {} ms, summed over all that run side by side; the main cause of the growth: "
      "{}.",
      wait_ms(all.after.stall_ns), wait_ms(all.before.stall_ns), why::cause_text(all.main_cause()));
  if (all.main_cause() == why::Cause::kCameBack) {
    text += fmt::format(" {} instead of {} of memory were evicted before they were used again.",
                        format_bytes(all.after.back_bytes), format_bytes(all.before.back_bytes));
  }
  return text;
}

Json place_json(const Place& place) {
  return {{"capacity_bytes", place.capacity_bytes},
          {"osf_thousandths", place.osf_thousandths},
          {"time_ns", place.time_ns},
          {"slowdown_thousandths", place.slowdown_thousandths},
          {"is_settled", place.is_settled}};
}

const char* cause_key(why::Cause cause) {
  switch (cause) {
    case why::Cause::kCameBack:
      return "came_back";
    case why::Cause::kFirstLoad:
      return "first_load";
    case why::Cause::kFirstTouch:
      return "first_touch";
    case why::Cause::kOther:
      break;
  }
  return "other";
}

Json growth_json(const Growth& growth) {
  return {{"name", growth.name},
          {"before_stall_ns", growth.before.stall_ns},
          {"after_stall_ns", growth.after.stall_ns},
          {"before_back_bytes", growth.before.back_bytes},
          {"after_back_bytes", growth.after.back_bytes},
          {"main_cause", cause_key(growth.main_cause())}};
}

Json growths_json(const std::vector<Growth>& growths) {
  Json out = Json::array();
  for (const Growth& growth : growths) out.push_back(growth_json(growth));
  return out;
}

}  // namespace

std::string cliff_text(const Answer& answer) {
  std::string text = wrapped_line(
      fmt::format("{} on {}, needs {}; factors 1 to {}.", plain_text(answer.run.trace.name),
                  plain_text(answer.run.options.system.name), format_bytes(answer.run.result.footprint_bytes),
                  report::format_factor(answer.request.largest_osf_thousandths)),
      kHang);
  text += "\n\n" + wrapped_line(verdict_text(answer), kHang) + "\n";
  const std::string mechanism = mechanism_text(answer);
  if (!mechanism.empty()) text += wrapped_line(mechanism, kHang) + "\n";
  text += "\n" + places_text(answer) + "\n";
  if (answer.steepness_thousandths != 0) {
    text += growth_text(answer.kernels, "kernels") + growth_text(answer.memory, "memory");
  }
  if (!all_settled(answer)) {
    text += "* has not settled, or the run with room for all has not: a mean of the later half of the passes\n";
  }
  text +=
      wrapped_line(
          fmt::format("A cliff is at least {} times as steep as the mean over the range, and rises by at least {} % "
                      "of the time with room for all.",
                      report::format_factor(kSteepThousandths), kRisePerMille / 10),
          kHang) +
      "\n";
  return text;
}

std::string cliff_json(const Answer& answer) {
  const report::RunRecord& run = answer.run;
  Json out = {{"schema", "uvmsim.cliff/1"},
              {"uvmsim_version", version()},
              {"uvmsim_commit", commit()},
              {"model_version", run.provenance.model_version},
              {"trace", {{"file", run.trace.name}, {"sha256", run.trace.sha256}}},
              {"system", run.options.system.name},
              {"system_sha256", run.provenance.system_sha256},
              {"footprint_bytes", run.result.footprint_bytes},
              {"largest_osf_thousandths", answer.request.largest_osf_thousandths},
              {"is_cliff", answer.is_cliff},
              {"steepness_thousandths", answer.steepness_thousandths},
              {"before", place_json(answer.places[answer.before])},
              {"after", place_json(answer.places[answer.after])},
              {"all", growth_json(answer.all)},
              {"kernels", growths_json(answer.kernels)},
              {"memory", growths_json(answer.memory)},
              {"places", Json::array()}};
  for (const Place& place : answer.places) out["places"].push_back(place_json(place));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::cliff
