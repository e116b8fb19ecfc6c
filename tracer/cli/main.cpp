// SPDX-License-Identifier: Apache-2.0
// The `uvmtrace` command: its subcommands.

#include <array>

#include "sim/cli/command_line.h"
#include "tracer/cli/commands.h"

namespace uvmtrace {
namespace {

using uvmsim::cli::Command;

constexpr std::array kCommands = {
    Command{"record", "run a program under both passes and write its trace", record_command},
    Command{"merge", "join the logs of two passes into a trace", merge_command},
    Command{"complete", "add to an older trace the data that kernels exchange in workspaces", complete_command},
    Command{"info", "what a trace holds, and for how many kernels it has accesses", info_command},
    Command{"check-layout", "does the model of PyTorch's allocator place tensors as recorded", check_layout_command},
    Command{"log", "what a log of one pass holds", log_command},
    Command{"faults", "every raw fault of a program: when, of which SM, on which page", faults_command},
    Command{"completion", "a script that completes the command line in bash, zsh or fish",
            uvmsim::cli::completion_command},
    Command{"manual", "manual pages, or every command and option as JSON", uvmsim::cli::manual_command},
};

constexpr const char* kExamples = R"(  uvmtrace record -o gpt2.uvmt --torch -- python train.py
      runs the program twice, once for times and once for accesses, and joins the two
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 2
      replays it with half of the GPU memory that it needs
)";

constexpr uvmsim::cli::Program kProgram = {"uvmtrace",
                                           "uvmtrace records what every kernel of a GPU program touches.",
                                           kExamples,
                                           kCommands,
                                           "; record: the\nprogram's own when that is not 0",
                                           "uvmtrace"};

}  // namespace
}  // namespace uvmtrace

int main(int argc, char** argv) { return uvmsim::cli::run_program(uvmtrace::kProgram, argc, argv); }
