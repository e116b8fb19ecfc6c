// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

#include "sim/cli/say.h"
#include "sim/cli/trace_llm.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/common/plain_text.h"
#include "sim/edit/repeatable.h"
#include "sim/formats/wrapped.h"
#include "sim/generate/generate.h"
#include "sim/layout/footprint.h"
#include "sim/layout/segments.h"
#include "sim/sweep/values.h"
#include "sim/trace/names.h"
#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kInfoUsage = R"(usage: uvmsim trace info TRACE [options]

Says what a trace holds: program and provenance, kernels, bytes touched, peak of live memory, iterations; and its
footprint under every layout, which is what --osf divides (`uvmsim layouts` explains them), and the touched one, which
`--footprint touched` makes it divide.

Examples:
  uvmsim trace info workloads/gpt2.uvmt
  uvmsim trace info workloads/gpt2.uvmt --json | jq .peak_managed_bytes

)";

constexpr const char* kDumpUsage = R"(usage: uvmsim trace dump TRACE [-o OUT.jsonl] [options]

Writes a trace as JSON lines, one record per line: the form to read, to search and to edit. `pack` turns it back
without loss. `uvmsim trace fields` lists the keys.

Examples:
  uvmsim trace dump workloads/gpt2.uvmt | grep '"t":"kernel"' | head -3
  uvmsim trace dump cut_off.uvmt --partial -o rest.jsonl

)";

constexpr const char* kPackUsage = R"(usage: uvmsim trace pack TRACE -o OUT.uvmt [options]

Checks a trace (JSON lines, plain or zstd-compressed, or .uvmt) and writes it as .uvmt.

Examples:
  uvmsim trace pack mine.jsonl -o mine.uvmt
  uvmsim trace dump a.uvmt | sed 's/"duration_ns":900/"duration_ns":1800/' | uvmsim trace pack - -o b.uvmt

)";

constexpr const char* kValidateUsage = R"(usage: uvmsim trace validate TRACE... [options]

Checks that every record can be read and makes sense: nothing touched before it is allocated or after it is freed, no
access beyond its object, no double free, no overlap, ranges and iterations nested. The first mistake is named and ends
the command with exit code 2.

