// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "sim/cli/trace_usage.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/formats/wrapped.h"
#include "sim/generate/generate.h"
#include "sim/layout/footprint.h"
#include "sim/layout/segments.h"
#include "sim/trace/names.h"
#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"

namespace uvmsim::cli {
namespace {

void warn_truncated(const trace::TraceReader& reader) {
  if (reader.truncated()) fmt::print(stderr, "uvmsim: warning: {}; the rest is missing\n", reader.truncation());
}

// Copies all records, checked when there is a validator.
void copy_records(trace::TraceReader& reader, trace::TraceWriter& writer, trace::Validator* validator) {
  trace::Record record;
  while (reader.next(record)) {
    if (validator != nullptr) validator->check(record, reader.position());
    writer.write(record);
  }
  if (validator != nullptr) validator->finish(reader.truncated());
  warn_truncated(reader);
}

// What the trace holds and what it takes under every layout, in one pass.
trace::TraceStatistics with_footprints(trace::TraceReader& reader) {
  constexpr std::uint64_t kLargestFootprint = std::uint64_t{512}
                                              << 30;  // so that a broken trace does not take all memory
  constexpr std::string_view kTouched = "recorded";   // of which the touched footprint is measured
  struct Measured {
    std::unique_ptr<layout::FootprintMeter> meter;
    trace::LayoutFootprint footprint;
  };
  std::vector<Measured> all;
  for (const std::string& name : layout::layout_names()) {
    all.push_back({nullptr, {name, 0, ""}});
    try {
      all.back().meter = std::make_unique<layout::FootprintMeter>(name, kLargestFootprint);
      if (name == kTouched) all.back().meter->follow_touches(reader.header().quantum_bytes);
    } catch (const InputError& error) {  // of a GPU's memory, and there is none here
      all.back().footprint.problem = error.what();
    }
  }
  const layout::SegmentFinder::Source source = [&](trace::Record& record) { return reader.next(record); };
  layout::SegmentFinder records(source);
  trace::TraceStatistics statistics = trace::summarize(reader.header(), [&](trace::Record& record) {
    if (!records.next(record)) return false;
    for (Measured& one : all) {
      if (!one.meter) continue;
      try {
        one.meter->add(record, records.is_segment());
      } catch (const InputError& error) {
        one.footprint.problem = error.what();
        one.meter.reset();
      }
    }
    return true;
  });
  for (Measured& one : all) {
    one.footprint.bytes = one.meter ? one.meter->footprint_bytes() : 0;
    if (one.meter && one.footprint.layout == kTouched) {
      statistics.touched_footprint_bytes = one.meter->touched_footprint_bytes();
    }
    statistics.footprints.push_back(std::move(one.footprint));
  }
  statistics.truncation = reader.truncation();
  return statistics;
}

int info(const Arguments& arguments) {
  auto options = common_options();
  add_partial(options);
  options.add_options()("json", po::bool_switch(), "print one JSON object");
  const Values values("info", kInfoUsage, options, arguments, 1);
  if (values.help()) return 0;
  trace::TraceReader reader(values.trace(), {values.flag("partial")});
  const trace::TraceStatistics statistics = with_footprints(reader);
  fmt::print("{}", values.flag("json") ? trace::statistics_json(statistics)
                                       : wrapped_text(trace::statistics_text(statistics)));
  warn_truncated(reader);
  return 0;
}

int dump(const Arguments& arguments) {
  auto options = common_options();
  add_partial(options);
  add_output(options, "where to, ends in .jsonl; standard output when left out");
  const Values values("dump", kDumpUsage, options, arguments, 1);
  if (values.help()) return 0;
  const std::string output = values.given("output") ? values.output() : "-";
  if (trace::format_of_path(output) != trace::TraceFormat::kJsonLines) {
    throw_input_error("-o {}: dump writes JSON lines; allowed: names that end in .jsonl (pack writes .uvmt)", output);
  }
  trace::TraceReader reader(values.trace(), {values.flag("partial")});
  trace::TraceWriter writer(output, reader.header());
  copy_records(reader, writer, nullptr);
  writer.finish();
  return 0;
}

int pack(const Arguments& arguments) {
  auto options = common_options();
  add_partial(options);
  add_output(options, "where to, ends in .uvmt");
  add_level(options);
  options.add_options()("no-validate", po::bool_switch(), "do not check that the records make sense together");
  const Values values("pack", kPackUsage, options, arguments, 1);
  if (values.help()) return 0;
  const std::string output = values.output();
  if (trace::format_of_path(output) != trace::TraceFormat::kUvmt) {
    throw_input_error("-o {}: pack writes .uvmt; allowed: names that end in .uvmt (dump writes .jsonl)", output);
  }
  trace::TraceReader reader(values.trace(), {values.flag("partial")});
  trace::TraceWriter writer(output, reader.header(), writer_options(values));
  trace::Validator validator(reader.name(), reader.header());
  copy_records(reader, writer, values.flag("no-validate") ? nullptr : &validator);
  writer.finish();
  return 0;
}

int validate(const Arguments& arguments) {
  auto options = common_options();
  add_partial(options);
  const Values values("validate", kValidateUsage, options, arguments, 1000000);
  if (values.help()) return 0;
  values.trace();  // at least one
  for (const std::string& path : values.positional()) {
    trace::TraceReader reader(path, {values.flag("partial")});
    const std::string warning = trace::validate(reader);
    fmt::print("{}: {} records, valid\n", reader.name(), reader.position().record);
    if (!warning.empty()) fmt::print(stderr, "uvmsim: warning: {}: {}\n", reader.name(), warning);
    warn_truncated(reader);
  }
  return 0;
}

std::string patterns_text() {
  std::string out = "\nPatterns (N pages of 4096 bytes in all, K kernels per repeat):\n";
  for (const trace::GeneratorPattern& pattern : trace::generator_patterns()) {
    out += fmt::format("  {}\n", pattern.name);
    for (const std::string_view words : {pattern.summary, pattern.answer}) {
      out += wrapped_line(fmt::format("{:6}{}", "", words), 6) + "\n";
    }
  }
  return out;
}

std::uint32_t thousandths(const std::string& option, const std::string& value) {
  return value == "0" ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(parse_osf(option, value), UINT32_MAX));
}

int generate(const Arguments& arguments) {
  auto options = common_options();
  add_output(options, "where to, ends in .uvmt or .jsonl");
  add_level(options);
  trace::GeneratorOptions program;
  // Every option with what it sets, so that declaring, reading and checking cannot fall apart.
  struct Option {
    const char* name;
    const char* value;
    const char* meaning;
    std::function<void(const std::string& option, const std::string& value)> set;
  };
  const auto size = [](std::uint64_t& target) {
    return [&target](const std::string& option, const std::string& value) { target = parse_size(option, value); };
  };
  const auto number = [](auto& target) {
    return [&target](const std::string& option, const std::string& value) {
      using Target = std::remove_reference_t<decltype(target)>;
      const std::uint64_t parsed = parse_unsigned(option, value);
      if (parsed > static_cast<std::uint64_t>(std::numeric_limits<Target>::max())) {
        throw_input_error("{}: {} is too large; allowed: up to {}", option, value, std::numeric_limits<Target>::max());
      }
      target = static_cast<Target>(parsed);
    };
  };
  const std::vector<Option> known = {
      {"bytes", "SIZE", "all objects together, default 64MiB", size(program.bytes)},
      {"repeats", "N", "iterations of the whole pattern, default 1", number(program.repeats)},
      {"kernels", "N", "kernels per repeat, default 1", number(program.kernels)},
      {"gpus", "N", "of pipeline, its stages, default 4", number(program.gpus)},
      {"write-percent", "N", "share of the pages that is written, default 0", number(program.write_percent)},
      {"seed", "N", "of random, zipf and pointer_chase, default 1", number(program.seed)},
      {"stride-bytes", "SIZE", "of strided and pointer_chase, default 64KiB", size(program.stride_bytes)},
      {"touches", "N", "draws per kernel of random and zipf, default 4096", number(program.touches)},
      {"zipf-exponent", "X", "of zipf, up to three digits after the point, default 1",
       [&program](const std::string& option, const std::string& value) {
         program.zipf_exponent_thousandths = thousandths(option, value);
       }},
      {"halo-bytes", "SIZE", "of stencil, default 64KiB", size(program.halo_bytes)},
      {"tile", "N", "of tiled_matmul, edge in elements, default 128", number(program.tile)},
      {"element-bytes", "N", "of tiled_matmul: 1, 2, 4 or 8, default 4", number(program.element_bytes)},
      {"blocks-per-phase", "N", "of tiled_matmul, default one row of tiles", number(program.blocks_per_phase)},
      {"scans", "N", "of repeated_scan, passes inside a kernel, default 4", number(program.scans)},
      {"duration-ns", "N", "of every kernel; default 2 us + 1 ns per 1000 bytes touched", number(program.duration_ns)},
      {"host-gap-ns", "N", "host time before every kernel, default 0", number(program.host_gap_ns)},
      {"grid", "N", "thread blocks, default by the bytes touched", number(program.grid)},
      {"block", "N", "threads per block, default 256", number(program.block)},
  };
  for (const Option& option : known) options.add_options()(option.name, text(option.value), option.meaning);
  options.add_options()("no-host-data", po::bool_switch(),
                        "leave the objects untouched by the host before the kernels");

  const Values values("generate", kGenerateUsage, options, arguments, 1);
  if (values.help()) {
    fmt::print("{}", patterns_text());
    return 0;
  }
  const Arguments positional = values.positional();
  if (positional.empty()) throw_input_error("no pattern given; `uvmsim trace generate --help` lists them");
  program.pattern = positional.front();
  program.host_data = !values.flag("no-host-data");
  for (const Option& option : known) {
    if (values.given(option.name)) option.set(std::string("--") + option.name, values.string(option.name));
  }
  const auto generated = trace::make_program(program);
  trace::TraceWriter writer(values.output(), generated->header(), writer_options(values));
  trace::Record record;
  while (generated->next(record)) writer.write(record);
  writer.finish();
  return 0;
}

struct TraceVerb {
  std::string_view name;
  int (*run)(const Arguments& arguments);
};
constexpr std::array kTraceVerbs = {
    TraceVerb{"info", info},         TraceVerb{"dump", dump},           TraceVerb{"pack", pack},
    TraceVerb{"validate", validate}, TraceVerb{"import", trace_import}, TraceVerb{"export", trace_export},
    TraceVerb{"generate", generate}, TraceVerb{"hint", trace_hint},     TraceVerb{"fields", trace_fields}};

}  // namespace

std::vector<std::string> trace_verbs() {
  std::vector<std::string> names;
  for (const TraceVerb& verb : kTraceVerbs) names.emplace_back(verb.name);
  return names;
}

int trace_command(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw_input_error("trace: no verb given; `uvmsim trace --help` lists them");
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    if (name != "help") parse_options("uvmsim trace", arguments, common_options(), 0);
    fmt::print("{}", kTraceUsage);
    return 0;
  }
  std::vector<std::string_view> names;
  for (const TraceVerb& verb : kTraceVerbs) {
    if (verb.name == name) return verb.run({arguments.begin() + 1, arguments.end()});
    names.push_back(verb.name);
  }
  throw_input_error("trace: unknown verb '{}'{}", printable(name), allowed_hint(name, names));
}

}  // namespace uvmsim::cli
