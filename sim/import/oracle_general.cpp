// SPDX-License-Identifier: Apache-2.0
#include "sim/import/oracle_general.h"

#include <algorithm>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/trace/input.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

namespace {

constexpr std::size_t kBufferRecords = 4096;

template <class Integer>
void append_little_endian(Integer value, std::string& out) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    out += static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

std::uint64_t little_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace

void append_oracle_record(const OracleRecord& record, std::string& out) {
  append_little_endian(record.time, out);
  append_little_endian(record.id, out);
  append_little_endian(record.bytes, out);
  append_little_endian(record.next_access, out);
}

struct OracleReader::State {
  State(Input from, std::string file)
      : input(std::move(from)), content(input), name(std::move(file)), buffer(kBufferRecords * kOracleRecordBytes) {}

  // At least one record in the buffer, if there is one.
  void fill() {
    std::copy_n(buffer.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, buffer.begin());
    end -= begin;
    begin = 0;
    while (end < kOracleRecordBytes) {
      const std::size_t taken = content.read(std::span(buffer).subspan(end));
      if (taken == 0) return;
      end += taken;
    }
  }

  Input input;
  PlainBytes content;
  std::string name;
  std::vector<char> buffer;
  std::size_t begin = 0, end = 0;
  std::uint64_t records = 0;
};

OracleReader::OracleReader(const std::string& path)
    : state_(std::make_unique<State>(Input::from_file(path), path == "-" ? "standard input" : path)) {}
OracleReader::OracleReader(std::string_view bytes, std::string name)
    : state_(std::make_unique<State>(Input::from_memory(bytes), std::move(name))) {}
OracleReader::~OracleReader() = default;
OracleReader::OracleReader(OracleReader&&) noexcept = default;

bool OracleReader::next(OracleRecord& record) {
  State& state = *state_;
  if (state.end - state.begin < kOracleRecordBytes) {
    try {
      state.fill();
    } catch (const InputError& error) {
      throw_input_error("{}: {}", state.name, error.what());
    }
    if (state.end == state.begin) return false;
    if (state.end - state.begin < kOracleRecordBytes) {
      throw_input_error("{}: record {} is cut off: {} of {} bytes", state.name, state.records + 1,
                        state.end - state.begin, kOracleRecordBytes);
    }
  }
  const char* bytes = state.buffer.data() + state.begin;
  record.time = static_cast<std::uint32_t>(little_endian(bytes, 4));
  record.id = little_endian(bytes + 4, 8);
  record.bytes = static_cast<std::uint32_t>(little_endian(bytes + 12, 4));
  record.next_access = static_cast<std::int64_t>(little_endian(bytes + 16, 8));
  state.begin += kOracleRecordBytes;
  ++state.records;
  return true;
}

std::uint64_t OracleReader::records() const { return state_->records; }
const std::string& OracleReader::name() const { return state_->name; }

std::vector<std::int64_t> next_accesses(std::span<const std::uint64_t> ids) {
  std::vector<std::int64_t> next(ids.size(), -1);
  std::unordered_map<std::uint64_t, std::int64_t> later;  // only looked up, never walked
  for (std::size_t i = ids.size(); i-- > 0;) {
    const auto [found, fresh] = later.try_emplace(ids[i], static_cast<std::int64_t>(i + 1));
    if (fresh) continue;
    next[i] = found->second;
    found->second = static_cast<std::int64_t>(i + 1);
  }
  return next;
}

}  // namespace uvmsim::trace
