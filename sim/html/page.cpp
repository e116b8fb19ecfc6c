// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/sha256.h"
#include "sim/common/version.h"
#include "sim/formats/fields.h"
#include "sim/html/assets.h"
#include "sim/html/document.h"
#include "sim/html/escape.h"
#include "sim/html/findings.h"

namespace uvmsim::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostMissing = 50;

// Returns the base64 of a script's SHA-256, by which a content security policy names it.
std::string script_hash(std::string_view script) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256(script);
  const auto nibble = [&](std::size_t i) -> unsigned {
    if (i >= hex.size()) return 0;
    return static_cast<unsigned>(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
  };
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 3) {  // 12 bits are two digits
    const unsigned bits = nibble(i) << 8 | nibble(i + 1) << 4 | nibble(i + 2);
    out += kDigits[bits >> 6];
    if (i + 1 < hex.size()) out += kDigits[bits & 63];
  }
  while (out.size() % 4 != 0) out += '=';
  return "'sha256-" + out + "'";
}

std::string script(std::string_view text) { return fmt::format("<script>{}</script>\n", text); }

// A column of the table of points. The page's script uses these names.
struct PointColumn {
  const char* name;
  std::function<Json(const ReportPoint& point, const PlacedPoint& place)> value;
};

template <class Value>
PointColumn column(const char* name, Value ReportPoint::*member) {
  return {name, [member](const ReportPoint& point, const PlacedPoint&) { return Json(point.*member); }};
}
PointColumn column(const char* name, std::uint64_t PointDistance::*member) {
  return {name, [member](const ReportPoint& point, const PlacedPoint&) {
            return point.distance ? Json((*point.distance).*member) : Json(nullptr);
          }};
}

std::vector<PointColumn> point_columns() {
  using Point = ReportPoint;
  return {
      {"panel", [](const Point&, const PlacedPoint& place) { return place.panel; }},
      {"series", [](const Point&, const PlacedPoint& place) { return place.series; }},
      column("osf", &Point::osf_thousandths),
      {"limited", [](const Point& point, const PlacedPoint&) { return point.limit != Point::Limit::kNone; }},
      column("seed", &Point::seed),
      column("time_ns", &Point::time_ns),
      {"slowdown",
       [](const Point& point, const PlacedPoint&) {
         return point.slowdown_thousandths ? Json(*point.slowdown_thousandths) : Json(nullptr);
       }},
      column("htod_bytes", &Point::htod_bytes),
      column("dtoh_bytes", &Point::dtoh_bytes),
      column("capacity", &Point::capacity_bytes),
      column("footprint", &Point::footprint_bytes),
      column("fault_batches", &Point::fault_batches),
      column("evictions", &Point::evictions),
      column("reloaded", &Point::reloaded_pages),
      // Iterations: whether they have settled; null if unknown. A whole run: "run".
      {"settled",
       [](const Point& point, const PlacedPoint&) {
         return !point.of_iterations ? Json("run") : point.is_settled ? Json(*point.is_settled) : Json(nullptr);
       }},
      column("learning", &Point::learning),
      column("first_iteration", &Point::first_iteration),
      column("last_iteration", &Point::last_iteration),
      column("shortest_ns", &Point::shortest_ns),
      column("longest_ns", &Point::longest_ns),
      column("kernel_ns", &Point::kernel_ns),
      column("kernel_compute_ns", &Point::kernel_compute_ns),
      column("total_ns", &Point::total_ns),
      column("bound_ns", &PointDistance::bound_ns),
      column("compute_ns", &PointDistance::compute_ns),
      column("necessary_bytes_ns", &PointDistance::necessary_bytes_ns),
      column("excess_bytes_ns", &PointDistance::excess_bytes_ns),
      column("fault_latency_ns", &PointDistance::fault_latency_ns),
      column("serialisation_ns", &PointDistance::serialisation_ns),
      column("command", &Point::command),
      column("policies", &Point::policies),
      column("layout", &Point::layout),
      column("hypothetical", &Point::hypothetical),
  };
}

