// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace import`: recordings of other tools become traces.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/import/import_accelprof.h"
#include "sim/import/import_nsys.h"
#include "sim/import/import_oracle_general.h"
#include "sim/import/import_raw.h"
#include "sim/report/numbers.h"
#include "sim/sweep/values.h"
#include "sim/trace/names.h"
#include "sim/trace/validate.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kImportUsage = R"(usage: uvmsim trace import KIND RECORDING -o OUT.uvmt [options]

Converts what another tool recorded into a trace. Kinds:
  raw             recordings of 64 KB pages per kernel (JSON lines, plain or zstd-compressed); workloads/README.md says
                  what they hold
  nsys            Nsight Systems, exported with `nsys export --type sqlite`: kernels, allocations, faults, migrations.
                  Accesses are the pages that faulted, a lower bound
  accelprof       AccelProf (PASTA): uvm_advisor_opt.log, or a folder of kernel_N.txt of mem_trace or hot_analysis
  oracle-general  a request stream of libCacheSim (24 bytes per request, plain or zstd-compressed): one GPU thread
                  touches its pages in order

Examples:
  uvmsim trace import raw workloads/raw/gpt2_h200_raw.jsonl.zst -o gpt2.uvmt
  uvmsim trace import nsys report.sqlite -o report.uvmt
  uvmsim trace import accelprof traces_bert/ -o bert.uvmt
  uvmsim trace import oracle-general twitter.oracleGeneral.zst --page-size 4KiB -o twitter.uvmt

)";

// Copies everything that an importer has into the output, checked.
template <class Importer>
void convert(Importer& importer, const std::string& name, const Values& values) {
  trace::TraceWriter writer(given_output(values, "import"), importer.header(), writer_options(values));
  trace::Validator validator(name, importer.header());
  trace::Record record;
  while (importer.next(record)) {
    validator.check(record);
    writer.write(record);
  }
  validator.finish();
  writer.finish();
}

std::string provenance(const Values& values) { return values.text("provenance").value_or(""); }

trace::ObjectKind object_kind(const Values& values) {
  const std::string kind =
      sweep::parse_choice("--kind", values.text("kind").value_or("managed"), {"managed", "device"});
  return kind == "managed" ? trace::ObjectKind::kManaged : trace::ObjectKind::kDevice;
}

std::uint32_t size_of(const Values& values, const char* option, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(values.size(option, otherwise), UINT32_MAX));
}

void import_raw(const std::string& path, const Values& values) {
  trace::ImportOptions options;
  options.kind = object_kind(values);
  options.quantum_bytes = size_of(values, "quantum-bytes", options.quantum_bytes);
  options.provenance = provenance(values);
  trace::RawImporter importer(path, options);
  convert(importer, path, values);
  const trace::ImportSummary& summary = importer.summary();
  fmt::print(stderr, "{}: {} kernels, {} objects; {} touched pages outside of every object were left out\n", path,
             summary.kernels, summary.objects, summary.pages_outside);
}

void import_nsys(const std::string& path, const Values& values) {
  trace::NsysImportOptions options;
  if (values.given("process")) {
    options.process = static_cast<std::uint32_t>(values.number("process", 0, {0, 0xffffff, " is no process id"}));
  }
  options.counters = !values.given("no-counters");
  options.provenance = provenance(values);
  trace::NsysImporter importer(path, options);
  convert(importer, path, values);
  const trace::NsysImportSummary& summary = importer.summary();
  fmt::print(stderr,
             "{}: {} kernels, {} of them with faults; {} objects, {} of them inferred from events; {} came from "
             "the host first and count as written there\n",
             path, summary.kernels, summary.covered_kernels, summary.objects, summary.inferred_objects,
             report::format_bytes(summary.implied_host_bytes));
  if (summary.unattributed + summary.ambiguous + summary.outside + summary.missing_frees != 0) {
    fmt::print(stderr,
               "{}: events of no kernel: {}; of overlapping kernels: {}; outside of every object: {}; frees that were "
               "not recorded: {}\n",
               path, summary.unattributed, summary.ambiguous, summary.outside, summary.missing_frees);
  }
}

void import_accelprof(const std::string& path, const Values& values) {
  trace::AccelprofImportOptions options;
  options.kind = object_kind(values);
  options.provenance = provenance(values);
  trace::AccelprofImporter importer(path, options);
  convert(importer, path, values);
  const trace::AccelprofImportSummary& summary = importer.summary();
  fmt::print(stderr, "{}: log of {}: {} kernels, {} objects, {} tensors; {} touched bytes outside of every object\n",
             path, summary.tool, summary.kernels, summary.objects, summary.tensors, summary.bytes_outside);
}

void import_oracle_general(const std::string& path, const Values& values) {
  trace::OracleImportOptions options;
  options.page_bytes = size_of(values, "page-size", options.page_bytes);
  options.touches_per_kernel = values.number("touches-per-kernel", options.touches_per_kernel);
  options.provenance = provenance(values);
  trace::OracleImporter importer(path, options);
  convert(importer, path, values);
  fmt::print(stderr, "{}: {} requests of {} pages\n", path, importer.summary().requests, importer.summary().pages);
}

struct Kind {
  std::string_view name;
  void (*import)(const std::string& path, const Values& values);
  std::vector<std::string_view> options;  // beside those of every kind
};

const std::vector<Kind> kKinds = {{"raw", import_raw, {"kind", "quantum-bytes"}},
                                  {"nsys", import_nsys, {"process", "no-counters"}},
                                  {"accelprof", import_accelprof, {"kind"}},
                                  {"oracle-general", import_oracle_general, {"page-size", "touches-per-kernel"}}};

int import_recording(const Values& values) {
  const Arguments& positional = values.arguments();
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  if (positional.size() != 2) {
    throw_input_error(
        "import takes a kind of recording and a file: `uvmsim trace import raw RECORDING -o OUT.uvmt`; kinds: {}",
        fmt::join(names, ", "));
  }
  for (const Kind& kind : kKinds) {
    if (kind.name != positional[0]) continue;
    for (const char* option : {"kind", "quantum-bytes", "process", "no-counters", "page-size", "touches-per-kernel"}) {
      if (values.given(option) && std::ranges::find(kind.options, option) == kind.options.end()) {
        throw_input_error("--{} does not go with import {}; `uvmsim trace import --help` says what does", option,
                          kind.name);
      }
    }
    kind.import(positional[1], values);
    return 0;
  }
  throw_input_error("import: unknown kind '{}'{}", printable(positional[0]), allowed_hint(positional[0], names));
}

}  // namespace

CommandLine trace_import() {
  return {
      .usage = kImportUsage,
      .options = {kHelp,
                  {"output,o", "FILE", "where to, ends in .uvmt or .jsonl"},
                  kLevel,
                  {"provenance", "TEXT", "where the recording comes from, for the trace's header"},
                  {"kind", "KIND", "raw, accelprof: what the recorded allocations become: managed (default) or device"},
                  {"quantum-bytes", "SIZE", "raw: unit of the accesses, default 512; must divide every address"},
                  {"process", "PID", "nsys: whose records, when several processes launched kernels"},
                  {"no-counters", "", "nsys: leave out the driver's events, which a replay ignores"},
                  {"page-size", "SIZE", "oracle-general: of every request, default 4KiB"},
                  {"touches-per-kernel", "N", "oracle-general: default 1048576"}},
      .most_arguments = 2,
      .run = import_recording};
}

}  // namespace uvmsim::cli
