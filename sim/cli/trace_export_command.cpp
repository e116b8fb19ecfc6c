// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace export`: traces for other simulators.
#include <cstdint>
#include <cstdio>

#include "sim/cli/trace_usage.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/atomic_file.h"
#include "sim/import/oracle_general.h"
#include "sim/pagestream/page_stream.h"
#include "sim/trace/names.h"
#include "sim/trace/reader.h"
#include "sim/trace/validate.h"

namespace uvmsim::cli {
namespace {

// 12 bytes of memory each until they are written.
constexpr std::size_t kMostRequests = std::size_t{1} << 31;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct Requests {
  std::vector<std::uint64_t> pages;
  std::vector<std::uint32_t> kernels;  // by request: kernels and sets before it
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
  if (reader.truncated()) fmt::print(stderr, "uvmsim: warning: {}; the rest is missing\n", reader.truncation());
  if (requests.pages.empty()) throw_input_error("{}: no kernel touches managed memory", reader.name());
  return requests;
}

}  // namespace

int trace_export(const Arguments& arguments) {
  auto options = common_options();
  add_partial(options);
  add_output(options, "where to");
  options.add_options()("page-size", text("SIZE"), "4KiB, 64KiB or 2MiB (default), also the size of every request");
  options.add_options()("layout", text("NAME[:key=value,...]"),
                        "where objects lie, as in `uvmsim run`; default recorded");
  const Values values("export", kExportUsage, options, arguments, 2);
  if (values.help()) return 0;
  const Arguments positional = values.positional();
  if (positional.empty() || positional[0] != "oracle-general") {
    throw_input_error("export: {}; allowed: oracle-general",
                      positional.empty() ? "no format given" : "unknown format '" + printable(positional[0]) + "'");
  }
  if (positional.size() != 2) throw_input_error("export: no trace given; `uvmsim trace export --help` shows examples");
  const std::uint64_t page_bytes =
      values.given("page-size") ? parse_size("--page-size", values.string("page-size")) : kBlockBytes;
  const layout::LayoutChoice layout =
      parse_layout("--layout", values.given("layout") ? values.string("layout") : "recorded");

  AtomicFile file(values.output());
  const Requests requests = read_requests(positional[1], values.flag("partial"), page_bytes, layout);
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
  fmt::print(stderr, "{}: {} requests of {} pages of {} bytes\n", values.output(), requests.pages.size(), distinct,
             page_bytes);
  return 0;
}

}  // namespace uvmsim::cli
