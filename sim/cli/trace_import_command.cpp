// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace import`: turns recordings of other tools into traces.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "sim/cli/say.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/import/import_accelprof.h"
#include "sim/import/import_chakra.h"
#include "sim/import/import_kineto.h"
#include "sim/import/import_nsys.h"
#include "sim/import/import_raw.h"
#include "sim/import/import_requests.h"
#include "sim/import/import_snapshot.h"
#include "sim/import/import_warp_log.h"
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
  nsys            Nsight Systems, exported with `nsys export --type sqlite`: kernels, allocations, faults, migrations,
                  prefetches, waits, NVTX ranges. Accesses are the pages that moved for kernels and the host
  accelprof       AccelProf (PASTA): uvm_advisor_opt.log, or a folder of kernel_N.txt of mem_trace or hot_analysis
  kineto          a profile of PyTorch with memory events (profile_memory, record_shapes): sizes and lifetimes of
                  tensors, kernels, times. Accesses are inferred from operators
  chakra          an execution trace of PyTorch (ExecutionTraceObserver) or Chakra (JSON, .et): operators with their
                  tensors; kernels and times where a profile was linked. Accesses are inferred from operators
  snapshot        a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot; pickle or JSON): segments, sizes,
                  lifetimes, names. It has no kernels and no accesses; --accesses lifetimes assumes some
  nvbit           a log of NVBit's mem_trace: every address of every warp
  accelsim        Accel-Sim: a folder with kernelslist.g, the list, or one kernel (.traceg, .trace)
  requests        requests as libCacheSim reads them (lcs, vscsi, oracleGeneral, csv, txt, told by the content; plain or
                  packed with zstd, gzip or xz): one GPU thread touches their pages in order. oracle-general is the same

Examples:
  uvmsim trace import raw workloads/raw/gpt2_h200_raw.jsonl.zst -o gpt2.uvmt
  uvmsim trace import nsys report.sqlite -o report.uvmt
  uvmsim trace import accelprof traces_bert/ -o bert.uvmt
  uvmsim trace import accelsim hw_run/traces/ -o vectoradd.uvmt
  uvmsim trace import requests twitter.oracleGeneral.zst --page-size 4KiB -o twitter.uvmt

)";

// Copies all records of an importer into the output, checked.
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
  say("{}: {} kernels, {} objects; {} touched pages outside of every object were left out", path, summary.kernels,
      summary.objects, summary.pages_outside);
}

