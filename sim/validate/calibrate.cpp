// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/config/load_system.h"
#include "sim/config/schema.h"
#include "sim/formats/did_you_mean.h"
#include "sim/trace/names.h"
#include "sim/validate/calibration_loss.h"

namespace uvmsim::validate {

namespace {

constexpr std::string_view kFirstFault = "costs.first_fault_ns";
constexpr std::uint64_t kFactor = 10;     // around the old value
constexpr std::uint64_t kZeroTo = 20000;  // range of a parameter that was 0, if its own range allows
constexpr double kCostOfMoving = 0.001;   // penalty per |ln(new / old)|, as a part of the loss
constexpr double kSmallValue = 50;        // added on both sides of that ratio
constexpr double kLeastGain = 1e-7;
constexpr int kMostStepsOneWay = 8;
// Relative changes of a value, round by round.
constexpr std::array<double, 7> kSteps = {0.4, 0.4, 0.2, 0.2, 0.1, 0.05, 0.025};
constexpr std::array<double, 3> kJointSteps = {0.2, 0.08, 0.03};
constexpr double kProbe = 0.1;

constexpr std::array<std::string_view, 5> kGroups = {"costs.", "runtime.", "gmmu.", "host.", "host_links."};
// The properties in which machines with the same GPU differ, one by one: how the host sleeps and wakes, the cost of the
// first fault, the link. The host's speed is one factor for all costs of the driver.
constexpr std::array<std::string_view, 6> kDefaults = {"costs.wakeup_ns",
                                                       "costs.late_interrupt_ns",
                                                       kFirstFault,
                                                       "host_links.0.host_to_device.latency_ns",
                                                       "host_links.0.host_to_device.run_ns",
                                                       "host_links.0.host_to_device.bytes_per_us"};
constexpr std::string_view kDriver = "costs.";
// These costs depend on how long the thread sleeps or waits, not on the host's speed.
constexpr std::array<std::string_view, 2> kNotScaled = {"costs.late_interrupt_ns", "costs.first_fault_ns"};

struct Search {
  FittedParameter parameter;
  std::uint64_t anchor = 0, least = 0, most = 0;
  bool scaled = false;  // scaled together with all other costs of the driver
};

config::Parameter parameter_of(config::SystemConfig& system, std::string_view key) {
  for (config::Parameter& parameter : config::parameters(system)) {
    if (parameter.key == key) return parameter;
  }
  throw_input_error("unknown parameter '{}'", printable(key));
}

std::uint64_t integer_of(config::SystemConfig& system, std::string_view key) {
  return std::get<std::uint64_t>(config::value_of(parameter_of(system, key)));
}

// Returns all costs of the driver, then the rest.
std::vector<std::string> by_default(const std::vector<std::string>& keys) {
  std::vector<std::string> chosen;
  const auto of_driver = [](const std::string& key) { return key.starts_with(kDriver); };
  std::ranges::copy_if(keys, std::back_inserter(chosen), of_driver);
  std::ranges::remove_copy_if(calibration_parameters(), std::back_inserter(chosen), of_driver);
  return chosen;
}

std::vector<Search> searches_of(config::SystemConfig base, const std::vector<std::string>& wanted) {
  const std::vector<config::Parameter> known = config::parameters(base);
  std::vector<std::string> keys;
  for (const config::Parameter& parameter : known) {
    const auto holds_it = [&](std::string_view group) { return parameter.key.starts_with(group); };
    if (std::ranges::any_of(kGroups, holds_it) && parameter.is_integer()) keys.push_back(parameter.key);
  }
  const std::vector<std::string> alone = calibration_parameters();
  std::vector<Search> searches;
  std::set<std::string> seen;
  for (const std::string& key : wanted.empty() ? by_default(keys) : wanted) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw_input_error("'{}' cannot be fitted{}; allowed: integers of costs, runtime, gmmu, host and host_links",
                        printable(key), did_you_mean(key, keys));
    }
    if (!seen.insert(key).second) throw_input_error("parameter '{}' is named twice", key);
    const config::Parameter parameter = parameter_of(base, key);
    const std::uint64_t before = integer_of(base, key);
    Search& search = searches.emplace_back();
    search.parameter.key = key;
    search.parameter.before = search.anchor = before;
    search.parameter.alone = !wanted.empty() || std::find(alone.begin(), alone.end(), key) != alone.end();
    search.least = std::max(parameter.minimum, before / kFactor);
    search.most = std::min(parameter.maximum, before == 0 ? kZeroTo : before * kFactor);
    search.scaled = key.starts_with(kDriver) && std::ranges::find(kNotScaled, key) == kNotScaled.end();
  }
  return searches;
}

