// SPDX-License-Identifier: Apache-2.0
#include "sim/html/document.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/common/sha256.h"
#include "sim/compare/read_runs.h"
#include "sim/formats/json.h"
#include "sim/formats/sqlite_reader.h"
#include "sim/league/league.h"
#include "sim/sweep/plan.h"

namespace uvmsim::html {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostProfiles = 3, kMostPoints = 5000;
constexpr const char* kLeagueFile = "league.json";
constexpr const char* kAllowed =
    "results of `uvmsim run --json`, a profile of `uvmsim run --profile`, the folder of a sweep or a league";

std::string last_name(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::string content_of(const std::string& path) {
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw_input_error("cannot read {}", path);
  return content.str();
}

class DocumentReader {
 public:
  explicit DocumentReader(bool allow_partial) : allow_partial_(allow_partial) {}

  void add(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return add_folder(path);
    if (!fs::is_regular_file(path, ignored)) {
      throw_input_error("cannot read {}: not a file or folder; allowed: {}", path, kAllowed);
    }
    if (is_database(path)) {
      return html::is_profile(path) ? add_profile(path) : add_sweep(path, last_name(path), allow_partial_);
    }
    if (is_league(path)) return add_league(path, last_name(path));
    add_results(path);
  }

  Document finish() {
    document_.series = series_of(document_.points);
    return std::move(document_);
  }

 private:
  // Refuses repeated inputs, whose points would count as two seeds.
  void note(const char* kind, const std::string& name, const std::string& path) {
    const std::string hash = sha256_of_file(path);
    for (const DocumentInput& other : document_.inputs) {
      if (other.sha256 == hash) {
        throw_input_error("{}: holds the same as {}; allowed: every input once", path, other.name);
      }
    }
    document_.inputs.push_back({kind, name, last_name(path), hash, "", ""});
  }

  // Lines of JSON have objects with another schema.
  static bool is_league(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string start(200, '\0');
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(file.gcount()));
    return start.find("\"uvmsim.league/") != std::string::npos;
  }

  void add_folder(const std::string& folder) {
    const auto inside = [&](const char* name) { return (fs::path(folder) / name).string(); };
    std::error_code ignored;
    const bool league = fs::is_regular_file(inside(kLeagueFile), ignored);
    if (league) add_league(inside(kLeagueFile), last_name(folder));
    for (const char* name : {sweep::kWholeResults[0], sweep::kPartialResults[0]}) {
      const bool partial = name == sweep::kPartialResults[0];
      if (!fs::is_regular_file(inside(name), ignored) || (partial && !allow_partial_ && !league)) continue;
      return add_sweep(inside(name), last_name(folder), allow_partial_ || league);
    }
    if (league) return;
    throw_input_error(
        "{}: holds neither {} nor {}: no league, and no finished sweep; `uvmsim sweep status` says what is missing, "
        "`uvmsim sweep collect --partial` collects what there is and --partial here takes it",
        folder, kLeagueFile, sweep::kWholeResults[0]);
  }

  void add_points(const std::string& path) {
    const std::size_t source = document_.inputs.size() - 1;
    const auto missing = compare::read_results(path, [&](const Json& result, const std::string& where) {
      if (document_.points.size() == kMostPoints) {
        throw_input_error("{}: more than {} points; allowed: up to so many on one page", path, kMostPoints);
      }
      document_.points.push_back(point_of_result(result, where));
      document_.points.back().source = source;
    });
    document_.missing.insert(document_.missing.end(), missing.begin(), missing.end());
  }

  void add_results(const std::string& path) {
    note("results", last_name(path), path);
    add_points(path);
  }

  void add_sweep(const std::string& path, const std::string& name, bool allow_partial) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    note("sweep", name, path);
    DocumentInput& input = document_.inputs.back();
    {
      const SqliteReader database(path);
      if (!database.has_table("sweep")) {
        throw_input_error("{}: neither a sweep's database nor a profile; allowed: {}", path, kAllowed);
      }
      database.each("sweep", {"planned", "finished", "failed", "complete", "spec"}, 4,
                    [&](const SqliteReader::Row& row) {
                      if (row.required(3, 0, 1) == 0) {
                        input.incomplete = fmt::format("finished {} of {} points, {} failed", row.required(1, 0, kMost),
                                                       row.required(0, 0, kMost), row.required(2, 0, kMost));
                      }
                      input.spec = row.text(4);
                    });
    }
    if (!input.incomplete.empty() && !allow_partial) {
      throw_input_error(
          "{}: a partial sweep: {}; finish it with `uvmsim sweep`, or pass --partial to show what there is", path,
          input.incomplete);
    }
    add_points(path);
  }

