// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/plan.h"

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/common/version.h"
#include "sim/formats/json.h"
#include "sim/sweep/model_version.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"
#include "sim/sweep/spec.h"

namespace uvmsim::sweep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;  // keeps the order of a sweep file's keys

constexpr const char* kHeaderFile = "sweep.json";
constexpr const char* kPointsFile = "points.jsonl";
constexpr std::int64_t kPlanningByte = (std::int64_t{1} << 60) + 1;  // of the lock file, after the plan's byte

std::string path_of(const std::string& folder, const char* name) { return (fs::path(folder) / name).string(); }

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw_input_error("cannot read {}", path);
  return text;
}

template <class Json>
Json parsed(const std::string& text, const std::string& where) {
  Json value = parse_or_discard<Json>(text);
  if (!value.is_object()) throw_input_error("{}: is no JSON object; plan the sweep again", where);
  return value;
}

template <class Json>
std::string text_at(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    throw_input_error("{}: /{}: is missing or no text; plan the sweep again", where, key);
  }
  return found->template get<std::string>();
}

// Returns whether this is a plan's header, of this version or another.
bool is_plan(const std::string& header) {
  const ordered_json object = parse_or_discard<ordered_json>(header);
  const std::string name(kSweepSchema);
  return object.is_object() && object.contains("schema") && object["schema"].is_string() &&
         object["schema"].get<std::string>().starts_with(name.substr(0, name.find('/') + 1));
}

PlannedPoint read_point(const std::string& line, const std::string& where) {
  const auto object = parsed<nlohmann::ordered_json>(line, where);
  PlannedPoint planned;
  planned.id = text_at(object, "id", where);
  const bool is_scenario = object.contains("scenario");
  if (!object.contains("determinants") || !(is_scenario || object.contains("point"))) {
    throw_input_error("{}: has no determinants or no point; plan the sweep again", where);
  }
  if (!object.contains("asked") || !object["asked"].is_boolean()) {
    throw_input_error("{}: /asked: is missing or neither true nor false; plan the sweep again", where);
  }
  planned.asked = object["asked"].get<bool>();
  planned.determinants = object["determinants"].dump();
  if (sha256(planned.determinants) != planned.id) {
    throw_input_error("{}: the id is not that of the determinants; plan the sweep again", where);
  }
  if (is_scenario) {
    planned.scenario = scenario::scenario_point_from_json(JsonValue(object, where).at("scenario"));
    planned.point = scenario::common_point(*planned.scenario);
  } else {
    planned.point = point_from_json(JsonValue(object, where).at("point"));
  }
  return planned;
}

}  // namespace

std::string label(const PlannedPoint& planned) {
  return planned.scenario ? scenario::label(*planned.scenario, planned.point) : label(planned.point);
}

Plan make_plan(const std::string& spec_path) { return make_plan(read_spec(spec_path), spec_path); }

Plan make_plan(const Spec& spec, const std::string& name) {
  Plan plan;
  plan.spec = spec.json;
  plan.uvmsim_version = version();
  plan.model_version = model_version();
  plan.policies_version = policies_version();
  Resolver resolver;
  std::unordered_set<std::string> known;
  const auto add = [&](PlannedPoint planned) {
    if (known.insert(planned.id).second) plan.points.push_back(std::move(planned));
  };
  const auto add_all = [&](const std::vector<Point>& points, bool asked) {
    for (const Point& point : points) {
      ResolvedPoint resolved = resolver.resolve(point);
      add({std::move(resolved.point), std::move(resolved.determinants), std::move(resolved.id), asked});
    }
  };
  try {
    add_all(spec.points, true);
    for (const scenario::ScenarioPoint& point : spec.scenarios) {
      scenario::ResolvedScenario resolved = scenario::resolve(point, resolver);
      add({scenario::common_point(resolved.point), std::move(resolved.determinants), std::move(resolved.id), true,
           std::move(resolved.point)});
    }
    for (const Point& baseline : spec.baselines) add_all({fitting_baseline(baseline, resolver)}, false);
  } catch (const InputError& error) {
    throw_input_error("{}: {}", name, error.what());
  }
  return plan;
}

