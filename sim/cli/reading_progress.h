// SPDX-License-Identifier: Apache-2.0
// Progress of a command that reads a whole trace, and a safe point for Ctrl-C.
#pragma once

#include <string>

#include "sim/cli/interrupt.h"
#include "sim/cli/progress.h"
#include "sim/trace/reader.h"
#include "sim/trace/reading_poll.h"

namespace uvmsim::cli {

// Shows the progress while it lives; one per thread at a time. The reader must outlive it.
class ReadingProgress {
 public:
  explicit ReadingProgress(const trace::TraceReader& reader)
      : reader_(reader), poll_([this] {
          throw_if_interrupted();
          progress_.update(reader_.position().record);
        }) {
    progress_.begin("reading " + reader.name(), 0);
  }
  ~ReadingProgress() { progress_.end(); }

 private:
  const trace::TraceReader& reader_;
  Progress progress_{false};
  trace::ReadingPoll poll_;
};

}  // namespace uvmsim::cli
