// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace import`: recordings of other tools become traces.
#include <fmt/ranges.h>

#include <array>
#include <cstdio>
#include <functional>
#include <set>

#include "sim/cli/trace_usage.h"
#include "sim/cli/trace_verb.h"
#include "sim/import/import_accelprof.h"
#include "sim/import/import_nsys.h"
#include "sim/import/import_oracle_general.h"
#include "sim/import/import_raw.h"
#include "sim/report/numbers.h"
#include "sim/trace/names.h"
#include "sim/trace/validate.h"

namespace uvmsim::cli {
namespace {

// Copies everything that an importer has into the output, checked.
template <class Importer>
void convert(Importer& importer, const std::string& name, const Values& values) {
  trace::TraceWriter writer(values.output(), importer.header(), writer_options(values));
  trace::Validator validator(name, importer.header());
  trace::Record record;
  while (importer.next(record)) {
    validator.check(record);
    writer.write(record);
  }
  validator.finish();
  writer.finish();
}

std::string provenance(const Values& values) {
  return values.given("provenance") ? values.string("provenance") : std::string();
}

trace::ObjectKind object_kind(const Values& values) {
  if (!values.given("kind")) return trace::ObjectKind::kManaged;
  return parse_choice("--kind", values.string("kind"), {"managed", "device"}) == "managed" ? trace::ObjectKind::kManaged
                                                                                           : trace::ObjectKind::kDevice;
}

std::uint32_t size_of(const Values& values, const char* option, std::uint32_t fallback) {
  if (!values.given(option)) return fallback;
  const std::uint64_t bytes = parse_size(std::string("--") + option, values.string(option));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
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
    const std::uint64_t process = parse_unsigned("--process", values.string("process"));
    if (process > 0xffffff) throw_input_error("--process: {} is no process id; allowed: 0 to {}", process, 0xffffff);
    options.process = static_cast<std::uint32_t>(process);
  }
  options.counters = !values.flag("no-counters");
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
  if (values.given("touches-per-kernel")) {
    options.touches_per_kernel = parse_unsigned("--touches-per-kernel", values.string("touches-per-kernel"));
  }
  options.provenance = provenance(values);
  trace::OracleImporter importer(path, options);
  convert(importer, path, values);
  fmt::print(stderr, "{}: {} requests of {} pages\n", path, importer.summary().requests, importer.summary().pages);
}

struct Kind {
  std::string_view name;
  void (*import)(const std::string& path, const Values& values);
  std::set<std::string_view> options;  // beside those of every kind
};

const std::array<Kind, 4>& kinds() {
  static const std::array<Kind, 4> all = {{
      {"raw", import_raw, {"kind", "quantum-bytes"}},
      {"nsys", import_nsys, {"process", "no-counters"}},
      {"accelprof", import_accelprof, {"kind"}},
      {"oracle-general", import_oracle_general, {"page-size", "touches-per-kernel"}},
  }};
  return all;
}

bool is_given(const Values& values, const char* option) {
  return std::string_view(option) == "no-counters" ? values.flag(option) : values.given(option);
}

}  // namespace

int trace_import(const Arguments& arguments) {
  auto options = common_options();
  add_output(options, "where to, ends in .uvmt or .jsonl");
  add_level(options);
  options.add_options()("provenance", text("TEXT"), "where the recording comes from, for the trace's header");
  options.add_options()("kind", text("KIND"),
                        "raw, accelprof: what the recorded allocations become: managed (default) or device");
  options.add_options()("quantum-bytes", text("SIZE"),
                        "raw: unit of the accesses, default 512; must divide every address");
  options.add_options()("process", text("PID"), "nsys: whose records, when several processes launched kernels");
  options.add_options()("no-counters", po::bool_switch(),
                        "nsys: leave out the driver's events, which a replay ignores");
  options.add_options()("page-size", text("SIZE"), "oracle-general: of every request, default 4KiB");
  options.add_options()("touches-per-kernel", text("N"), "oracle-general: default 1048576");
  const Values values("import", kImportUsage, options, arguments, 2);
  if (values.help()) return 0;
  const Arguments positional = values.positional();
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  if (positional.size() != 2) {
    throw_input_error(
        "import takes a kind of recording and a file: `uvmsim trace import raw RECORDING -o OUT.uvmt`; kinds: {}",
        fmt::join(names, ", "));
  }
  for (const Kind& kind : kinds()) {
    if (kind.name != positional[0]) continue;
    for (const char* option : {"kind", "quantum-bytes", "process", "no-counters", "page-size", "touches-per-kernel"}) {
      if (is_given(values, option) && !kind.options.contains(option)) {
        throw_input_error("--{} does not go with import {}; `uvmsim trace import --help` says what does", option,
                          kind.name);
      }
    }
    kind.import(positional[1], values);
    return 0;
  }
  throw_input_error("import: unknown kind '{}'{}", printable(positional[0]), allowed_hint(positional[0], names));
}

}  // namespace uvmsim::cli
