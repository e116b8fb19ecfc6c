// SPDX-License-Identifier: Apache-2.0
// A trace that is replayed again and again: read, checked and measured once, then kept decoded while it is small.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/file_stamp.h"
#include "sim/engine/simulation.h"
#include "sim/report/run_record.h"
#include "sim/trace/reader.h"

namespace uvmsim::sweep {

// Called every few records with how many were read; may throw to stop (Ctrl-C). May be empty.
using ReadProgress = std::function<void(std::uint64_t records)>;

// Often enough for a bar and for Ctrl-C, too rare to cost time.
inline constexpr std::uint64_t kRecordsBetweenUpdates = 64;

// Throughout, InputError names the trace.
class TraceInput {
 public:
  // "-" reads standard input whole, and so is a pipe read. Hashes the file. Decoded records are kept when they take at
  // most `largest_kept_bytes`. Throws InputError when the file cannot be read.
  explicit TraceInput(const std::string& path, bool partial = false, std::uint64_t largest_kept_bytes = 0);

  const report::InputFile& description() const { return description_; }
  // As it stands in messages.
  const std::string& name() const { return name_; }
  // What f returns; its InputErrors name the trace.
  template <class F>
  auto naming(F&& f) const {
    try {
      return f();
    } catch (const InputError& error) {
      if (std::string_view(error.what()).starts_with(name_)) throw;
      throw_input_error("{}: {}", name_, error.what());
    }
  }

  // Of the file's start; no check of the rest. Throws InputError when it is no trace.
  const trace::Header& header();

  // The footprint under the layout (layout/footprint.h), with so many iterations (0: as recorded). The first call reads
  // the whole trace and checks that it makes sense, so that a mistake near its end does not cost the simulation before
  // it; later ones are cheap.
  std::uint64_t footprint_bytes(const layout::LayoutChoice& layout, std::uint64_t iterations,
                                const ReadProgress& progress = {});

  // Of the footprint what a GPU touches, likewise; reads the trace once more.
  std::uint64_t touched_footprint_bytes(const layout::LayoutChoice& layout, std::uint64_t iterations,
                                        const ReadProgress& progress = {});

  // After footprint_bytes():
  std::uint64_t records() const { return records_; }
  bool truncated() const { return !truncation_.empty(); }        // only with `partial`
  const std::string& truncation() const { return truncation_; }  // one line that says where
  std::uint64_t kept_bytes() const { return kept_bytes_; }       // memory of the decoded records; 0 when not kept
  // Every record from the first one. At both ends the file must still be the one that was hashed. Several may be played
  // at the same time; they must not outlive this object.
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
  std::vector<trace::Record> kept_;
  std::uint64_t kept_bytes_ = 0;  // about
  using Footprints = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;
  Footprints footprints_, touched_footprints_;  // by resolved layout and iterations
};

}  // namespace uvmsim::sweep
