// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/read_database.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "sim/formats/sqlite_reader.h"

namespace uvmsim::compare {
namespace {

using Json = nlohmann::ordered_json;
using Row = SqliteReader::Row;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Json parsed(const std::string& text, const std::string& where) {
  Json value = parse_or_discard<Json>(text);
  if (value.is_discarded()) throw_input_error("{}: is not JSON", where);
  return value;
}

// Each point has its result as `uvmsim run --json` writes it, but for the system, which has a table of its own.
class DatabaseReader {
 public:
  DatabaseReader(const std::string& path, const ResultVisitor& visit) : path_(path), visit_(visit), database_(path) {}

  std::vector<std::string> read() {
    if (!database_.has_table("sweep") || !database_.has_table("points")) {
      throw_input_error("{}: is not the database of a sweep: table 'sweep' or 'points' is missing", path_);
    }
    read_sweep();
    read_systems();
    read_points();
    read_failures();
    if (!any_) throw_input_error("{}: no point of this sweep has a result", path_);
    return std::move(missing_);
  }

 private:
  void read_sweep() {
    database_.each("sweep", {"planned", "finished", "failed"}, 3, [&](const Row& row) {
      const std::int64_t planned = row.required(0, 0, kMost), finished = row.required(1, 0, kMost),
                         failed = row.required(2, 0, kMost);
      if (finished <= planned && failed < planned - finished) not_run_ = planned - finished - failed;
    });
  }

  void read_systems() {
    database_.each("systems", {"sha256", "json"}, 2,
                   [&](const Row& row) { systems_[row.text(0)] = parsed(row.text(1), path_ + ": table 'systems'"); });
  }

  void read_points() {
    if (database_.has_table("scenarios")) {
      throw_input_error("{}: is of a sweep of scenarios; allowed: one of programs alone", path_);
    }
    if (!database_.has_column("points", "result")) {
      throw_input_error("{}: table points has no column result: an earlier version wrote it; collect the sweep again",
                        path_);
    }
    database_.each("points", {"id", "asked", "system_sha256", "result", "slowdown_thousandths"}, 4,
                   [&](const Row& row) {
                     if (row.required(1, 0, 1) == 0) return;
                     const std::string where = fmt::format("{}: point {}", path_, row.text(0).substr(0, 12));
                     const auto system = systems_.find(row.text(2));
                     if (system == systems_.end()) throw_input_error("{}: its system is not in table 'systems'", where);
                     Json result = parsed(row.whole_text(3), where);
                     if (!result.is_object()) throw_input_error("{}: its result is no object", where);
                     result["system"] = system->second;
                     // Found with the point that it is compared with.
                     if (row.has(4)) result["unlimited"] = {{"slowdown_thousandths", row.required(4, 0, kMost)}};
                     visit_(result, where);
                     any_ = true;
                   });
  }

  void read_failures() {
    database_.each("failures", {"label", "error"}, 2, [&](const Row& row) {
      missing_.push_back(fmt::format("{}: failed: {}", row.text(0), row.text(1)));
    });
    if (not_run_ != 0) missing_.push_back(fmt::format("{} points: not run", not_run_));
  }

  const std::string& path_;
  const ResultVisitor& visit_;
  SqliteReader database_;
  bool any_ = false;
  std::vector<std::string> missing_;
  std::int64_t not_run_ = 0;
  std::map<std::string, Json> systems_;  // by hash
};

}  // namespace

bool is_database(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string begin(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kMagic;
}

std::vector<std::string> read_database(const std::string& path, const ResultVisitor& visit) {
  return DatabaseReader(path, visit).read();
}

}  // namespace uvmsim::compare
