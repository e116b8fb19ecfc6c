// SPDX-License-Identifier: Apache-2.0
#include "sim/import/request_stream.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/decimal.h"
#include "sim/formats/printable.h"
#include "sim/import/oracle_general.h"
#include "sim/trace/foreign.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/packed_bytes.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

namespace {

using std::string_view;

constexpr std::size_t kRequestStartBytes = std::size_t{32} << 10;
constexpr std::uint64_t kLcsMagic = 0x123456789abcdef0;
constexpr std::size_t kLcsHeaderBytes = 1024;
constexpr std::uint32_t kScsiBlockBytes = 512;

std::uint64_t little(string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Returns kWrite for SCSI's write commands of 6, 10, 12 and 16 bytes.
AccessMode scsi_mode(std::uint64_t command) {
  const bool writes = command == 0x0a || command == 0x2a || command == 0xaa || command == 0x8a;
  return writes ? AccessMode::kWrite : AccessMode::kRead;
}

// A reader of records of one fixed length.
class FixedRecords {
 public:
  FixedRecords(Input& input, const std::string& file, std::size_t record_bytes)
      : content_(input), file_(file), bytes_(record_bytes), buffer_(record_bytes * 4096) {}
  // Reads the next record; returns false at the end.
  bool next(string_view& record) {
    if (end_ - begin_ < bytes_) fill();
    if (begin_ == end_) return false;
    if (end_ - begin_ < bytes_) {
      throw_input_error("{}: record {} is cut off: {} of {} bytes", file_, number_ + 1, end_ - begin_, bytes_);
    }
    record = string_view(buffer_.data() + begin_, bytes_);
    begin_ += bytes_;
    ++number_;
    return true;
  }
  void skip(std::size_t bytes) {
    std::vector<char> skipped(bytes);
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t taken = content_.read(std::span(skipped).subspan(done));
      if (taken == 0) throw_input_error("{}: the header is cut off: {} of {} bytes", file_, done, bytes);
      done += taken;
    }
  }
  std::uint64_t number() const { return number_; }  // of the last record, from 1

 private:
  void fill() {
    std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), end_ - begin_, buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    while (end_ < bytes_) {
      const std::size_t taken = content_.read(std::span(buffer_).subspan(end_));
      if (taken == 0) return;
      end_ += taken;
    }
  }
  PlainBytes content_;
  const std::string& file_;  // the file's name, for messages
  std::size_t bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t number_ = 0;
};

class OracleRequests final : public RequestReader {
 public:
  explicit OracleRequests(std::unique_ptr<OracleReader> reader) : reader_(std::move(reader)) {
    format = RequestFormat::kOracleGeneral;
    name = reader_->name();
  }
  bool next(Request& request) override {
    OracleRecord record;
    if (!reader_->next(record)) return false;
    request = {record.id, record.bytes, AccessMode::kRead};
    return true;
  }

 private:
  std::unique_ptr<OracleReader> reader_;
};

class VscsiRequests final : public RequestReader {
 public:
  VscsiRequests(Input input, std::string file, unsigned version)
      : input_(std::move(input)), records_(input_, name, version == 1 ? 32 : 40), version_(version) {
    format = RequestFormat::kVscsi;
    name = std::move(file);
    id_bytes = kScsiBlockBytes;
    has_modes = true;
  }
  bool next(Request& request) override {
    string_view record;
    if (!records_.next(record)) return false;
    const bool first = version_ == 1;
    const std::uint64_t version = little(record, first ? 14 : 2, 2) >> 8;
    if (version != version_) {
      throw_input_error("{}: record {} has version {}, unlike those before ({})", name, records_.number(), version,
                        version_);
    }
    request.bytes = little(record, first ? 4 : 8, 4);
    request.id = little(record, 16, 8);
    request.mode = scsi_mode(little(record, first ? 12 : 0, 2));
    return true;
  }

