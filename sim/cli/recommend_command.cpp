// SPDX-License-Identifier: Apache-2.0
// `uvmsim recommend`: runs embedding tables of recommendation models under several placements.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "sim/cli/commands.h"
#include "sim/cli/result_output.h"
#include "sim/common/error.h"
#include "sim/config/load_system.h"
#include "sim/formats/fields.h"
#include "sim/formats/wrapped.h"
#include "sim/recommend/study.h"
#include "sim/report/numbers.h"
#include "sim/sweep/values.h"
#include "sim/trace/writer.h"

namespace uvmsim::cli {
namespace {

using recommend::Placement;
using recommend::PlacementResult;
using recommend::Study;

constexpr const char* kUsage = R"(uvmsim recommend WORKLOAD --system SYSTEM [options]

Trains a recommendation model, or runs its inference, with its embedding tables in GPU memory, on the host, cached row by
row, on an SSD, or faulting over page by page, and says what a step takes, moves and finds.

Examples:
  uvmsim recommend criteo_1tb --system h200-sxm-pcie5 --osf 5
      every placement that the system can have, with GPU memory for a fifth of the tables
  uvmsim recommend dcnv2_multi_hot --system h200-sxm-pcie5 --placement managed,caching_lru --inference
      two of them, without updates of rows
  uvmsim recommend dcnv2_multi_hot --system hgx-a100 --gpus 8 --sharding row --optimizer adagrad --gpu-bytes 38GiB
      the tables sharded over eight GPUs, with what the optimizer keeps of each row
  uvmsim recommend mine.json --system h200-sxm-pcie5 --placement vanilla --steps 2 --write-trace mine.uvmt
      the program as a trace: `uvmsim run mine.uvmt` replays it under any policy

)";

constexpr const char* kNotes = R"(
WORKLOAD is a shipped one (criteo_1tb, mlperf_dlrm, dcnv2_multi_hot, kaggle, kaggle_dim128, dlrm_benchmark, tables_4tb,
dlrm_recorded) or a JSON file like those in configs/recommendation. workloads/recommendation/README.md explains workloads, placements and columns.
Exit code: 0 when all placements ran, 1 when some have no room on the system, 2 for an error in the input.
)";

template <class Named>
std::string names_text(const char* title, std::span<const Named> list) {
  std::string text = fmt::format("\n{}:\n", title);
  for (const Named& entry : list) text += fmt::format("  {:<22}{}\n", entry.name, entry.summary);
  return text;
}

std::uint64_t number(const Values& values, const char* name, std::uint64_t fallback, std::uint64_t minimum,
                     std::uint64_t maximum) {
  return values.number(name, fallback, {minimum, maximum, " is out of range"});
}

bool needs_ssd(const Placement& placement) { return placement.memory == Placement::Memory::kSsd; }

// Returns whether there is one GPU and no optimizer state.
bool is_plain(const recommend::ProgramOptions& options) {
  return options.gpus == 1 && options.optimizer->state == recommend::Optimizer::State::kNone;
}

// Returns the placements to run; "all" means those for which the system has the devices.
std::vector<const Placement*> placements_of(const Values& values, const config::SystemConfig& system,
                                            const recommend::ProgramOptions& options) {
  std::vector<const Placement*> chosen;
  const std::string text = values.text("placement").value_or("all");
  if (text == "all") {
    for (const Placement& placement : recommend::placements()) {
      const bool can_have_ssd = system.ssd.memory_bytes != 0 && is_plain(options);
      if (can_have_ssd || !needs_ssd(placement)) chosen.push_back(&placement);
    }
    return chosen;
  }
  for (const std::string& name : split(text, ',')) {
    const Placement* const placement = &recommend::find_placement(name);
    if (std::ranges::find(chosen, placement) != chosen.end()) {
      throw_input_error("--placement: '{}' twice; allowed: each once", name);
    }
    chosen.push_back(placement);
  }
  if (chosen.empty()) throw_input_error("--placement: no name; allowed: all, or names separated by commas");
  return chosen;
}

unsigned gpus_of(const Values& values, const config::SystemConfig& system) {
  const auto gpus = static_cast<unsigned>(number(values, "gpus", 1, 1, system.gpus.size()));
  recommend::check_joined(system, gpus);
  return gpus;
}

