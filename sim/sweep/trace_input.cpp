// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/trace_input.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <variant>

#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/common/sha256.h"
#include "sim/trace/validate.h"

namespace uvmsim::sweep {
namespace {

template <class Item>
std::uint64_t memory_of_list(const std::vector<Item>& list) {
  return list.capacity() * sizeof(Item);
}

// Returns the memory of a list. Lists that several kernels share count once: `seen` holds those already counted.
std::uint64_t memory_of_list(const trace::ExtentList& list, std::unordered_set<const void*>& seen) {
  return seen.insert(list.identity()).second ? memory_of_list<trace::Extent>(list) : 0;
}

std::uint64_t heap_of(const trace::Kernel& kernel, std::unordered_set<const void*>& seen) {
  std::uint64_t bytes = kernel.name.size() + memory_of_list(kernel.accesses) + memory_of_list(kernel.touches) +
                        memory_of_list(kernel.order) + memory_of_list(kernel.counts);
  for (const auto& access : kernel.accesses) bytes += memory_of_list(access.extents, seen);
  if (!seen.insert(kernel.phases.identity()).second) return bytes;
  for (const trace::Phase& phase : kernel.phases) {
    bytes += sizeof phase + memory_of_list(phase.accesses);
    for (const auto& access : phase.accesses) bytes += memory_of_list(access.extents);
  }
  return bytes;
}

std::uint64_t memory_of(const trace::Record& record, std::unordered_set<const void*>& seen) {
  std::uint64_t bytes = sizeof record;
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) bytes += heap_of(*kernel, seen);
  if (const auto* access = std::get_if<trace::HostAccess>(&record)) {
    bytes += memory_of_list(access->extents, seen) + memory_of_list(access->touches);
  }
  return bytes;
}

template <class Item>
void free_list(std::vector<Item>& list) {
  list = std::vector<Item>();
}

// Keeps only the parts of a record on which a touched footprint depends, because measuring it buffers the records of
// whole iterations.
void keep_extents(trace::Record& record) {
  if (auto* kernel = std::get_if<trace::Kernel>(&record)) {
    free_list(kernel->touches);
    free_list(kernel->order);
    free_list(kernel->counts);
    kernel->phases.clear();
  } else if (auto* access = std::get_if<trace::HostAccess>(&record)) {
    access->extents.clear();
    free_list(access->touches);
  }
}

// Keeps only the parts of a record on which a footprint depends.
void free_lists(trace::Record& record) {
  keep_extents(record);
  if (auto* kernel = std::get_if<trace::Kernel>(&record)) {
    for (trace::ObjectAccess& access : kernel->accesses) access.extents.clear();
  }
}

// Returns whether the file can be read only once.
bool is_pipe(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_fifo(path, ignored);
}

}  // namespace

TraceInput::TraceInput(const std::string& path, bool partial, std::uint64_t largest_kept_bytes)
    : path_(path),
      name_(path),
      in_memory_(path == "-" || is_pipe(path)),
      options_{partial},
      largest_kept_bytes_(largest_kept_bytes) {
  if (!in_memory_) {
    stamp_ = FileStamp::settled(path);
    description_ = report::describe_input(path);
    return;
  }
  if (path == "-") {
    name_ = "standard input";
    note_input(name_, 0);
    content_.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream pipe(path, std::ios::binary);
    content_.assign(std::istreambuf_iterator<char>(pipe), {});
  }
  description_ = {name_, content_.size(), sha256(content_)};
}

trace::TraceReader TraceInput::open() const {
  if (in_memory_) return trace::TraceReader(std::string_view(content_), name_, options_);
  check_unchanged();
  return trace::TraceReader(path_, options_);
}

void TraceInput::check_unchanged() const {
  if (in_memory_ || FileStamp::of(path_) == stamp_) return;
  // A new name or new permissions do not change the content.
  if (sha256_of_file(path_) == description_.sha256) return;
  throw_input_error("{}: changed since it was first read; results would be of two files", name_);
}

const trace::Header& TraceInput::header() {
  if (!has_header_) header_ = open().header();
  has_header_ = true;
  return header_;
}

std::uint64_t TraceInput::footprint_bytes(const layout::LayoutChoice& layout, std::uint64_t iterations,
                                          const ReadProgress& progress) {
  const std::pair key(layout::resolved_text(layout), iterations);
  if (const auto known = footprints_.find(key); known != footprints_.end()) return known->second;
  const std::uint64_t footprint = naming([&] {
    if (checked_) return measure_footprint(play(progress), layout, iterations);
    trace::TraceReader reader = open();
    header_ = reader.header();
    has_header_ = true;
    records_ = 0;
    kept_bytes_ = 0;
    kept_.clear();
    trace::Validator validator(reader.name(), reader.header());
    std::unordered_set<const void*> lists;
    bool keeping = largest_kept_bytes_ != 0;
    const RecordSource source = [&](trace::Record& record) {
      if (!reader.next(record)) return false;
      validator.check(record, reader.position());
      if (++records_ % kRecordsBetweenUpdates == 0 && progress) progress(records_);
      if (keeping) {
        kept_.push_back(record);
        kept_bytes_ += memory_of(kept_.back(), lists);
        keeping = kept_bytes_ <= largest_kept_bytes_;
        if (!keeping) kept_ = {};
      }
      free_lists(record);
      return true;
    };
    const std::uint64_t measured = measure_footprint(source, layout, iterations);
    validator.finish(reader.truncated());
    if (reader.truncated()) truncation_ = reader.truncation();
    if (!keeping) kept_bytes_ = 0;
    check_unchanged();
    checked_ = true;
    return measured;
  });
  footprints_.emplace(key, footprint);
  return footprint;
}

std::uint64_t TraceInput::touched_footprint_bytes(const layout::LayoutChoice& layout, std::uint64_t iterations,
                                                  const ReadProgress& progress) {
  const std::pair key(layout::resolved_text(layout), iterations);
  if (const auto known = touched_footprints_.find(key); known != touched_footprints_.end()) return known->second;
  footprint_bytes(layout, iterations, progress);  // checks the trace
  const RecordSource source = [recorded = play(progress)](trace::Record& record) {
    if (!recorded(record)) return false;
    keep_extents(record);
    return true;
  };
  const std::uint64_t touched = measure_touched_footprint(header_.quantum_bytes, source, layout, iterations);
  touched_footprints_.emplace(key, touched);
  return touched;
}

const trace::Repeatable& TraceInput::repeatable(const ReadProgress& progress) {
  if (repeatable_) return *repeatable_;
  if (!checked_) footprint_bytes({}, 0, progress);
  const RecordSource source = [recorded = play(progress)](trace::Record& record) {
    if (!recorded(record)) return false;
    free_lists(record);
    return true;
  };
  repeatable_ = trace::find_repeatable(source);
  return *repeatable_;
}

RecordSource TraceInput::play(const ReadProgress& progress) const {
  if (kept_bytes_ != 0) {
    return [this, progress, next = std::size_t{0}](trace::Record& record) mutable {
      if (progress && next % kRecordsBetweenUpdates == 0) progress(next);
      if (next == kept_.size()) return false;
      record = kept_[next++];
      return true;
    };
  }
  // Shared, because std::function requires a copyable object and a reader cannot be copied.
  auto reader = std::make_shared<trace::TraceReader>(open());
  return [this, reader, progress, done = std::uint64_t{0}](trace::Record& record) mutable {
    if (progress && done % kRecordsBetweenUpdates == 0) progress(done);
    ++done;
    if (reader->next(record)) return true;
    check_unchanged();
    return false;
  };
}

}  // namespace uvmsim::sweep
