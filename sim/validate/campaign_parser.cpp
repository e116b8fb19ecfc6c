// SPDX-License-Identifier: Apache-2.0
// Lines that name a program: README.md lists their keys.
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/formats/printable.h"
#include "sim/trace/names.h"
#include "sim/validate/experiment_parser.h"

namespace uvmsim::validate {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxSteps = 1000, kMaxArrays = 100000, kMaxWords = std::uint64_t{1} << 26;
constexpr std::uint64_t kMaxProcesses = 64, kMaxColumns = std::uint64_t{1} << 20, kMaxProducts = 1000000;
constexpr std::uint64_t kMaxSquareColumns = std::uint64_t{1} << 15;  // for kernels that list a page of each row
constexpr std::uint64_t kMaxRandomBytes = std::uint64_t{1} << 37;    // for an array whose pages are listed one by one
constexpr std::uint64_t kMaxNs = std::uint64_t{3600} * 1000000000, kMaxRate = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxUnitNs = 1000000000;  // for a kernel or page of which there are many

std::uint64_t at_least_one(JsonFields& fields, std::string_view key, std::uint64_t max) {
  const std::uint64_t value = fields.required_integer(key, max);
  if (value == 0) throw_input_error("'{}' is 0; allowed: 1 to {}", key, max);
  return value;
}

std::optional<std::uint64_t> optional_integer(JsonFields& fields, std::string_view key, std::uint64_t max) {
  if (fields.find(key) == nullptr) return std::nullopt;
  return fields.required_integer(key, max);
}

// "written pinned"
std::optional<PassArray> parse_array(JsonFields& fields, std::string_view key) {
  if (fields.find(key) == nullptr) return std::nullopt;
  const std::string text = fields.text(key);
  const std::size_t space = text.find(' ');
  const auto before = std::ranges::find(kBeforeNames, std::string_view(text).substr(0, space));
  const auto kind =
      std::ranges::find(trace::kObjectKindNames,
                        space == std::string::npos ? std::string_view() : std::string_view(text).substr(space + 1));
  if (before == kBeforeNames.end() || kind == trace::kObjectKindNames.end()) {
    throw_input_error("'{}' is '{}'; allowed: untouched, read or written, and a kind of memory: {}", key,
                      printable(text), fmt::join(trace::kObjectKindNames, ", "));
  }
  return PassArray{static_cast<PassArray::Before>(before - kBeforeNames.begin()),
                   static_cast<trace::ObjectKind>(kind - trace::kObjectKindNames.begin())};
}

void parse_passes(JsonFields& fields, Campaign& campaign) {
  campaign.source_array = parse_array(fields, "source_array");
  campaign.destination_array = parse_array(fields, "destination_array");
  if (!campaign.source_array && !campaign.destination_array) {
    throw_input_error("there is no array; allowed: source_array, destination_array or both");
  }
  campaign.grid_blocks = at_least_one(fields, "grid_blocks", kMaxColumns);
  campaign.block_threads = at_least_one(fields, "block_threads", 1024);
  campaign.access_bytes = at_least_one(fields, "access_bytes", 16);
  campaign.local_bytes_per_us = at_least_one(fields, "local_bytes_per_us", kMaxRate);
  campaign.advice = fields.text("advice");
  if (!campaign.advice.empty() && campaign.advice != "preferred_host" && campaign.advice != "accessed_by_gpu") {
    throw_input_error("'advice' is '{}'; allowed: preferred_host, accessed_by_gpu", printable(campaign.advice));
  }
}

void parse_parameters(JsonFields& fields, Campaign& campaign) {
  campaign.array_bytes = fields.required_integer("array_bytes", kMaxBytes);
  campaign.steps = at_least_one(fields, "steps", kMaxSteps);
  if (campaign.array_bytes < campaign.steps * kBasePageBytes) {
    throw_input_error("'array_bytes' is {}; allowed: at least a page of {} bytes for each of {} steps",
                      campaign.array_bytes, kBasePageBytes, campaign.steps);
  }
  campaign.seed = fields.integer("seed", 0);
  campaign.prefetch_threshold = optional_integer(fields, "prefetch_threshold", 100);
  if (fields.find("prefetch") != nullptr) {
    word_of(fields, "prefetch", {"tree", "always_2mb", "none"});
    campaign.prefetch = fields.text("prefetch");
  }
  if (!campaign.prefetch.empty() && campaign.prefetch_threshold) {
    throw_input_error("'prefetch' and 'prefetch_threshold' are both given; allowed: one of them");
  }
  campaign.capacity_bytes = optional_integer(fields, "capacity_bytes", kMaxBytes);
  if (campaign.capacity_bytes && *campaign.capacity_bytes < kBlockBytes) {
    throw_input_error("'capacity_bytes' is {}; allowed: at least {}", *campaign.capacity_bytes, kBlockBytes);
  }
  switch (campaign.program) {
    case CampaignProgramKind::kSparseBlocks: {
      campaign.pages_per_block = at_least_one(fields, "pages_per_block", kPagesPerBlock);
      const std::uint64_t blocks = campaign.array_bytes / kBlockBytes;
      if (blocks == 0 || blocks * campaign.pages_per_block > kMaxWords) {
        throw_input_error("'array_bytes' is {}; allowed: at least a block of {} bytes, at most {} words in all",
                          campaign.array_bytes, kBlockBytes, kMaxWords);
      }
      break;
    }
    case CampaignProgramKind::kSliceScans:
      campaign.growing = fields.boolean("growing", false);
      campaign.rounds = fields.integer("rounds", 1, kMaxSteps);
      campaign.read_bytes_per_us = fields.integer("read_bytes_per_us", 0, kMaxRate);
      campaign.write_bytes_per_us = fields.integer("write_bytes_per_us", 0, kMaxRate);
      break;
    case CampaignProgramKind::kAccumulate:
      campaign.arrays = at_least_one(fields, "arrays", kMaxArrays);
      campaign.add_ns = fields.integer("add_ns", 0, kMaxUnitNs);
      campaign.clear_ns = fields.integer("clear_ns", 0, kMaxUnitNs);
      break;
    case CampaignProgramKind::kPageWalk:
      campaign.random_order =
          fields.find("order") != nullptr && word_of(fields, "order", {"sequential", "random"}) == 1;
      if (campaign.random_order && campaign.array_bytes > kMaxRandomBytes) {
        throw_input_error("'array_bytes' is {}; allowed in random order: at most {}", campaign.array_bytes,
                          kMaxRandomBytes);
      }
      campaign.page_ns = fields.integer("page_ns", 0, kMaxUnitNs);
      break;
    case CampaignProgramKind::kLayerProducts:
      campaign.arrays = at_least_one(fields, "arrays", kMaxArrays);
      campaign.columns = at_least_one(fields, "columns", kMaxColumns);
      campaign.passes = fields.integer("passes", 1, kMaxSteps);
      campaign.processes = fields.integer("processes", 1, kMaxProcesses);
      campaign.read_bytes_per_us = fields.integer("read_bytes_per_us", 0, kMaxRate);
      campaign.host_ns = fields.integer("host_ns", 0, kMaxNs);
      if (campaign.passes == 0 || campaign.processes == 0 ||
          campaign.steps * campaign.passes * campaign.arrays > kMaxProducts) {
        throw_input_error("'passes', 'processes': allowed: at least 1 of each, {} products in all", kMaxProducts);
      }
      break;
    case CampaignProgramKind::kMemoryPasses:
      parse_passes(fields, campaign);
      break;
    case CampaignProgramKind::kPhaseScan:
    case CampaignProgramKind::kVectorAdd:
      if (campaign.program == CampaignProgramKind::kPhaseScan && campaign.steps > 4) {
        throw_input_error("'steps' is {}; allowed: 1 to 4 phases", campaign.steps);
      }
      campaign.local_bytes_per_us = fields.integer("local_bytes_per_us", 0, kMaxRate);
      break;
    case CampaignProgramKind::kMatrixVector:
    case CampaignProgramKind::kConvolution:
    case CampaignProgramKind::kGramSchmidt:
      campaign.columns = at_least_one(fields, "columns", kMaxColumns);
      if (campaign.array_bytes % (campaign.columns * kNumberBytes) != 0 ||
          campaign.array_bytes / (campaign.columns * kNumberBytes) > kMaxColumns) {
        throw_input_error("'array_bytes' is {}; allowed: whole rows of {} numbers of 4 bytes, at most {} rows",
                          campaign.array_bytes, campaign.columns, kMaxColumns);
      }
      if (campaign.program == CampaignProgramKind::kMatrixVector) {
        campaign.page_ns = fields.integer("page_ns", 0, kMaxUnitNs);
      }
      if (campaign.program == CampaignProgramKind::kGramSchmidt) {
        if (campaign.columns > kMaxSquareColumns) {
          throw_input_error("'columns' is {}; allowed: up to {}", campaign.columns, kMaxSquareColumns);
        }
        if (campaign.array_bytes != campaign.columns * campaign.columns * kNumberBytes) {
          throw_input_error("'array_bytes' is {}; allowed: {}, of a square matrix with {} columns",
                            campaign.array_bytes, campaign.columns * campaign.columns * kNumberBytes, campaign.columns);
        }
        campaign.norm_ns = fields.integer("norm_ns", 0, kMaxUnitNs);
      }
      campaign.local_bytes_per_us = fields.integer("local_bytes_per_us", 0, kMaxRate);
      break;
  }
  if (campaign.array_bytes > kMaxBytes / ((campaign.arrays + 2) * campaign.processes)) {
    throw_input_error("the arrays have more than {} bytes in all", kMaxBytes);
  }
}

PublishedStep parse_figures(const Json& object, std::string_view context, std::set<std::string>& unknown) {
  JsonFields fields(object, context);
  PublishedStep step;
  for (std::size_t i = 0; i < figure::kCount; ++i) {
    step.figures[i] = optional_integer(fields, kFigureTable[i].key, UINT64_MAX);
  }
  step.lost_records = fields.boolean("lost_records", false);
  note_unknown_keys(fields, unknown, "figure");
  return step;
}

SteadySteps parse_steady(const Json& object, std::uint64_t steps, std::set<std::string>& unknown) {
  JsonFields fields(object, "steady");
  SteadySteps steady;
  steady.from = fields.required_integer("from", steps - 1);
  steady.time_ns = optional_integer(fields, "time_ns", kMaxNs);
  steady.least_ns = optional_integer(fields, "least_ns", kMaxNs);
  steady.most_ns = optional_integer(fields, "most_ns", kMaxNs);
  steady.cold_run = fields.text("cold_run");
  note_unknown_keys(fields, unknown);
  return steady;
}

CampaignLimits parse_limits(const Json& object) {
  JsonFields fields(object, "limits");
  CampaignLimits limits;
  for (const LimitInfo& known : kLimitTable) limits.*known.limit = optional_integer(fields, known.key, 1000000);
  fields.finish();
  return limits;
}

}  // namespace

