// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/record_feed.h"

#include <utility>

#include "sim/trace/validate.h"

namespace uvmsim::engine {

RecordFeed::RecordFeed(const trace::Header& header, const RecordSource& source, const RunOptions& options, unsigned gpu)
    : scale_(options.time_scale, options.system.gpus[gpu], header.quantum_bytes),
      scaled_([this, &source](trace::Record& record) {
        if (!source(record)) return false;
        trace::check_stream(record);  // limits vectors that are indexed by stream
        if (auto* kernel = std::get_if<trace::Kernel>(&record)) scale_.apply(*kernel);
        return true;
      }),
      repeater_(scaled_, options.iterations),
      repeated_([this](trace::Record& record) {
        if (!repeater_.next(record)) return false;
        ahead_.push_back({repeater_.number(), repeater_.begins_repetition()});
        return true;
      }),
      segments_(repeated_) {}

bool RecordFeed::next(trace::Record& record) {
  if (!segments_.next(record)) return false;
  given_ = ahead_.front();
  ahead_.pop_front();
  return true;
}

}  // namespace uvmsim::engine
