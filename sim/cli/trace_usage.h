// SPDX-License-Identifier: Apache-2.0
// What `uvmsim trace VERB --help` says before the options.
#pragma once

namespace uvmsim::cli {

inline constexpr const char* kInfoUsage = R"(usage: uvmsim trace info TRACE [options]

Says what a trace holds: program and provenance, kernels, bytes touched, peak of live memory, iterations; and its
footprint under every layout, which is what --osf divides (`uvmsim layouts` explains them), and the touched one, which
`--footprint touched` makes it divide.

Examples:
  uvmsim trace info workloads/gpt2.uvmt
  uvmsim trace info workloads/gpt2.uvmt --json | jq .peak_managed_bytes
)";
inline constexpr const char* kDumpUsage = R"(usage: uvmsim trace dump TRACE [-o OUT.jsonl] [options]

Writes a trace as JSON lines, one record per line: the form to read, to search and to edit. `pack` turns it back
without loss. `uvmsim trace fields` lists the keys.

Examples:
  uvmsim trace dump workloads/gpt2.uvmt | grep '"t":"kernel"' | head -3
  uvmsim trace dump cut_off.uvmt --partial -o rest.jsonl
)";
inline constexpr const char* kPackUsage = R"(usage: uvmsim trace pack TRACE -o OUT.uvmt [options]

Checks a trace (JSON lines, plain or zstd-compressed, or .uvmt) and writes it as .uvmt.

Examples:
  uvmsim trace pack mine.jsonl -o mine.uvmt
  uvmsim trace dump a.uvmt | sed 's/"duration_ns":900/"duration_ns":1800/' | uvmsim trace pack - -o b.uvmt
)";
inline constexpr const char* kValidateUsage = R"(usage: uvmsim trace validate TRACE... [options]

Checks that every record can be read and makes sense: nothing touched before it is allocated or after it is freed, no
access beyond its object, no double free, no overlap, ranges and iterations nested. The first mistake is named and ends
the command with exit code 2.

Examples:
  uvmsim trace validate mine.jsonl
  uvmsim trace validate workloads/*.uvmt
)";
inline constexpr const char* kImportUsage = R"(usage: uvmsim trace import KIND RECORDING -o OUT.uvmt [options]

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
inline constexpr const char* kExportUsage = R"(usage: uvmsim trace export oracle-general TRACE -o OUT [options]

Writes the pages that a trace's kernels touch, in order, as a request stream that libCacheSim reads (oracleGeneral: time,
id, size, next access; 24 bytes each, no header). The time is the number of the kernel, ids are page numbers; a page
that is freed and allocated anew gets a new one. sim/pagestream/README.md says what counts and in which order.

Examples:
  uvmsim trace export oracle-general gpt2.uvmt -o gpt2.oracleGeneral --page-size 2MiB
  uvmsim trace export oracle-general gpt2.uvmt -o gpt2_64k.oracleGeneral --page-size 64KiB --layout none
  cachesim gpt2.oracleGeneral oracleGeneral lru,belady 0.5
)";
inline constexpr const char* kHintUsage = R"(usage: uvmsim trace hint TRACE --hints FILE -o OUT.uvmt [options]

Writes the program with calls that it did not make: prefetches, don't-need (discard), pins, advice. The file has a rule
per line, WHEN NAME DO; '#' begins a comment:

  tensor_alloc  *weight*  pin           tensor_alloc, object_alloc, tensor_free: pin, unpin, read_mostly, prefetch,
  tensor_free   *         dont_need     dont_need; objects are named by their number
  kernel        *gemm*    prefetch 8    what the 8th kernel after this one touches, in stream 31

Examples:
  echo 'tensor_free * dont_need' > free.hints
  uvmsim trace hint workloads/gpt2.uvmt --hints free.hints -o gpt2_free.uvmt
  uvmsim run gpt2_free.uvmt --system h200-sxm-pcie5+gmem --osf 2
)";
inline constexpr const char* kGenerateUsage = R"(usage: uvmsim trace generate PATTERN -o OUT.uvmt [options]

Writes a synthetic program whose behaviour has a known answer. The same options give the same trace.

Examples:
  uvmsim trace generate sequential --bytes 256MiB --repeats 3 -o scan.uvmt
      reads 256 MiB three times; with less memory than that an LRU faults on every page, every time
  uvmsim trace generate zipf --bytes 1GiB --kernels 100 --touches 20000 --zipf-exponent 0.9 --seed 7 -o zipf.uvmt
  uvmsim trace generate tiled_matmul --bytes 768MiB --tile 256 -o matmul.uvmt
  uvmsim trace generate pointer_chase --bytes 64MiB --stride-bytes 64KiB -o chase.jsonl
)";
inline constexpr const char* kFieldsUsage = R"(usage: uvmsim trace fields [RECORD] [options]

Lists the keys of every record of a trace in its JSON-lines form (`dump`, `pack`), or of one record type: whether a key
must be there, what it may be, what it means. "always written" keys may be missing in what is read.

Examples:
  uvmsim trace fields
  uvmsim trace fields kernel
)";
inline constexpr const char* kTraceUsage = R"(usage: uvmsim trace VERB ...

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

}  // namespace uvmsim::cli