 private:
  Input input_;
  FixedRecords records_;
  unsigned version_;
};

struct LcsField {
  std::size_t at = 0, width = 0;
};
struct LcsHeader {
  std::size_t record_bytes = 0;
  LcsField id;
  std::optional<LcsField> size;
};

std::size_t lcs_width(char letter) {
  switch (letter) {
    case 'c':
    case 'b':
    case 'B':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
    case 'l':
    case 'L':
    case 'f':
      return 4;
    case 'q':
    case 'Q':
    case 'd':
      return 8;
    default:
      return 0;
  }
}

LcsHeader lcs_header(string_view header, const std::string& file) {
  const auto refuse = [&file](const std::string& why) {
    throw_input_error("{}: damaged header of lcs: {}", file, why);
  };
  if (header.size() < kLcsHeaderBytes) refuse("it is cut off");
  if (little(header, kLcsHeaderBytes - 8, 8) != kLcsMagic) {
    throw_input_error("{}: lcs of another version than the one with one format text and 240 fields", file);
  }
  const string_view format = header.substr(8, 240);
  const std::size_t fields = format.find('\0') - 1;
  if (format.find('\0') == string_view::npos || format[0] != '<' || fields == 0 || fields > 239) {
    refuse("its format text is none");
  }
  const auto place = [&](unsigned index) {
    LcsField field{0, 0};
    for (std::size_t i = 1; i <= index; ++i) {
      field.at += field.width;
      field.width = lcs_width(format[i]);
      if (field.width == 0) refuse(fmt::format("field {} of its format text is unknown", i));
    }
    return field;
  };
  LcsHeader out;
  const auto id = static_cast<unsigned char>(header[248]), size = static_cast<unsigned char>(header[249]);
  if (id == 0 || id > fields || size > fields) refuse("it names a field that is not there");
  out.id = place(id);
  if (size != 0) out.size = place(size);
  const LcsField last = place(static_cast<unsigned>(fields));
  out.record_bytes = last.at + last.width;
  return out;
}

class LcsRequests final : public RequestReader {
 public:
  LcsRequests(Input input, std::string file, const LcsHeader& header)
      : input_(std::move(input)), header_(header), records_(input_, name, header.record_bytes) {
    format = RequestFormat::kLcs;
    name = std::move(file);
    has_sizes = header.size.has_value();
    records_.skip(kLcsHeaderBytes);
  }
  bool next(Request& request) override {
    string_view record;
    if (!records_.next(record)) return false;
    request.id = little(record, header_.id.at, header_.id.width);
    request.bytes = header_.size ? little(record, header_.size->at, header_.size->width) : 0;
    return true;
  }

 private:
  Input input_;
  LcsHeader header_;
  FixedRecords records_;
};

// The meaning of a column of csv, by the names that traces give it.
enum class Column : std::uint8_t { kOther, kId, kSize, kOperation };
Column column_of(string_view typed) {
  std::string word;
  for (const char letter : typed) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  const auto is = [&word](std::initializer_list<string_view> names) {
    return std::ranges::find(names, word) != names.end();
  };
  if (is({"id", "objid", "objectid", "obj", "object", "key", "lbn", "lba", "block", "page", "address", "offset"})) {
    return Column::kId;
  }
  if (is({"size", "objsize", "objectsize", "bytes", "len", "length", "valuesize"})) return Column::kSize;
  if (is({"op", "operation", "cmd", "command", "type", "rw"})) return Column::kOperation;
  return Column::kOther;
}

AccessMode operation_mode(string_view typed) {
  std::string word;
  for (const char letter : typed) word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  constexpr std::array<string_view, 12> kWrites = {"w",   "write", "set", "put", "add", "replace",
                                                   "cas", "0a",    "2a",  "aa",  "8a",  "update"};
  return std::ranges::find(kWrites, word) != kWrites.end() ? AccessMode::kWrite : AccessMode::kRead;
}