PlanLock write_plan(const Plan& plan, const std::string& folder) {
  std::error_code error;
  const fs::path points = fs::path(folder) / "points";
  fs::create_directories(points, error);
  if (error) throw_input_error("cannot make the folder {}: {}", folder, error.message());
  // Held until the plan is written or found, so that another process that plans the same waits and then finds it.
  const LockFile planning(folder);
  planning.lock(kPlanningByte, F_WRLCK, true);
  PlanLock lock(folder);
  std::string lines;
  for (const PlannedPoint& planned : plan.points) {
    // Formatted without the JSON library, because the bytes of the determinants are hashed as they are.
    lines += std::string(R"({"asked":)") + (planned.asked ? "true" : "false") + R"(,"determinants":)" +
             planned.determinants + R"(,"id":")" + planned.id +
             (planned.scenario ? R"(","scenario":)" : R"(","point":)") +
             (planned.scenario ? scenario::to_json(*planned.scenario).dump()
                               : to_json(planned.point).dump(-1, ' ', false, json::error_handler_t::replace)) +
             "}\n";
  }
  const ordered_json header = {{"schema", kSweepSchema},
                               {"uvmsim_version", plan.uvmsim_version},
                               {"model_version", plan.model_version},
                               {"policies_version", plan.policies_version},
                               {"points", plan.points.size()},
                               {"points_sha256", sha256(lines)},
                               {"spec", ordered_json::parse(plan.spec)}};
  std::error_code ignored;
  const auto header_path = path_of(folder, kHeaderFile), points_path = path_of(folder, kPointsFile);
  const bool there = fs::exists(header_path, ignored);
  const std::string old_header = there ? read_text(header_path) : "";
  const bool same = there && old_header == header.dump() + "\n";
  if (there && !is_plan(old_header)) {
    throw_input_error("{}: is there and no plan of a sweep, which would take its place; choose another folder",
                      header_path);
  }
  if (same && fs::exists(points_path, ignored) && read_text(points_path) == lines) return lock;
  lock.have_alone();
  AtomicFile points_file(points_path, kInFolder), header_file(header_path, kInFolder);
  if (!same) {
    for (const char* name : kWholeResults) fs::remove(path_of(folder, name), ignored);
    for (const char* name : kPartialResults) fs::remove(path_of(folder, name), ignored);
  }
  // The header is written last: until then the two files do not match, and half a plan is not mistaken for one.
  points_file.write(lines);
  points_file.commit();
  header_file.write(header.dump() + "\n");
  header_file.commit();
  lock.share();
  return lock;
}

Plan read_plan(const std::string& folder) {
  const std::string header_path = path_of(folder, kHeaderFile), points_path = path_of(folder, kPointsFile);
  std::error_code ignored;
  if (!fs::is_regular_file(header_path, ignored)) {
    throw_input_error("{}: holds no sweep ({} is missing); `uvmsim sweep plan SPEC -o {}` makes one", folder,
                      kHeaderFile, folder);
  }
  const ordered_json header = parsed<ordered_json>(read_text(header_path), header_path);
  if (text_at(header, "schema", header_path) != kSweepSchema) {
    throw_input_error("{}: /schema: is not {}; plan the sweep again", header_path, kSweepSchema);
  }
  Plan plan;
  plan.uvmsim_version = text_at(header, "uvmsim_version", header_path);
  plan.model_version = text_at(header, "model_version", header_path);
  plan.policies_version = text_at(header, "policies_version", header_path);
  plan.spec = header.value("spec", ordered_json()).dump();
  const std::string lines = read_text(points_path);
  if (sha256(lines) != text_at(header, "points_sha256", header_path)) {
    throw_input_error("{}: is not the one that {} was written with; plan the sweep again", points_path, kHeaderFile);
  }
  std::istringstream stream(lines);
  std::set<std::string> known;
  for (std::string line; std::getline(stream, line);) {
    const std::string where = points_path + ": line " + std::to_string(plan.points.size() + 1);
    plan.points.push_back(read_point(line, where));
    if (!known.insert(plan.points.back().id).second) throw_input_error("{}: the point is there twice", where);
    if (plan.points.back().scenario.has_value() != plan.points.front().scenario.has_value()) {
      throw_input_error("{}: a scenario beside a program alone; plan the sweep again", where);
    }
  }
  return plan;
}

void refuse_scenarios(const Plan& plan, const std::string& folder) {
  if (plan.points.empty() || !plan.points.front().scenario) return;
  throw_input_error("{}: is a sweep of scenarios; allowed: one of programs alone", folder);
}

void check_versions(const Plan& plan, const std::string& folder) {
  const bool same_policies = plan.policies_version == policies_version();
  if (plan.model_version == model_version() && plan.uvmsim_version == version() && same_policies) return;
  if (plan.model_version == model_version() && plan.uvmsim_version == version()) {
    throw_input_error("{}: was planned when a built-in policy was another one; plan the sweep again", folder);
  }
  throw_input_error("{}: was planned by uvmsim {} with model {}, this is uvmsim {} with model {}; plan the sweep again",
                    folder, plan.uvmsim_version, plan.model_version.substr(0, 12), version(),
                    std::string_view(model_version()).substr(0, 12));
}

}  // namespace uvmsim::sweep
