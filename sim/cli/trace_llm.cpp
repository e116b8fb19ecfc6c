// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/trace_llm.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/cli/trace_verb.h"
#include "sim/llm/generate.h"

namespace uvmsim::cli {
namespace {

// Returns the settings' names in the form of options.
const std::vector<std::string>& dashed_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const llm::Setting& setting : llm::settings()) {
      all.emplace_back(setting.name);
      std::ranges::replace(all.back(), '_', '-');
    }
    return all;
  }();
  return names;
}

void write_program(const llm::Program& program, const std::string& file, trace::TraceWriter& writer) {
  if (!program.not_read.empty()) warn("{}: not read: {}", file, fmt::join(program.not_read, ", "));
  llm::generate(program, [&](const trace::Record& record) { writer.write(record); });
  writer.finish();
}

}  // namespace

std::vector<Option> llm_options() {
  std::vector<Option> options = {{"config", "FILE", "of llm: the model's config.json"}};
  for (std::size_t i = 0; i < dashed_names().size(); ++i) {
    options.push_back({dashed_names()[i], llm::settings()[i].value, llm::settings()[i].meaning});
  }
  return options;
}

int generate_llm(const Values& values) {
  const std::string file =
      values.required("config", "no model given: add --config FILE; `uvmsim trace generate --help` shows examples");
  llm::Given given;
  for (std::size_t i = 0; i < dashed_names().size(); ++i) {
    if (const auto text = values.text(dashed_names()[i])) given.emplace_back(llm::settings()[i].name, *text);
  }
  const llm::Program program = llm::read_program(file, given);
  trace::TraceWriter writer(given_output(values, "generate"), program.header, writer_options(values));
  write_program(program, file, writer);
  return 0;
}

bool is_model_config(const std::string& path) {
  if (!path.ends_with(".json")) return false;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.find("\"header\"") == std::string::npos;  // the first line of a trace contains this key
}

std::string trace_of_config(const std::string& path, const ScratchFolder& folder) {
  const llm::Program program = llm::read_program(path, {});
  std::string out = folder.file(std::filesystem::path(path).stem().string() + ".uvmt");
  trace::TraceWriter writer(out, program.header);
  write_program(program, path, writer);
  return out;
}

}  // namespace uvmsim::cli