char separator_of(string_view line) {
  for (const char letter : {',', '\t', '|', ';'}) {
    if (line.find(letter) != string_view::npos) return letter;
  }
  return '\0';
}

string_view stripped(string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\"");
  return first == string_view::npos ? string_view() : text.substr(first, text.find_last_not_of(" \t\"") - first + 1);
}

std::vector<string_view> split(string_view line, char separator) {
  std::vector<string_view> fields;
  for (std::size_t at = 0;;) {
    const std::size_t end = separator == '\0' ? string_view::npos : line.find(separator, at);
    fields.push_back(stripped(line.substr(at, end == string_view::npos ? end : end - at)));
    if (end == string_view::npos) return fields;
    at = end + 1;
  }
}

bool is_header(const std::vector<string_view>& fields) {
  return std::ranges::any_of(fields, [](string_view field) { return column_of(field) == Column::kId; });
}

class TextRequests final : public RequestReader {
 public:
  TextRequests(Input input, std::string file, const std::string& columns) : input_(std::move(input)), lines_(input_) {
    name = std::move(file);
    string_view line;
    while (more_ && stripped(line).empty()) more_ = lines_.next(line);
    separator_ = separator_of(line);
    format = separator_ == '\0' ? RequestFormat::kTxt : RequestFormat::kCsv;
    const std::vector<string_view> first = split(line, separator_);
    const bool header = is_header(first);
    if (!columns.empty()) {
      for (const string_view column : split(columns, ',')) columns_.push_back(column_of(column));
    } else if (separator_ == '\0' && !header) {
      columns_ = {Column::kId};
    } else if (header) {
      for (const string_view column : first) columns_.push_back(column_of(column));
    } else {
      throw_input_error("{}: lines of {} columns without a header; say what they are: --columns time,id,size", name,
                        first.size());
    }
    if (std::ranges::count(columns_, Column::kId) != 1) {
      throw_input_error("{}: one column must be the id (--columns)", name);
    }
    has_sizes = std::ranges::count(columns_, Column::kSize) != 0;
    has_modes = std::ranges::count(columns_, Column::kOperation) != 0;
    if (more_ && !header) take(line);
  }

  bool next(Request& request) override {
    if (pending_) {
      request = *pending_;
      pending_.reset();
      return true;
    }
    string_view line;
    do {
      more_ = more_ && lines_.next(line);
    } while (more_ && stripped(line).empty());
    if (!more_) return false;
    take(line);
    return next(request);
  }

 private:
  void take(string_view line) {
    lines_.with_place(name, [&] {
      const std::vector<string_view> fields = split(line, separator_);
      if (fields.size() < columns_.size()) throw_input_error("{} fields; allowed: {}", fields.size(), columns_.size());
      Request request;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i] == Column::kId) request.id = id_of(fields[i]);
        if (columns_[i] == Column::kOperation) request.mode = operation_mode(fields[i]);
        if (columns_[i] != Column::kSize) continue;
        const auto bytes = parse_digits(fields[i]);
        if (!bytes) throw_input_error("'{}' is no size in bytes", printable(fields[i]));
        request.bytes = *bytes;
      }
      pending_ = request;
    });
  }

  std::uint64_t id_of(string_view field) {
    if (field.empty()) throw_input_error("the id is missing");
    if (field.find(' ') != string_view::npos) throw_input_error("'{}' is no id", printable(field));
    const auto number = numbers ? parse_digits(field) : std::nullopt;
    if (number) {
      number_seen_ = true;
      return *number;
    }
    if (number_seen_) throw_input_error("the id '{}' is no number, unlike those before", printable(field));
    numbers = false;
    return names_.try_emplace(std::string(field), names_.size()).first->second;
  }

  Input input_;
  LineReader lines_;
  bool more_ = true, number_seen_ = false;
  char separator_ = '\0';
  std::vector<Column> columns_;
  std::optional<Request> pending_;
  std::unordered_map<std::string, std::uint64_t> names_;  // never iterated
};

