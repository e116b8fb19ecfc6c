// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace hint`: writes the program with the calls that a hint file puts into it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "sim/cli/say.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/edit/hints.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kHintUsage = R"(usage: uvmsim trace hint TRACE --hints FILE -o OUT.uvmt [options]

Writes the program with calls added: prefetches, don't-need (discard), pins, advice; or with other kinds of memory.
The file has a rule per line, WHEN NAME DO; '#' begins a comment:

  tensor_alloc  *weight*  pin           tensor_alloc, object_alloc, tensor_free: pin, unpin, read_mostly, prefer_gpu,
  tensor_free   *         dont_need     prefer_host, accessed_by, prefetch, dont_need; objects are named by their
  object_alloc  3  prefer_host 0-50%    number, tensors also by @ and theirs; a part of an allocation may follow
  kernel        *gemm*    prefetch 8    what the 8th kernel after this one touches, in stream 31
  object_alloc  *         as_system     memory of malloc; as_managed, as_pinned, as_device
  iteration     0         device_memory 115343360    GPU memory (bytes) that the program takes there beside managed
                                        memory: code of kernels, libraries' handles

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

// Returns a number above those of all objects and tensors of the trace.
trace::ObjectId unused_number(const std::string& given, const trace::ReaderOptions& how) {
  trace::TraceReader reader(given, how);
  trace::ObjectId most = 0;
  for (trace::Record record; reader.next(record);) {
    if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) most = std::max(most, object->id);
    if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) most = std::max(most, tensor->id);
  }
  return most + 1;
}

int put_in(const Values& values) {
  const std::string hints = values.required("hints", "no hints given: add --hints FILE");
  const std::vector<trace::HintRule> rules = trace::parse_hints(text_of_file(hints), hints);
  const std::string& given = given_trace(values, "hint");
  const trace::ReaderOptions how{values.given("partial")};
  const trace::ObjectId free_id = trace::makes_objects(rules) ? unused_number(given, how) : 0;
  trace::TraceReader reader(given, how);
  trace::HintedProgram program([&](trace::Record& record) { return reader.next(record); }, reader.header(), rules,
                               free_id);
  trace::Header header = reader.header();
  header.provenance +=
      (header.provenance.empty() ? "" : "; ") + fmt::format("hints of {} put in", hints.substr(hints.rfind('/') + 1));
  trace::TraceWriter writer(given_output(values, "hint"), header, writer_options(values));
  trace::Validator validator(reader.name(), header);
  copy_records(program, reader, writer, &validator);
  if (program.hints() == 0) throw_input_error("{}: no rule concerns anything in {}", hints, reader.name());
  writer.finish();
  say("{} hints", program.hints());
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
