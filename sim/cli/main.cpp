// The `uvmsim` command: finds the subcommand, turns errors into one line and an exit code.

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/interrupt.h"
#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/common/version.h"
#include "sim/policy/name_suggestion.h"

namespace uvmsim::cli {
namespace {

constexpr int kInputError = 2;
constexpr int kModelError = 3;
constexpr int kInterrupted = 130;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr std::array kCommands = {
    Command{"run", "replay a trace on a system, with less and less GPU memory", run_command},
    Command{"trace", "inspect, convert, check, import and generate traces", trace_command},
    Command{"systems", "the GPU servers that are described, and what each number means", systems_command},
    Command{"policies", "the prefetch and eviction policies and their parameters", policies_command},
    Command{"validate", "replay measured experiments, print measured against simulated", validate_command},
    Command{"calibrate", "fit a system's costs to measured experiments", calibrate_command},
};

constexpr const char* kExamples = R"(Examples:
  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.5,2,4
      how GPT-2 training slows down as GPU memory shrinks to a quarter of what it uses
  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --prefetch none --timeline gpt2.json
      the same without the driver's prefetcher; open the timeline at ui.perfetto.dev
  uvmsim trace info workloads/gpt2.uvmt
      what a trace holds
)";

std::string help_text() {
  std::string text = "uvmsim replays what a GPU program touched against a model of GPU unified virtual memory.\n\n";
  text += kExamples;
  text += "\nCommands:\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<10}{}\n", command.name, command.summary);
  text +=
      "\n`uvmsim COMMAND --help` explains one. `uvmsim --version` prints the version.\n"
      "Exit code: 0 fine, 1 a check failed, 2 an error in the input or the command line, 3 a bug.\n";
  return text;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  throw_input_error("unknown command '{}'{}; allowed: {}", name, policy::suggestion(name, names),
                    fmt::join(names, ", "));
}

int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty()) throw_input_error("no command given; `uvmsim --help` shows examples");
  const std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "--version") {
    fmt::print("uvmsim {}\n", version());
    return 0;
  }
  if (name == "--help" || name == "-h" || (name == "help" && arguments.empty())) {
    fmt::print("{}", help_text());
    return 0;
  }
  if (name == "help") return find_command(arguments.front()).run({"--help"});
  return find_command(name).run(arguments);
}

// A table that went nowhere (a full disk, a closed pipe) is no success.
void flush_standard_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw_input_error("cannot write standard output: {}", std::strerror(errno));
  }
}

int guarded_main(const std::vector<std::string>& arguments) {
  try {
    const int code = dispatch(arguments);
    flush_standard_output();
    return code;
  } catch (const InputError& error) {
    fmt::print(stderr, "uvmsim: error: {}\n", error.what());
    return kInputError;
  } catch (const ModelError& error) {
    fmt::print(stderr, "uvmsim: this is a bug in uvmsim or a policy plug-in: {}\n", error.what());
    return kModelError;
  } catch (const Interrupted&) {
    fmt::print(stderr, "uvmsim: interrupted, nothing was written\n");
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "uvmsim: error: out of memory\n");
    return kInputError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "uvmsim: this is a bug in uvmsim or a policy plug-in: {}\n", error.what());
    return kModelError;
  }
}

}  // namespace
}  // namespace uvmsim::cli

int main(int argc, char** argv) { return uvmsim::cli::guarded_main({argv + (argc > 0 ? 1 : 0), argv + argc}); }