// Prints how much of the recording the trace has, and what it lacks.
void print_nsys_summary(const std::string& path, const trace::NsysImportSummary& summary) {
  const auto bytes = [](const trace::AccountedBytes& of) {
    return fmt::format("{} of {}", report::format_bytes(of.accounted), report::format_bytes(of.recorded));
  };
  fmt::print(
      stderr,
      "{}: {} of {} launches ({} of {} ms of GPU time, of which {} ms of faults are left to the replay), {} with "
      "accesses; {} objects, {} of them inferred from events\n",
      path, summary.kernels, summary.kernels + summary.graphs, report::format_ms(Nanoseconds(summary.kernel_ns)),
      report::format_ms(Nanoseconds(summary.kernel_ns + summary.graph_ns)),
      report::format_ms(Nanoseconds(summary.served_ns)), summary.covered_kernels, summary.objects,
      summary.inferred_objects);
  if (summary.to_gpu.recorded + summary.to_host.recorded != 0) {
    fmt::print(
        stderr,
        "{}: accesses and prefetches stand for {} that moved to a GPU and {} that moved to the host, evictions "
        "apart; {} came from the host first and count as written there, {} from a GPU first and count as written "
        "by the last kernel\n",
        path, bytes(summary.to_gpu), bytes(summary.to_host), report::format_bytes(summary.implied_host_bytes),
        report::format_bytes(summary.implied_gpu_bytes));
  }
  if (!summary.iteration.empty()) {
    say("{}: {} NVTX ranges '{}' are the iterations", path, summary.iterations, printable(summary.iteration));
  }
  if (summary.unattributed + summary.ambiguous + summary.outside + summary.missing_frees != 0) {
    say("{}: events of no kernel: {}; of overlapping kernels: {}; outside of every object: {}; frees that were "
        "not recorded: {}",
        path, summary.unattributed, summary.ambiguous, summary.outside, summary.missing_frees);
  }
  const auto warn = [&path](const std::string& text) { cli::warn("{}: {}", path, text); };
  if (summary.graphs != 0) {
    warn(fmt::format(
        "{} graph launches ({} ms of GPU time) recorded as wholes are left out; record with --cuda-graph-trace=node",
        summary.graphs, report::format_factor(static_cast<std::uint64_t>(summary.graph_ns) / 1000)));
  }
  if (!summary.not_recorded.empty()) {
    warn(fmt::format("not recorded: {}: touches and their times are inferred from the rest",
                     fmt::join(summary.not_recorded, ", ")));
  }
  if (summary.covered_kernels == 0) {
    warn("no kernel has accesses: no page moved while one ran; prefetches and copies are all that a replay moves");
  }
  if (summary.idle_prefetch_calls != 0) {
    warn(fmt::format("{} of {} calls that prefetch moved nothing and are left out", summary.idle_prefetch_calls,
                     summary.prefetch_calls));
  }
  if (summary.fills_left_out != 0) {
    warn(
        fmt::format("{} of {} fills are left out: those of plain memory, and where the report does not say which "
                    "managed memory was filled",
                    summary.fills_left_out, summary.fills));
  }
  if (summary.unplaced_copies != 0) {
    warn(fmt::format("{} copies of managed memory became copies of plain memory: the report has no addresses of them",
                     summary.unplaced_copies));
  }
  if (summary.vague_waits != 0) {
    warn(fmt::format("{} waits of the host for streams or events became waits for all: the report does not name them",
                     summary.vague_waits));
  }
  if (summary.lost_waits != 0) {
    warn(
        fmt::format("{} waits of streams for events are left out: the report does not name the events (record with "
                    "--cuda-event-trace=true)",
                    summary.lost_waits));
  }
}

void import_nsys(const std::string& path, const Values& values) {
  trace::NsysImportOptions options;
  if (values.given("process")) {
    options.process = static_cast<std::uint32_t>(values.number("process", 0, {0, 0xffffff, " is no process id"}));
  }
  options.counters = !values.given("no-counters");
  options.iterations = values.text("iterations").value_or("");
  const std::string accesses =
      sweep::parse_choice("--accesses", values.text("accesses").value_or("moved"), {"moved", "faulted"});
  options.accesses = accesses == "moved" ? trace::NsysAccesses::kMoved : trace::NsysAccesses::kFaulted;
  options.provenance = provenance(values);
  trace::NsysImporter importer(path, options);
  convert(importer, path, values);
  print_nsys_summary(path, importer.summary());
}

void import_accelprof(const std::string& path, const Values& values) {
  trace::AccelprofImportOptions options;
  options.kind = object_kind(values);
  options.provenance = provenance(values);
  trace::AccelprofImporter importer(path, options);
  convert(importer, path, values);
  const trace::AccelprofImportSummary& summary = importer.summary();
  say("{}: log of {}: {} kernels, {} objects, {} tensors; {} touched bytes outside of every object", path, summary.tool,
      summary.kernels, summary.objects, summary.tensors, summary.bytes_outside);
}

void import_kineto(const std::string& path, const Values& values) {
  trace::KinetoImporter importer(path, {provenance(values)});
  convert(importer, path, values);
  const trace::KinetoImportSummary& summary = importer.summary();
  fmt::print(
      stderr,
      "{}: {} kernels, {} of them with accesses inferred from operators; {} allocations, and {} from before ({} of "
      "{} that the allocator held); {} iterations\n",
      path, summary.kernels, summary.covered_kernels, summary.tensors, summary.earlier_tensors,
      report::format_bytes(summary.earlier_bytes), report::format_bytes(summary.earlier_total_bytes),
      summary.iterations);
  const auto warn = [&path](const std::string& text) { cli::warn("{}: {}", path, text); };
  if (!summary.shapes) {
    warn("not recorded: shapes (record_shapes=True): kernels write what was allocated around them and read nothing");
  }
  if (summary.unmatched != 0) {
    warn(fmt::format("{} of {} operands fit no live allocation and are left out", summary.unmatched, summary.operands));
  }
  if (summary.fills_left_out != 0) {
    warn(fmt::format("{} fills are left out: the profile has no addresses of them", summary.fills_left_out));
  }
}