Json points_json(const Document& document) {
  const std::vector<PointColumn> columns = point_columns();
  Json out = {{"columns", Json::array()},
              {"panels", document.series.panels},
              {"series", Json::array()},
              {"rows", Json::array()}};
  for (const PointColumn& one : columns) out["columns"].push_back(one.name);
  for (const Series& series : document.series.series) out["series"].push_back(series.label);
  for (std::size_t i = 0; i < document.points.size(); ++i) {
    Json row = Json::array();
    for (const PointColumn& one : columns) row.push_back(one.value(document.points[i], document.series.places[i]));
    out["rows"].push_back(std::move(row));
  }
  return out;
}

std::string title_of(const Document& document) {
  std::set<std::string> seen;
  std::string programs;
  const auto add = [&](const std::string& program) {
    if (!seen.insert(program).second || seen.size() > 4) return;
    programs += (programs.empty() ? "" : ", ") + program;
  };
  for (const ReportPoint& point : document.points) add(point.program);
  for (const ProfileExcerpt& profile : document.profiles) add(profile.run.program);
  if (seen.size() > 4) programs += fmt::format(" and {} more", seen.size() - 4);
  return programs.empty() ? "League" : programs;
}

std::string subtitle_of(const Document& document) {
  std::set<std::string> systems;
  for (const ReportPoint& point : document.points) systems.insert(point.system);
  for (const ProfileExcerpt& profile : document.profiles) systems.insert(profile.run.system);
  std::string text = "GPU unified memory, simulated";
  if (systems.size() == 1) text += " on " + *systems.begin();
  if (systems.size() > 1) text += fmt::format(" on {} systems", systems.size());
  if (!document.points.empty()) text += fmt::format("; {} points", document.points.size());
  return text;
}

std::string summary_html(const Document& document) {
  std::string out;
  for (const Finding& finding : findings_of(document)) {
    out += fmt::format("<section class=\"finding\"><h3>{}</h3>\n", escaped(finding.heading));
    for (const std::string& sentence : finding.sentences) out += fmt::format("<p>{}</p>\n", escaped(sentence));
    out += "</section>\n";
  }
  return out;
}

// Incomplete inputs are reported above everything else.
std::string warnings_html(const Document& document) {
  std::string out;
  for (const DocumentInput& input : document.inputs) {
    if (input.incomplete.empty()) continue;
    out += fmt::format("<p class=\"warning\" role=\"note\"><strong>Not whole:</strong> {} {}: {}.</p>\n", input.kind,
                       escaped(input.name), escaped(input.incomplete));
  }
  if (document.missing.empty()) return out;
  out += fmt::format("<details class=\"warning\"><summary>Points without a result: {}</summary><ul>\n",
                     document.missing.size());
  for (std::size_t i = 0; i < std::min(document.missing.size(), kMostMissing); ++i) {
    out += fmt::format("<li>{}</li>\n", escaped(document.missing[i]));
  }
  if (document.missing.size() > kMostMissing) {
    out += fmt::format("<li>and {} more</li>\n", document.missing.size() - kMostMissing);
  }
  return out + "</ul></details>\n";
}

void add_row(std::string& out, const std::string& name, const std::string& value, bool code = true) {
  if (value.empty()) return;
  const char* tag = code ? "code" : "span";
  out +=
      fmt::format("<tr><th scope=\"row\">{}</th><td><{}>{}</{}></td></tr>\n", escaped(name), tag, escaped(value), tag);
}

