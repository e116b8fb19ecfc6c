// SPDX-License-Identifier: Apache-2.0
// Runs a small program of any shape on a system of any settings under any policies. Input that check_system() and the
// policies' own checks accept must run to its end, with the model's checks on, and give the same numbers twice.
#include <fmt/format.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/generate/generate.h"
#include "sim/layout/layout_choice.h"
#include "sim/policy/registry.h"
#include "tests/fuzz/refused.h"

namespace uvmsim::fuzz {
namespace {

using Bytes = FuzzedDataProvider;

// A system and the keys of its settings.
struct Base {
  explicit Base(const std::string& name) : system(config::load_system(name)) {
    for (const auto& [key, source] : system.sources) keys.push_back(key);
  }
  config::SystemConfig system;
  std::vector<std::string> keys;
};

template <class List>
const auto& one_of(Bytes& bytes, const List& list) {
  return list[bytes.ConsumeIntegralInRange<std::size_t>(0, std::size(list) - 1)];
}

// Returns a value for a setting of any kind, which may be refused.
std::string any_value(Bytes& bytes) {
  constexpr const char* kWords[] = {"true", "false", "block", "batch", "batch_flush", "once"};
  switch (bytes.ConsumeIntegralInRange(0, 2)) {
    case 0:
      return one_of(bytes, kWords);
    case 1:
      return std::to_string(bytes.ConsumeIntegral<std::uint64_t>() >> bytes.ConsumeIntegralInRange(0, 63));
    default:
      return std::to_string(bytes.ConsumeIntegralInRange(0, 100));
  }
}

std::string allowed_value(Bytes& bytes, const policy::Parameter& parameter) {
  switch (parameter.type) {
    case policy::ParameterType::kInteger: {  // larger tables only take more memory
      const auto [least, most] = parameter.integer_range;
      return std::to_string(bytes.ConsumeIntegralInRange(least, std::clamp<std::int64_t>(100'000, least, most)));
    }
    case policy::ParameterType::kReal:
      return fmt::format("{}",
                         bytes.ConsumeFloatingPointInRange(parameter.real_range.minimum, parameter.real_range.maximum));
    case policy::ParameterType::kBoolean:
      return bytes.ConsumeBool() ? "true" : "false";
    case policy::ParameterType::kText:
    case policy::ParameterType::kPath:
      return parameter.default_value;
    case policy::ParameterType::kChoice:
      return one_of(bytes, parameter.choices);
  }
  return {};
}

PolicyChoice choose(Bytes& bytes, policy::Slot slot) {
  std::vector<const policy::PolicyEntry*> entries;
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    if (entry->slot == slot && !entry->joint()) entries.push_back(entry);
  }
  const policy::PolicyEntry& entry = *one_of(bytes, entries);
  PolicyChoice choice{entry.info.name, {}};
  for (const policy::Parameter& parameter : entry.parameters) {
    if (bytes.ConsumeIntegralInRange(0, 3) == 0) {
      choice.parameters.emplace_back(parameter.name, allowed_value(bytes, parameter));
    }
  }
  return choice;
}

trace::GeneratorOptions program(Bytes& bytes) {
  trace::GeneratorOptions options;
  options.pattern = one_of(bytes, trace::generator_patterns()).name;
  options.bytes = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 3u << 20);
  options.repeats = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 2);
  options.kernels = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 2);
  options.gpus = 1;
  options.write_percent = bytes.ConsumeIntegralInRange<std::uint32_t>(0, 100);
  options.stride_bytes = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 256) * 4096;
  options.touches = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 100);
  options.duration_ns = bytes.ConsumeIntegralInRange<std::int64_t>(0, 1'000'000);
  options.grid = bytes.ConsumeIntegralInRange<std::uint32_t>(0, 3000);
  options.block = bytes.ConsumeIntegralInRange<std::uint32_t>(1, 1024);
  options.host_data = bytes.ConsumeBool();
  return options;
}

RunOptions run_options(Bytes& bytes, const Base& base) {
  RunOptions options;
  options.system = base.system;
  for (int settings = bytes.ConsumeIntegralInRange(0, 6); settings > 0; --settings) {
    const std::string setting = one_of(bytes, base.keys) + "=" + any_value(bytes);
    taken([&] { config::apply_override(options.system, setting); });
  }
  config::check_system(options.system, "system");
  options.prefetch = choose(bytes, policy::Slot::kPrefetch);
  options.evict = choose(bytes, policy::Slot::kEvict);
  if (bytes.ConsumeIntegralInRange(0, 3) == 0) options.plan = choose(bytes, policy::Slot::kPlan);
  if (bytes.ConsumeIntegralInRange(0, 3) == 0) options.migrate = choose(bytes, policy::Slot::kMigrate);
  options.layout = one_of(bytes, layout::layout_names());
  options.limited = bytes.ConsumeIntegralInRange(0, 7) != 0;
  options.capacity_bytes = bytes.ConsumeIntegralInRange<std::uint64_t>(0, 4) << 21;
  options.osf_thousandths = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 10000);
  options.seed = bytes.ConsumeIntegral<std::uint8_t>();
  options.include_host_gaps = bytes.ConsumeBool();
  return options;
}

Nanoseconds time_of(const trace::GeneratorOptions& made, const RunOptions& options) {
  const auto open = [&]() -> RecordSource {
    const std::shared_ptr<trace::SyntheticProgram> program = trace::make_program(made);
    return [program](trace::Record& record) { return program->next(record); };
  };
  RunObserver observer;
  observer.reopen = open;
  return simulate(trace::make_program(made)->header(), open(), options, observer).total;
}

}  // namespace
}  // namespace uvmsim::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim;
  static const fuzz::Base bases[] = {fuzz::Base("h200-sxm-pcie5"), fuzz::Base("a100-pcie-80g-nvme"),
                                     fuzz::Base("v100-pcie-16g")};
  FuzzedDataProvider bytes(data, size);
  const fuzz::Base& base = bases[bytes.ConsumeIntegralInRange(0, 2)];
  fuzz::taken([&] {
    const trace::GeneratorOptions program = fuzz::program(bytes);
    const RunOptions options = fuzz::run_options(bytes, base);
    const Nanoseconds once = fuzz::time_of(program, options);
    fuzz::require(once == fuzz::time_of(program, options));
  });
  return 0;
}
