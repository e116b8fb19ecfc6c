// The `uvmtrace` command: finds the subcommand, turns errors into one line and an exit code.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/common/version.h"
#include "sim/policy/name_suggestion.h"
#include "tracer/cli/commands.h"

namespace uvmtrace {
namespace {

using uvmsim::throw_input_error;

constexpr int kInputError = 2;
constexpr int kBug = 3;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr std::array kCommands = {
    Command{"record", "run a program under both passes and write its trace", record_command},
    Command{"merge", "join the logs of two passes into a trace", merge_command},
    Command{"info", "what a trace holds, and how well its kernels are covered", info_command},
    Command{"check-layout", "does the model of PyTorch's allocator place tensors as recorded", check_layout_command},
    Command{"log", "what a log of one pass holds", log_command},
};

std::string help_text() {
  std::string text = R"(uvmtrace records what every kernel of a GPU program touches.

Examples:
  uvmtrace record -o gpt2.uvmt --torch -- python train.py
      runs the program twice, once for times and once for accesses, and joins the two
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 2
      replays it with half of the GPU memory that it needs

Commands:
)";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:<14}{}\n", command.name, command.summary);
  }
  return text +
         "\n`uvmtrace COMMAND --help` explains one. `uvmtrace --version` prints the version.\n"
         "Exit code: 0 fine, 1 a check failed, 2 an error in the input or the command line, 3 a bug; record: the\n"
         "program's own when that is not 0.\n";
}

int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    throw_input_error("no command given; `uvmtrace --help` shows examples");
  }
  const std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "--version") {
    fmt::print("uvmtrace {}\n", uvmsim::version());
    return 0;
  }
  if (name == "--help" || name == "-h" || name == "help") {
    fmt::print("{}", help_text());
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (command.name == name) {
      return command.run(arguments);
    }
    names.emplace_back(command.name);
  }
  throw_input_error("unknown command '{}'{}; allowed: {}", name, uvmsim::policy::suggestion(name, names),
                    fmt::join(names, ", "));
}

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
  } catch (const uvmsim::InputError& error) {
    fmt::print(stderr, "uvmtrace: error: {}\n", error.what());
    return kInputError;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "uvmtrace: error: out of memory\n");
    return kInputError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "uvmtrace: this is a bug in uvmtrace: {}\n", error.what());
    return kBug;
  }
}

}  // namespace
}  // namespace uvmtrace

int main(int argc, char** argv) { return uvmtrace::guarded_main({argv + (argc > 0 ? 1 : 0), argv + argc}); }