void parse_campaign(JsonFields& fields, Experiment& experiment, std::set<std::string>& unknown) {
  experiment.mode = Mode::kCampaign;
  Campaign& campaign = experiment.campaign.emplace();
  campaign.program =
      static_cast<CampaignProgramKind>(word_of(fields, "program", {kProgramNames.begin(), kProgramNames.end()}));
  campaign.source = fields.text("source");
  campaign.observed = fields.boolean("observed", false);
  parse_parameters(fields, campaign);
  const std::uint64_t steps = campaign.steps * campaign.rounds;
  if (steps == 0 || steps > kMaxSteps) throw_input_error("{} steps in all; allowed: 1 to {}", steps, kMaxSteps);
  if (const Json* published = fields.find("published")) {
    for (const Json& step : json_array(*published, "published")) {
      campaign.published.push_back(parse_figures(step, "published", unknown));
    }
    if (campaign.published.size() > steps) {
      throw_input_error("'published' has {} steps; the program has {}", campaign.published.size(), steps);
    }
  }
  if (const Json* total = fields.find("published_total")) {
    campaign.published_total = parse_figures(*total, "published_total", unknown).figures;
  }
  if (const Json* steady = fields.find("steady")) campaign.steady = parse_steady(*steady, steps, unknown);
  campaign.finish_ns = optional_integer(fields, "finish_ns", kMaxNs);
  if (const Json* limits = fields.find("limits")) campaign.limits = parse_limits(*limits);
  // Keys of the other programs mean nothing here, but they are known.
  for (const char* key : {"pages_per_block",
                          "growing",
                          "rounds",
                          "read_bytes_per_us",
                          "write_bytes_per_us",
                          "arrays",
                          "add_ns",
                          "clear_ns",
                          "order",
                          "page_ns",
                          "norm_ns",
                          "columns",
                          "passes",
                          "processes",
                          "host_ns",
                          "source_array",
                          "destination_array",
                          "grid_blocks",
                          "block_threads",
                          "access_bytes",
                          "local_bytes_per_us",
                          "advice"}) {
    fields.find(key);
  }
}

}  // namespace uvmsim::validate