// Returns the samples per step and GPU; the lookups of all GPUs together are limited.
std::uint64_t batch_of(const Values& values, const recommend::Workload& workload, unsigned gpus) {
  const std::uint64_t most = recommend::kMostLookups / gpus / workload.lookups_per_sample();
  if (most == 0 || (!values.given("batch") && workload.batch > most)) {
    throw_input_error("{}: {} samples on each of {} GPUs, {} lookups each; allowed: up to {} lookups in a step",
                      workload.name, workload.batch, gpus, workload.lookups_per_sample(), recommend::kMostLookups);
  }
  return number(values, "batch", workload.batch, 1, most);
}

// Throws if the optimizer's state is not made of whole rows, which are the units of access in the trace.
void check_state(const recommend::Optimizer& optimizer, const recommend::Workload& workload) {
  if (optimizer.state != recommend::Optimizer::State::kPerElement || workload.element_bytes <= 4) return;
  throw_input_error("--optimizer {}: elements of {} bytes; allowed: up to 4", optimizer.name, workload.element_bytes);
}

recommend::ProgramOptions program_options(const Values& values, const recommend::Workload& workload,
                                          const config::SystemConfig& system) {
  recommend::ProgramOptions options;
  options.training = !values.given("inference");
  options.steps = number(values, "steps", options.steps, 1, 100000);
  options.warm_up = number(values, "warm-up", options.warm_up, 0, 1000000);
  options.seed = number(values, "seed", options.seed, 0, UINT64_MAX);
  options.gpus = gpus_of(values, system);
  if (const auto name = values.text("sharding")) options.sharding = &recommend::find_sharding(*name);
  if (const auto name = values.text("optimizer")) options.optimizer = &recommend::find_optimizer(*name);
  if (!options.training && values.given("optimizer")) {
    throw_input_error("--optimizer with --inference: no row changes; allowed: one of them");
  }
  check_state(*options.optimizer, workload);
  options.host_cache_bytes = values.size("host-cache", std::uint64_t{64} << 30);
  if (const auto text = values.text("load-factor")) {
    // The value has the form of an OSF: a number with up to three decimals.
    options.load_factor_thousandths =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, sweep::parse_osf("--load-factor", *text)));
    if (options.load_factor_thousandths > 1000) {
      throw_input_error("--load-factor: {} is out of range; allowed: 0.001 to 1", *text);
    }
  }
  if (values.given("osf") && values.given("gpu-bytes")) {
    throw_input_error("--osf and --gpu-bytes say the same; allowed: one of them");
  }
  const std::uint64_t osf = sweep::parse_osf("--osf", values.text("osf").value_or("5"));
  std::uint64_t bytes = 0;
  for (const recommend::GpuShare& gpu : recommend::gpu_shares(workload, options)) {
    bytes += gpu.table_bytes + gpu.state_bytes;
  }
  options.gpu_bytes =
      values.size("gpu-bytes", static_cast<std::uint64_t>(WideUnsigned{bytes} * 1000 / osf / options.gpus));
  const config::GpuConfig& gpu = system.gpus.front();
  options.gpu_bytes = std::min(options.gpu_bytes, gpu.memory_bytes - gpu.reserved_bytes);
  return options;
}

int write_trace(const std::string& path, const recommend::Workload& workload,
                const std::vector<const Placement*>& placements, const recommend::ProgramOptions& options,
                const config::SystemConfig& system) {
  if (placements.size() != 1) throw_input_error("--write-trace: {} placements; allowed: one", placements.size());
  recommend::Program program(workload, *placements.front(), options, system);
  trace::TraceWriter writer(path, program.header());
  trace::Record record;
  while (program.next(record)) writer.write(record);
  writer.finish();
  return 0;
}

// Returns a sum over the steps as one step's part, in MiB.
std::string mib_per_step(std::uint64_t bytes, std::uint64_t steps) {
  return report::format_thousandths(report::ratio_thousandths(bytes, steps << 20));
}