// Lists versions and hashes of the runs, each once.
std::string provenance_html(const Document& document, const std::string& command) {
  std::string out = "<div class=\"table-scroll\"><table class=\"provenance\">\n<tbody>\n";
  add_row(out, "This page", command);
  add_row(out, "made by", fmt::format("uvmsim {}, commit {}", version(), commit()), false);
  for (const DocumentInput& input : document.inputs) {
    add_row(out, fmt::format("{} {}", input.kind, input.name), fmt::format("{}, SHA-256 {}", input.file, input.sha256));
  }
  std::vector<std::pair<std::string, std::string>> facts;
  std::set<std::pair<std::string, std::string>> seen;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty() && seen.emplace(name, value).second) facts.emplace_back(name, value);
  };
  const auto add_run = [&](const ReportPoint& point) {
    if (const std::string* hash = compare::find_named(point.view.identity, "trace")) {
      add("trace " + point.view.trace_name, "SHA-256 " + *hash);
    }
    for (const auto& [name, value] : point.view.provenance) add("runs: " + name, value);
  };
  for (const ReportPoint& point : document.points) add_run(point);
  for (const ProfileExcerpt& profile : document.profiles) {
    add_run(profile.run);
    add("profile: its run", profile.run.command);
  }
  for (const auto& [name, value] : facts) add_row(out, name, value);
  out += "</tbody></table></div>\n";
  for (const DocumentInput& input : document.inputs) {
    if (input.spec.empty()) continue;
    out += fmt::format(
        "<details><summary>To run {} {} again</summary><p>Save this as <code>again.json</code>, then "
        "<code>uvmsim sweep again.json -o again</code>; each point's own command stands in the table of "
        "points.</p>\n<pre "
        "tabindex=\"0\">{}</pre></details>\n",
        input.kind, escaped(input.name), escaped(input.spec));
  }
  return out;
}

}  // namespace

std::string page_of(const Document& document, const std::string& command) {
  Json data;
  data["points"] = document.points.empty() ? Json(nullptr) : points_json(document);
  data["league"] = document.league ? *document.league : Json(nullptr);
  std::string json = embedded(data);
  // The profiles' parts are JSON already.
  json.pop_back();
  json += ",\"profiles\":[";
  for (std::size_t i = 0; i < document.profiles.size(); ++i) json += (i == 0 ? "" : ",") + document.profiles[i].json;
  json += "]}";

  const std::string title = escaped(title_of(document));
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {} {} {}; style-src "
      "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
      script_hash(d3_js()), script_hash(plot_js()), script_hash(page_js()));
  out +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n";
  out += fmt::format("<meta name=\"generator\" content=\"uvmsim {}\">\n<title>{}: uvmsim report</title>\n", version(),
                     title);
  out += fmt::format("<style>{}</style>\n</head>\n<body>\n", page_css());
  out += "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n";
  out += fmt::format(
      "<header><h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n<nav aria-label=\"Sections\" "
      "id=\"sections\"></nav></header>\n",
      title, escaped(subtitle_of(document)));
  out += "<main id=\"content\" tabindex=\"-1\">\n" + warnings_html(document);
  out += "<section id=\"summary\"><h2>Summary</h2>\n<div class=\"findings\">\n" + summary_html(document) +
         "</div></section>\n";
  out +=
      "<noscript><p class=\"warning\">Charts and tables need JavaScript, which this browser does not run. The summary "
      "above and the provenance below do not.</p></noscript>\n";
  out += "<div id=\"charts\"></div>\n";
  out +=
      "<section id=\"provenance\"><h2>Where it comes from</h2>\n" + provenance_html(document, command) + "</section>\n";
  out += fmt::format(
      "<section id=\"licences\" class=\"no-print\"><h2>Licences</h2>\n<details><summary>Code of others in this "
      "page</summary>\n<pre tabindex=\"0\">{}</pre></details></section>\n",
      in_markup(licences_text()));
  out += "</main>\n<div id=\"live\" class=\"visually-hidden\" aria-live=\"polite\"></div>\n";
  out += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", json);
  out += script(d3_js()) + script(plot_js()) + script(page_js());
  return out + "</body>\n</html>\n";
}

}  // namespace uvmsim::html