Examples:
  uvmsim trace validate mine.jsonl
  uvmsim trace validate workloads/*.uvmt

)";

constexpr const char* kGenerateUsage = R"(usage: uvmsim trace generate PATTERN -o OUT.uvmt [options]

Writes a synthetic program whose behaviour has a known answer. The same options give the same trace.

Examples:
  uvmsim trace generate sequential --bytes 256MiB --repeats 3 -o scan.uvmt
      reads 256 MiB three times; with less memory than that an LRU faults on every page, every time
  uvmsim trace generate zipf --bytes 1GiB --kernels 100 --touches 20000 --zipf-exponent 0.9 --seed 7 -o zipf.uvmt
  uvmsim trace generate tiled_matmul --bytes 768MiB --tile 256 -o matmul.uvmt
  uvmsim trace generate pointer_chase --bytes 64MiB --stride-bytes 64KiB -o chase.jsonl

)";

constexpr const char* kTraceUsage = R"(usage: uvmsim trace VERB ...

Verbs:
  info       what a trace holds
  dump       write a trace as JSON lines
  pack       write a trace as .uvmt
  validate   check traces
  import     convert recordings of other tools: raw, nsys, accelprof, oracle-general
  export     write a trace in another simulator's format: oracle-general
  generate   write synthetic programs with known answers
  hint       put prefetches, don't-need, pins into a program
  fields     list the keys of the JSON-lines form

Traces are .uvmt files (compressed) or JSON lines; every verb reads both, told apart by their content; - is standard
input or output. `uvmsim trace VERB --help` explains a verb.
)";

// Summarizes the trace and measures its footprint under every layout, in one pass.
trace::TraceStatistics with_footprints(trace::TraceReader& reader) {
  constexpr std::uint64_t kLargestFootprint = std::uint64_t{512}
                                              << 30;  // limits the memory that a broken trace can take
  constexpr std::string_view kTouched = "recorded";   // the layout that places touched memory only
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
    } catch (const InputError& error) {  // the layout needs a GPU's memory
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

// Says which iteration a replay repeats, for a trace that can be read twice.
std::string repeated_text(const std::string& path, const trace::ReaderOptions& options) {
  trace::TraceReader reader(path, options);
  const trace::Repeatable found = trace::find_repeatable([&](trace::Record& record) { return reader.next(record); });
  if (found.marked == 0) return "";
  return found.obstacle.empty() ? fmt::format("iteration {}, counted from 0", found.repeated) : found.obstacle;
}

int info(const Values& values) {
  const std::string& path = given_trace(values, "info");
  const trace::ReaderOptions options{values.given("partial")};
  trace::TraceReader reader(path, options);
  trace::TraceStatistics statistics = [&] {
    const ReadingProgress progress(reader);
    return with_footprints(reader);
  }();
  if (std::filesystem::is_regular_file(path)) statistics.repeated = repeated_text(path, options);
  fmt::print("{}", values.given("json") ? trace::statistics_json(statistics)
                                        : wrapped_text(trace::statistics_text(statistics)));
  warn_truncated(reader);
  return 0;
}

CommandLine info_line() {
  return {.usage = kInfoUsage,
          .options = {kHelp, kPartial, {"json", "", "print one JSON object"}},
          .most_arguments = 1,
          .run = info};
}

int dump(const Values& values) {
  const std::string output = values.text("output").value_or("-");
  if (trace::format_of_path(output) != trace::TraceFormat::kJsonLines) {
    throw_input_error("-o {}: dump writes JSON lines; allowed: names that end in .jsonl (pack writes .uvmt)", output);
  }
  trace::TraceReader reader(given_trace(values, "dump"), {values.given("partial")});
  trace::TraceWriter writer(output, reader.header());
  copy_records(reader, reader, writer, nullptr);
  writer.finish();
  return 0;
}

CommandLine dump_line() {
  return {.usage = kDumpUsage,
          .options = {kHelp, kPartial, {"output,o", "FILE", "where to, ends in .jsonl; standard output when left out"}},
          .most_arguments = 1,
          .run = dump};
}

int pack(const Values& values) {
  const std::string output = given_output(values, "pack");
  if (trace::format_of_path(output) != trace::TraceFormat::kUvmt) {
    throw_input_error("-o {}: pack writes .uvmt; allowed: names that end in .uvmt (dump writes .jsonl)", output);
  }
  trace::TraceReader reader(given_trace(values, "pack"), {values.given("partial")});
  trace::TraceWriter writer(output, reader.header(), writer_options(values));
  trace::Validator validator(reader.name(), reader.header());
  copy_records(reader, reader, writer, values.given("no-validate") ? nullptr : &validator);
  writer.finish();
  return 0;
}

CommandLine pack_line() {
  return {.usage = kPackUsage,
          .options = {kHelp,
                      kPartial,
                      {"output,o", "FILE", "where to, ends in .uvmt"},
                      kLevel,
                      {"no-validate", "", "do not check that the records make sense together"}},
          .most_arguments = 1,
          .run = pack};
}

int validate(const Values& values) {
  given_trace(values, "validate");  // at least one
  for (const std::string& path : values.arguments()) {
    trace::TraceReader reader(path, {values.given("partial")});
    const std::string warning = [&] {
      const ReadingProgress progress(reader);
      return trace::validate(reader);
    }();
    fmt::print("{}: {} records, valid\n", plain_text(reader.name()), reader.position().record);
    if (!warning.empty()) warn("{}: {}", reader.name(), warning);
    warn_truncated(reader);
  }
  return 0;
}

CommandLine validate_line() {
  return {.usage = kValidateUsage, .options = {kHelp, kPartial}, .most_arguments = 1000000, .run = validate};
}

std::string patterns_text() {
  std::string out =
      "\nllm\n      a language model from its config.json, as PyTorch runs it: docs/language_models.md\n"
      "\nPatterns (N pages of 4096 bytes in all, K kernels per repeat):\n";
  for (const trace::GeneratorPattern& pattern : trace::generator_patterns()) {
    out += fmt::format("  {}\n", pattern.name);
    for (const std::string_view words : {pattern.summary, pattern.answer}) {
      out += wrapped_line(fmt::format("{:6}{}", "", words), 6) + "\n";
    }
  }
  return out;
}

constexpr Option kNoHostData{"no-host-data", "", "leave the objects untouched by the host before the kernels"};

// An option of `generate` with its setter, so that declaring, reading and checking agree.
struct ProgramOption : Option {
  std::function<void(trace::GeneratorOptions& program, const std::string& option, const std::string& value)> set;
};

auto size(std::uint64_t trace::GeneratorOptions::*member) {
  return [member](trace::GeneratorOptions& program, const std::string& option, const std::string& value) {
    program.*member = sweep::parse_size(option, value);
  };
}

template <class Number>
auto number(Number trace::GeneratorOptions::*member) {
  return [member](trace::GeneratorOptions& program, const std::string& option, const std::string& value) {
    const std::uint64_t parsed = sweep::parse_unsigned(option, value);
    constexpr Number kMost = std::numeric_limits<Number>::max();
    if (parsed > static_cast<std::uint64_t>(kMost)) {
      throw_input_error("{}: {} is too large; allowed: up to {}", option, value, kMost);
    }
    program.*member = static_cast<Number>(parsed);
  };
}

void set_zipf_exponent(trace::GeneratorOptions& program, const std::string& option, const std::string& value) {
  program.zipf_exponent_thousandths =
      value == "0" ? 0
                   : static_cast<std::uint32_t>(std::min<std::uint64_t>(sweep::parse_osf(option, value), UINT32_MAX));
}

std::vector<ProgramOption> generator_options() {
  using To = trace::GeneratorOptions;
  return {
      {{"bytes", "SIZE", "all objects together, default 64MiB"}, size(&To::bytes)},
      {{"repeats", "N", "iterations of the whole pattern, default 1"}, number(&To::repeats)},
      {{"kernels", "N", "kernels per repeat, default 1"}, number(&To::kernels)},
      {{"gpus", "N", "of pipeline, its stages, default 4"}, number(&To::gpus)},
      {{"write-percent", "N", "share of the pages that is written, default 0"}, number(&To::write_percent)},
      {{"seed", "N", "of random, zipf and pointer_chase, default 1"}, number(&To::seed)},
      {{"stride-bytes", "SIZE",
        "of strided, pointer_chase; a row of {row,column,convolution}_per_thread; default 64KiB"},
       size(&To::stride_bytes)},
      {{"touches", "N", "draws per kernel of random and zipf, default 4096"}, number(&To::touches)},
      {{"zipf-exponent", "X", "of zipf, up to three digits after the point, default 1"}, set_zipf_exponent},
      {{"halo-bytes", "SIZE", "of stencil, default 64KiB"}, size(&To::halo_bytes)},
      {{"tile", "N", "of tiled_matmul, edge in elements, default 128"}, number(&To::tile)},
      {{"element-bytes", "N", "of tiled_matmul, product_tiled, *_per_thread: 1, 2, 4 or 8, default 4"},
       number(&To::element_bytes)},
      {{"blocks-per-phase", "N", "of tiled_matmul, convolution_per_thread, default one row of tiles or blocks"},
       number(&To::blocks_per_phase)},
      {{"scans", "N", "of repeated_scan, passes inside a kernel, default 4"}, number(&To::scans)},
      {{"duration-ns", "N", "of every kernel; default 2 us + 1 ns per 1000 bytes touched"}, number(&To::duration_ns)},
      {{"host-gap-ns", "N", "host time before every kernel, default 0"}, number(&To::host_gap_ns)},
      {{"grid", "N", "thread blocks, default by the bytes touched"}, number(&To::grid)},
      {{"block", "N", "threads per block, default 256; product_tiled: 1024 for tiles of 32 x 32"}, number(&To::block)},
  };
}

// Refuses options of the other kind of program instead of ignoring them.
void refuse_options(const Values& values, const std::vector<Option>& options, const std::string& pattern) {
  for (const Option& option : options) {
    if (values.given(option.name)) throw_input_error("{} is no option of {}", option.dashed(), pattern);
  }
}

int generate(const Values& values) {
  trace::GeneratorOptions program;
  program.pattern = values.first("no pattern given; `uvmsim trace generate --help` lists them");
  if (program.pattern == "llm") {
    const std::vector<ProgramOption> options = generator_options();
    refuse_options(values, {options.begin(), options.end()}, program.pattern);
    refuse_options(values, {kNoHostData}, program.pattern);
    return generate_llm(values);
  }
  refuse_options(values, llm_options(), program.pattern);
  program.host_data = !values.given("no-host-data");
  for (const ProgramOption& option : generator_options()) {
    if (const auto text = values.text(option.name)) option.set(program, option.dashed(), *text);
  }
  const auto generated = trace::make_program(program);
  trace::TraceWriter writer(given_output(values, "generate"), generated->header(), writer_options(values));
  trace::Record record;
  while (generated->next(record)) writer.write(record);
  writer.finish();
  return 0;
}

CommandLine generate_line() {
  CommandLine line{.usage = kGenerateUsage,
                   .options = {kHelp, {"output,o", "FILE", "where to, ends in .uvmt or .jsonl"}, kLevel},
                   .notes = patterns_text(),
                   .most_arguments = 1,
                   .run = generate};
  for (const ProgramOption& option : generator_options()) line.options.push_back(option);
  line.options.push_back(kNoHostData);
  for (const Option& option : llm_options()) line.options.push_back(option);
  return line;
}

}  // namespace

CommandLine trace_command() {
  return {.usage = kTraceUsage,
          .options = {kHelp},
          .verbs = {{"info", "", info_line},
                    {"dump", "", dump_line},
                    {"pack", "", pack_line},
                    {"validate", "", validate_line},
                    {"import", "", trace_import},
                    {"export", "", trace_export},
                    {"generate", "", generate_line},
                    {"hint", "", trace_hint},
                    {"fields", "", trace_fields}},
          .lists_options = false};
}

}  // namespace uvmsim::cli