class Descent {
 public:
  Descent(const CalibrationLoss& loss, const config::SystemConfig& base, std::vector<Search> searches,
          const CalibrationOptions& options)
      : loss_(loss), system_(base), searches_(std::move(searches)), options_(options) {
    for (const Search& search : searches_) values_.push_back(search.parameter.before);
  }

  // Fits the system and records how.
  void run(Calibration& result) {
    read_off_first_fault();
    best_ = total(values_);
    step_ = "all driver costs together";
    for (const double share : kJointSteps) scale_all(share);
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      const double share = kSteps[std::min<std::size_t>(round, kSteps.size() - 1)];
      step_ = fmt::format("round {} of {}, steps of {:g} %", round + 1, options_.rounds, 100 * share);
      const double before = best_;
      for (std::size_t i = 0; i < searches_.size(); ++i) improve(i, share);
      scale_all(share);
      if (before - best_ < kLeastGain && round + 1 >= kSteps.size()) break;
    }
    read_off_first_fault();
    probe();
    result.system = apply(values_);
    result.error_after = 100 * loss_at(values_);
    result.evaluations = evaluations_;
    result.driver_factor = driver_factor_;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      searches_[i].parameter.after = values_[i];
      result.parameters.push_back(std::move(searches_[i].parameter));
    }
  }

 private:
  double loss_at(const std::vector<std::uint64_t>& values) {
    const auto found = known_.find(values);
    if (found != known_.end()) return found->second;
    if (options_.progress) options_.progress(step_, evaluations_);
    ++evaluations_;
    return known_[values] = loss_(apply(values));
  }

  const config::SystemConfig& apply(const std::vector<std::uint64_t>& values) {
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      config::store(parameter_of(system_, searches_[i].parameter.key), values[i]);
    }
    return system_;
  }

  double total(const std::vector<std::uint64_t>& values) {
    double moved = 0;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      moved += std::abs(std::log((static_cast<double>(values[i]) + kSmallValue) /
                                 (static_cast<double>(searches_[i].anchor) + kSmallValue)));
    }
    return loss_at(values) + kCostOfMoving * moved;
  }

  void read_off_first_fault() {
    step_ = "start-up of the first fault";
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (searches_[i].parameter.key != kFirstFault) continue;
      const std::uint64_t read = loss_.first_fault_ns(apply(values_), values_[i]);
      values_[i] = std::clamp(read, searches_[i].least, searches_[i].most);
      searches_[i].anchor = values_[i];
    }
  }

  // Returns the values with one of them larger or smaller by the share, by 1 at least.
  std::vector<std::uint64_t> changed(std::size_t i, double share, bool up) const {
    std::vector<std::uint64_t> candidate = values_;
    std::uint64_t& value = candidate[i];
    value = clamped(i, static_cast<double>(value) * (up ? 1 + share : 1 / (1 + share)));
    if (value != values_[i]) return candidate;
    value = std::clamp(up ? value + 1 : value - (value > 0 ? 1 : 0), searches_[i].least, searches_[i].most);
    return candidate;
  }

  std::uint64_t clamped(std::size_t i, double value) const {
    return std::clamp(static_cast<std::uint64_t>(std::llround(value)), searches_[i].least, searches_[i].most);
  }

  // Scaling has no penalty: the anchors are scaled too.
  void scale_all(double share) {
    const std::vector<std::uint64_t> from = values_;
    double scaled = 1;
    for (const bool up : {true, false}) {
      double factor = 1;
      for (int step = 0; step < kMostStepsOneWay; ++step) {
        factor *= up ? 1 + share : 1 / (1 + share);
        std::vector<std::uint64_t> candidate = values_;
        for (std::size_t i = 0; i < searches_.size(); ++i) {
          if (searches_[i].scaled) candidate[i] = clamped(i, static_cast<double>(from[i]) * factor);
        }
        if (candidate == values_ || loss_at(candidate) >= loss_at(values_) - kLeastGain) break;
        values_ = candidate;
        scaled = factor;
      }
      if (values_ != from) break;
    }
    driver_factor_ *= scaled;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (searches_[i].scaled) searches_[i].anchor = values_[i];
    }
    best_ = total(values_);
  }

  // Moves in the direction that lowers the loss, as long as it does.
  void improve(std::size_t i, double share) {
    if (!searches_[i].parameter.alone || searches_[i].parameter.key == kFirstFault) return;
    const std::uint64_t from = values_[i];
    for (const bool up : {true, false}) {
      for (int step = 0; step < kMostStepsOneWay; ++step) {
        const std::vector<std::uint64_t> candidate = changed(i, share, up);
        if (candidate == values_) break;
        const double there = total(candidate);
        if (there >= best_ - kLeastGain) break;
        best_ = there;
        values_ = candidate;
      }
      if (values_[i] != from) return;
    }
  }

  void probe() {
    step_ = "sensitivity";
    const double here = loss_at(values_);
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (!searches_[i].parameter.alone) continue;
      double sum = 0;
      for (const bool up : {true, false}) sum += std::abs(loss_at(changed(i, kProbe, up)) - here);
      searches_[i].parameter.sensitivity = 100 * sum / 2;
    }
  }

  const CalibrationLoss& loss_;
  config::SystemConfig system_;
  std::vector<Search> searches_;
  const CalibrationOptions& options_;
  std::vector<std::uint64_t> values_;
  std::map<std::vector<std::uint64_t>, double> known_;
  double best_ = 0;
  double driver_factor_ = 1;
  std::uint64_t evaluations_ = 0;
  std::string step_;
};

