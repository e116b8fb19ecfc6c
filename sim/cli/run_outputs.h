// SPDX-License-Identifier: Apache-2.0
// The files that `uvmsim run` writes: opened before the simulation, in place only when all of it succeeded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/run_options.h"
#include "sim/common/atomic_file.h"
#include "sim/report/event_fan.h"
#include "sim/report/profile.h"
#include "sim/report/run_record.h"
#include "sim/report/timeline.h"

namespace uvmsim::cli {

class RunOutputs {
 public:
  // Throws InputError when one of them cannot be written.
  explicit RunOutputs(const RunArguments& run);

  // What a run has to tell its events; null when not wanted.
  EventSink* events() { return events_ ? &*events_ : nullptr; }
  // Standard output takes results, not the text for people.
  bool standard_output_taken() const { return json_to_stdout_ || csv_to_stdout_; }
  void write(const std::vector<report::RunRecord>& records);

 private:
  std::optional<AtomicFile> json_, csv_;
  std::unique_ptr<report::Timeline> timeline_;
  std::unique_ptr<report::Profile> profile_;
  std::optional<report::EventFan> events_;
  bool json_to_stdout_, csv_to_stdout_;
};

}  // namespace uvmsim::cli
