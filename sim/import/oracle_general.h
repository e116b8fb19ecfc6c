// SPDX-License-Identifier: Apache-2.0
// The oracleGeneral format of libCacheSim: requests of 24 bytes, little-endian, without a header; may be packed (zstd,
// gzip, xz) when read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

inline constexpr std::size_t kOracleRecordBytes = 24;

struct OracleRecord {
  std::uint32_t time = 0;  // seconds in libCacheSim's traces
  std::uint64_t id = 0;
  std::uint32_t bytes = 0;  // size of the object
  // Position of the next request with the same id, counted from 1 (the second request of a trace is 2); -1: never.
  std::int64_t next_access = -1;
  bool operator==(const OracleRecord&) const = default;
};

void append_oracle_record(const OracleRecord& record, std::string& out);

// Reads records one by one. Throws InputError that names file and record if the file ends within one.
class OracleReader {
 public:
  explicit OracleReader(const std::string& path);  // "-" = standard input
  OracleReader(std::string_view bytes, std::string name);

  bool next(OracleRecord& record);                    // false at the end
  std::uint64_t records() const { return records_; }  // read so far
  const std::string& name() const { return name_; }

 private:
  OracleReader(Input input, std::string name);
  void fill();  // reads until one record is buffered, if there is one

  Input input_;
  PlainBytes content_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // bytes not yet returned
  std::uint64_t records_ = 0;
};

// Returns for each request the position of the next one with the same id (OracleRecord::next_access).
std::vector<std::int64_t> next_accesses(std::span<const std::uint64_t> ids);

}  // namespace uvmsim::trace
