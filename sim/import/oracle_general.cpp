// SPDX-License-Identifier: Apache-2.0
#include "sim/import/oracle_general.h"

#include <algorithm>
#include <boost/endian/arithmetic.hpp>
#include <cstring>
#include <unordered_map>

#include "sim/common/error.h"

namespace uvmsim::trace {

namespace {

constexpr std::size_t kBufferRecords = 4096;

struct PackedRecord {
  boost::endian::little_uint32_t time;
  boost::endian::little_uint64_t id;
  boost::endian::little_uint32_t bytes;
  boost::endian::little_int64_t next_access;
};
static_assert(sizeof(PackedRecord) == kOracleRecordBytes);

}  // namespace

void append_oracle_record(const OracleRecord& record, std::string& out) {
  PackedRecord packed;
  packed.time = record.time;
  packed.id = record.id;
  packed.bytes = record.bytes;
  packed.next_access = record.next_access;
  out.append(reinterpret_cast<const char*>(&packed), sizeof packed);
}

OracleReader::OracleReader(Input input, std::string name)
    : input_(std::move(input)),
      content_(input_),
      name_(std::move(name)),
      buffer_(kBufferRecords * kOracleRecordBytes) {}
OracleReader::OracleReader(const std::string& path)
    : OracleReader(Input::from_file(path), path == "-" ? "standard input" : path) {}
OracleReader::OracleReader(std::string_view bytes, std::string name)
    : OracleReader(Input::from_memory(bytes), std::move(name)) {}

void OracleReader::fill() {
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), end_ - begin_, buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  while (end_ < kOracleRecordBytes) {
    const std::size_t taken = content_.read(std::span(buffer_).subspan(end_));
    if (taken == 0) return;
    end_ += taken;
  }
}

bool OracleReader::next(OracleRecord& record) {
  if (end_ - begin_ < kOracleRecordBytes) {
    try {
      fill();
    } catch (const InputError& error) {
      throw_input_error("{}: {}", name_, error.what());
    }
    if (end_ == begin_) return false;
    if (end_ - begin_ < kOracleRecordBytes) {
      throw_input_error("{}: record {} is cut off: {} of {} bytes", name_, records_ + 1, end_ - begin_,
                        kOracleRecordBytes);
    }
  }
  PackedRecord packed;
  std::memcpy(&packed, buffer_.data() + begin_, sizeof packed);
  record = {packed.time, packed.id, packed.bytes, packed.next_access};
  begin_ += kOracleRecordBytes;
  ++records_;
  return true;
}

std::vector<std::int64_t> next_accesses(std::span<const std::uint64_t> ids) {
  std::vector<std::int64_t> next(ids.size(), -1);
  std::unordered_map<std::uint64_t, std::int64_t> later;  // never iterated
  for (std::size_t i = ids.size(); i-- > 0;) {
    const auto [found, fresh] = later.try_emplace(ids[i], static_cast<std::int64_t>(i + 1));
    if (fresh) continue;
    next[i] = found->second;
    found->second = static_cast<std::int64_t>(i + 1);
  }
  return next;
}

}  // namespace uvmsim::trace