std::string table(const Study& study) {
  TextTable text({"placement", "step (ms)", "/ device", "embeddings (ms)", "planner (ms)", "hit rate", "cache full",
                  "conflicts", "GPU (MiB)", "HtoD (MiB)", "DtoH (MiB)", "SSD in (MiB)", "out (MiB)", "link / rows",
                  "faults"});
  const auto device = std::ranges::find_if(study.results, [](const PlacementResult& result) {
    return result.placement->memory == Placement::Memory::kDevice;
  });
  for (const PlacementResult& result : study.results) {
    std::vector<std::string> cells = {std::string(result.placement->name)};
    if (!result.refused.empty()) {
      cells.resize(15, "-");
      text.add_row(std::move(cells));
      continue;
    }
    const recommend::RowStatistics& rows = result.rows;
    const auto ratio_to_device = [&] {
      if (device == study.results.end()) return std::string("-");
      return report::format_thousandths(report::ratio_thousandths(static_cast<std::uint64_t>(result.step.value),
                                                                  static_cast<std::uint64_t>(device->step.value)));
    };
    const bool ssd = needs_ssd(*result.placement);
    cells.insert(cells.end(),
                 {report::format_ms(result.step), ratio_to_device(), report::format_ms(result.embedding()),
                  result.planner().value == 0 ? "-" : report::format_ms(result.planner()),
                  result.has_cache() ? report::format_thousandths(result.hit_thousandths()) : "-",
                  result.has_cache()
                      ? report::format_thousandths(report::ratio_thousandths(result.cache_rows_used, result.cache_rows))
                      : "-",
                  result.has_cache() ? report::format_count(rows.conflicts) : "-",
                  mib_per_step(rows.device_bytes, rows.steps), mib_per_step(result.host_to_device_bytes(), rows.steps),
                  mib_per_step(result.device_to_host_bytes(), rows.steps),
                  ssd ? mib_per_step(rows.ssd_read_bytes, rows.steps) : "-",
                  ssd ? mib_per_step(rows.ssd_written_bytes, rows.steps) : "-",
                  report::format_thousandths(result.amplification_thousandths()),
                  report::format_count(result.counters.faulting_pages)});
    text.add_row(std::move(cells));
  }
  return text.text(true);
}

std::string sharding_text(const recommend::ProgramOptions& options) {
  if (is_plain(options)) return {};
  return fmt::format(" on each of {} GPUs, sharding {}, optimizer {}", options.gpus, options.sharding->name,
                     options.optimizer->name);
}

std::string gpu_table(const Study& study) {
  TextTable text({"GPU", "tables", "rows", "tables (GiB)", "state (GiB)", "OSF", "lookups / step", "different rows"});
  const auto ran = std::ranges::find_if(study.results, &std::string::empty, &PlacementResult::refused);
  const std::vector<recommend::GpuShare> shares = recommend::gpu_shares(study.workload, study.options);
  for (std::size_t gpu = 0; gpu < shares.size(); ++gpu) {
    const recommend::GpuShare& share = shares[gpu];
    const auto per_step = [&](std::uint64_t recommend::RowStatistics::*member) {
      return ran == study.results.end() ? "-" : report::format_count(ran->gpus[gpu].*member / ran->rows.steps);
    };
    text.add_row({fmt::format("{}", gpu), fmt::format("{}", share.share.tables), report::format_count(share.share.rows),
                  report::format_gib(share.table_bytes), report::format_gib(share.state_bytes),
                  report::format_thousandths(share.osf_thousandths), per_step(&recommend::RowStatistics::lookups),
                  per_step(&recommend::RowStatistics::unique)});
  }
  std::string out = text.text(true);
  if (ran == study.results.end() || study.options.gpus == 1) return out;
  const std::uint64_t steps = ran->rows.steps;
  return out + fmt::format("between GPUs, MiB a step: pooled rows {}, their gradients {}, dense gradients {}\n",
                           mib_per_step(ran->sent.pooled_rows, steps), mib_per_step(ran->sent.row_gradients, steps),
                           mib_per_step(ran->sent.dense_gradients, steps));
}

