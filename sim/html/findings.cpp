// SPDX-License-Identifier: Apache-2.0
#include "sim/html/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/common/random.h"
#include "sim/common/units.h"
#include "sim/formats/printable.h"
#include "sim/report/numbers.h"

namespace uvmsim::html {
namespace {

using report::format_bytes;
using report::format_count;
using report::format_factor;

constexpr std::size_t kMostPanels = 6;  // panels that are described in words; the charts show all

std::string ms(std::uint64_t ns) {
  return ns >= 100'000'000 ? format_count((ns + 500'000) / 1'000'000) + " ms" : report::format_ms(ns) + " ms";
}
std::string ms(std::int64_t ns) {
  return ns < 0 ? "-" + ms(std::uint64_t{0} - static_cast<std::uint64_t>(ns)) : ms(static_cast<std::uint64_t>(ns));
}

// Formats three digits: "1.25", "23.8", "317".
std::string times_text(std::uint64_t thousandths) {
  const std::uint64_t hundredths = (thousandths + 5) / 10, tenths = (thousandths + 50) / 100;
  if (hundredths < 1000) return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
  if (tenths < 1000) return fmt::format("{}.{}", tenths / 10, tenths % 10);
  return format_count((thousandths + 500) / 1000);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t share = report::ratio_thousandths(part, whole);
  if (part != 0 && share == 0) return "less than 0.1 %";
  if (part < whole && share >= 995) return "more than 99 %";
  return share < 100 ? fmt::format("{}.{} %", share / 10, share % 10) : fmt::format("{} %", (share + 5) / 10);
}

// Formats "60 %" or "3.24 times".
std::string percent_or_times(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t thousandths = report::ratio_thousandths(part, whole);
  return thousandths < 2000 ? percent(part, whole) : times_text(thousandths) + " times the size";
}

// Formats "59 % of" or "5.82 times", for texts that continue with another's time.
std::string share_of(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t thousandths = report::ratio_thousandths(part, whole);
  return thousandths < 2000 ? percent(part, whole) + " of" : times_text(thousandths) + " times";
}

// The presence of a limit, and its factor; no limit comes first.
using Limit = std::pair<bool, std::uint64_t>;

std::string name_of(const Limit& limit) { return limit.first ? "OSF " + format_factor(limit.second) : "no limit"; }

// The points of one series in one panel at one limit, which differ in their seeds.
struct Group {
  Limit limit;
  std::vector<const ReportPoint*> seeds;

  template <class Value>
  std::uint64_t mean_of(const Value& value) const {
    WideUnsigned sum = 0;
    for (const ReportPoint* point : seeds) sum += value(*point);
    return static_cast<std::uint64_t>((sum + seeds.size() / 2) / seeds.size());
  }
  std::uint64_t mean(std::uint64_t ReportPoint::*member) const {
    return mean_of([&](const ReportPoint& point) { return point.*member; });
  }
  std::pair<std::uint64_t, std::uint64_t> range(std::uint64_t ReportPoint::*member) const {
    const auto [low, high] = std::ranges::minmax(seeds, {}, [&](const ReportPoint* point) { return point->*member; });
    return {low->*member, high->*member};
  }
  // Returns nothing where a point has no slowdown.
  std::optional<std::uint64_t> slowdown() const {
    const auto has = [](const ReportPoint* point) { return point->slowdown_thousandths.has_value(); };
    if (!std::ranges::all_of(seeds, has)) return std::nullopt;
    return mean_of([](const ReportPoint& point) { return *point.slowdown_thousandths; });
  }
  const ReportPoint& first() const { return *seeds.front(); }
  std::string name() const { return name_of(limit); }
};

using Curve = std::map<Limit, Group>;

std::vector<std::map<std::size_t, Curve>> curves_of(const Document& document) {
  std::vector<std::map<std::size_t, Curve>> panels(document.series.panels.size());
  for (std::size_t i = 0; i < document.points.size(); ++i) {
    const ReportPoint& point = document.points[i];
    const PlacedPoint& place = document.series.places[i];
    const bool limited = point.limit != ReportPoint::Limit::kNone;
    const Limit limit{limited, limited ? point.osf_thousandths : 0};
    Group& group = panels[place.panel][place.series].try_emplace(limit, Group{limit, {}}).first->second;
    group.seeds.push_back(&point);
  }
  return panels;
}

const char* per(const ReportPoint& point) { return point.of_iterations ? "an iteration" : "the run"; }

std::string slowdown_text(const Group& group) {
  const auto slowdown = group.slowdown();
  if (!slowdown) return "";
  return fmt::format(", {} times as long as under the driver's own policies with room for all", times_text(*slowdown));
}

// Describes how the time rises along a curve, and how many bytes move at its end.
std::vector<std::string> course_of(const Curve& curve, const std::string& series) {
  const Group &first = curve.begin()->second, &last = curve.rbegin()->second;
  const ReportPoint& point = last.first();
  std::vector<std::string> out;
  std::string text =
      fmt::format("Under {}, {} takes {} at {} ({} for {} of data){}.", series, per(point),
                  ms(first.mean(&ReportPoint::time_ns)), first.name(), format_bytes(first.first().capacity_bytes),
                  format_bytes(first.first().footprint_bytes), slowdown_text(first));
  if (&first != &last) {
    text += fmt::format(" At {} ({}) it takes {}{}.", last.name(), format_bytes(point.capacity_bytes),
                        ms(last.mean(&ReportPoint::time_ns)), slowdown_text(last));
  }
  const std::uint64_t moved = last.mean(&ReportPoint::htod_bytes), back = last.mean(&ReportPoint::dtoh_bytes);
  text += fmt::format(" There it moves {} to the GPU ({} of the footprint) and {} back.", format_bytes(moved),
                      percent_or_times(moved, point.footprint_bytes), format_bytes(back));
  out.push_back(std::move(text));
  // Finds the largest step, if there are several.
  const Group *before = nullptr, *from = nullptr, *to = nullptr;
  std::uint64_t most = 0;
  for (const auto& [limit, group] : curve) {
    if (before != nullptr) {
      const std::uint64_t step =
          report::ratio_thousandths(group.mean(&ReportPoint::time_ns), before->mean(&ReportPoint::time_ns));
      if (step > most) std::tie(most, from, to) = std::tuple(step, before, &group);
    }
    before = &group;
  }
  if (curve.size() > 2 && most > 1000) {
    out.push_back(fmt::format("Of the limits simulated, time rises most from {} to {}: {} times.", from->name(),
                              to->name(), times_text(most)));
  }
  return out;
}

// Describes the parts of a run's time, the largest first.
std::string limit_by_bounds(const Group& group) {
  const ReportPoint& point = group.first();
  const PointDistance& d = *point.distance;
  struct Part {
    std::uint64_t ns;
    const char *name, *verdict;
  };
  // The names are those of the chart.
  std::array parts = {
      Part{d.compute_ns, "computing", "computing; what memory adds is the smaller part"},
      Part{d.necessary_bytes_ns, "necessary bytes, which move under any policy",
           "the link: most of the time goes into bytes that must move under any policy"},
      Part{d.excess_bytes_ns, "excess bytes, which a better policy need not move",
           "excess bytes, which a better policy need not move"},
      Part{d.fault_latency_ns, "fault latency, which is handling faults without the copies in it",
           "fault latency: the handling of faults, not the bytes that they bring"},
      Part{d.serialisation_ns, "serialisation",
           "serialisation: copies, faults, computing and the host wait for each other rather than overlap"},
  };
  std::ranges::stable_sort(parts, std::greater{}, &Part::ns);
  std::vector<std::string> texts;
  for (const Part& part : parts) {
    if (part.ns != 0) texts.push_back(fmt::format("{} ({})", part.name, percent(part.ns, point.total_ns)));
  }
  const bool clear = parts[0].ns * 10 >= parts[1].ns * 12;
  return fmt::format(
      "What limits it at {}: {}. Of the whole run of {}: {}. No policy can be faster than {} with this memory; this "
      "run takes {} times that.",
      group.name(),
      clear ? parts[0].verdict
            : fmt::format("no single thing; the two largest parts are nearly equal: {}, and {}", parts[0].name,
                          parts[1].name),
      ms(point.total_ns), fmt::join(texts, "; "), ms(d.bound_ns),
      times_text(report::ratio_thousandths(point.total_ns, d.bound_ns)));
}

std::string limit_by_kernels(const Group& group) {
  const std::uint64_t kernels = group.mean(&ReportPoint::kernel_ns),
                      computing = group.mean(&ReportPoint::kernel_compute_ns);
  const std::uint64_t waiting = kernels > computing ? kernels - computing : 0;
  if (kernels == 0) return "Its kernels take no time, so nothing is said about what limits it.";
  return fmt::format(
      "What limits it at {}: {}. Its kernels take {}, of which they compute {}; {} of their time is waiting for "
      "memory. The driver is busy with fault batches for {}. How much of this a better policy could save, these "
      "results "
      "do not say: `uvmsim run --bounds` does.",
      group.name(), waiting > computing ? "memory, not computing" : "computing; memory adds less than that",
      ms(kernels), ms(computing), percent(waiting, kernels), ms(group.mean(&ReportPoint::fault_service_ns)));
}

struct Compared {
  std::string name;
  std::uint64_t low, mean, high;
  std::size_t seeds;
};

Compared compared(const std::string& name, const Group& group) {
  const auto [low, high] = group.range(&ReportPoint::time_ns);
  return {name, low, group.mean(&ReportPoint::time_ns), high, group.seeds.size()};
}

// Lists the series that are faster than the base by at least 1 % at limits other than `but`; may be empty.
std::string faster_elsewhere(const std::map<std::size_t, Curve>& panel, const SeriesTable& table, const Limit& but,
                             std::size_t base_series) {
  constexpr std::size_t kMostLimits = 4;
  std::vector<std::string> found;
  std::size_t more = 0;
  for (const auto& [limit, base_group] : panel.at(base_series)) {
    if (limit == but) continue;
    const Compared base = compared("", base_group);
    std::optional<Compared> best;
    for (const auto& [series, curve] : panel) {
      const auto group = curve.find(limit);
      if (series == base_series || group == curve.end()) continue;
      Compared one = compared(table.series[series].label, group->second);
      const bool matters = report::ratio_thousandths(one.mean, base.mean) < 990;
      if (matters && one.high < base.low && (!best || one.mean < best->mean)) best = std::move(one);
    }
    if (!best) continue;
    if (found.size() == kMostLimits) {
      ++more;
    } else {
      found.push_back(
          fmt::format("{} at {} ({} of the time)", best->name, base_group.name(), percent(best->mean, base.mean)));
    }
  }
  if (found.empty()) return "";
  return fmt::format(" At other limits faster ones exist: {}{}.", fmt::join(found, "; "),
                     more == 0 ? "" : fmt::format("; and at {} limits more", more));
}

// Compares policies at the limit where most series can be compared; of several such limits, at the tightest.
std::optional<std::string> policies_text(const std::map<std::size_t, Curve>& panel, const SeriesTable& table) {
  std::map<Limit, std::size_t> counts;
  for (const auto& [series, curve] : panel) {
    for (const auto& [limit, group] : curve) ++counts[limit];
  }
  Limit at{};
  std::size_t most = 0;
  for (const auto& [limit, count] : counts) {
    if (count >= most) std::tie(at, most) = std::tuple(limit, count);
  }
  if (most < 2) return std::nullopt;
  std::vector<Compared> all;
  std::size_t base_series = 0;
  for (const auto& [series, curve] : panel) {
    const auto group = curve.find(at);
    if (group == curve.end()) continue;
    if (all.empty()) base_series = series;
    all.push_back(compared(table.series[series].label, group->second));
  }
  const Compared base = all.front();
  const std::string limit = name_of(at);
  const Compared& best = *std::ranges::min_element(all, {}, &Compared::mean);
  const Compared& worst = *std::ranges::max_element(all, {}, &Compared::mean);
  const auto faster = std::ranges::count_if(all, [&](const Compared& one) { return one.high < base.low; });
  std::string text;
  if (all.size() == 2) {
    const Compared& other = all.back();
    text =
        fmt::format("At {}, {} takes {} the time of {}", limit, other.name, share_of(other.mean, base.mean), base.name);
    if (other.seeds > 1 && other.low <= base.high && base.low <= other.high) text += ", within what seeds make";
    text += ".";
  } else {
    text = faster == 0
               ? fmt::format("At {}, none of {} alternatives is faster than {}", limit, all.size() - 1, base.name)
               : fmt::format("At {}, {} of {} alternatives {} faster than {}", limit, faster, all.size() - 1,
                             faster == 1 ? "is" : "are", base.name);
    if (&best != &all.front()) {
      text += fmt::format("; the fastest is {}, {} its time", best.name, share_of(best.mean, base.mean));
      if (best.high >= base.low) text += ", which is within what seeds make";
    }
    text += fmt::format(". The slowest is {}, {} its time.", worst.name, share_of(worst.mean, base.mean));
  }
  text += faster_elsewhere(panel, table, at, base_series);
  const std::size_t fewest = std::ranges::min(all, {}, &Compared::seeds).seeds;
  text += fewest > 1
              ? fmt::format(" Faster means: all of its seeds, at least {}, are faster than all of the other's.", fewest)
              : " One seed each, so what chance makes of this is not known.";
  return text;
}

Finding panel_finding(const Document& document, std::size_t number, const std::map<std::size_t, Curve>& panel) {
  Finding finding{document.series.panels[number], {}};
  const auto& [series, curve] = *panel.begin();
  finding.sentences = course_of(curve, document.series.series[series].label);
  const Group& last = curve.rbegin()->second;
  finding.sentences.push_back(last.first().distance ? limit_by_bounds(last) : limit_by_kernels(last));
  if (const auto text = policies_text(panel, document.series)) finding.sentences.push_back(*text);
  return finding;
}

// Lists the conditions under which the numbers of the page hold.
Finding conditions(const Document& document) {
  Finding finding{"What these numbers hold for", {}};
  if (!document.series.shared.empty()) finding.say("In common: {}.", document.series.shared);
  std::set<std::string> seeds;
  std::size_t settled = 0, unsettled = 0, unknown = 0, whole = 0, hypothetical = 0, partial = 0, no_base = 0,
              no_room = 0, misfit = 0;
  for (const ReportPoint& point : document.points) {
    seeds.insert(point.seed);
    if (!point.of_iterations) {
      ++whole;
    } else if (!point.is_settled) {
      ++unknown;
    } else {
      ++(*point.is_settled ? settled : unsettled);
    }
    hypothetical += point.hypothetical;
    partial += point.partial_trace;
    misfit += point.misfit_kernels != 0;
    no_base += !point.slowdown_thousandths;
    no_room += point.baseline_hypothetical;
  }
  using Counts = std::initializer_list<std::pair<std::size_t, std::string_view>>;
  std::vector<std::string> parts;
  for (const auto& [count, what] : Counts{
           {settled, "are means of settled iterations"},
           {unsettled,
            "have not settled: theirs are means of the later half of the passes, or of the last iteration; no steady "
            "figure, and the tables hold the shortest and the longest"},
           {unknown, "do not say whether they have settled"},
           {whole, "are of whole runs, as their traces mark no iterations"}}) {
    if (count != 0) parts.push_back(fmt::format("{} {}", count, what));
  }
  finding.say(
      "Of {} points {}. Seeds: {}.", document.points.size(), fmt::join(parts, ", "),
      seeds.size() > 8 ? fmt::format("{} different ones", seeds.size()) : fmt::format("{}", fmt::join(seeds, ", ")));
  for (const auto& [count, what] :
       Counts{{no_base, "hold no run to compare with, so they have no slowdown"},
              {no_room,
               "are compared with a hypothetical run: the whole GPU has no room for the program, so that the driver's "
               "own run had as much memory as it needs"},
              {hypothetical, "have more memory than the GPU: their capacity is hypothetical"},
              {partial, "ran only the whole part of a trace that was cut off"},
              {misfit,
               "have kernels that do not fit the access pattern of their name and are played as plain slices or "
               "tiles (pattern_misfits of the result)"}}) {
    if (count != 0) finding.say("{} points {}.", count, what);
  }
  finding.say("All are simulated, not measured. How far the model is from real machines: docs/how_right.md of uvmsim.");
  return finding;
}

// Shortens a long name in the middle, because names differ at their ends as often as at their beginnings. It cuts
// between characters.
std::string short_name_of(const std::string& name) {
  constexpr std::size_t kLongest = 72, kHead = 44, kTail = 24;
  if (name.size() <= kLongest) return name;
  std::size_t tail = name.size() - kTail;
  while (utf8_cut(name, tail) != tail) ++tail;
  return name.substr(0, utf8_cut(name, kHead)) + "..." + name.substr(tail);
}

// Lists the longest: "a (50 %), b (20 %)".
std::string shares(const Waiting& waiting, std::int64_t whole) {
  std::vector<std::string> texts;
  for (const auto& [name, ns] : waiting) {
    if (ns <= 0 || texts.size() == 3) break;
    texts.push_back(fmt::format("{} ({})", short_name_of(name),
                                percent(static_cast<std::uint64_t>(ns), static_cast<std::uint64_t>(whole))));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string lifetime_text(const std::string& lifetime) {
  if (lifetime == "program") return "memory from outside of the iterations (such as weights)";
  if (lifetime == "iteration") return "memory that lives within one iteration (such as activations)";
  if (lifetime == "longer") return "memory that outlives its iteration";
  return "memory that no allocation explains";
}

Finding profile_finding(const ProfileExcerpt& profile) {
  Finding finding{fmt::format("Why {} waits on {}", profile.run.program, profile.run.system), {}};
  const ReportPoint& run = profile.run;
  finding.say(
      "{} launches of {} take {}, of which they compute {} and wait {}. Capacity {}, footprint {}, {}, seed {}.",
      format_count(profile.launches), profile.about, ms(profile.kernel_ns), ms(profile.compute_ns),
      ms(profile.stall_ns), format_bytes(run.capacity_bytes), format_bytes(run.footprint_bytes), run.policies,
      run.seed);
  if (profile.stall_ns <= 0) {
    finding.say("Its kernels do not wait for memory.");
    return finding;
  }
  if (!profile.causes.empty()) finding.say("By cause: {}.", shares(profile.causes, profile.stall_ns));
  if (!profile.memory.empty() && profile.memory.front().second > 0) {
    finding.say("Memory that is waited for: {}.", shares(profile.memory, profile.stall_ns));
  }
  std::int64_t sum = 0;
  std::size_t half = 0;
  while (half < profile.kernels.size() && sum < profile.stall_ns / 2) {
    sum += std::max<std::int64_t>(profile.kernels[half++].second, 0);
  }
  finding.say("Half of the waiting lies in {} of {} kernel names. The most: {}.", half, profile.kernels.size(),
              shares(profile.kernels, profile.stall_ns));
  if (profile.layers.size() > 1) {
    finding.say("By layer that launched them: {}.", shares(profile.layers, profile.stall_ns));
  }
  if (!profile.lifetimes.empty() && profile.lifetimes.front().second > 0) {
    const auto& [lifetime, ns] = profile.lifetimes.front();
    finding.say("Most is spent on {}: {} of the waiting.", lifetime_text(lifetime),
                percent(static_cast<std::uint64_t>(ns), static_cast<std::uint64_t>(profile.stall_ns)));
  }
  if (profile.loaded_pages != 0) {
    finding.say("{} of the {} pages that came to the GPU had been there before and were evicted: {}.",
                percent(profile.reloaded_pages, profile.loaded_pages), format_count(profile.loaded_pages),
                profile.reloaded_pages * 2 > profile.loaded_pages
                    ? "most come because memory is too small, not for first use"
                    : "most come for another reason than an eviction");
  }
  return finding;
}

std::string millionths(const nlohmann::ordered_json& value) {
  return value.is_number_unsigned() ? report::format_thousandths((value.get<std::uint64_t>() + 500) / 1000) : "-";
}

Finding league_finding(const nlohmann::ordered_json& league) {
  Finding finding{"League", {}};
  const auto first = [&](bool oracle) -> const nlohmann::ordered_json* {
    for (const auto& one : league.at("overall")) {
      if (!one.at("rank").is_null() && (one.value("oracle", nlohmann::ordered_json()) == true) == oracle) return &one;
    }
    return nullptr;
  };
  const std::string number = league.at("counted_contests").dump();
  const std::string contests = number + (number == "1" ? " contest" : " contests");
  if (const auto* best = first(false)) {
    const std::string name = best->at("name").get<std::string>();
    if (name == "driver") {
      finding.say(
          "Over {}, of the policies that do not know the future none is faster than the driver's own (geometric mean "
          "of the time).",
          contests);
    } else {
      finding.say(
          "Over {} the first of the policies that do not know the future is {}: {} of the time under the driver's own, "
          "as a geometric mean.",
          contests, name, millionths(best->at("over_driver_millionths")));
    }
  } else {
    finding.say("No policy finished all contests, so there is no overall ranking.");
  }
  if (const auto* oracle = first(true)) {
    finding.say("The first of those that know the future is {}: {}.", oracle->at("name").get<std::string>(),
                millionths(oracle->at("over_driver_millionths")));
  }
  finding.say("Runs: {} finished, {} failed, {} missing.", league.at("finished").dump(), league.at("failed").dump(),
              league.at("missing").dump());
  return finding;
}

}  // namespace

std::vector<Finding> findings_of(const Document& document) {
  std::vector<Finding> findings;
  for (const ProfileExcerpt& profile : document.profiles) findings.push_back(profile_finding(profile));
  if (document.league) findings.push_back(league_finding(*document.league));
  const auto panels = curves_of(document);
  for (std::size_t i = 0; i < std::min(panels.size(), kMostPanels); ++i) {
    findings.push_back(panel_finding(document, i, panels[i]));
  }
  if (panels.size() > kMostPanels) {
    findings.push_back({fmt::format("{} more programs and systems", panels.size() - kMostPanels),
                        {"The charts and tables show them."}});
  }
  if (!document.points.empty()) findings.push_back(conditions(document));
  return findings;
}

}  // namespace uvmsim::html
