// The files that `uvmsim run` writes: opened before the simulation, in place only when all of it succeeded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/run_options.h"
#include "sim/common/atomic_file.h"
#include "sim/report/run_record.h"
#include "sim/report/timeline.h"

namespace uvmsim::cli {

class RunOutputs {
 public:
  // Throws InputError when one of them cannot be written.
  explicit RunOutputs(const RunArguments& run);

  EventSink* timeline() { return timeline_.get(); }
  // Standard output takes results, not the text for people.
  bool standard_output_taken() const { return json_to_stdout_ || csv_to_stdout_; }
  void write(const std::vector<report::RunRecord>& records);

 private:
  std::optional<AtomicFile> json_, csv_;
  std::unique_ptr<report::Timeline> timeline_;
  bool json_to_stdout_, csv_to_stdout_;
};

}  // namespace uvmsim::cli