void import_chakra(const std::string& path, const Values& values) {
  trace::ChakraImporter importer(path, {provenance(values)});
  convert(importer, path, values);
  const trace::ChakraImportSummary& summary = importer.summary();
  fmt::print(stderr,
             "{}: {} nodes: {} kernels, {} of them with accesses inferred from operators, {} copies, {} fills; {} "
             "tensors of {}, {} of them allocated before; {} iterations\n",
             path, summary.nodes, summary.kernels, summary.covered_kernels, summary.copies, summary.fills,
             summary.tensors, report::format_bytes(summary.tensor_bytes), summary.earlier_tensors, summary.iterations);
  if (!summary.durations) {
    warn(
        "{}: the trace has operators and no kernels: each that writes is one, its duration estimated from the touched "
        "bytes (chakra_trace_link adds the kernels of a profile)",
        path);
  }
  if (summary.left_out != 0) {
    warn("{}: {} copies and fills are left out: the trace does not name their memory", path, summary.left_out);
  }
}

void import_snapshot(const std::string& path, const Values& values) {
  trace::SnapshotImportOptions options;
  options.kind = object_kind(values);
  const std::string accesses =
      sweep::parse_choice("--accesses", values.text("accesses").value_or("none"), {"none", "lifetimes"});
  const bool none = accesses == "none";
  options.accesses = none ? trace::SnapshotAccesses::kNone : trace::SnapshotAccesses::kLifetimes;
  options.provenance = provenance(values);
  trace::SnapshotImporter importer(path, options);
  convert(importer, path, values);
  const trace::SnapshotImportSummary& summary = importer.summary();
  fmt::print(stderr, "{}: {} segments, {} tensors, {} of them allocated before the history; at most {} at a time\n",
             path, summary.segments, summary.tensors, summary.earlier_tensors,
             report::format_bytes(summary.most_bytes));
  const auto warn = [&path](const std::string& text) { cli::warn("{}: {}", path, text); };
  if (!summary.history) {
    warn("not recorded: the history (torch.cuda.memory._record_memory_history()): no memory is freed");
  }
  warn(none ? "a memory snapshot has no kernels: a replay moves nothing; --accesses lifetimes assumes accesses"
            : "the accesses are assumed: each tensor is written after its allocation and read before its free");
  if (summary.unplaced != 0) {
    warn(fmt::format("{} tensors lie in no segment: pieces of expandable segments are no objects", summary.unplaced));
  }
  if (summary.out_of_memory != 0) {
    warn(fmt::format("{} allocations failed (out of memory) and are left out", summary.out_of_memory));
  }
}

void import_requests(const std::string& path, const Values& values) {
  trace::RequestsImportOptions options;
  options.page_bytes = size_of(values, "page-size", options.page_bytes);
  options.id_bytes = values.size("id-bytes", options.id_bytes);
  options.whole_sizes = !values.given("ignore-sizes");
  options.columns = values.text("columns").value_or("");
  options.touches_per_kernel = values.number("touches-per-kernel", options.touches_per_kernel);
  options.provenance = provenance(values);
  trace::RequestsImporter importer(path, options);
  convert(importer, path, values);
  const trace::RequestsImportSummary& summary = importer.summary();
  std::string sizes = "without sizes, one page each";
  if (summary.largest_bytes != 0) {
    const std::string range = summary.smallest_bytes == summary.largest_bytes
                                  ? std::to_string(summary.largest_bytes)
                                  : fmt::format("{} to {}", summary.smallest_bytes, summary.largest_bytes);
    sizes = fmt::format(
        "of {} bytes, {}", range,
        summary.sizes_used ? "which touch all their pages" : "of which each touches one page (--ignore-sizes)");
  }
  say("{}: {}: {} requests {}: {} touches of {} pages of {} bytes", path, summary.format, summary.requests, sizes,
      summary.touches, summary.pages, options.page_bytes);
}

