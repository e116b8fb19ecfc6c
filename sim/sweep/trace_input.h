// SPDX-License-Identifier: Apache-2.0
// A trace that is replayed repeatedly: it is read, checked and measured once, and kept decoded if it is small.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/file_stamp.h"
#include "sim/edit/repeatable.h"
#include "sim/engine/simulation.h"
#include "sim/report/run_record.h"
#include "sim/trace/reader.h"

namespace uvmsim::sweep {

// Called every few records with the number of records read; may throw to stop (Ctrl-C). May be empty.
using ReadProgress = std::function<void(std::uint64_t records)>;

// Frequent enough for a progress bar and Ctrl-C, and rare enough to cost no time.
inline constexpr std::uint64_t kRecordsBetweenUpdates = 64;

// A trace. Every InputError of this class names it.
class TraceInput {
 public:
  // Hashes the file. "-" is standard input; it and pipes are read into memory as a whole. Decoded records are kept when
  // they take at most `largest_kept_bytes`. Throws InputError when the file cannot be read.
  explicit TraceInput(const std::string& path, bool partial = false, std::uint64_t largest_kept_bytes = 0);

  const report::InputFile& description() const { return description_; }
  // The name of the trace in messages.
  const std::string& name() const { return name_; }
  // Returns f(); an InputError that f throws is made to name the trace.
  template <class F>
  auto naming(F&& f) const {
    try {
      return f();
    } catch (const InputError& error) {
      if (std::string_view(error.what()).starts_with(name_)) throw;
      throw_input_error("{}: {}", name_, error.what());
    }
  }

  // Reads the header at the file's start without checking the rest. Throws InputError when the file is not a trace.
  const trace::Header& header();

  // Measures the footprint under the layout (layout/footprint.h) for this many iterations (0: as recorded). The first
  // call reads and checks the whole trace, so that an error near its end is found before the simulation; later calls
  // are cheap.
  std::uint64_t footprint_bytes(const layout::LayoutChoice& layout, std::uint64_t iterations,
                                const ReadProgress& progress = {});

  // Measures the touched part of the footprint; reads the trace once more.
  std::uint64_t touched_footprint_bytes(const layout::LayoutChoice& layout, std::uint64_t iterations,
                                        const ReadProgress& progress = {});

  // Returns the iterations that the trace marks and the one that can be repeated; checks the trace first.
  const trace::Repeatable& repeatable(const ReadProgress& progress = {});

  // The following are valid after footprint_bytes().
  std::uint64_t records() const { return records_; }
  bool truncated() const { return !truncation_.empty(); }        // only with `partial`
  const std::string& truncation() const { return truncation_; }  // one line that says where the trace ends
  std::uint64_t kept_bytes() const { return kept_bytes_; }       // memory of the decoded records; 0 when not kept
  // Replays every record from the first one on. At the begin and the end the file must still be the one that was
  // hashed. Several sources may be used at the same time; they must not outlive this object.
  RecordSource play(const ReadProgress& progress = {}) const;

 private:
  trace::TraceReader open() const;
  void check_unchanged() const;

  std::string path_;
  std::string name_;
  std::string content_;  // of standard input
  bool in_memory_;
  trace::ReaderOptions options_;
  std::uint64_t largest_kept_bytes_;
  report::InputFile description_;
  FileStamp stamp_;  // of the file that was hashed
  bool has_header_ = false, checked_ = false;
  trace::Header header_;
  std::uint64_t records_ = 0;
  std::string truncation_;
  std::deque<trace::Record> kept_;
  std::uint64_t kept_bytes_ = 0;  // about
  using Footprints = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;
  Footprints footprints_, touched_footprints_;  // by resolved layout and iterations
  std::optional<trace::Repeatable> repeatable_;
};

}  // namespace uvmsim::sweep