bool is_text(string_view start) {
  return std::ranges::all_of(start, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte >= 0x20 ? byte != 0x7f : byte == '\n' || byte == '\r' || byte == '\t';
  });
}

// Returns the version of SCSI records, by the first two records; 0: not such a file.
unsigned vscsi_version(string_view start) {
  for (const unsigned version : {2u, 1u}) {
    const std::size_t bytes = version == 1 ? 32 : 40, at = version == 1 ? 14 : 2;
    if (start.size() < 2 * bytes) continue;
    const bool both = little(start, at, 2) >> 8 == version && little(start, bytes + at, 2) >> 8 == version;
    if (both) return version;
  }
  return 0;
}

// Returns whether, in the whole records of `start`, times never decrease and each next access comes after its record.
bool looks_like_oracle_general(string_view start) {
  std::uint64_t time = 0;
  for (std::size_t i = 0; (i + 1) * kOracleRecordBytes <= start.size(); ++i) {
    const std::uint64_t at = i * kOracleRecordBytes, now = little(start, at, 4);
    const auto next = static_cast<std::int64_t>(little(start, at + 16, 8));
    if (now < time || next < -1 || (next >= 0 && next <= static_cast<std::int64_t>(i))) return false;
    time = now;
  }
  return true;
}

std::unique_ptr<RequestReader> open(const std::function<Input()>& input, const std::string& name,
                                    const std::string& columns) {
  Input first = input();
  std::string start(first.peek(kRequestStartBytes));
  if (starts_zstd_frame(start) || starts_packed(start)) {
    Input compressed = input();
    PlainBytes content(compressed);
    std::string plain(kRequestStartBytes, '\0');
    std::size_t length = 0;
    try {
      for (std::size_t taken = 1; taken != 0 && length < plain.size(); length += taken) {
        taken = content.read(std::span(plain).subspan(length));
      }
    } catch (const InputError& error) {
      throw_input_error("{}: {}", name, error.what());
    }
    plain.resize(length);
    start = plain;
  }
  if (start.empty()) throw_input_error("{}: no requests: the file is empty", name);
  const std::string foreign = describe_foreign(start, name);
  if (!foreign.empty()) throw_input_error("{}: no stream of requests: it is {}", name, foreign);
  if (start.size() >= 8 && little(start, 0, 8) == kLcsMagic) {
    return std::make_unique<LcsRequests>(input(), name, lcs_header(start, name));
  }
  if (is_text(start) && (!columns.empty() || start.find_first_of("0123456789") != std::string::npos)) {
    return std::make_unique<TextRequests>(input(), name, columns);
  }
  if (!columns.empty()) throw_input_error("{}: no text, so that it has no columns (--columns)", name);
  if (const unsigned version = vscsi_version(start); version != 0) {
    return std::make_unique<VscsiRequests>(input(), name, version);
  }
  if (looks_like_oracle_general(start)) return {};
  throw_input_error("{}: not recognised as requests of libCacheSim; allowed: lcs, vscsi, oracleGeneral, csv and txt",
                    name);
}

}  // namespace

std::unique_ptr<RequestReader> open_requests(const std::string& path, const std::string& columns) {
  auto reader = open([&path] { return Input::from_file(path); }, path, columns);
  return reader ? std::move(reader) : std::make_unique<OracleRequests>(std::make_unique<OracleReader>(path));
}
std::unique_ptr<RequestReader> open_requests(std::string_view bytes, const std::string& name,
                                             const std::string& columns) {
  auto reader = open([bytes] { return Input::from_memory(bytes); }, name, columns);
  return reader ? std::move(reader) : std::make_unique<OracleRequests>(std::make_unique<OracleReader>(bytes, name));
}

}  // namespace uvmsim::trace