int compare_placements(const Values& values) {
  const std::string& workload_name =
      values.first("recommend: no workload given; `uvmsim recommend --help` shows examples");
  const std::string system_name =
      values.required("system", "recommend: no --system given; `uvmsim systems` lists them");
  Study study;
  study.workload = recommend::read_workload(workload_name);
  study.system = config::load_system(system_name);
  config::apply_overrides(study.system, values.texts("set"));
  study.workload.batch = batch_of(values, study.workload, gpus_of(values, study.system));
  study.options = program_options(values, study.workload, study.system);
  const std::vector<const Placement*> placements = placements_of(values, study.system, study.options);
  if (const auto path = values.text("write-trace")) {
    return write_trace(*path, study.workload, placements, study.options, study.system);
  }
  const auto json = values.text("json"), csv = values.text("csv");
  const bool quiet = json == "-" || csv == "-";
  const recommend::Workload& workload = study.workload;
  const std::uint64_t samples = workload.batch * study.options.gpus;
  if (!quiet) {
    fmt::print(
        "{}: {} tables, {} rows of {} bytes, {} GiB; {} samples, {} lookups a step\n{} on {}, {} GiB of GPU "
        "memory{}\n\n",
        workload.name, workload.rows.size(), report::format_count(workload.total_rows()), workload.row_bytes(),
        report::format_gib(workload.bytes()), report::format_count(samples),
        report::format_count(samples * workload.lookups_per_sample()),
        study.options.training ? "training" : "inference", study.system.name,
        report::format_gib(study.options.gpu_bytes), sharding_text(study.options));
  }
  bool all_ran = true;
  for (const Placement* placement : placements) {
    study.results.push_back(recommend::run_placement(workload, *placement, study.options, study.system));
    all_ran = all_ran && study.results.back().refused.empty();
  }
  if (!quiet) {
    fmt::print("{}", table(study));
    if (!is_plain(study.options)) fmt::print("\n{}", gpu_table(study));
    for (const PlacementResult& result : study.results) {
      if (!result.refused.empty()) fmt::print("{}\n", result.refused);
    }
    const config::GpuConfig& gpu = study.system.gpus.front();
    if (workload.bytes() > gpu.memory_bytes - gpu.reserved_bytes) {
      fmt::print("device: as if the tables fitted; {} has {} GiB\n", gpu.model,
                 report::format_gib(gpu.memory_bytes - gpu.reserved_bytes));
    }
  }
  ResultOutput(json).write(recommend::study_json(study));
  ResultOutput(csv).write(recommend::study_csv(study));
  return all_ran ? 0 : 1;
}

}  // namespace

CommandLine recommend_command() {
  return {
      .usage = kUsage,
      .options =
          {{"system", "SYSTEM", "the GPU server: a name of `uvmsim systems`, or a file"},
           {"set", "KEY=VALUE", "another value of one of the system's parameters; may be repeated", kRepeatable},
           {"placement", "NAME[,...]",
            "where the tables lie: all (default), or some of those below; on an SSD only where the system has one"},
           {"inference", "", "rows are read only; the workload's popularity of inference"},
           {"gpus", "N", "train on the first N GPUs of the system, which links join; default 1"},
           {"sharding", "NAME", "which GPU has which rows: one of those below"},
           {"optimizer", "NAME", "what training keeps for each row: one of those below"},
           {"batch", "N", "samples of a step on each GPU, instead of the workload's"},
           {"steps", "N", "steps to replay, default 10"},
           {"warm-up", "N", "batches before them, which only the caches see; default 100"},
           {"osf", "X", "memory of each GPU for the tables: bytes of tables and optimizer state / GPUs / X, default 5"},
           {"gpu-bytes", "SIZE", "the same as a size"},
           {"load-factor", "X", "rows of the GPU's cache / rows of the tables, default 0.2"},
           {"host-cache", "SIZE", "ssd: DRAM cache of rows, default 64 GiB"},
           {"seed", "N", "of ids and of the run, default 1"},
           {"json", "FILE", "write every number; - for standard output"},
           {"csv", "FILE", "the same as a table"},
           {"write-trace", "FILE", "write the program of the one placement, and replay nothing"},
           kHelp},
      .notes = names_text("Placements", recommend::placements()) + names_text("Shardings", recommend::shardings()) +
               names_text("Optimizers", recommend::optimizers()) + kNotes,
      .most_arguments = 1,
      .run = compare_placements};
}

}  // namespace uvmsim::cli