// Maps "seq_s16_r_host_rep2" to "seq_s16_r_host".
std::string_view without_repeat(std::string_view name) {
  const auto at = name.rfind("_rep");
  if (at == std::string_view::npos || at + 4 == name.size()) return name;
  const std::string_view digits = name.substr(at + 4);
  return digits.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, at) : name;
}

// Splits the experiments into those to fit and those held out, which are every holdout-th of the names.
void split(const std::vector<ExperimentFile>& files, const CalibrationOptions& options,
           std::vector<ExperimentFile>& fitted, std::vector<ExperimentFile>& kept) {
  std::map<std::string, std::size_t, std::less<>> numbers;
  for (const ExperimentFile& file : files) {
    fitted.push_back({file.path, {}, file.warnings});
    kept.push_back({file.path, {}, {}});
    for (const Experiment& experiment : file.experiments) {
      if (!matches(options.only, experiment.name)) continue;
      const std::size_t number =
          numbers.emplace(std::string(without_repeat(experiment.name)), numbers.size()).first->second;
      const bool keep = options.holdout != 0 && number % options.holdout == options.holdout - 1;
      (keep ? kept : fitted).back().experiments.push_back(experiment);
    }
  }
  const auto nothing = [](const ExperimentFile& file) { return file.experiments.empty(); };
  std::erase_if(fitted, nothing);
  std::erase_if(kept, nothing);
}

std::size_t count_of(const std::vector<ExperimentFile>& files) {
  std::size_t count = 0;
  for (const ExperimentFile& file : files) count += file.experiments.size();
  return count;
}

}  // namespace

std::vector<std::string> calibration_parameters() { return {kDefaults.begin(), kDefaults.end()}; }

Calibration calibrate(const std::vector<ExperimentFile>& files, const config::SystemConfig& base,
                      const std::string& source, const CalibrationOptions& options) {
  if (options.rounds == 0 || options.rounds > 20) throw_input_error("{} rounds; allowed: 1 to 20", options.rounds);
  if (options.holdout == 1) {
    throw_input_error("a holdout of every experiment leaves none to fit; allowed: 0, 2 and more");
  }
  std::vector<ExperimentFile> fitted, kept;
  split(files, options, fitted, kept);
  if (fitted.empty()) throw_input_error("no experiment matches '{}'", printable(options.only));

  const CalibrationLoss loss(fitted, base);
  Descent descent(loss, base, searches_of(base, options.parameters), options);
  Calibration result;
  result.error_before = 100 * loss(base);
  descent.run(result);

  const std::string calibrated = fmt::format("calibrated from {}, {} experiments", source, count_of(fitted));
  for (const FittedParameter& parameter : result.parameters) {
    if (parameter.determined()) {
      result.system.sources[parameter.key] = calibrated;
    } else if (parameter.after != parameter.before) {
      result.system.sources[parameter.key] =
          fmt::format("{}: all costs of the driver x {:.2f}", calibrated, result.driver_factor);
    }
  }
  config::check_system(result.system, "calibrated system");

  result.before = validate(fitted, base);
  result.after = validate(fitted, result.system);
  if (!kept.empty()) {
    result.holdout_before = validate(kept, base);
    result.holdout_after = validate(kept, result.system);
    const CalibrationLoss kept_loss(kept, base);
    if (!kept_loss.empty()) {
      result.holdout_error_before = 100 * kept_loss(base);
      result.holdout_error_after = 100 * kept_loss(result.system);
    }
  }
  return result;
}

}  // namespace uvmsim::validate
