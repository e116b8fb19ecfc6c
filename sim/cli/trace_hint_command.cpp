// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace hint`: the program with calls that a hint file puts into it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/edit/hints.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kHintUsage = R"(usage: uvmsim trace hint TRACE --hints FILE -o OUT.uvmt [options]

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

std::string text_of_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw_input_error("{}: is a folder, not a file of rules", path);
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || file.bad()) throw_input_error("{}: cannot be read", path);
  return text;
}

int put_in(const Values& values) {
  const std::string hints = values.required("hints", "no hints given: add --hints FILE");
  trace::TraceReader reader(given_trace(values, "hint"), {values.given("partial")});
  trace::HintedProgram program([&](trace::Record& record) { return reader.next(record); }, reader.header(),
                               trace::parse_hints(text_of_file(hints), hints));
  trace::Header header = reader.header();
  header.provenance +=
      (header.provenance.empty() ? "" : "; ") + fmt::format("hints of {} put in", hints.substr(hints.rfind('/') + 1));
  trace::TraceWriter writer(given_output(values, "hint"), header, writer_options(values));
  trace::Validator validator(reader.name(), header);
  copy_records(program, reader, writer, &validator);
  if (program.hints() == 0) throw_input_error("{}: no rule concerns anything in {}", hints, reader.name());
  writer.finish();
  fmt::print(stderr, "{} hints\n", program.hints());
  return 0;
}

}  // namespace

CommandLine trace_hint() {
  return {.usage = kHintUsage,
          .options = {kHelp,
                      kPartial,
                      {"hints", "FILE", "the rules"},
                      {"output,o", "FILE", "where to, ends in .uvmt or .jsonl"},
                      kLevel},
          .most_arguments = 1,
          .run = put_in};
}

}  // namespace uvmsim::cli
