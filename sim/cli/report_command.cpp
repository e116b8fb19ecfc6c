// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cli/commands.h"
#include "sim/cli/result_output.h"
#include "sim/common/error.h"
#include "sim/html/document.h"
#include "sim/report/numbers.h"
#include "sim/sweep/point.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kReportUsage = R"(uvmsim report RESULTS|SWEEP|PROFILE|LEAGUE... -o FILE.html

Writes one page that opens in any browser, without a network: what limits the program, in words; slowdown and traffic
against the oversubscription factor; policies compared; what kernels, layers and tensors waited for, and the heat map.

Examples:
  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.5,2,4 --bounds --json gpt2.jsonl
  uvmsim report gpt2.jsonl -o gpt2.html
      one program with less and less memory; --bounds lets the page say what limits it
  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --profile gpt2.profile
  uvmsim report gpt2.jsonl gpt2.profile -o gpt2.html
      the same, with the kernels, layers and tensors of one of the runs
  uvmsim report mine -o mine.html
      the folder of a sweep or of a league

)";

constexpr const char* kReportNotes = R"(
An input is a file of `uvmsim run --json` or `uvmsim run --profile`, the folder of `uvmsim sweep` or `uvmsim league`, or
results.sqlite or league.json of one. Several make one page. sim/html/README.md says what it shows.
Exit code: 0, or 2 for an error in the input.
)";

// Returns the page's command line, with the file names only, so that results contain no folder.
std::string command_of_page(const std::vector<std::string>& inputs, const std::string& output, bool partial) {
  const auto name = [](const std::string& path) {
    const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
    return sweep::shell_word((whole.has_filename() ? whole : whole.parent_path()).filename().string());
  };
  std::string text = "uvmsim report";
  for (const std::string& input : inputs) text += " " + name(input);
  return text + (partial ? " --partial" : "") + " -o " + (output == "-" ? "-" : name(output));
}

int write_report(const Values& values) {
  const Arguments& inputs = values.arguments();
  values.first("report: no results given; `uvmsim report --help` shows examples");
  if (std::ranges::find(inputs, "-") != inputs.end()) {
    throw_input_error("report: standard input cannot be read; allowed: files and folders");
  }
  const std::string output = values.required("output", "report: option --output (-o FILE) is missing");
  const bool partial = values.given("partial");
  ResultOutput page(output);
  const html::Document document = html::read_document(inputs, partial);
  const std::string text = html::page_of(document, command_of_page(inputs, output, partial));
  page.write(text);
  if (output != "-") fmt::print("{}: {}\n", output, report::format_bytes(text.size()));
  return kFine;
}

}  // namespace

CommandLine report_command() {
  return {.usage = kReportUsage,
          .options = {{"output,o", "FILE", "the page; - is standard output"},
                      {"partial", "", "show an unfinished sweep, which the page then says of itself"},
                      kHelp},
          .notes = kReportNotes,
          .most_arguments = kAnyNumber,
          .run = write_report};
}

}  // namespace uvmsim::cli
