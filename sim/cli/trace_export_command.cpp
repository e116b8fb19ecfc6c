// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace export`: writes traces for other simulators.
#include <cstdint>
#include <cstdio>

#include "sim/cli/say.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/import/oracle_general.h"
#include "sim/pagestream/page_stream.h"
#include "sim/sweep/values.h"
#include "sim/trace/names.h"
#include "sim/trace/validate.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kExportUsage = R"(usage: uvmsim trace export oracle-general TRACE -o OUT [options]

Writes the pages that a trace's kernels touch, in order, as a request stream that libCacheSim reads (oracleGeneral: time,
id, size, next access; 24 bytes each, no header). The time is the number of the kernel, ids are page numbers; a page
that is freed and allocated anew gets a new one. sim/pagestream/README.md says what counts and in which order.

Examples:
  uvmsim trace export oracle-general gpt2.uvmt -o gpt2.oracleGeneral --page-size 2MiB
  uvmsim trace export oracle-general gpt2.uvmt -o gpt2_64k.oracleGeneral --page-size 64KiB --layout none
  cachesim gpt2.oracleGeneral oracleGeneral lru,belady 0.5

)";

// A request takes 12 bytes of memory until it is written.
constexpr std::size_t kMostRequests = std::size_t{1} << 31;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct Requests {
  std::vector<std::uint64_t> pages;
  std::vector<std::uint32_t> kernels;  // by request: numbers of kernels and of sets before it
};

Requests read_requests(const std::string& path, bool partial, std::uint64_t page_bytes,
                       const layout::LayoutChoice& layout) {
  trace::TraceReader reader(path, {partial});
  trace::Validator validator(reader.name(), reader.header());
  pagestream::PageStream stream(reader.header(), page_bytes, layout);
  Requests requests;
  std::uint32_t kernel = 0;
  const auto touch = [&](std::uint64_t page) {
    if (requests.pages.size() == kMostRequests) {
      throw_input_error("more than {} requests; choose larger pages", kMostRequests);
    }
    requests.pages.push_back(page);
    requests.kernels.push_back(kernel);
  };
  trace::Record record;
  while (reader.next(record)) {
    validator.check(record, reader.position());
    try {
      stream.add(record, touch);
    } catch (const InputError& error) {
      throw_input_error("{}: {}: {}", reader.name(), reader.position().text(), error.what());
    }
    if (std::holds_alternative<trace::Kernel>(record) || std::holds_alternative<trace::Memset>(record)) ++kernel;
  }
  validator.finish(reader.truncated());
  warn_truncated(reader);
  if (requests.pages.empty()) throw_input_error("{}: no kernel touches managed memory", reader.name());
  return requests;
}

int export_trace(const Values& values) {
  const Arguments& positional = values.arguments();
  if (positional.empty() || positional[0] != "oracle-general") {
    throw_input_error("export: {}; allowed: oracle-general",
                      positional.empty() ? "no format given" : "unknown format '" + printable(positional[0]) + "'");
  }
  if (positional.size() != 2) throw_input_error("export: no trace given; `uvmsim trace export --help` shows examples");
  const std::uint64_t page_bytes = values.size("page-size", kBlockBytes);
  const layout::LayoutChoice layout = sweep::parse_layout("--layout", values.text("layout").value_or("recorded"));

  AtomicFile file(given_output(values, "export"));
  const Requests requests = read_requests(positional[1], values.given("partial"), page_bytes, layout);
  const std::vector<std::int64_t> next = trace::next_accesses(requests.pages);
  std::string piece;
  std::uint64_t distinct = 0;
  for (std::size_t i = 0; i < requests.pages.size(); ++i) {
    trace::append_oracle_record(
        {requests.kernels[i], requests.pages[i], static_cast<std::uint32_t>(page_bytes), next[i]}, piece);
    distinct += next[i] < 0 ? 1 : 0;
    if (piece.size() >= kPieceBytes) {
      file.write(piece);
      piece.clear();
    }
  }
  file.write(piece);
  file.commit();
  say("{}: {} requests of {} pages of {} bytes", file.path(), requests.pages.size(), distinct, page_bytes);
  return 0;
}

}  // namespace

CommandLine trace_export() {
  return {.usage = kExportUsage,
          .options = {kHelp,
                      kPartial,
                      {"output,o", "FILE", "where to"},
                      {"page-size", "SIZE", "4KiB, 64KiB or 2MiB (default), also the size of every request"},
                      {"layout", "NAME[:key=value,...]", "where objects lie, as in `uvmsim run`; default recorded"}},
          .most_arguments = 2,
          .run = export_trace};
}

}  // namespace uvmsim::cli
