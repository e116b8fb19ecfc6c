// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/fault_log_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "sim/formats/json_fields.h"
#include "sim/formats/printable.h"
#include "sim/trace/input.h"
#include "sim/trace/zstd_stream.h"

namespace uvmtrace::faults {

namespace {

using uvmsim::InputError;
using uvmsim::JsonFields;
using uvmsim::throw_input_error;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kMostLineBytes = std::size_t{4} << 20;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 32;
constexpr int kCompressionLevel = 6;
// The largest expansion of a compressed log, so that it cannot exhaust memory. Real logs expand about 9 times.
constexpr std::uint64_t kMostExpansion = 500, kAlwaysAllowed = std::uint64_t{64} << 20;

// Thrown if the file ends within an entry.
struct CutOff {};

class Bytes {
 public:
  explicit Bytes(uvmsim::trace::Input& input) : input_(input), plain_(input), buffer_(kPieceBytes) {}

  // Returns the next line without its newline, or nothing at the end of the file.
  std::optional<std::string> line() {
    std::string text;
    while (fill()) {
      const char* const begin = buffer_.data() + begin_;
      const auto* const end = static_cast<const char*>(std::memchr(begin, '\n', end_ - begin_));
      const std::size_t bytes = end == nullptr ? end_ - begin_ : static_cast<std::size_t>(end - begin);
      text.append(begin, bytes);
      begin_ += bytes + (end == nullptr ? 0 : 1);
      if (end != nullptr) return text;
      if (text.size() > kMostLineBytes) throw_input_error("a line is longer than {} bytes", kMostLineBytes);
    }
    if (text.empty()) return std::nullopt;
    throw CutOff{};
  }

  void take(char* out, std::size_t bytes) {
    while (bytes > 0) {
      if (!fill()) throw CutOff{};
      const std::size_t some = std::min(bytes, end_ - begin_);
      std::memcpy(out, buffer_.data() + begin_, some);
      begin_ += some;
      out += some;
      bytes -= some;
    }
  }

 private:
  bool fill() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = plain_.read(buffer_);
    produced_ += end_;
    if (produced_ > kAlwaysAllowed && produced_ - kAlwaysAllowed > kMostExpansion * input_.position()) {
      throw_input_error("expands to more than {} times its size", kMostExpansion);
    }
    return end_ > 0;
  }

  uvmsim::trace::Input& input_;
  uvmsim::trace::PlainBytes plain_;
  std::uint64_t produced_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

// Reads the columns of a table of `count` rows. Rows are created when their first column is read, so a wrong count
// takes no more memory than the file has bytes.
template <class Row, class... Values>
void read_table(Bytes& bytes, std::uint64_t count, std::vector<Row>& rows, Values Row::*... members) {
  const auto read_column = [&]<class Value>(Value Row::*member) {
    std::vector<Value> piece;
    for (std::uint64_t first = 0; first < count; first += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(count - first, kPieceBytes / sizeof(Value))));
      bytes.take(reinterpret_cast<char*>(piece.data()), piece.size() * sizeof(Value));
      if (rows.size() < first + piece.size()) rows.resize(first + piece.size());
      for (std::size_t i = 0; i < piece.size(); ++i) rows[first + i].*member = piece[i];
    }
  };
  (read_column(members), ...);
}

FaultSection read_section(Bytes& bytes, JsonFields& fields) {
  FaultSection section;
  section.name = uvmsim::printable(fields.text("name"));
  const std::uint64_t faults = fields.required_integer("faults", kMostRows);
  const std::uint64_t replays = fields.required_integer("replays", kMostRows);
  const std::uint64_t migrations = fields.required_integer("migrations", kMostRows);
  const std::uint64_t blocks = fields.required_integer("blocks", kMostRows);
  section.events.unknown = fields.integer("unknown", 0);
  section.dropped = fields.required_integer("dropped");
  read_table(bytes, faults, section.events.faults, &RawFault::gpu_ns, &RawFault::cpu_ns, &RawFault::address,
             &RawFault::batch, &RawFault::gpu, &RawFault::gpc, &RawFault::client, &RawFault::access,
             &RawFault::fault_type, &RawFault::client_type);
  read_table(bytes, replays, section.events.replays, &Replay::gpu_ns, &Replay::cpu_ns, &Replay::batch, &Replay::gpu);
  read_table(bytes, migrations, section.events.migrations, &Migration::cpu_begin_ns, &Migration::cpu_end_ns,
             &Migration::gpu_begin_ns, &Migration::gpu_end_ns, &Migration::address, &Migration::bytes,
             &Migration::source, &Migration::destination, &Migration::cause);
  read_table(bytes, blocks, section.blocks, &BlockTimes::begin_ns, &BlockTimes::end_ns, &BlockTimes::sm);
  return section;
}