void import_warp_log(trace::WarpLog& log, const std::string& tool, const std::string& path, const Values& values) {
  trace::WarpImportOptions options;
  options.kind = object_kind(values);
  options.provenance = provenance(values);
  trace::WarpLogImporter importer(log, tool, path, options);
  convert(importer, path, values);
  const trace::WarpImportSummary& summary = importer.summary();
  fmt::print(
      stderr,
      "{}: {} kernels with {} instructions on global memory, which touch {}; {} copies to the GPU; {} objects of "
      "2 MiB blocks, as allocations are not recorded; {} are read first and count as written by the host\n",
      path, summary.kernels, summary.instructions, report::format_bytes(summary.touched_bytes), summary.copies,
      summary.objects, report::format_bytes(summary.implied_host_bytes));
  warn("{}: durations are not recorded: estimated from the touched bytes", path);
  if (summary.without_phases != 0) {
    warn("{}: which thread blocks touch what was too much to keep for {} kernels", path, summary.without_phases);
  }
}
void import_nvbit(const std::string& path, const Values& values) {
  import_warp_log(*trace::open_nvbit_log(path), "nvbit", path, values);
}
void import_accelsim(const std::string& path, const Values& values) {
  import_warp_log(*trace::open_accelsim_kernels(path), "accelsim", path, values);
}

struct Kind {
  std::string_view name;
  void (*import)(const std::string& path, const Values& values);
  std::vector<std::string_view> options;  // beyond the options that all kinds have
};

const std::vector<std::string_view> kRequestOptions = {"page-size", "id-bytes", "ignore-sizes", "columns",
                                                       "touches-per-kernel"};
const std::vector<Kind> kKinds = {{"raw", import_raw, {"kind", "quantum-bytes"}},
                                  {"nsys", import_nsys, {"process", "no-counters", "accesses", "iterations"}},
                                  {"accelprof", import_accelprof, {"kind"}},
                                  {"kineto", import_kineto, {}},
                                  {"chakra", import_chakra, {}},
                                  {"snapshot", import_snapshot, {"kind", "accesses"}},
                                  {"nvbit", import_nvbit, {"kind"}},
                                  {"accelsim", import_accelsim, {"kind"}},
                                  {"requests", import_requests, kRequestOptions},
                                  {"oracle-general", import_requests, kRequestOptions}};

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
    for (const char* option : {"kind", "quantum-bytes", "process", "no-counters", "accesses", "iterations", "page-size",
                               "id-bytes", "ignore-sizes", "columns", "touches-per-kernel"}) {
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
  return {.usage = kImportUsage,
          .options =
              {kHelp,
               {"output,o", "FILE", "where to, ends in .uvmt or .jsonl"},
               kLevel,
               {"provenance", "TEXT", "where the recording comes from, for the trace's header"},
               {"kind", "KIND",
                "raw, accelprof, nvbit, accelsim, snapshot: what the recorded allocations become: managed (default) or "
                "device"},
               {"quantum-bytes", "SIZE", "raw: unit of the accesses, default 512; must divide every address"},
               {"process", "PID", "nsys: whose records, when several processes launched kernels"},
               {"no-counters", "", "nsys: leave out the driver's events, which a replay ignores"},
               {"accesses", "WHICH",
                "nsys: pages that kernels and the host touched: moved (default; those that faulted and those moved "
                "with them) or faulted (a lower bound). snapshot: none (default) or lifetimes"},
               {"iterations", "NAME",
                "nsys: NVTX ranges that are iterations; default: ranges that repeat and hold the kernels"},
               {"page-size", "SIZE", "requests: page of the trace, default 4KiB"},
               {"id-bytes", "SIZE", "requests: what one step of an id stands for, default a page; vscsi 512"},
               {"ignore-sizes", "", "requests: each touches one page, whatever its size"},
               {"columns", "NAMES", "requests: of csv without a header what its columns are, as time,id,size,op"},
               {"touches-per-kernel", "N", "requests: default 1048576"}},
          .most_arguments = 2,
          .run = import_recording};
}

}  // namespace uvmsim::cli
