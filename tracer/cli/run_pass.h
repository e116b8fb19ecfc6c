// SPDX-License-Identifier: Apache-2.0
// Runs the program once, as if it had been started without uvmtrace: same terminal, same signals, own exit status.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace uvmtrace {

struct ProgramRun {
  std::vector<std::string> program;
  std::vector<std::pair<std::string, std::string>> environment;  // added to our own environment
  std::string output;  // file for both outputs of the program; empty: our own outputs
  // Standard input is rewound to where the first run began. If it cannot be rewound, only one run gets it; runs with
  // this flag then get no input.
  bool spare_input = false;
  std::function<void()> tick;  // called regularly while the program runs; may be empty
};

struct RunResult {
  int exit_code = 0;  // 128 + signal if a signal ended it, as shells report it
  int signal = 0;     // the signal that ended it
  int forwarded = 0;  // the last signal that was sent to stop us and was passed on
};

// Passes signals that are sent to us on to the program while it runs. Throws uvmsim::InputError if the program cannot
// be started.
class PassRunner {
 public:
  PassRunner();   // installs handlers for the signals
  ~PassRunner();  // restores the previous handlers
  PassRunner(const PassRunner&) = delete;
  PassRunner& operator=(const PassRunner&) = delete;

  RunResult run(const ProgramRun& pass);
  // Returns a signal that arrived while no program was running, or 0.
  int pending_signal() const;
};

}  // namespace uvmtrace