  void add_profile(const std::string& path) {
    if (document_.profiles.size() == kMostProfiles) {
      throw_input_error("{}: one profile too many; allowed: up to {} on one page", path, kMostProfiles);
    }
    note("profile", last_name(path), path);
    document_.profiles.push_back(read_profile(path));
  }

  void add_league(const std::string& path, const std::string& name) {
    if (document_.league) throw_input_error("{}: a second league; allowed: one on a page", path);
    Json league = parse_json(content_of(path), path);
    check_league(league, path);
    note("league", name, path);
    document_.league = std::move(league);
  }

  // Checks the texts, numbers and lists that the page reads; numbers may be null.
  static void check_league(const Json& league, const std::string& path) {
    const auto wrong = [&](const std::string& what) {
      throw_input_error("{}: not the {} of `uvmsim league`: {}", path, kLeagueFile, what);
    };
    if (!league.is_object() || league.value("schema", Json()) != league::kLeagueSchema) {
      wrong(fmt::format("schema is not {}", league::kLeagueSchema));
    }
    const auto check = [&](const Json& object, std::initializer_list<const char*> texts,
                           std::initializer_list<const char*> numbers, const char* list) {
      if (!object.is_object()) wrong("an entry is no object");
      for (const char* key : texts) {
        if (!object.contains(key) || !object.at(key).is_string()) wrong(fmt::format("'{}' is no text", key));
      }
      for (const char* key : numbers) {
        if (!object.contains(key) || !(object.at(key).is_number() || object.at(key).is_null())) {
          wrong(fmt::format("'{}' is no number", key));
        }
      }
      if (list != nullptr && (!object.contains(list) || !object.at(list).is_array())) {
        wrong(fmt::format("'{}' is no list", list));
      }
    };
    check(league, {"rule", "uvmsim_version", "model_version"},
          {"finished", "failed", "missing", "counted_contests", "best_oracles_over_driver_millionths"}, "overall");
    for (const Json& one : league.at("overall")) {
      check(one, {"name"},
            {"rank", "contests", "first", "unsettled", "learning_iterations", "over_driver_millionths",
             "over_bound_millionths", "best_over_driver_thousandths", "worst_over_driver_thousandths"},
            nullptr);
    }
    check(league, {}, {}, "contests");
    for (const Json& contest : league.at("contests")) {
      check(contest, {"label"}, {"capacity_bytes", "footprint_bytes", "driver_ns", "bound_ns"}, "standings");
      for (const Json& one : contest.at("standings")) {
        check(one, {"name", "status"}, {"rank"}, nullptr);
        if (one.at("status") != "finished") continue;
        check(one, {},
              {"time_ns", "total_ns", "over_driver_thousandths", "over_bound_thousandths", "compute_ns",
               "necessary_bytes_ns", "excess_bytes_ns", "fault_latency_ns", "serialisation_ns"},
              nullptr);
      }
    }
  }

  bool allow_partial_;
  Document document_;
};

}  // namespace

Document read_document(const std::vector<std::string>& paths, bool allow_partial) {
  DocumentReader reader(allow_partial);
  for (const std::string& path : paths) reader.add(path);
  return reader.finish();
}

}  // namespace uvmsim::html