// Arguments of a program may contain any bytes.
nlohmann::ordered_json parse(std::string line, bool first) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  try {
    return uvmsim::parse_json_line(line);
  } catch (const InputError& error) {
    if (first) throw_input_error("is not a log of raw faults: {}", error.what());
    throw;
  }
}

ProcessFaults read_header(const std::string& line, JsonFields& fields) {
  if (fields.text("pass") != "faults") throw_input_error("is the log of another pass, not of raw faults");
  const std::uint64_t version = fields.required_integer("version");
  if (version != kFaultLogVersion) {
    throw_input_error("has version {}; this program reads version {}", version, kFaultLogVersion);
  }
  ProcessFaults process;
  process.header = line;
  process.pid = fields.integer("pid", 0);
  process.gpu = uvmsim::printable(fields.text("gpu"));
  process.driver = uvmsim::printable(fields.text("driver"));
  if (const auto* words = fields.find("program")) {
    for (const auto& word : uvmsim::json_array(*words, "program")) {
      process.program += (process.program.empty() ? "" : " ") + uvmsim::printable(uvmsim::json_text(word, "program"));
    }
  }
  return process;
}

void read_processes(Bytes& bytes, std::vector<ProcessFaults>& processes) {
  while (const auto line = bytes.line()) {
    const nlohmann::ordered_json value = parse(*line, processes.empty());
    JsonFields fields(value, "line");
    const std::string type = fields.text("t");
    const bool open = !processes.empty() && !processes.back().complete;
    if (type == "header") {
      processes.push_back(read_header(*line, fields));
    } else if (type == "events" && open) {
      ProcessFaults& process = processes.back();
      process.sections.push_back(read_section(bytes, fields));
      process.dropped += process.sections.back().dropped;
    } else if (type == "end" && open) {
      processes.back().problem = uvmsim::printable(fields.text("problem"));
      processes.back().complete = true;
    } else if (processes.empty()) {
      throw_input_error("does not begin with the header of a log of raw faults");
    } else {
      throw_input_error("a line of type '{}' where it does not belong", uvmsim::printable(type));
    }
  }
}

template <class Row>
void append(std::vector<Row>& to, std::vector<Row>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), from.begin(), from.end());
  }
}

}  // namespace

void ProcessFaults::join() {
  std::vector<FaultSection> joined;
  for (FaultSection& section : sections) {
    if (joined.empty() || joined.back().name != section.name) {
      joined.push_back(std::move(section));
      continue;
    }
    FaultSection& all = joined.back();
    append(all.events.faults, std::move(section.events.faults));
    append(all.events.replays, std::move(section.events.replays));
    append(all.events.migrations, std::move(section.events.migrations));
    append(all.blocks, std::move(section.blocks));
    all.events.unknown += section.events.unknown;
    all.dropped += section.dropped;
  }
  sections = std::move(joined);
}

std::vector<ProcessFaults> read_fault_log(const std::string& path) {
  uvmsim::trace::Input input = uvmsim::trace::Input::from_file(path);
  std::vector<ProcessFaults> processes;
  try {
    Bytes bytes(input);
    read_processes(bytes, processes);
  } catch (const InputError& error) {
    throw_input_error("{}: {}", path, error.what());
  } catch (const CutOff&) {
    if (!processes.empty()) processes.back().complete = false;
  }
  if (processes.empty()) throw_input_error("{}: is not a log of raw faults: it has no complete line", path);
  return processes;
}

void write_fault_log(const std::vector<ProcessFaults>& processes, uvmsim::AtomicFile& file) {
  uvmsim::trace::ZstdEncoder encoder(kCompressionLevel);
  const auto write = [&](const std::string& content) {
    std::string frame;
    encoder.compress(content, frame);
    file.write(frame);
  };
  for (const ProcessFaults& process : processes) {
    write(process.header + "\n");
    for (const FaultSection& section : process.sections) {
      JsonLine line("events");
      line.text("name", section.name);
      std::string bytes;
      add_section(std::move(line), section.events, section.blocks, section.dropped, bytes);
      write(bytes);
    }
    // A log without an end line tells that its program was killed.
    if (process.complete) write(end_line(process.dropped, process.problem));
  }
  file.commit();
}

}  // namespace uvmtrace::faults
