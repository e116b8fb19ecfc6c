// SPDX-License-Identifier: Apache-2.0
// Runs the program once, as if it had been started without us: same terminal, same signals, own exit status.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace uvmtrace {

struct ProgramRun {
  std::vector<std::string> program;
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::string output;                                            // file for both outputs of the program; empty: ours
  // Standard input is wound back to where the first run began. What cannot be wound back goes to one run alone: the
  // others, which set this, get nothing.
  bool spare_input = false;
  std::function<void()> tick;  // called all the time while the program runs; may be empty
};

struct RunResult {
  int exit_code = 0;  // 128 + signal when one ended it, as shells say it
  int signal = 0;     // that ended it
  int forwarded = 0;  // last signal that somebody sent to stop us and that was passed on
};

// Signals sent to us go on to the program while it runs. Throws uvmsim::InputError when the program cannot be started.
class PassRunner {
 public:
  PassRunner();   // takes the signals
  ~PassRunner();  // gives them back
  PassRunner(const PassRunner&) = delete;
  PassRunner& operator=(const PassRunner&) = delete;

  RunResult run(const ProgramRun& pass);
  // A signal that came while no program was running, or 0.
  int pending_signal() const;
};

}  // namespace uvmtrace
