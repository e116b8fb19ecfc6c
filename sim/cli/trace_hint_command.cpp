// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace hint`: the program with calls that a hint file puts into it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "sim/cli/trace_usage.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/file_roles.h"
#include "sim/edit/hints.h"
#include "sim/trace/reader.h"
#include "sim/trace/validate.h"

namespace uvmsim::cli {
namespace {

std::string text_of_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw_input_error("{}: is a folder, not a file of rules", path);
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || file.bad()) throw_input_error("{}: cannot be read", path);
  return text;
}

}  // namespace

int trace_hint(const Arguments& arguments) {
  auto options = common_options();
  add_partial(options);
  options.add_options()("hints", text("FILE"), "the rules");
  add_output(options, "where to, ends in .uvmt or .jsonl");
  add_level(options);
  const Values values("hint", kHintUsage, options, arguments, 1);
  if (values.help()) return 0;
  if (!values.given("hints")) throw_input_error("no hints given: add --hints FILE");
  const std::string hints = values.string("hints");
  trace::TraceReader reader(values.trace(), {values.flag("partial")});
  trace::HintedProgram program([&](trace::Record& record) { return reader.next(record); }, reader.header(),
                               trace::parse_hints(text_of_file(hints), hints));
  trace::Header header = reader.header();
  header.provenance +=
      (header.provenance.empty() ? "" : "; ") + fmt::format("hints of {} put in", hints.substr(hints.rfind('/') + 1));
  trace::TraceWriter writer(values.output(), header, writer_options(values));
  trace::Validator validator(reader.name(), header);
  trace::Record record;
  while (program.next(record)) {
    validator.check(record, reader.position());
    writer.write(record);
  }
  validator.finish(reader.truncated());
  if (reader.truncated()) fmt::print(stderr, "uvmsim: warning: {}; the rest is missing\n", reader.truncation());
  if (program.hints() == 0) throw_input_error("{}: no rule concerns anything in {}", hints, reader.name());
  writer.finish();
  fmt::print(stderr, "{} hints\n", program.hints());
  return 0;
}

}  // namespace uvmsim::cli
