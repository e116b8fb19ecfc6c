// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/foreign.h"
#include "sim/trace/input.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/limits.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/protobuf_codec.h"
#include "sim/trace/reading_poll.h"
#include "sim/trace/shape.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

namespace {

constexpr std::size_t kPreviewBytes = 64;
constexpr std::uint64_t kRecordsBetweenPolls = 256;
constexpr std::size_t kForeignBytes = std::size_t{32} << 10;  // to recognise files that are not traces

// A decoder of one form of trace file. next() throws InputError without file and place, DamageError where the file is
// damaged.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Header header() = 0;
  virtual bool next(Record& record) = 0;
  virtual Position place() const = 0;  // frame or line being read; `record` is not set
};

class UvmtDecoder final : public Decoder {
 public:
  explicit UvmtDecoder(Input& input) : zstd_(input) {}

  Header header() override {
    Header header;
    Record record;
    if (!more() || protobuf_.take(rest_, record, header, end_records_) != EntryKind::kHeader) {
      throw_input_error("the file does not begin with a header");
    }
    return header;
  }

  bool next(Record& record) override {
    if (!more()) throw DamageError(fmt::format("the file ends after frame {} without its end mark", frame_));
    Header header;
    switch (protobuf_.take(rest_, record, header, end_records_)) {
      case EntryKind::kRecord:
        ++records_;
        return true;
      case EntryKind::kHeader:
        throw_input_error("a second header");
      case EntryKind::kEnd:
        break;
    }
    if (end_records_ != records_) {
      throw DamageError(fmt::format("the end mark counts {} records, the file holds {}", end_records_, records_));
    }
    if (more()) throw_input_error("data after the end mark");
    return false;
  }

  Position place() const override { return {0, frame_, 0}; }

 private:
  // Ensures that rest_ holds a message, if necessary of the next non-empty frame after verifying its checksum; returns
  // false at the end of the file. Throws DamageError for a damaged or cut-off frame, InputError for one beyond
  // kMaxFrameBytes.
  bool more() {
    if (!rest_.empty()) return true;
    for (std::size_t size = 0;;) {
      if (size == buffer_.size()) {
        if (size >= kMaxFrameBytes) {
          throw_input_error("frame {} holds more than {} bytes", zstd_.frame(), kMaxFrameBytes);
        }
        buffer_.resize(std::max(std::size_t{64} << 10, size * 2));
      }
      const std::uint64_t number = zstd_.frame();
      const ZstdDecoder::Piece piece = zstd_.read(std::span(buffer_).subspan(size));
      size += piece.bytes;
      if (piece.frame_ended && size > 0) {
        rest_ = std::string_view(buffer_.data(), size);
        frame_ = number;
        protobuf_.start_frame();
        return true;
      }
      if (piece.input_ended) return false;
      if (piece.frame_ended && zstd_.frame() % kRecordsBetweenPolls == 0) ReadingPoll::tell();  // empty frames
    }
  }

  ZstdDecoder zstd_;
  ProtobufDecoder protobuf_;
  std::vector<char> buffer_;  // the frame
  std::string_view rest_;     // the part of it that is not yet taken
  std::uint64_t frame_ = 0;   // its number, from 1
  std::uint64_t records_ = 0, end_records_ = 0;
};

class JsonDecoder final : public Decoder {
 public:
  explicit JsonDecoder(Input& input) : lines_(input) {}

  Header header() override {
    std::string_view line;
    if (!next_line(line)) throw_input_error("the file is empty; the first line must be a header");
    return parse_json_header(line);
  }

  bool next(Record& record) override {
    std::string_view line;
    if (!next_line(line)) return false;
    try {
      parse_json_record(line, record);
    } catch (const InputError& error) {
      if (lines_.ended_by_newline()) throw;
      throw DamageError(fmt::format("{} (the file ends within this line)", error.what()));
    }
    return true;
  }

  Position place() const override { return {0, 0, lines_.line_number()}; }

