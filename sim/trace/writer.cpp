// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/protobuf_codec.h"
#include "sim/trace/shape.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

TraceFormat format_of_path(std::string_view path) {
  if (path.ends_with(".uvmt")) return TraceFormat::kUvmt;
  if (path.ends_with(".jsonl") || path == "-") return TraceFormat::kJsonLines;
  throw_input_error("{}: the name of a trace must end in .uvmt or .jsonl", path);
}

struct TraceWriter::State {
  State(std::string new_name, TraceFormat new_format, const WriterOptions& options)
      : name(std::move(new_name)), format(new_format), zstd(options.compression_level) {}

  std::string name;  // for messages
  TraceFormat format;
  std::optional<AtomicFile> file;  // neither file nor memory: standard output
  std::string* memory = nullptr;
  ProtobufEncoder protobuf;
  ZstdEncoder zstd;
  std::string pending;  // raw content of the open frame, or lines
  std::string compressed;
  std::uint64_t records = 0;

  void put(std::string_view bytes) {
    if (file) {
      file->write(bytes);
    } else if (memory != nullptr) {
      memory->append(bytes);
    } else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
      throw_input_error("cannot write standard output: {}", std::strerror(errno));
    }
  }
  void flush() {
    if (pending.empty()) return;
    if (format == TraceFormat::kUvmt) {
      zstd.compress(pending, compressed);
      put(compressed);
      protobuf.start_frame();
    } else {
      put(pending);
    }
    pending.clear();
  }

  // Refuses lines that the reader would refuse.
  static void check_line(std::string_view line) {
    if (line.size() < kMaxJsonLineValues) return;
    const auto values =
        static_cast<std::size_t>(std::count(line.begin(), line.end(), ',') + std::count(line.begin(), line.end(), '['));
    if (line.size() > kMaxLineBytes || values + 2 > kMaxJsonLineValues) {
      throw_input_error("takes a line of {} bytes and {} values; allowed: at most {} and {}; write .uvmt", line.size(),
                        values, kMaxLineBytes, kMaxJsonLineValues);
    }
  }

  // `entry` is a header or a record.
  void encode(const auto& entry) {
    check_shape(entry);
    if (format == TraceFormat::kUvmt) {
      protobuf.append(entry, pending);
    } else {
      append_json(entry, pending);
    }
  }
  void write(const Header& header) {
    try {
      encode(header);
    } catch (const InputError& error) {
      throw_input_error("{}: header: {}", name, error.what());
    }
  }
  void write(const Record& record) {
    const std::size_t before = pending.size();
    try {
      encode(record);
      if (format == TraceFormat::kJsonLines) check_line(std::string_view(pending).substr(before));
    } catch (const InputError& error) {
      throw_input_error("{}: record {} ({}): {}", name, records + 1, record_type_name(record), error.what());
    }
    ++records;
    if (pending.size() >= kFrameBytes) flush();
  }
};

TraceWriter::TraceWriter(const std::string& path, const Header& header, const WriterOptions& options)
    : state_(std::make_unique<State>(path, format_of_path(path), options)) {
  state_->write(header);
  if (path != "-") state_->file.emplace(path);
}

TraceWriter::TraceWriter(std::string& memory, TraceFormat format, const Header& header, const WriterOptions& options)
    : state_(std::make_unique<State>("memory", format, options)) {
  state_->memory = &memory;
  state_->write(header);
}

TraceWriter::~TraceWriter() = default;
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;

void TraceWriter::write(const Record& record) { state_->write(record); }

void TraceWriter::finish() {
  if (state_->format == TraceFormat::kUvmt) state_->protobuf.append_end(state_->records, state_->pending);
  state_->flush();
  if (state_->file) state_->file->commit();
}

std::uint64_t TraceWriter::records() const { return state_->records; }

}  // namespace uvmsim::trace