 private:
  // Skips empty lines.
  bool next_line(std::string_view& line) {
    while (lines_.next(line)) {
      if (lines_.line_number() % kRecordsBetweenPolls == 0) ReadingPoll::tell();
      if (line.find_first_not_of(" \t") != std::string_view::npos) return true;
    }
    return false;
  }

  LineReader lines_;
};

std::unique_ptr<Decoder> make_decoder(Input& input) {
  const bool compressed = starts_zstd_frame(input.peek(4));
  std::string_view start = input.peek(kForeignBytes);
  if (start.empty()) throw_input_error("the file is empty");
  std::string preview;
  if (compressed) {
    preview = ZstdDecoder::preview(start, kPreviewBytes);
    start = preview;
    if (starts_protobuf_trace(start)) return std::make_unique<UvmtDecoder>(input);
  }
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && start[first] == '{') return std::make_unique<JsonDecoder>(input);
  if (compressed) {
    // The content is unrecognisable, perhaps because its start is damaged: then this throws.
    std::string content(kPreviewBytes, '\0');
    ZstdDecoder(input).read(content);
  }
  throw_input_error("not a trace: neither a .uvmt file nor JSON lines");
}

}  // namespace

std::string Position::text() const {
  if (line == 0 && frame == 0) return fmt::format("record {}", record);
  const std::string place = line != 0 ? fmt::format("line {}", line) : fmt::format("frame {}", frame);
  return record == 0 ? place : fmt::format("record {} ({})", record, place);
}

struct TraceReader::State {
  State(Input new_input, std::string new_name, const ReaderOptions& options)
      : input(std::move(new_input)), name(std::move(new_name)), partial(options.partial) {
    std::string start(input.peek(kForeignBytes));
    if (starts_zstd_frame(start)) start = ZstdDecoder::preview(start, kForeignBytes);
    try {
      decoder = make_decoder(input);
      header = decoder->header();
      check_shape(header);
    } catch (const InputError& error) {
      const std::string foreign = describe_foreign(start, name);
      if (!foreign.empty()) throw_input_error("{}: no trace: it is {}", name, foreign);
      const std::uint64_t line = decoder ? decoder->place().line : 0;
      throw_input_error("{}: {}{}", name, line == 0 ? "" : fmt::format("line {}: ", line), error.what());
    }
    position = decoder->place();
  }

  bool next(Record& record) {
    if (ended) return false;
    try {
      if (!decoder->next(record)) {
        ended = true;
        return false;
      }
      check_shape(record);
    } catch (const DamageError& error) {
      ended = true;
      truncation = fmt::format("{}: after {} records: {}", name, position.record, error.what());
      if (!partial) throw_input_error("{}; --partial loads what is whole", truncation);
      return false;
    } catch (const InputError& error) {
      ended = true;
      Position place = decoder->place();
      place.record = position.record + 1;
      throw_input_error("{}: {}: {}", name, place.text(), error.what());
    }
    const std::uint64_t number = position.record + 1;
    position = decoder->place();
    position.record = number;
    if (number % kRecordsBetweenPolls == 0) ReadingPoll::tell();
    return true;
  }

  Input input;
  std::string name;
  bool partial;
  std::unique_ptr<Decoder> decoder;
  Header header;
  Position position;
  bool ended = false;
  std::string truncation;
};

TraceReader::TraceReader(const std::string& path, const ReaderOptions& options)
    : state_(std::make_unique<State>(Input::from_file(path), path == "-" ? "standard input" : path, options)) {}
TraceReader::TraceReader(std::string_view bytes, std::string name, const ReaderOptions& options)
    : state_(std::make_unique<State>(Input::from_memory(bytes), std::move(name), options)) {}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;

const Header& TraceReader::header() const { return state_->header; }
bool TraceReader::next(Record& record) { return state_->next(record); }
Position TraceReader::position() const { return state_->position; }
bool TraceReader::truncated() const { return !state_->truncation.empty(); }
const std::string& TraceReader::truncation() const { return state_->truncation; }
const std::string& TraceReader::name() const { return state_->name; }

}  // namespace uvmsim::trace
